//! The tools of one run, as the agent loop needs to know them.

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value;

use super::dialogue::ModelTool;

/// Who carries a tool out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The process that runs the loop.
    Server,
    /// The browser.
    Client,
}

/// What the loop knows of a tool.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The name the model uses.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Option<Arc<Value>>,
    /// JSON Schema of the result.
    pub output_schema: Option<Arc<Value>>,
    /// JSON Schema of what comes with an approval.
    pub approve_schema: Option<Arc<Value>>,
    /// JSON Schema of what comes with a refusal.
    pub reject_schema: Option<Arc<Value>>,
    /// The schemas are the application's own: values are held against them. Schemas of an MCP
    /// server are shown and hashed as they came, and the server checks.
    pub checked: bool,
    /// Who carries it out.
    pub side: Side,
    /// A person has to agree before each call.
    pub needs_approval: bool,
    /// Calling twice does no harm.
    pub repeatable: bool,
}

impl ToolSpec {
    /// Makes a tool that the server carries out.
    pub fn server(name: impl Into<String>, input_schema: Option<Arc<Value>>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            input_schema,
            output_schema: None,
            approve_schema: None,
            reject_schema: None,
            checked: true,
            side: Side::Server,
            needs_approval: false,
            repeatable: false,
        }
    }

    /// Makes a tool that the browser carries out.
    pub fn client(name: impl Into<String>, input_schema: Option<Arc<Value>>) -> Self {
        Self {
            side: Side::Client,
            ..Self::server(name, input_schema)
        }
    }

    /// Tells whether a call has to wait for a person.
    #[must_use]
    pub const fn is_client(&self) -> bool {
        matches!(self.side, Side::Client)
    }

    /// Shows an own schema to the outside: without the `$schema` that only says its dialect.
    fn shown(&self, schema: &Arc<Value>) -> Arc<Value> {
        if self.checked {
            without_dialect(schema)
        } else {
            Arc::clone(schema)
        }
    }

    fn model_tool(&self) -> ModelTool {
        ModelTool {
            name: self.name.clone(),
            description: self.description.clone(),
            input_schema: self
                .input_schema
                .as_ref()
                .map_or_else(|| Arc::new(Value::Null), |schema| self.shown(schema)),
        }
    }

    /// Gives the schema that an answer of the browser has to fit, as it is shown.
    #[must_use]
    pub fn shown_output(&self) -> Option<Arc<Value>> {
        self.output_schema.as_ref().map(|schema| self.shown(schema))
    }
}

fn without_dialect(schema: &Arc<Value>) -> Arc<Value> {
    match schema.as_object() {
        Some(members) if members.contains_key("$schema") => {
            let mut members = members.clone();
            members.shift_remove("$schema");
            Arc::new(Value::Object(members))
        }
        _ => Arc::clone(schema),
    }
}

/// Two tools of one run have the same name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Cannot pass two tools named \"{name}\" in the same chat() call. Tool names in one tools array must be unique."
)]
pub struct DuplicateTool {
    /// The name.
    pub name: String,
}

/// The tools of one run, in the order the model is told them.
#[derive(Clone, Debug, Default)]
pub struct Toolset(IndexMap<String, ToolSpec>);

impl Toolset {
    /// Collects tools with different names.
    ///
    /// # Errors
    ///
    /// [`DuplicateTool`] when a name comes twice.
    pub fn new(tools: impl IntoIterator<Item = ToolSpec>) -> Result<Self, DuplicateTool> {
        let mut set = Self::default();
        for tool in tools {
            if set.0.contains_key(&tool.name) {
                return Err(DuplicateTool { name: tool.name });
            }
            set.0.insert(tool.name.clone(), tool);
        }
        Ok(set)
    }

    /// Adds a tool unless its name is taken; tells whether it was added.
    pub fn offer(&mut self, tool: ToolSpec) -> bool {
        if self.0.contains_key(&tool.name) {
            return false;
        }
        self.0.insert(tool.name.clone(), tool);
        true
    }

    /// Finds a tool.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ToolSpec> {
        self.0.get(name)
    }

    /// Tells whether there is no tool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives the tools as the model is told them.
    #[must_use]
    pub fn model_tools(&self) -> Vec<ModelTool> {
        self.0.values().map(ToolSpec::model_tool).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_can_be_taken_once() {
        let tools = ["a", "b", "a"].map(|name| ToolSpec::server(name, None));
        let refused = Toolset::new(tools).map(|_| ());
        assert!(refused.is_err_and(|error| error.name == "a"));
    }

    #[test]
    fn the_model_sees_own_schemas_without_dialect_and_foreign_ones_as_they_came() {
        let schema = Arc::new(json!({"$schema": "x", "type": "object"}));
        let own = ToolSpec::server("own", Some(Arc::clone(&schema)));
        let foreign = ToolSpec {
            checked: false,
            ..ToolSpec::server("foreign", Some(Arc::clone(&schema)))
        };
        let shown: Vec<Value> = Toolset::new([own, foreign])
            .map(|set| set.model_tools())
            .unwrap_or_default()
            .iter()
            .map(|tool| tool.input_schema.as_ref().clone())
            .collect();
        assert_eq!(shown, [json!({"type": "object"}), schema.as_ref().clone()]);
    }
}
