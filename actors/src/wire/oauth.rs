//! Errors as OAuth words them (RFC 6749, RFC 6750, RFC 9728).

use std::fmt;

use serde_json::{Map, Value};

/// An error in the words of OAuth: a code that clients act on, and a sentence for people.
///
/// The description reaches the client, so it names no secret and nothing of the inside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{description}")]
#[non_exhaustive]
pub struct OAuthError {
    /// What went wrong.
    pub code: OAuthErrorCode,
    /// Why.
    pub description: String,
}

impl OAuthError {
    /// Makes an error.
    pub fn new(code: OAuthErrorCode, description: impl Into<String>) -> Self {
        Self {
            code,
            description: description.into(),
        }
    }

    /// Says that the token is no good: 401.
    pub fn invalid_token(description: impl Into<String>) -> Self {
        Self::new(OAuthErrorCode::InvalidToken, description)
    }

    /// Says that the token does not allow this: 403.
    pub fn insufficient_scope(description: impl Into<String>) -> Self {
        Self::new(OAuthErrorCode::InsufficientScope, description)
    }

    /// Says that the token could not be checked: 500.
    pub fn server_error(description: impl Into<String>) -> Self {
        Self::new(OAuthErrorCode::ServerError, description)
    }

    /// Gives the JSON body: `error` and `error_description`.
    #[must_use]
    pub fn body(&self) -> String {
        let mut body = Map::new();
        body.insert("error".to_owned(), Value::from(self.code.as_str()));
        body.insert(
            "error_description".to_owned(),
            Value::from(self.description.as_str()),
        );
        Value::Object(body).to_string()
    }
}

/// The code of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OAuthErrorCode {
    /// `invalid_request`
    InvalidRequest,
    /// `invalid_client`
    InvalidClient,
    /// `invalid_grant`
    InvalidGrant,
    /// `unauthorized_client`
    UnauthorizedClient,
    /// `unsupported_grant_type`
    UnsupportedGrantType,
    /// `invalid_scope`
    InvalidScope,
    /// `invalid_target`
    InvalidTarget,
    /// `access_denied`
    AccessDenied,
    /// `server_error`
    ServerError,
    /// `temporarily_unavailable`
    TemporarilyUnavailable,
    /// `invalid_token`
    InvalidToken,
    /// `insufficient_scope`
    InsufficientScope,
    /// `method_not_allowed`
    MethodNotAllowed,
    /// `too_many_requests`
    TooManyRequests,
    /// Any other.
    Other(String),
}

impl OAuthErrorCode {
    /// Gives the code as it is on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::InvalidScope => "invalid_scope",
            Self::InvalidTarget => "invalid_target",
            Self::AccessDenied => "access_denied",
            Self::ServerError => "server_error",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
            Self::InvalidToken => "invalid_token",
            Self::InsufficientScope => "insufficient_scope",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::TooManyRequests => "too_many_requests",
            Self::Other(code) => code,
        }
    }
}

impl fmt::Display for OAuthErrorCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}
