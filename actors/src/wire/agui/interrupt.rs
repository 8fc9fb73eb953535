//! Questions that pause a run, their answers, and what is wrong with an answer.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::wire::ids::{InterruptId, RunId, ThreadId, ToolCallId};

/// Where an interrupt's metadata holds its [`InterruptBinding`].
pub const BINDING_KEY: &str = "tanstack:interruptBinding";
/// Where an interrupt's metadata holds what is shown to the user.
pub const PAYLOAD_KEY: &str = "tanstack:interruptPayload";
/// Where a resume entry's metadata holds the echo of a registered question.
pub const CONTINUATION_KEY: &str = "tanstack:interruptContinuation";

/// One question of a paused run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interrupt {
    /// Names the question; the answer names it again.
    pub id: InterruptId,
    /// Says why, for example `tool_call` or `mcp_input`.
    pub reason: String,
    /// Says it to the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Names the call that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// The JSON Schema of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<Value>,
    /// Until when an answer counts, ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The binding, what is shown, and what older clients read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

impl Interrupt {
    /// Makes a question with nothing but its id, reason and text.
    pub fn new(
        id: impl Into<InterruptId>,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            reason: reason.into(),
            message: Some(message.into()),
            tool_call_id: None,
            response_schema: None,
            expires_at: None,
            metadata: None,
        }
    }

    /// Sets a member of the metadata.
    #[must_use]
    pub fn meta(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata
            .get_or_insert_with(Map::new)
            .insert(key.to_owned(), value.into());
        self
    }

    /// Binds the question to its run, so that clients let the user answer it.
    #[must_use]
    pub fn bind(self, binding: &InterruptBinding) -> Self {
        match serde_json::to_value(binding) {
            Ok(binding) => self.meta(BINDING_KEY, binding),
            Err(_) => self,
        }
    }

    /// Reads the binding back.
    #[must_use]
    pub fn binding(&self) -> Option<InterruptBinding> {
        let binding = self.metadata.as_ref()?.get(BINDING_KEY)?;
        InterruptBinding::deserialize(binding).ok()
    }

    /// Reads what is shown to the user.
    #[must_use]
    pub fn payload(&self) -> Option<&Value> {
        self.metadata.as_ref()?.get(PAYLOAD_KEY)
    }
}

/// What kind of question a binding belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BindingKind {
    /// The user decides whether a tool runs.
    ToolApproval,
    /// The browser runs a tool.
    ClientToolExecution,
    /// Anything else, forms and sampling of MCP servers included.
    Generic,
}

/// Ties an interrupt to its run, so that an answer for another run or another schema is noticed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InterruptBinding {
    /// The version of this form, always 1.
    pub v: u32,
    /// What kind of question it is.
    pub kind: BindingKind,
    /// The interrupt's own id.
    pub interrupt_id: InterruptId,
    /// The run that waits, as the client named it.
    pub interrupted_run_id: RunId,
    /// Counts emissions of the same question; ours is always 0.
    pub generation: u64,
    /// As in the interrupt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Approval and client tool: the tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// Approval and client tool: the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// Approval: the arguments that are asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_args: Option<Value>,
    /// Approval: hash of the tool's input schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema_hash: Option<String>,
    /// Approval: hash of both decision schemas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_schema_hash: Option<String>,
    /// Client tool: hash of the tool's output schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema_hash: Option<String>,
    /// Hash of the interrupt's response schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_schema_hash: Option<String>,
    /// Registered question: its definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_id: Option<String>,
    /// Registered question: its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Registered question: its place in the whole batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_index: Option<u64>,
    /// Registered question: hash of its payload schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_schema_hash: Option<String>,
}

impl InterruptBinding {
    /// Makes a binding with the members that every kind has.
    #[must_use]
    pub const fn new(kind: BindingKind, interrupt_id: InterruptId, run_id: RunId) -> Self {
        Self {
            v: 1,
            kind,
            interrupt_id,
            interrupted_run_id: run_id,
            generation: 0,
            expires_at: None,
            tool_name: None,
            tool_call_id: None,
            original_args: None,
            input_schema_hash: None,
            approval_schema_hash: None,
            output_schema_hash: None,
            response_schema_hash: None,
            definition_id: None,
            key: None,
            batch_index: None,
            payload_schema_hash: None,
        }
    }
}

/// Whether a question was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResumeStatus {
    /// The payload is the answer.
    Resolved,
    /// The user does not want to answer.
    Cancelled,
}

/// One answer of a continuation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResumeEntry {
    /// The question.
    pub interrupt_id: InterruptId,
    /// Whether it was answered.
    pub status: ResumeStatus,
    /// The answer; a `null` that was sent is `Some(Value::Null)`.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub payload: Option<Value>,
    /// The echo of a registered question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl ResumeEntry {
    /// Makes an answer.
    pub fn resolved(id: impl Into<InterruptId>, payload: Value) -> Self {
        Self {
            interrupt_id: id.into(),
            status: ResumeStatus::Resolved,
            payload: Some(payload),
            metadata: None,
        }
    }

    /// Makes a refusal to answer.
    pub fn cancelled(id: impl Into<InterruptId>) -> Self {
        Self {
            interrupt_id: id.into(),
            status: ResumeStatus::Cancelled,
            payload: None,
            metadata: None,
        }
    }
}

/// Whether an [`InterruptError`] is about one answer or about all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorScope {
    /// One answer.
    Item,
    /// The continuation as a whole.
    Batch,
}

/// Whose fault an [`InterruptError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorSource {
    /// The answer is wrong.
    Client,
    /// The server cannot take it any more.
    Server,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What is wrong with a continuation, in the codes that clients know.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum InterruptCode {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl InterruptCode {
            /// Gives the code as it stands on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    /// The answer does not have the asked form.
    InvalidPayload = "invalid-payload",
    /// The edited arguments do not fit the tool.
    InvalidEditedArgs = "invalid-edited-args",
    /// The browser's tool output does not fit the tool.
    InvalidToolOutput = "invalid-tool-output",
    /// The question's schema is not one.
    InvalidResponseSchema = "invalid-response-schema",
    /// Nobody asked that, or a question has no answer.
    UnknownInterrupt = "unknown-interrupt",
    /// The answer came too late.
    Expired = "expired",
    /// The run, the tool or the history is not what was asked about.
    Stale = "stale",
    /// Somebody has answered differently.
    Conflict = "conflict",
    /// Not every question has an answer.
    IncompleteBatch = "incomplete-batch",
    /// At least one answer is wrong.
    ItemValidationFailed = "item-validation-failed",
    /// The server failed.
    Server = "server",
    /// The continuation is malformed.
    Protocol = "protocol",
}

/// One thing that is wrong with a continuation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InterruptError {
    /// One answer or all.
    pub scope: ErrorScope,
    /// The conversation.
    pub thread_id: ThreadId,
    /// The run that waits, as the continuation named it.
    pub interrupted_run_id: RunId,
    /// As in the binding.
    pub generation: u64,
    /// Item: the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt_id: Option<InterruptId>,
    /// What is wrong.
    pub code: InterruptCode,
    /// The same in words.
    pub message: String,
    /// Whose fault it is.
    pub source: ErrorSource,
    /// Whether the same answer may be sent again.
    pub retryable: bool,
    /// Item: where in the answer, from its root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<Value>>,
    /// Batch: the questions it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt_ids: Option<Vec<InterruptId>>,
}
