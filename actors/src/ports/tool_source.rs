//! Where a chat finds tools that are not its own: an MCP client, a pool of them, a scripted source.
//!
//! A source lists its tools when a run begins, carries out calls, and is closed when the run has
//! ended (or never, with keep-alive). Values are `Send + Sync`; their futures stay on the thread
//! of the run.

use std::{fmt, rc::Rc, sync::Arc};

use futures_util::future::LocalBoxFuture;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::wire::ids::ToolCallId;

/// Lists tools and closes when it is no longer needed.
pub trait ToolSource: Send + Sync + 'static {
    /// Names the source in errors and in logs, for example by its prefix.
    fn name(&self) -> &str;

    /// Lists the tools as the model shall see them.
    ///
    /// # Errors
    ///
    /// [`SourceError`] when the list cannot be had. The run then fails or leaves the source out,
    /// as the chat is told.
    fn tools(&self) -> LocalBoxFuture<'static, Result<Vec<SourceTool>, SourceError>>;

    /// Closes the source. Never fails and may be called more than once.
    fn close(&self) -> LocalBoxFuture<'static, ()>;
}

/// One tool of a source.
#[derive(Clone)]
#[non_exhaustive]
pub struct SourceTool {
    /// The name the model uses, prefix included.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// JSON Schema of the arguments, as the server wrote it.
    pub input_schema: Arc<Value>,
    /// JSON Schema of the structured result.
    pub output_schema: Option<Arc<Value>>,
    /// A person has to agree before each call.
    pub needs_approval: bool,
    /// The server's own name of the tool, without a prefix.
    pub native_name: String,
    /// Prefix or pool key of the server.
    pub server_id: Option<String>,
    /// `_meta.ui.resourceUri` of the listing.
    pub ui_resource_uri: Option<String>,
    /// Calling twice does no harm: the listing says idempotent or read-only.
    pub repeatable: bool,
    /// Carries out the calls.
    pub executor: Rc<dyn ToolExecutor>,
}

impl SourceTool {
    /// Makes a tool with the name, the schema of its arguments and what carries it out.
    pub fn new(
        name: impl Into<String>,
        input_schema: impl Into<Arc<Value>>,
        executor: Rc<dyn ToolExecutor>,
    ) -> Self {
        let name = name.into();
        Self {
            native_name: name.clone(),
            name,
            description: String::new(),
            input_schema: input_schema.into(),
            output_schema: None,
            needs_approval: false,
            server_id: None,
            ui_resource_uri: None,
            repeatable: false,
            executor,
        }
    }
}

impl fmt::Debug for SourceTool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SourceTool")
            .field("name", &self.name)
            .field("server_id", &self.server_id)
            .finish_non_exhaustive()
    }
}

/// Carries out calls of one tool.
pub trait ToolExecutor: 'static {
    /// Starts one call. A call that is cancelled by its token may end with any outcome.
    fn execute(&self, call: ToolInvocation) -> LocalBoxFuture<'static, ExecOutcome>;
}

/// One call, as the run hands it over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolInvocation {
    /// The id of the call in the conversation.
    pub tool_call_id: ToolCallId,
    /// The arguments: always a JSON object.
    pub arguments: Value,
    /// Fires when the run ends early; the executor stops waiting and tells its server.
    pub cancel: CancellationToken,
    /// What the user answered when the call paused before.
    pub answers: Option<McpAnswers>,
}

impl ToolInvocation {
    /// Makes a first call, without answers.
    #[must_use]
    pub const fn new(
        tool_call_id: ToolCallId,
        arguments: Value,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            tool_call_id,
            arguments,
            cancel,
            answers: None,
        }
    }

    /// Adds the answers to the questions at which the call paused.
    #[must_use]
    pub fn with_answers(mut self, answers: McpAnswers) -> Self {
        self.answers = Some(answers);
        self
    }
}

/// The answers to the questions of one round.
#[derive(Clone, Debug, PartialEq)]
pub struct McpAnswers {
    /// What the server gave to be sent back with the answers.
    pub request_state: Option<String>,
    /// The MCP result for each key: `{action, content?}` or a `CreateMessageResult`.
    pub responses: IndexMap<String, Value>,
    /// What was shown to the user. If the server asks afresh, answer only what equals this.
    pub questions: IndexMap<String, InputRequest>,
}

/// One question of a server: `elicitation/create`, `sampling/createMessage` or `roots/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputRequest {
    /// The MCP method.
    pub method: String,
    /// Its parameters, as the server wrote them.
    #[serde(default)]
    pub params: Value,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ExecOutcome {
    /// The result for the model: structured data, a string, or an array of content parts.
    Done(Value),
    /// The call failed; the model reads the message and the run goes on.
    Failed(String),
    /// The server asks before it goes on; the run pauses.
    NeedsInput {
        /// The questions by key, in the server's order. Not empty.
        questions: IndexMap<String, InputRequest>,
        /// To be sent back with the answers.
        request_state: Option<String>,
    },
}

/// A source could not list its tools.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct SourceError {
    /// Names the source.
    pub source_name: String,
    /// Says what went wrong.
    pub message: String,
    /// A code for programs, for example an HTTP status.
    pub code: Option<String>,
}

impl SourceError {
    /// Makes an error of the named source.
    pub fn new(source_name: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            source_name: source_name.into(),
            message: message.into(),
            code: None,
        }
    }

    /// Adds a code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }
}
