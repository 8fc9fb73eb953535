//! What a caller's token has to allow.

use super::Tool;

/// Scopes.
impl Tool {
    /// Names the scopes that a call needs, besides those that the server asks of every request. A
    /// caller without them gets a challenge (403) that names them all. Only MCP servers look at it.
    #[must_use]
    pub fn required_scopes<S: Into<String>>(self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.with(|tool| tool.scopes = scopes.into_iter().map(Into::into).collect())
    }

    /// Gives the scopes that a call needs.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.0.scopes
    }
}
