//! What operators of a server bound and hear of: over HTTP, in sessions, in arrays and on pipes.

mod audit;
mod egress;
#[cfg(feature = "metrics")]
mod metrics;
mod rate;
mod task_audit;

use roscius::{
    prelude::*,
    web::{self, McpRoutes},
    wire::auth::AuthInfo,
};
use serde_json::{Value, json};

use crate::served::{Head, Served};

const LEGACY: &str = "2025-06-18";
const MODERN: &str = "2026-07-28";

/// What comes back.
#[derive(Debug)]
struct Answer {
    head: Head,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A request of 2025.
fn legacy(id: i64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A request of 2026.
fn modern(id: i64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    legacy(id, method, params)
}

/// The headers that a client of 2026 sends with a message.
fn mirrored(message: &Value) -> Vec<(String, String)> {
    let params = &message["params"];
    let name = params["name"].as_str().or(params["uri"].as_str());
    let mut headers = vec![
        ("mcp-protocol-version".to_owned(), MODERN.to_owned()),
        (
            "mcp-method".to_owned(),
            message["method"].as_str().unwrap_or_default().to_owned(),
        ),
    ];
    headers.extend(name.map(|name| ("mcp-name".to_owned(), name.to_owned())));
    headers
}

/// Posts a message with the headers of its era, and more.
fn post(served: &Served, message: &Value, more: &[(&str, &str)]) -> Answer {
    let is_modern = message["params"]["_meta"].is_object();
    let own = if is_modern {
        mirrored(message)
    } else {
        Vec::new()
    };
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    headers.extend(own.iter().map(|(name, value)| (&**name, &**value)));
    let names_version = |(name, _): &(&str, &str)| *name == "mcp-protocol-version";
    if !is_modern && !more.iter().any(names_version) {
        headers.push(("mcp-protocol-version", LEGACY));
    }
    headers.extend(more);
    send(served, "POST", &headers, &message.to_string())
}

fn send(served: &Served, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let (head, mut wire) = served.request(method, "/mcp", headers, body);
    let body = wire.body(&head);
    Answer { head, body }
}

fn serve(server: &McpServer) -> Served {
    let server = server.clone();
    Served::start(move |config| {
        config.configure(web::mcp("/mcp", &server));
    })
}

/// Serves an application that knows its callers by the header `x-user`.
fn serve_known(server: &McpServer) -> Served {
    let routes = McpRoutes::new("/mcp", server).authorize(|request| async move {
        let user = request.headers().get("x-user");
        let user = user.and_then(|user| user.to_str().ok());
        let known = |user| AuthInfo::new("secret-token", "app").subject(user);
        Ok(user.map_or(Options::new(), |user| Options::new().auth_info(known(user))))
    });
    Served::start(move |config| {
        config.service(routes.clone());
    })
}
