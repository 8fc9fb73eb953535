//! What a tool asks a model, and who answers inside the process.

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::tool::ToolError;

/// Tokens that a sampling request allows unless it says otherwise.
const DEFAULT_MAX_TOKENS: u32 = 1024;

/// What a tool asks a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SampleRequest {
    /// Tells several questions of one call apart.
    pub key: Option<String>,
    /// MCP sampling messages: `{role, content}`.
    pub messages: Vec<Value>,
    /// Upper bound of the answer in tokens; 1024 by default.
    pub max_tokens: u32,
    /// Instructions to the model.
    pub system_prompt: Option<String>,
    /// Other params of `sampling/createMessage`.
    pub extra: Map<String, Value>,
}

impl SampleRequest {
    /// Makes a request of one user text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            key: None,
            messages: vec![
                json!({"role": "user", "content": {"type": "text", "text": text.into()}}),
            ],
            max_tokens: DEFAULT_MAX_TOKENS,
            system_prompt: None,
            extra: Map::new(),
        }
    }

    /// Names the question.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Bounds the answer.
    #[must_use]
    pub const fn max_tokens(mut self, max_tokens: u32) -> Self {
        self.max_tokens = max_tokens;
        self
    }

    /// Instructs the model.
    #[must_use]
    pub fn system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// Gives the params of `sampling/createMessage`.
    #[must_use]
    pub fn to_params(&self) -> Value {
        let mut params = Map::new();
        params.insert("messages".to_owned(), Value::from(self.messages.clone()));
        params.insert("maxTokens".to_owned(), Value::from(self.max_tokens));
        if let Some(prompt) = &self.system_prompt {
            params.insert("systemPrompt".to_owned(), Value::from(prompt.as_str()));
        }
        params.extend(self.extra.clone());
        Value::Object(params)
    }

    /// Joins the texts of the messages, for a sampler that reads plain text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut joined = String::new();
        for message in &self.messages {
            let Some(text) = message.pointer("/content/text").and_then(Value::as_str) else {
                continue;
            };
            if !joined.is_empty() {
                joined.push('\n');
            }
            joined.push_str(text);
        }
        joined
    }
}

impl From<&str> for SampleRequest {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for SampleRequest {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// Answers the sampling requests of tools inside the process, instead of asking a client.
pub trait Sampler: Send + Sync + 'static {
    /// Gives the model's text.
    ///
    /// # Errors
    /// [`ToolError`] when there is no answer; the tool sees it.
    fn sample(
        &self,
        request: SampleRequest,
        cancel: CancellationToken,
    ) -> LocalBoxFuture<'static, Result<String, ToolError>>;
}
