//! What comes back instead of an answer.

use std::borrow::Cow;

use serde_json::Value;

use crate::machine::form::FormError;

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
    /// What came is no answer to such a question, or no answer fitted although the question was
    /// asked [`MAX_TRIES`](super::MAX_TRIES) times.
    #[error("the answer to `{key}` does not fit: {reason}")]
    Invalid {
        /// The question.
        key: String,
        /// Place and reason.
        reason: String,
    },
    /// The type of the form that was asked for cannot be one: [`Tool::asks`](super::super::Tool::asks)
    /// finds that when the server is built.
    #[error("a question cannot be asked: {0}")]
    Form(#[from] FormError),
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
