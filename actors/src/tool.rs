//! Tools: plain async functions that a model or an MCP client can call.

mod answer;
mod ask;
mod blocking;
mod call;
mod context;
mod cx;
mod def;
mod extract;
mod listing;
mod result;
mod run;
mod scopes;
mod takes;
#[cfg(test)]
mod tests;

use std::{future::Future, marker::PhantomData, sync::Arc};

use schemars::JsonSchema;
use serde_json::{Map, Value};

pub(crate) use self::answer::fits;
use self::run::{Execute, Raw, Typed};
pub use self::{
    ask::{
        Answers, Asker, Input, InputError, InputResponse, MAX_TRIES, Question, QuestionKind,
        SampleRequest, Sampler,
    },
    blocking::BlockingFn,
    context::Context,
    cx::{NoticeSink, ToolCx, ToolCxBuilder, ToolNotice},
    def::{Output, OutputError, ToolDef},
    extract::{Args, Ctx, ExtractError, FromCall, Params, ToolFn},
    result::{
        IntoToolError, IntoToolOutput, IntoToolResult, Json, ToolError, ToolOutcome, ToolOutput,
    },
    takes::{Returns, Takes, TakesAll},
};
use crate::{
    machine::{
        form::{self, FormError},
        schema::{self, LazyChecker, SchemaError},
    },
    wire::{content::ToolAnnotations, task::TaskSupport},
};

/// A tool: a name, schemas, hints, and the function that carries it out. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tool(Arc<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    name: Arc<str>,
    title: Option<String>,
    description: Option<String>,
    input: LazyChecker,
    output: Option<LazyChecker>,
    /// The schema of results was given by hand, so results are checked against it.
    check_output: bool,
    /// The schema of arguments says more than serde enforces.
    check_input: bool,
    annotations: Option<ToolAnnotations>,
    meta: Option<Map<String, Value>>,
    icons: Option<Value>,
    needs_approval: bool,
    /// What the token of a caller has to allow.
    scopes: Vec<String>,
    approval_schema: ApprovalSchema,
    /// A type that was declared as a form and cannot be one.
    not_a_form: Option<FormError>,
    tasks: Tasks,
    uses_cx: bool,
    uses_context: bool,
    execute: Option<Arc<dyn Execute>>,
}

/// How the tool runs as a task.
#[derive(Clone, Copy, Debug, Default)]
struct Tasks {
    support: TaskSupport,
    /// The function says when the task begins.
    begins_itself: bool,
}

/// The schemas of what a person may send along with a decision.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ApprovalSchema {
    /// With an approval.
    pub approve: Option<Value>,
    /// With a denial.
    pub reject: Option<Value>,
}

/// Why a tool cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolDefError {
    /// One of its schemas does not compile.
    #[error("tool `{tool}`: {source}")]
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong.
        source: SchemaError,
    },
    /// Its arguments are not an object.
    #[error("tool `{tool}`: the arguments have to be an object")]
    NotAnObject {
        /// The tool.
        tool: String,
    },
    /// A type that it asks for cannot be a form.
    #[error("tool `{tool}`: {source}")]
    Form {
        /// The tool.
        tool: String,
        /// The field that cannot be.
        source: FormError,
    },
    /// A `Ctx<T>` parameter has no value.
    #[error("tool `{tool}` needs a `{ty}` that nobody has given")]
    MissingContext {
        /// The tool.
        tool: String,
        /// The type.
        ty: &'static str,
    },
}

impl Tool {
    /// Makes a tool from an async function with up to four parameters, each [`Args`], [`Ctx`] or
    /// [`ToolCx`].
    ///
    /// The schemas come from the types; the doc comment of the arguments' type is the description
    /// unless [`Tool::description`] sets one.
    pub fn new<P, H>(name: impl Into<String>, handler: H) -> Self
    where
        H: ToolFn<P>,
        P: Params,
        H::Out: IntoToolResult,
    {
        let execute = Typed {
            handler: Arc::new(handler),
            params: PhantomData,
        };
        Self::typed::<P, H::Out>(name.into(), Arc::new(execute))
    }

    /// Makes a tool whose schemas come from the types of its function.
    fn typed<P: Params, Out: IntoToolResult>(name: String, execute: Arc<dyn Execute>) -> Self {
        let (input, description, check_input) = match P::schema() {
            Some(made) => (
                schema::with_object_root(made.schema),
                made.description,
                made.needs_validator,
            ),
            None => (schema::empty_object(), None, false),
        };
        let mut tool = Self::empty(name, input);
        let inner = Arc::make_mut(&mut tool.0);
        inner.description = description;
        inner.check_input = check_input;
        inner.output = Out::output_schema().map(|made| LazyChecker::new(made.schema));
        inner.uses_cx = P::USES_CX;
        inner.uses_context = P::USES_CONTEXT;
        inner.execute = Some(execute);
        tool
    }

    /// Makes a tool from a JSON Schema and a function that reads JSON. The arguments are checked
    /// against the schema before the function sees them.
    pub fn raw<F, Fut>(name: impl Into<String>, input_schema: Value, handler: F) -> Self
    where
        F: Fn(Value, ToolCx) -> Fut + Send + Sync + 'static,
        Fut: Future + 'static,
        Fut::Output: IntoToolResult,
    {
        let mut tool = Self::empty(name.into(), input_schema);
        let inner = Arc::make_mut(&mut tool.0);
        inner.check_input = true;
        inner.uses_cx = true;
        inner.uses_context = true;
        inner.execute = Some(Arc::new(Raw(handler)));
        tool
    }

    /// Makes a tool that the browser carries out. Only chats can offer it.
    pub fn client(name: impl Into<String>, input_schema: Value) -> Self {
        Self::empty(name.into(), input_schema)
    }

    fn empty(name: String, input_schema: Value) -> Self {
        Self(Arc::new(Inner {
            name: name.into(),
            title: None,
            description: None,
            input: LazyChecker::new(input_schema),
            output: None,
            check_output: false,
            check_input: false,
            annotations: None,
            meta: None,
            icons: None,
            needs_approval: false,
            scopes: Vec::new(),
            approval_schema: ApprovalSchema::default(),
            not_a_form: None,
            tasks: Tasks::default(),
            uses_cx: false,
            uses_context: false,
            execute: None,
        }))
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    fn annotate(self, change: impl FnOnce(&mut ToolAnnotations)) -> Self {
        self.with(|tool| change(tool.annotations.get_or_insert_default()))
    }

    /// Says what the tool does, for the model.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> Self {
        self.with(|tool| tool.description = Some(text.into()))
    }

    /// Names the tool for people.
    #[must_use]
    pub fn title(self, text: impl Into<String>) -> Self {
        self.with(|tool| tool.title = Some(text.into()))
    }

    /// Hints that the tool changes nothing.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.annotate(|hints| hints.read_only_hint = Some(true))
    }

    /// Hints whether the tool may destroy something.
    #[must_use]
    pub fn destructive(self, destructive: bool) -> Self {
        self.annotate(|hints| hints.destructive_hint = Some(destructive))
    }

    /// Hints that calling twice is as good as once.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.annotate(|hints| hints.idempotent_hint = Some(true))
    }

    /// Hints whether the tool reaches out into the world.
    #[must_use]
    pub fn open_world(self, open: bool) -> Self {
        self.annotate(|hints| hints.open_world_hint = Some(open))
    }

    /// Sets all hints.
    #[must_use]
    pub fn annotations(self, hints: ToolAnnotations) -> Self {
        self.with(|tool| tool.annotations = Some(hints))
    }

    /// Sets `_meta` of the listing.
    #[must_use]
    pub fn meta(self, meta: Map<String, Value>) -> Self {
        self.with(|tool| tool.meta = Some(meta))
    }

    /// Sets the icons of the listing: an array of MCP icons.
    #[must_use]
    pub fn icons(self, icons: Value) -> Self {
        self.with(|tool| tool.icons = Some(icons))
    }

    /// Sets the schema of structured results; results are checked against it.
    #[must_use]
    pub fn output_schema(self, schema: Value) -> Self {
        self.with(|tool| {
            tool.output = Some(LazyChecker::new(schema));
            tool.check_output = true;
        })
    }

    /// Declares that the function asks for this type with
    /// [`ToolCx::request_input_as`] or [`ToolCx::request_form_as`], so that one that cannot be a form
    /// is found when the server is built.
    #[must_use]
    pub fn asks<T: JsonSchema>(self) -> Self {
        self.with(|tool| tool.not_a_form = tool.not_a_form.take().or(form::of::<T>().err()))
    }

    /// Requires a person's agreement before each call in a chat.
    #[must_use]
    pub fn needs_approval(self, needed: bool) -> Self {
        self.with(|tool| tool.needs_approval = needed)
    }

    /// Sets the schemas of what a person may send along with a decision.
    #[must_use]
    pub fn approval_schema(self, approve: Option<Value>, reject: Option<Value>) -> Self {
        self.with(|tool| tool.approval_schema = ApprovalSchema { approve, reject })
    }

    /// Lets the tool run as a task, for clients that can handle tasks: those of 2025-11-25 that ask
    /// for one, and those of 2026 that declare `io.modelcontextprotocol/tasks` to a server with
    /// [`McpServerBuilder::tasks_extension`]. For all others it runs within its call.
    ///
    /// Its questions need a key: [`ToolCx::request_form`], [`SampleRequest::key`], [`Question::key`].
    ///
    /// [`McpServerBuilder::tasks_extension`]: crate::server::McpServerBuilder::tasks_extension
    #[must_use]
    pub fn task(self) -> Self {
        self.with(|tool| tool.tasks.support = TaskSupport::Optional)
    }

    /// Lets the tool run as a task only: any other call of a client of 2025 gets -32601, and one of
    /// 2026 gets -32021 from a server with the extension. See [`Tool::task`].
    #[must_use]
    pub fn task_required(self) -> Self {
        self.with(|tool| tool.tasks.support = TaskSupport::Required)
    }

    /// Lets the tool run as a task, as [`Tool::task`] does unless it runs as one anyway, and says that
    /// the function begins its task itself, with [`ToolCx::begin_task`]; else the task begins with the
    /// call. What the function asks before, a client of 2026 answers in rounds of
    /// the call, and a function that ends before has no task.
    #[must_use]
    pub fn begins_task(self) -> Self {
        self.with(|tool| {
            tool.tasks.begins_itself = true;
            if tool.tasks.support == TaskSupport::Forbidden {
                tool.tasks.support = TaskSupport::Optional;
            }
        })
    }
}
