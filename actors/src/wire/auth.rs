//! Who calls: what a verified access token says.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ids::Owner;

/// A verified caller. The token itself is kept out of logs.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AuthInfo {
    /// The access token as it came.
    pub token: String,
    /// The client that the token was given to.
    pub client_id: String,
    /// What the token allows.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// When the token ends, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// The `sub` claim: the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// What the token is meant for: its first audience, if that is a URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// All claims.
    #[serde(default)]
    pub extra: Map<String, Value>,
}

impl AuthInfo {
    /// Makes a caller from a token and the client it belongs to.
    pub fn new(token: impl Into<String>, client_id: impl Into<String>) -> Self {
        Self {
            token: token.into(),
            client_id: client_id.into(),
            scopes: Vec::new(),
            expires_at: None,
            subject: None,
            resource: None,
            extra: Map::new(),
        }
    }

    /// Names the user.
    #[must_use]
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Says what the token allows.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Says when the token ends, in seconds since 1970. The gate of a server refuses a token that
    /// never does.
    #[must_use]
    pub const fn expires_at(mut self, seconds: u64) -> Self {
        self.expires_at = Some(seconds);
        self
    }

    /// Gives the owner of what this caller makes: client id and subject together.
    #[must_use]
    pub fn owner(&self) -> Owner {
        let key = Value::from(vec![
            Value::from(self.client_id.as_str()),
            Value::from(self.subject.as_deref()),
        ]);
        Owner::new(key.to_string())
    }
}

impl fmt::Debug for AuthInfo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("AuthInfo")
            .field("client_id", &self.client_id)
            .field("subject", &self.subject)
            .field("scopes", &self.scopes)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}
