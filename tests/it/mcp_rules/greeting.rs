//! `initialize` of 2025: what it has to hold, and what a session is. Rules L-1 and L-14.

use std::collections::HashSet;

use roscius::prelude::*;
use serde_json::{Value, json};

use super::params::exchange;
use crate::mcp_server::host::{Ask, Reply, Served};

fn server(sessions: Sessions) -> McpServer {
    McpServer::new("greeting", "1.0.0")
        .sessions(sessions)
        .tool(Tool::new("hi", || async { "hi" }))
        .build()
        .unwrap()
}

fn greet(served: &Served, params: &Value) -> Reply {
    let body = json!({"jsonrpc": "2.0", "id": "g", "method": "initialize", "params": params});
    exchange(served, &Ask::post(body.to_string()))
}

/// L-1: only the version is needed; the rest may be missing or odd, and then nothing is declared.
#[test]
fn a_greeting_needs_a_version_and_nothing_else() {
    for sessions in [Sessions::Stateless, Sessions::Memory] {
        let served = Served::new(&server(sessions));
        for params in [
            json!({"protocolVersion": "2025-11-25"}),
            json!({"protocolVersion": "2025-11-25", "capabilities": {}}),
            json!({"protocolVersion": "2025-11-25", "capabilities": null, "clientInfo": null}),
            json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": 5, "later": []}}),
            json!({"protocolVersion": "2025-11-25", "clientInfo": {"name": "ü", "icons": []}}),
        ] {
            let reply = greet(&served, &params);
            assert_eq!(reply.status, 200, "{params}: {reply:?}");
            let message = reply.json();
            assert_eq!(message["id"], "g");
            assert_eq!(message["result"]["protocolVersion"], "2025-11-25");
            let kept = reply.header("mcp-session-id").is_some();
            assert_eq!(kept, sessions == Sessions::Memory);
        }
        for params in [
            json!({}),
            json!({"protocolVersion": null}),
            json!({"protocolVersion": 5}),
            json!({"protocolVersion": ["2025-11-25"]}),
        ] {
            let reply = greet(&served, &params);
            assert_eq!(reply.error_code(), -32602, "{params}");
            assert_eq!(reply.json()["id"], "g");
            assert_eq!(reply.header("mcp-session-id"), None);
        }
    }
}

/// L-2: a greeting without an id is no request: nothing is opened and nothing is answered.
#[test]
fn a_greeting_without_an_id_opens_nothing() {
    let server = server(Sessions::Memory);
    let served = Served::new(&server);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    let body = json!({"jsonrpc": "2.0", "method": "initialize", "params": params});
    let reply = exchange(&served, &Ask::post(body.to_string()));
    assert!(!reply.body.contains("result"), "{reply:?}");
    assert_eq!(reply.header("mcp-session-id"), None);
    assert_eq!(server.open_sessions(), 0);
}

/// L-14: an id is visible ASCII, drawn by chance and never twice.
#[test]
fn the_id_of_a_session_is_drawn_by_chance() {
    let served = Served::new(&server(Sessions::Memory));
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    let ids: HashSet<String> = (0..64)
        .map(|_| {
            greet(&served, &params)
                .header("mcp-session-id")
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(ids.len(), 64);
    for id in &ids {
        assert!(id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{id}");
        // A UUID of random bits says so in its fifteenth character.
        assert_eq!(id.as_bytes().get(14), Some(&b'4'), "{id}");
    }
    // No two have their first bits in common, as ids that count or tell the time would.
    let starts: HashSet<&str> = ids.iter().map(|id| &id[..8]).collect();
    assert_eq!(starts.len(), 64);
}

/// 3.3: a page of an allowed origin may send every header of the protocol and read what it needs.
#[test]
fn a_page_may_send_and_read_every_header_of_the_protocol() {
    let limit = roscius::server::RateLimit::new(1, std::time::Duration::from_secs(60));
    let server = McpServer::new("pages", "1").rate_limit(limit);
    let routes = roscius::web::McpRoutes::new("/mcp", &server.build().unwrap());
    let page = "https://app.test";
    let served = Served::with(routes.allow_origins([page]).routes());
    let preflight = Ask::new("OPTIONS")
        .header("origin", page)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "mcp-param-region");
    let preflight = exchange(&served, &preflight);
    assert_eq!((preflight.status, preflight.body.as_str()), (204, ""));
    let headers = preflight.header("access-control-allow-headers").unwrap();
    for name in [
        "authorization",
        "content-type",
        "accept",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-session-id",
        "last-event-id",
        // Any `Mcp-Param-*`.
        "*",
    ] {
        assert!(
            headers.split(", ").any(|header| header == name),
            "{name}: {headers}"
        );
    }
    let methods = preflight.header("access-control-allow-methods").unwrap();
    for method in ["GET", "POST", "DELETE"] {
        assert!(methods.contains(method), "{methods}");
    }
    let list = Ask::modern("tools/list", json!({})).header("origin", page);
    exchange(&served, &list);
    let refused = exchange(&served, &list);
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").is_some());
    let exposed = refused.header("access-control-expose-headers").unwrap();
    for name in ["mcp-session-id", "retry-after"] {
        assert!(
            exposed.split(", ").any(|header| header == name),
            "{exposed}"
        );
    }
}
