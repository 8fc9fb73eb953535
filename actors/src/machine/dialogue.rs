//! What a model is told and what it says, as data.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::wire::ids::{MessageId, RunId, ThreadId, ToolCallId};

/// Everything a model is told for one turn.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The conversation the run belongs to.
    pub thread_id: ThreadId,
    /// The run that asks.
    pub run_id: RunId,
    /// The conversation so far, oldest first.
    pub messages: Vec<ModelMessage>,
    /// What the model may call, in the order it is told.
    pub tools: Vec<ModelTool>,
    /// Instructions that stand before the conversation.
    pub system_prompts: Vec<String>,
    /// Options of the provider, handed over as they are.
    pub options: Map<String, Value>,
    /// Labels for the provider's own records.
    pub metadata: Option<Map<String, Value>>,
    /// Bounds the answer, in tokens. `None` leaves it to the provider.
    pub max_tokens: Option<u64>,
}

impl ModelRequest {
    /// Makes a request without tools, prompts and options.
    #[must_use]
    pub fn new(thread_id: ThreadId, run_id: RunId, messages: Vec<ModelMessage>) -> Self {
        Self {
            thread_id,
            run_id,
            messages,
            tools: Vec::new(),
            system_prompts: Vec::new(),
            options: Map::new(),
            metadata: None,
            max_tokens: None,
        }
    }
}

/// Says who speaks in a [`ModelMessage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelRole {
    /// An instruction in the middle of the conversation.
    System,
    /// The user.
    User,
    /// The model itself.
    Assistant,
    /// A tool's result.
    Tool,
}

/// One message of the conversation, as models are told it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelMessage {
    /// Who speaks.
    pub role: ModelRole,
    /// The id the message has in the conversation, if it has one.
    pub id: Option<MessageId>,
    /// What is said.
    pub content: ModelContent,
    /// What the model called in this message.
    pub tool_calls: Vec<ModelToolCall>,
    /// The call that a tool message answers.
    pub tool_call_id: Option<ToolCallId>,
    /// What the model thought before it.
    pub thinking: Vec<Thinking>,
    /// A name for the speaker.
    pub name: Option<String>,
    /// Whether a tool message reports a failure.
    pub is_error: bool,
}

impl ModelMessage {
    /// Makes a message with content and nothing else.
    #[must_use]
    pub fn new(role: ModelRole, content: ModelContent) -> Self {
        Self {
            role,
            id: None,
            content,
            tool_calls: Vec::new(),
            tool_call_id: None,
            thinking: Vec::new(),
            name: None,
            is_error: false,
        }
    }

    /// Makes a message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(ModelRole::User, ModelContent::Text(text.into()))
    }

    /// Makes a message of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(ModelRole::Assistant, ModelContent::Text(text.into()))
    }

    /// Makes the result of a tool call.
    pub fn tool(call: impl Into<ToolCallId>, content: impl Into<String>) -> Self {
        Self {
            tool_call_id: Some(call.into()),
            ..Self::new(ModelRole::Tool, ModelContent::Text(content.into()))
        }
    }
}

/// What a message says.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ModelContent {
    /// Nothing: an assistant message that only calls tools.
    #[default]
    None,
    /// Text.
    Text(String),
    /// Parts: `{"type":"text","content":…}` or `{"type":"image"|"audio"|"video"|"document",
    /// "source":{"type":"url"|"data","value":…,"mimeType"?:…},"metadata"?:…}`.
    Parts(Vec<Value>),
}

impl ModelContent {
    /// Gives the text, text parts joined. Other parts are left out.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => parts
                .iter()
                .filter(|part| part.get("type").and_then(Value::as_str) == Some("text"))
                .filter_map(|part| part.get("content").and_then(Value::as_str))
                .collect(),
        }
    }
}

/// A call that a model made earlier in the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelToolCall {
    /// The call's id.
    pub id: ToolCallId,
    /// The tool's name.
    pub name: String,
    /// The arguments as JSON text, as the model wrote them.
    pub arguments: String,
    /// What the provider wants back with the call.
    pub metadata: Option<Map<String, Value>>,
}

/// What a model thought before a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinking {
    /// The thought, possibly empty.
    pub content: String,
    /// What the provider needs to recognise the thought as its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// A tool as models are told it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelTool {
    /// The name the model calls it by.
    pub name: String,
    /// What it does; empty when nobody said.
    pub description: String,
    /// JSON Schema of the arguments; JSON `null` when the tool has none.
    pub input_schema: Arc<Value>,
}

/// What a model says while it plays a turn.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// The provider names the model that really answers.
    ModelId(String),
    /// Thinking begins.
    ReasoningStart,
    /// A piece of thought.
    ReasoningDelta(String),
    /// Thinking ends.
    ReasoningEnd {
        /// What the provider needs to recognise the thought as its own.
        signature: Option<String>,
    },
    /// The answer begins.
    TextStart,
    /// A piece of the answer, never empty.
    TextDelta(String),
    /// The answer is complete. It may come after tool calls.
    TextEnd,
    /// A tool call begins.
    ToolCallStart {
        /// The provider's id of the call; the engine replaces an empty or repeated one.
        id: String,
        /// The tool's name.
        name: String,
        /// The position of the call in the turn, from 0.
        index: usize,
        /// What the provider wants back with the call.
        metadata: Option<Map<String, Value>>,
    },
    /// A piece of the arguments' JSON text.
    ToolCallArgs {
        /// The provider's id of the call.
        id: String,
        /// The piece.
        delta: String,
    },
    /// A tool call is complete.
    ToolCallEnd {
        /// The provider's id of the call.
        id: String,
        /// The parsed arguments, if the model parsed them: they replace the text.
        input: Option<Value>,
    },
    /// The provider says that it failed. The stream is over.
    Failed {
        /// What went wrong, in the provider's words.
        message: String,
        /// The provider's code.
        code: Option<String>,
        /// The provider's error object. Never headers, never keys.
        raw_event: Option<Value>,
    },
    /// The turn is complete. The stream is over.
    Finished {
        /// Why the model stopped.
        reason: FinishReason,
        /// What the turn cost, if known.
        usage: Option<Usage>,
    },
}

/// Says why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum FinishReason {
    /// It has said everything.
    Stop,
    /// It waits for tools.
    ToolCalls,
    /// It ran into a bound.
    Length,
    /// The provider held the answer back.
    ContentFilter,
    /// Something else, in the provider's word.
    Other(String),
}

impl FinishReason {
    /// Gives the word on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Other(reason) => reason,
        }
    }
}

impl From<String> for FinishReason {
    fn from(reason: String) -> Self {
        match reason.as_str() {
            "stop" => Self::Stop,
            "tool_calls" => Self::ToolCalls,
            "length" => Self::Length,
            "content_filter" => Self::ContentFilter,
            _ => Self::Other(reason),
        }
    }
}

impl From<FinishReason> for String {
    fn from(reason: FinishReason) -> Self {
        reason.as_str().to_owned()
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// Counts what a turn cost, in tokens. Its JSON form is the scripts' (`promptTokens`, …).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
    /// Both together.
    pub total_tokens: u64,
    /// Parts of the tokens read (`cachedTokens`, `audioTokens`, …).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens_details: Option<Map<String, Value>>,
    /// Parts of the tokens written (`reasoningTokens`, …).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_tokens_details: Option<Map<String, Value>>,
    /// The price, in the provider's currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Whatever else the provider counted.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A model stream broke: the turn ends without the model having said so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ModelError {
    /// What went wrong. Reaches the user.
    pub message: String,
    /// A code for it (an HTTP status, a socket error).
    pub code: Option<String>,
    /// Whether it broke because somebody asked it to.
    pub aborted: bool,
}

impl ModelError {
    /// Makes an error without a code.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: None,
            aborted: false,
        }
    }

    /// Adds a code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Makes the error of a stream that was told to stop.
    #[must_use]
    pub fn aborted() -> Self {
        Self {
            message: "request aborted".to_owned(),
            code: Some("aborted".to_owned()),
            aborted: true,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]

    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_finish_reasons_survive() {
        let reason: FinishReason = serde_json::from_value(json!("pause_turn")).unwrap();
        assert_eq!(reason, FinishReason::Other("pause_turn".to_owned()));
        assert_eq!(serde_json::to_value(reason).unwrap(), json!("pause_turn"));
    }

    #[test]
    fn text_of_parts_leaves_media_out() {
        let content = ModelContent::Parts(vec![
            json!({"type": "text", "content": "see "}),
            json!({"type": "image", "source": {"type": "url", "value": "x"}, "content": "no"}),
            json!({"type": "text", "content": "this"}),
        ]);
        assert_eq!(content.text(), "see this");
    }

    #[test]
    fn unknown_counters_of_usage_survive() {
        let wire =
            json!({"promptTokens": 1, "completionTokens": 2, "totalTokens": 3, "seconds": 4});
        let usage: Usage = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(usage).unwrap(), wire);
    }
}
