//! Access tokens: the gate by raw bytes, verifiers against an authorization server on a port of its
//! own, and the documents that name it.

mod gate;
mod introspection;
pub(crate) mod issuer;
#[cfg(feature = "jwt")]
mod jwt;
mod metadata;
mod steps;

use actix_web::web::ServiceConfig;
use roscius::{
    ports::token_verifier::TokenVerifier,
    prelude::*,
    web,
    wire::{auth::AuthInfo, oauth::OAuthError},
};
use serde_json::{Value, json};

use crate::served::{Head, Served};

pub(crate) const FAR: u64 = 4_102_444_800;
pub(crate) const PRM: &str = "https://mcp.test/.well-known/oauth-protected-resource/mcp";

/// A server that tells who calls.
pub(crate) fn notes(verifier: impl TokenVerifier) -> McpServer {
    let whoami = |caller: Ctx<AuthInfo>| async move {
        Json(json!({
            "client": caller.client_id, "subject": caller.subject,
            "scopes": caller.scopes, "token": caller.token,
        }))
    };
    McpServer::new("notes", "1.0.0")
        .tool(Tool::new("whoami", whoami))
        .auth(verifier)
        .required_scopes(["notes:read"])
        .resource_metadata_url(PRM)
        .build()
        .unwrap()
}

pub(crate) fn mounted(server: &McpServer) -> impl Fn(&mut ServiceConfig) + Clone + Send + 'static {
    let server = server.clone();
    move |config: &mut ServiceConfig| {
        config.configure(web::mcp("/mcp", &server));
    }
}

/// What comes back.
#[derive(Debug)]
pub(crate) struct Answer {
    head: Head,
    body: String,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.head.status
    }

    fn challenge(&self) -> Option<&str> {
        self.head.header("www-authenticate")
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn description(&self) -> String {
        let json = self.json();
        json["error_description"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    fn structured(&self) -> Value {
        assert_eq!(self.status(), 200, "{self:?}");
        self.json()["result"]["structuredContent"]["result"].clone()
    }
}

fn call_body(tool: &str) -> String {
    let params = json!({"name": tool, "arguments": {}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

fn send(served: &Served, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let (head, mut wire) = served.request(method, "/mcp", headers, body);
    let body = wire.body(&head);
    Answer { head, body }
}

fn call(served: &Served, authorization: Option<&str>, tool: &str) -> Answer {
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    headers.extend(authorization.map(|value| ("authorization", value)));
    send(served, "POST", &headers, &call_body(tool))
}

pub(crate) fn bearer(served: &Served, token: &str) -> Answer {
    call(served, Some(&format!("Bearer {token}")), "whoami")
}

/// A verifier that knows a few tokens by heart.
pub(crate) async fn by_heart(token: String) -> Result<AuthInfo, OAuthError> {
    let caller = |scopes: &[&str]| {
        let caller = AuthInfo::new(token.clone(), "client").subject("user");
        caller.scopes(scopes.iter().copied()).expires_at(FAR)
    };
    let read = ["notes:read"];
    match token.as_str() {
        "good" => Ok(caller(&read)),
        "other" => Ok(caller(&read).subject("other")),
        "writer" => Ok(caller(&["notes:read", "notes:write"])),
        "weak" => Ok(caller(&[])),
        "old" => Ok(caller(&read).expires_at(1)),
        "weak-and-old" => Ok(caller(&[]).expires_at(1)),
        "forever" => {
            let mut caller = caller(&read);
            caller.expires_at = None;
            Ok(caller)
        }
        "down" => Err(OAuthError::server_error("The key set could not be read: x")),
        "odd" => Err(OAuthError::new(
            roscius::wire::oauth::OAuthErrorCode::InvalidRequest,
            "odd",
        )),
        _ => Err(OAuthError::invalid_token("The token is not active.")),
    }
}
