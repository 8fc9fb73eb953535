//! What a host reads of a tool.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{ApprovalSchema, Tool};
use crate::{
    machine::schema::LazyChecker,
    wire::{
        content::{ToolAnnotations, ToolListing},
        task::TaskSupport,
    },
};

/// What a host reads.
impl Tool {
    /// Gives the name that calls use.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Gives what the model reads; may be empty.
    #[must_use]
    pub fn description_text(&self) -> &str {
        self.0.description.as_deref().unwrap_or_default()
    }

    /// Gives the title for people.
    #[must_use]
    pub fn title_text(&self) -> Option<&str> {
        self.0.title.as_deref()
    }

    /// Gives the JSON Schema of the arguments.
    #[must_use]
    pub fn input_schema(&self) -> &Arc<Value> {
        self.0.input.schema()
    }

    /// Gives the JSON Schema of structured results.
    #[must_use]
    pub fn result_schema(&self) -> Option<&Arc<Value>> {
        self.0.output.as_ref().map(LazyChecker::schema)
    }

    /// Gives the hints.
    #[must_use]
    pub fn hints(&self) -> Option<&ToolAnnotations> {
        self.0.annotations.as_ref()
    }

    /// Tells whether the browser carries the tool out.
    #[must_use]
    pub fn is_client(&self) -> bool {
        self.0.execute.is_none()
    }

    /// Tells whether a person has to agree before each call.
    #[must_use]
    pub fn requires_approval(&self) -> bool {
        self.0.needs_approval
    }

    /// Tells whether a second call does no harm: the hints say idempotent or read-only.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        self.0.annotations.as_ref().is_some_and(|hints| {
            hints.idempotent_hint == Some(true) || hints.read_only_hint == Some(true)
        })
    }

    /// Gives the schemas of what a person may send along with a decision.
    #[must_use]
    pub fn approval_schemas(&self) -> &ApprovalSchema {
        &self.0.approval_schema
    }

    /// Tells whether the function can ask and report; without it a host may spare the means.
    #[must_use]
    pub fn uses_cx(&self) -> bool {
        self.0.uses_cx
    }

    /// Tells whether the function reads the application's values or the caller.
    #[must_use]
    pub fn uses_context(&self) -> bool {
        self.0.uses_context
    }

    /// Tells whether the tool runs as a task.
    #[must_use]
    pub fn task_support(&self) -> TaskSupport {
        self.0.tasks.support
    }

    /// Tells whether the function says when its task begins.
    #[must_use]
    pub fn begins_task_itself(&self) -> bool {
        self.0.tasks.begins_itself
    }

    /// Gives the tool as MCP lists it.
    #[must_use]
    pub fn listing(&self) -> ToolListing {
        let tool = &*self.0;
        let mut extra = Map::new();
        if let Some(icons) = &tool.icons {
            extra.insert("icons".to_owned(), icons.clone());
        }
        ToolListing {
            name: tool.name.as_ref().to_owned(),
            title: tool.title.clone(),
            description: tool.description.clone(),
            input_schema: Value::clone(tool.input.schema()),
            output_schema: tool.output.as_ref().map(|made| Value::clone(made.schema())),
            annotations: tool.annotations.clone(),
            meta: tool.meta.clone(),
            extra,
        }
    }
}
