//! Questions that a tool puts to somebody, and what comes back.

mod error;
mod sample;

use futures_util::future::LocalBoxFuture;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use self::{
    error::{InputError, InputResponse},
    sample::{SampleRequest, Sampler},
};
use crate::machine::mrtr::MAX_ROUNDS;

/// Answers by the key of their question: `ElicitResult`, `CreateMessageResult` or
/// `ListRootsResult` as MCP defines them.
pub type Answers = IndexMap<String, Value>;

/// Another name of [`Question`], for `ToolError::needs_input(Input::form(..))`.
pub type Input = Question;

/// How often one question is put to a person whose answers do not fit it, while its call waits. A
/// call of 2026 pauses for each answer and has the bound of its rounds.
pub const MAX_TRIES: u32 = MAX_ROUNDS;

/// The key of a question that was asked without one.
pub(crate) const UNKEYED_FORM: &str = "input";
/// The key of a sampling request that was asked without one.
pub(crate) const UNKEYED_SAMPLE: &str = "sample";
/// The key of a roots request that was asked without one.
pub(crate) const UNKEYED_ROOTS: &str = "roots";

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

    pub(crate) const fn default_key(self) -> &'static str {
        match self {
            Self::Form | Self::Url => UNKEYED_FORM,
            Self::Sampling => UNKEYED_SAMPLE,
            Self::Roots => UNKEYED_ROOTS,
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
    /// Names the page of a URL question to clients of 2025-11-25; others have no word for it. One is
    /// made up when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
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
    ///
    /// As the question of an error ([`ToolError::needs_input`](super::ToolError::needs_input)) it
    /// says that the call needs the page first: clients of 2025-11-25 get error -32042 for it, and
    /// call again when the page is done.
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
            elicitation_id: None,
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

    /// Names the page of a URL question, so that its end can be told:
    /// [`ToolCx::elicitation_complete`](super::ToolCx::elicitation_complete) and
    /// [`McpServer::elicitation_complete`](crate::server::McpServer::elicitation_complete).
    #[must_use]
    pub fn elicitation_id(mut self, id: impl Into<String>) -> Self {
        self.elicitation_id = Some(id.into());
        self
    }

    /// Gives the question as it is asked again, with what was wrong with the last answer.
    pub(crate) fn again(&self, wrong: Option<&str>) -> Self {
        let mut question = self.clone();
        let Some(wrong) = wrong else {
            return question;
        };
        if let Some(Value::String(message)) = question.request.get_mut("message") {
            message.push_str("\n\nThe last answer does not fit: ");
            message.push_str(wrong);
        }
        question
    }

    /// Gives the schema that a form's answer fits.
    #[must_use]
    pub fn requested_schema(&self) -> Option<&Value> {
        self.request.get("requestedSchema")
    }
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
