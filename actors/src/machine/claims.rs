//! What the claims of an access token have to say, and what they say about the caller.
//!
//! The same rules hold for the claims of a JWT and for the answer of an introspection endpoint.

use serde_json::{Map, Value};

use crate::wire::{auth::AuthInfo, oauth::OAuthError};

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;

/// Which claims name the client unless configured, the first that is there.
pub const CLIENT_ID_CLAIMS: [&str; 3] = ["client_id", "azp", "sub"];

/// What the claims of a token have to say.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ClaimRules {
    /// The token comes from one of these; empty: from anybody. Compared as strings.
    pub issuers: Vec<String>,
    /// The token is meant for one of these; empty: for anybody.
    pub audiences: Vec<String>,
    /// `exp` has to be there.
    pub expires: bool,
    /// How far clocks may differ, in seconds.
    pub leeway_seconds: u64,
}

impl ClaimRules {
    /// Checks claims. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// `invalid_token` with the claim that is wrong.
    pub fn check(&self, claims: &Map<String, Value>, now: u64) -> Result<(), OAuthError> {
        if !self.issuers.is_empty() {
            // RFC 7519 makes `iss` one string; a list is not a weaker form of it.
            let issuer = claims.get("iss").and_then(Value::as_str);
            let Some(issuer) = issuer else {
                return Err(missing("iss"));
            };
            if !self.issuers.iter().any(|known| known == issuer) {
                return Err(wrong("The token comes from another issuer."));
            }
        }
        if !self.audiences.is_empty() {
            let audience = claims.get("aud").map(strings).unwrap_or_default();
            if audience.is_empty() {
                return Err(missing("aud"));
            }
            if !audience
                .iter()
                .any(|one| self.audiences.iter().any(|known| known == one))
            {
                return Err(wrong("The token is meant for another audience."));
            }
        }
        self.check_time(claims, now)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "seconds since 1970 are exact in a float for millions of years"
    )]
    fn check_time(&self, claims: &Map<String, Value>, now: u64) -> Result<(), OAuthError> {
        let (now, leeway) = (now as f64, self.leeway_seconds as f64);
        match date(claims, "exp")? {
            None if self.expires => return Err(missing("exp")),
            Some(expires) if expires + leeway <= now => return Err(wrong("Token has expired")),
            _ => {}
        }
        match date(claims, "nbf")? {
            Some(begins) if begins > now + leeway => Err(wrong("The token is not valid yet.")),
            _ => Ok(()),
        }
    }
}

/// Reads the caller out of claims that have been checked. `client_id_claims` are tried in order.
///
/// # Errors
/// `invalid_token` when no claim names the client.
pub fn caller(
    token: String,
    claims: Map<String, Value>,
    client_id_claims: &[String],
) -> Result<AuthInfo, OAuthError> {
    let text = |name: &str| {
        let value = claims.get(name).and_then(Value::as_str);
        value.filter(|value| !value.is_empty())
    };
    let Some(client_id) = client_id_claims.iter().find_map(|name| text(name)) else {
        return Err(wrong(&no_client(client_id_claims)));
    };
    let mut caller = AuthInfo::new(token, client_id).scopes(scopes(&claims));
    caller.subject = text("sub").map(ToOwned::to_owned);
    caller.expires_at = date(&claims, "exp")?.map(whole_seconds);
    let first_audience = claims.get("aud").map(strings).unwrap_or_default();
    let resource = first_audience.first().filter(|one| one.contains("://"));
    caller.resource = resource.map(|one| (*one).to_owned());
    caller.extra = claims;
    Ok(caller)
}

/// Gives the scopes of `scope` and `scp`, each a string with blanks or a list, without repeats.
#[must_use]
pub fn scopes(claims: &Map<String, Value>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for claim in ["scope", "scp"] {
        let listed = claims.get(claim).map(strings).unwrap_or_default();
        for scope in listed.iter().flat_map(|text| text.split_whitespace()) {
            if !found.iter().any(|known| known == scope) {
                found.push(scope.to_owned());
            }
        }
    }
    found
}

/// Gives a string, or the strings of a list.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Reads a date: a number of seconds since 1970, which may have a fraction.
fn date(claims: &Map<String, Value>, name: &str) -> Result<Option<f64>, OAuthError> {
    match claims.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) if number.as_f64().is_some() => Ok(number.as_f64()),
        Some(_) => Err(wrong(&format!("The {name} claim of the token is no date."))),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest integer that there is"
)]
fn whole_seconds(date: f64) -> u64 {
    date as u64
}

fn missing(claim: &str) -> OAuthError {
    wrong(&format!("The token has no {claim} claim."))
}

fn wrong(description: &str) -> OAuthError {
    OAuthError::invalid_token(description)
}

fn no_client(claims: &[String]) -> String {
    let names = match claims {
        [] => String::from("client"),
        [one] => one.clone(),
        [first, second] => format!("{first} or {second}"),
        [others @ .., last] => format!("{}, or {last}", others.join(", ")),
    };
    format!("The token has no {names} claim.")
}
