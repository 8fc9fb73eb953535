//! The gate of a server that wants access tokens: what a header says, and what is answered to a
//! token that is missing, bad, late or too weak.
//!
//! The answers are those of RFC 6750 and of the MCP authorization spec. A request without any token
//! gets `error="invalid_token"` too: clients read it.

use crate::wire::{
    auth::AuthInfo,
    oauth::{OAuthError, OAuthErrorCode},
};

#[cfg(test)]
#[path = "bearer_tests.rs"]
mod tests;

/// The longest token that is looked at. Tokens with many group claims reach some kilobytes.
pub const MAX_TOKEN_BYTES: usize = 16 * 1024;

const MISSING: &str = "Missing Authorization header";
const MALFORMED: &str = "Invalid Authorization header format, expected 'Bearer TOKEN'";
const TOO_LONG: &str = "The token is too long";
const NO_EXPIRY: &str = "Token has no expiration time";
const EXPIRED: &str = "Token has expired";
const TOO_WEAK: &str = "Insufficient scope";

/// Decides which callers come in, and words what the others are told.
#[derive(Clone, Debug, Default)]
pub struct BearerGate {
    scopes: Vec<String>,
    resource_metadata: Option<String>,
    leeway_seconds: u64,
}

/// What a caller who does not come in is told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denial {
    /// The HTTP status.
    pub status: u16,
    /// The value of `WWW-Authenticate`, on 401 and 403.
    pub challenge: Option<String>,
    /// The JSON body.
    pub body: String,
}

impl BearerGate {
    /// Makes a gate that lets every valid token in.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds scopes that every request needs.
    #[must_use]
    pub fn required_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        for scope in scopes {
            push_new(&mut self.scopes, scope.into());
        }
        self
    }

    /// Says where the metadata of the protected resource is, for the challenge.
    #[must_use]
    pub fn resource_metadata(mut self, url: impl Into<String>) -> Self {
        self.resource_metadata = Some(url.into());
        self
    }

    /// Takes tokens for some seconds after they have expired.
    #[must_use]
    pub const fn leeway_seconds(mut self, seconds: u64) -> Self {
        self.leeway_seconds = seconds;
        self
    }

    /// Reads the token of an `Authorization` header. The scheme's case does not count.
    ///
    /// # Errors
    /// 401 for a header that is missing or says something else.
    pub fn token<'h>(&self, authorization: Option<&'h [u8]>) -> Result<&'h str, Denial> {
        let refuse = |why: &str| Err(self.deny(&OAuthError::invalid_token(why)));
        let header = authorization.map(<[u8]>::trim_ascii).unwrap_or_default();
        if header.is_empty() {
            return refuse(MISSING);
        }
        let Some((scheme, token)) = std::str::from_utf8(header)
            .ok()
            .and_then(|header| header.split_once(' '))
        else {
            return refuse(MALFORMED);
        };
        let token = token.trim_start_matches(' ');
        let readable = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        if !scheme.eq_ignore_ascii_case("bearer") || !readable {
            return refuse(MALFORMED);
        }
        if token.len() > MAX_TOKEN_BYTES {
            return refuse(TOO_LONG);
        }
        Ok(token)
    }

    /// Looks at a verified caller: scopes first, then expiry. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// 403 without a required scope, 401 for a token that has expired or never does.
    pub fn admit(&self, caller: &AuthInfo, now: u64) -> Result<(), Denial> {
        if !covers(caller, &self.scopes) {
            return Err(self.deny(&OAuthError::insufficient_scope(TOO_WEAK)));
        }
        let Some(expires_at) = caller.expires_at else {
            return Err(self.deny(&OAuthError::invalid_token(NO_EXPIRY)));
        };
        if expires_at.saturating_add(self.leeway_seconds) < now {
            return Err(self.deny(&OAuthError::invalid_token(EXPIRED)));
        }
        Ok(())
    }

    /// Looks at a caller before something that needs more scopes. The challenge names every scope
    /// that the caller needs for it, so that one more authorization is enough.
    ///
    /// # Errors
    /// 403 without one of the scopes, 401 when nobody is known.
    pub fn step_up(&self, caller: Option<&AuthInfo>, scopes: &[String]) -> Result<(), Denial> {
        let Some(caller) = caller else {
            return Err(self.denial(&OAuthError::invalid_token(MISSING), scopes));
        };
        if covers(caller, scopes) {
            return Ok(());
        }
        Err(self.denial(&OAuthError::insufficient_scope(TOO_WEAK), scopes))
    }

    /// Words the answer to an error of the verifier.
    #[must_use]
    pub fn deny(&self, error: &OAuthError) -> Denial {
        self.denial(error, &[])
    }

    fn denial(&self, error: &OAuthError, more_scopes: &[String]) -> Denial {
        let status = match error.code {
            OAuthErrorCode::InvalidToken => 401,
            OAuthErrorCode::InsufficientScope => 403,
            OAuthErrorCode::ServerError => 500,
            _ => 400,
        };
        Denial {
            status,
            challenge: matches!(status, 401 | 403).then(|| self.challenge(error, more_scopes)),
            body: error.body(),
        }
    }

    fn challenge(&self, error: &OAuthError, more_scopes: &[String]) -> String {
        let mut out = String::from("Bearer");
        push_param(&mut out, "error", error.code.as_str());
        push_param(&mut out, "error_description", &error.description);
        let mut scopes = self.scopes.clone();
        for scope in more_scopes {
            push_new(&mut scopes, scope.clone());
        }
        if !scopes.is_empty() {
            push_param(&mut out, "scope", &scopes.join(" "));
        }
        if let Some(url) = &self.resource_metadata {
            push_param(&mut out, "resource_metadata", url);
        }
        out
    }
}

fn covers(caller: &AuthInfo, scopes: &[String]) -> bool {
    scopes.iter().all(|scope| caller.scopes.contains(scope))
}

fn push_new(scopes: &mut Vec<String>, scope: String) {
    if !scopes.contains(&scope) {
        scopes.push(scope);
    }
}

/// Appends one parameter as a quoted string; what cannot stand in a header becomes a blank.
fn push_param(out: &mut String, name: &str, value: &str) {
    out.push_str(if out.ends_with('"') { ", " } else { " " });
    out.push_str(name);
    out.push_str("=\"");
    for character in value.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            ' '..='~' => out.push(character),
            _ => out.push(' '),
        }
    }
    out.push('"');
}
