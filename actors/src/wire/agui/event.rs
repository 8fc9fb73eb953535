//! Events of a run, as they stand on the wire.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Interrupt, InterruptError, Role, Row};
use crate::wire::ids::{MessageId, RunId, ThreadId, ToolCallId};

/// One event of a run.
///
/// `timestamp` is in milliseconds since 1970; 0 means that none was given and is not written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Says what happened.
    #[serde(flatten)]
    pub kind: EventKind,
    /// Says when, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub timestamp: u64,
    /// Carries what AG-UI has no member for; our own under `tanstack`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Carries what the model's provider said, unchanged.
    #[serde(default, rename = "rawEvent", skip_serializing_if = "Option::is_none")]
    pub raw_event: Option<Value>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the field by reference"
)]
const fn is_zero(timestamp: &u64) -> bool {
    *timestamp == 0
}

/// What an [`Event`] says. Variants have the wire's own names, in camel case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "SCREAMING_SNAKE_CASE",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "members are named as in AG-UI, each variant says what they are about"
)]
pub enum EventKind {
    /// The run has begun; the first event of a stream.
    RunStarted {
        thread_id: ThreadId,
        run_id: RunId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_run_id: Option<RunId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
    },
    /// A model turn has ended, and with the last one the run.
    RunFinished {
        thread_id: ThreadId,
        run_id: RunId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Vec<UsageItem>>,
    },
    /// The run has failed; nothing comes after it.
    RunError {
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Vec<UsageItem>>,
    },
    /// A text message begins.
    TextMessageStart {
        message_id: MessageId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<Role>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A piece of text, never empty.
    TextMessageContent {
        message_id: MessageId,
        delta: String,
    },
    /// A text message is complete.
    TextMessageEnd { message_id: MessageId },
    /// A text message in one piece or several, without start and end.
    TextMessageChunk {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<Role>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delta: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The model begins a tool call.
    ToolCallStart {
        tool_call_id: ToolCallId,
        tool_call_name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_message_id: Option<MessageId>,
    },
    /// A piece of a call's argument text.
    ToolCallArgs {
        tool_call_id: ToolCallId,
        delta: String,
    },
    /// The call's arguments are complete.
    ToolCallEnd { tool_call_id: ToolCallId },
    /// A tool call in one piece or several, without start and end.
    ToolCallChunk {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<ToolCallId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_call_name: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_message_id: Option<MessageId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delta: Option<String>,
    },
    /// What a tool returned; `content` is always text, mostly JSON.
    ToolCallResult {
        message_id: MessageId,
        tool_call_id: ToolCallId,
        content: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<Role>,
    },
    /// The model begins to reason.
    ReasoningStart { message_id: MessageId },
    /// A reasoning message begins.
    ReasoningMessageStart {
        message_id: MessageId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<Role>,
    },
    /// A piece of reasoning.
    ReasoningMessageContent {
        message_id: MessageId,
        delta: String,
    },
    /// A reasoning message is complete.
    ReasoningMessageEnd { message_id: MessageId },
    /// A reasoning message in pieces, without start and end.
    ReasoningMessageChunk {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delta: Option<String>,
    },
    /// The model stops reasoning.
    ReasoningEnd { message_id: MessageId },
    /// A provider's opaque proof of reasoning or of a tool call.
    ReasoningEncryptedValue {
        subtype: String,
        entity_id: String,
        encrypted_value: String,
    },
    /// A step begins.
    StepStarted { step_name: String },
    /// A step ends.
    StepFinished { step_name: String },
    /// The whole conversation; the client puts it in place of its own.
    MessagesSnapshot { messages: Vec<Row> },
    /// The whole application state.
    StateSnapshot { snapshot: Value },
    /// A JSON Patch of the application state.
    StateDelta { delta: Value },
    /// The whole content of an activity.
    ActivitySnapshot {
        message_id: MessageId,
        activity_type: String,
        content: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replace: Option<bool>,
    },
    /// A JSON Patch of an activity.
    ActivityDelta {
        message_id: MessageId,
        activity_type: String,
        patch: Value,
    },
    /// An event of the application or of a tool.
    Custom { name: String, value: Value },
    /// A foreign event, passed on as it is.
    Raw {
        event: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
}

impl EventKind {
    /// Gives the value of the wire's `type` member.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RunStarted { .. } => "RUN_STARTED",
            Self::RunFinished { .. } => "RUN_FINISHED",
            Self::RunError { .. } => "RUN_ERROR",
            Self::TextMessageStart { .. } => "TEXT_MESSAGE_START",
            Self::TextMessageContent { .. } => "TEXT_MESSAGE_CONTENT",
            Self::TextMessageEnd { .. } => "TEXT_MESSAGE_END",
            Self::TextMessageChunk { .. } => "TEXT_MESSAGE_CHUNK",
            Self::ToolCallStart { .. } => "TOOL_CALL_START",
            Self::ToolCallArgs { .. } => "TOOL_CALL_ARGS",
            Self::ToolCallEnd { .. } => "TOOL_CALL_END",
            Self::ToolCallChunk { .. } => "TOOL_CALL_CHUNK",
            Self::ToolCallResult { .. } => "TOOL_CALL_RESULT",
            Self::ReasoningStart { .. } => "REASONING_START",
            Self::ReasoningMessageStart { .. } => "REASONING_MESSAGE_START",
            Self::ReasoningMessageContent { .. } => "REASONING_MESSAGE_CONTENT",
            Self::ReasoningMessageEnd { .. } => "REASONING_MESSAGE_END",
            Self::ReasoningMessageChunk { .. } => "REASONING_MESSAGE_CHUNK",
            Self::ReasoningEnd { .. } => "REASONING_END",
            Self::ReasoningEncryptedValue { .. } => "REASONING_ENCRYPTED_VALUE",
            Self::StepStarted { .. } => "STEP_STARTED",
            Self::StepFinished { .. } => "STEP_FINISHED",
            Self::MessagesSnapshot { .. } => "MESSAGES_SNAPSHOT",
            Self::StateSnapshot { .. } => "STATE_SNAPSHOT",
            Self::StateDelta { .. } => "STATE_DELTA",
            Self::ActivitySnapshot { .. } => "ACTIVITY_SNAPSHOT",
            Self::ActivityDelta { .. } => "ACTIVITY_DELTA",
            Self::Custom { .. } => "CUSTOM",
            Self::Raw { .. } => "RAW",
        }
    }
}

impl Event {
    /// Makes an event without metadata.
    #[must_use]
    pub const fn new(timestamp: u64, kind: EventKind) -> Self {
        Self {
            kind,
            timestamp,
            metadata: None,
            raw_event: None,
        }
    }

    /// Makes the RUN_ERROR that ends a stream. The code is left out when there is none.
    #[must_use]
    pub fn run_error(timestamp: u64, message: impl Into<String>, code: Option<&str>) -> Self {
        Self::new(
            timestamp,
            EventKind::RunError {
                message: message.into(),
                code: code.map(str::to_owned),
                usage: None,
            },
        )
    }

    /// Makes the single RUN_ERROR that answers a refused continuation (§D.6): all messages joined
    /// by a space, the code of the first error, the errors themselves in `metadata.tanstack`.
    #[must_use]
    pub fn refused(
        timestamp: u64,
        thread_id: &ThreadId,
        run_id: &RunId,
        errors: &[InterruptError],
    ) -> Self {
        let message = errors
            .iter()
            .map(|error| error.message.as_str())
            .collect::<Vec<_>>()
            .join(" ");
        let code = errors.first().map(|error| error.code.as_str());
        let errors = errors
            .iter()
            .filter_map(|error| serde_json::to_value(error).ok());
        Self::run_error(timestamp, message, code)
            .tanstack("runId", run_id.as_str())
            .tanstack("threadId", thread_id.as_str())
            .tanstack("interruptErrors", Value::Array(errors.collect()))
    }

    /// Puts a member into `metadata.tanstack`.
    #[must_use]
    pub fn tanstack(mut self, key: &str, value: impl Into<Value>) -> Self {
        let metadata = self.metadata.get_or_insert_with(Map::new);
        let extras = metadata
            .entry("tanstack")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(extras) = extras {
            extras.insert(key.to_owned(), value.into());
        }
        self
    }

    /// Puts the model's name where clients look for it.
    #[must_use]
    pub fn model(self, model: &str) -> Self {
        self.tanstack("model", model)
    }

    /// Reads a member of `metadata.tanstack`.
    #[must_use]
    pub fn extra(&self, key: &str) -> Option<&Value> {
        self.metadata.as_ref()?.get("tanstack")?.get(key)
    }

    /// Tells whether this event fails the run.
    #[must_use]
    pub const fn is_error(&self) -> bool {
        matches!(self.kind, EventKind::RunError { .. })
    }

    /// Tells whether a stream may end with this event: RUN_ERROR or RUN_FINISHED.
    ///
    /// A RUN_FINISHED also ends each model turn, so more may follow it.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        matches!(
            self.kind,
            EventKind::RunError { .. } | EventKind::RunFinished { .. }
        )
    }
}

/// How a run ended, when it did not just end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Outcome {
    /// The run was stopped early and is complete.
    Success,
    /// The run waits for answers.
    Interrupt {
        /// The questions, in batch order: approvals, client tools, generic ones.
        interrupts: Vec<Interrupt>,
    },
}

/// Tokens of one model turn, in AG-UI's names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageItem {
    /// Tokens of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Both together, as the provider counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Prompt tokens that came out of a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    /// Answer tokens spent on reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
}
