//! Questions that a tool puts to somebody, and what comes back.

use std::borrow::Cow;

use futures_util::future::LocalBoxFuture;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::ToolError;

/// Answers by the key of their question: `ElicitResult`, `CreateMessageResult` or
/// `ListRootsResult` as MCP defines them.
pub type Answers = IndexMap<String, Value>;

/// Another name of [`Question`], for `ToolError::needs_input(Input::form(..))`.
pub type Input = Question;

/// The key of a question that was asked without one.
pub(crate) const UNKEYED_FORM: &str = "input";
/// The key of a sampling request that was asked without one.
pub(crate) const UNKEYED_SAMPLE: &str = "sample";
/// The key of a roots request that was asked without one.
pub(crate) const UNKEYED_ROOTS: &str = "roots";
/// Tokens that a sampling request allows unless it says otherwise.
const DEFAULT_MAX_TOKENS: u32 = 1024;

/// The kinds of question that MCP knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum QuestionKind {
    /// A form for a person.
    Form,
    /// A page that a person opens.
    Url,
    /// A completion by the client's model.
    Sampling,
    /// The folders that the client opens to the server.
    Roots,
}

impl QuestionKind {
    /// Gives the MCP method of the question.
    #[must_use]
    pub const fn method(self) -> &'static str {
        match self {
            Self::Form | Self::Url => "elicitation/create",
            Self::Sampling => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    /// Gives the client capabilities that the question needs, as MCP writes them.
    #[must_use]
    pub fn required_capabilities(self) -> Value {
        match self {
            Self::Form => json!({"elicitation": {"form": {}}}),
            Self::Url => json!({"elicitation": {"url": {}}}),
            Self::Sampling => json!({"sampling": {}}),
            Self::Roots => json!({"roots": {}}),
        }
    }
}

/// One question of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Question {
    /// Tells the questions of one call apart. Set on every question that reaches a host.
    pub key: Option<String>,
    /// What is asked for.
    pub kind: QuestionKind,
    /// The MCP params: for a form `{message, mode: "form", requestedSchema}`; null for roots.
    pub request: Value,
    /// Why a chat shows the question; `mcp_input` when there is none.
    pub reason: Option<String>,
}

impl Question {
    /// Asks a person to fill in a form: a flat object schema of strings, numbers, booleans, enums.
    pub fn form(message: impl Into<String>, mut schema: Value) -> Self {
        // MCP requires the member, even of a form without fields.
        if let Value::Object(members) = &mut schema {
            members.entry("properties").or_insert_with(|| json!({}));
        }
        Self::new(
            QuestionKind::Form,
            json!({"message": message.into(), "mode": "form", "requestedSchema": schema}),
        )
    }

    /// Asks a person for one text: a form `{value: string}`.
    pub fn text(message: impl Into<String>) -> Self {
        Self::form(
            message,
            json!({"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}),
        )
    }

    /// Asks a person to open a page. Acceptance is consent, the page reports by itself.
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new(
            QuestionKind::Url,
            json!({"message": message.into(), "mode": "url", "url": url.into()}),
        )
    }

    /// Asks the client's model.
    pub fn sampling(request: impl Into<SampleRequest>) -> Self {
        let request = request.into();
        let mut question = Self::new(QuestionKind::Sampling, request.to_params());
        question.key = request.key;
        question
    }

    /// Asks which folders the client opens.
    #[must_use]
    pub fn roots() -> Self {
        Self::new(QuestionKind::Roots, Value::Null)
    }

    /// A question that only stands for its kind.
    pub(crate) const fn of_kind(kind: QuestionKind) -> Self {
        Self::new(kind, Value::Null)
    }

    const fn new(kind: QuestionKind, request: Value) -> Self {
        Self {
            key: None,
            kind,
            request,
            reason: None,
        }
    }

    /// Names the question, so that a call can ask several.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Says why a chat shows the question, for example `auth_required`.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Gives the schema that a form's answer fits.
    #[must_use]
    pub fn requested_schema(&self) -> Option<&Value> {
        self.request.get("requestedSchema")
    }

    pub(crate) const fn default_key(&self) -> &'static str {
        match self.kind {
            QuestionKind::Form | QuestionKind::Url => UNKEYED_FORM,
            QuestionKind::Sampling => UNKEYED_SAMPLE,
            QuestionKind::Roots => UNKEYED_ROOTS,
        }
    }
}

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

/// Decides about the questions of a call, and may answer them while the call waits.
pub trait Asker: Send + Sync + 'static {
    /// Decides whether the question may be asked at all.
    ///
    /// # Errors
    /// [`InputError::MissingCapability`] when the client has not said that it can answer.
    fn admit(&self, question: &Question) -> Result<(), InputError> {
        let _ = question;
        Ok(())
    }

    /// Asks and waits for the raw answer. `None` means that the call has to pause.
    fn ask(
        &self,
        question: &Question,
    ) -> Option<LocalBoxFuture<'static, Result<Value, InputError>>> {
        let _ = question;
        None
    }
}

/// How a chat answered the question of an own tool.
#[derive(Clone, Debug, PartialEq)]
pub enum InputResponse {
    /// With this payload.
    Resolved(Value),
    /// Not at all: the user cancelled.
    Cancelled,
}

/// Why a question has no answer (yet).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The question is open: the call pauses when the tool returns an error now.
    #[error("the call waits for an answer")]
    Paused,
    /// The user declined or cancelled. The text is fixed by the recorded wire.
    #[error("The user did not accept the input request.")]
    NotAccepted,
    /// Nobody can be asked here.
    #[error("{0}")]
    Unavailable(Cow<'static, str>),
    /// The client has not declared that it can answer.
    #[error("the client does not declare the capability that the question `{key}` needs")]
    MissingCapability {
        /// The question.
        key: String,
        /// `ClientCapabilities`, for example `{"sampling": {}}`.
        required: Value,
    },
    /// The answer does not fit the question.
    #[error("the answer to `{key}` does not fit: {reason}")]
    Invalid {
        /// The question.
        key: String,
        /// Place and reason.
        reason: String,
    },
    /// The call was cancelled while it waited.
    #[error("the call was cancelled")]
    Cancelled,
}

impl InputError {
    /// Tells whether the call pauses.
    #[must_use]
    pub const fn is_pause(&self) -> bool {
        matches!(self, Self::Paused)
    }

    /// Tells whether the user refused.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::NotAccepted)
    }
}
