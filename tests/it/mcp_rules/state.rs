//! 2026: each request stands for itself, whatever came before it on its connection.

use roscius::prelude::*;
use serde_json::{Value, json};

use crate::mcp_server::host::{Ask, Reply, Served, Wire};

fn server() -> McpServer {
    McpServer::new("state", "1.0.0")
        .sessions(Sessions::Memory)
        .tool(Tool::new("ask", |cx: ToolCx| async move {
            Ok::<_, ToolError>(cx.request_input("Which city?").await?)
        }))
        .tool(Tool::new("report", |cx: ToolCx| async move {
            cx.progress(1.0, None, None);
            "done"
        }))
        .build()
        .unwrap()
}

fn on(wire: &mut Wire, served: &Served, ask: &Ask) -> Reply {
    wire.send(&ask.bytes(served.addr));
    wire.reply()
}

/// B-8: what one request declares is not known to the next one of its connection.
#[test]
fn what_one_request_declares_the_next_one_has_not() {
    let served = Served::new(&server());
    let mut wire = Wire::open(served.addr);
    let call = json!({"name": "ask", "arguments": {}});
    let able = Ask::modern("tools/call", call.clone());
    let unable = Ask::modern_as(json!({}), "tools/call", call);
    for _ in 0..2 {
        let asked = on(&mut wire, &served, &able);
        assert_eq!(asked.json()["result"]["resultType"], "input_required");
        let refused = on(&mut wire, &served, &unable);
        assert_eq!((refused.status, refused.error_code()), (400, -32021));
    }
    // A version that was served is asked for again with every request, too.
    let list = Ask::modern("tools/list", json!({}));
    assert_eq!(on(&mut wire, &served, &list).status, 200);
    let silent = on(&mut wire, &served, &list.without("mcp-protocol-version"));
    assert_eq!(silent.error_code(), -32020);
}

/// 1.1, SH-10: a request of 2026 belongs to no session and comes back to no stream; what says
/// otherwise is ignored, and its answer names neither.
#[test]
fn a_request_of_2026_knows_nothing_of_sessions_and_events() {
    let served = Served::new(&server());
    let greeting = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting});
    let opened = Ask::post(body.to_string()).send(&served);
    let known = opened.header("mcp-session-id").unwrap().to_owned();
    for session in [known.as_str(), "nonsense", ""] {
        let list = Ask::modern("tools/list", json!({}))
            .header("mcp-session-id", session)
            .header("last-event-id", "0-0")
            .send(&served);
        assert_eq!((list.status, list.header("mcp-session-id")), (200, None));
        let params = json!({"name": "report", "arguments": {}, "_meta": {"progressToken": "p"}});
        let report = Ask::modern("tools/call", params)
            .header("mcp-session-id", session)
            .header("last-event-id", "1-0")
            .send(&served);
        assert_eq!(report.header("mcp-session-id"), None);
        assert_eq!(report.events().len(), 2);
        let fields = |line: &str| line.starts_with("id:") || line.starts_with("retry:");
        assert!(!report.body.lines().any(fields), "{}", report.body);
        // The question of a request of 2026 is never put to the session.
        let asked = Ask::modern("tools/call", json!({"name": "ask"}))
            .header("mcp-session-id", session)
            .send(&served);
        assert_eq!(asked.json()["result"]["resultType"], "input_required");
    }
}

/// 9, B-9: lists are the same whoever asked for what before, and on every connection.
#[test]
fn lists_do_not_depend_on_what_was_asked_before() {
    let served = Served::new(&server());
    let list = Ask::modern("tools/list", json!({}));
    let fresh = list.send(&served).body;
    let mut wire = Wire::open(served.addr);
    for method in ["server/discover", "tools/list", "no/such", "tools/list"] {
        let reply = on(&mut wire, &served, &Ask::modern(method, json!({})));
        if method == "tools/list" {
            assert_eq!(reply.body, fresh);
        }
    }
    assert_eq!(on(&mut wire, &served, &list).body, fresh);
}

/// A method that HTTP has and MCP has not is refused, and a client that asks for the head alone gets
/// no body.
#[test]
fn a_head_alone_is_refused_without_a_body() {
    let served = Served::new(&server());
    let mut wire = Wire::open(served.addr);
    wire.send(&format!(
        "HEAD /mcp HTTP/1.1\r\nhost: {}\r\n\r\n",
        served.addr
    ));
    assert_eq!(wire.line(), "HTTP/1.1 405 Method Not Allowed");
    let mut head = Vec::new();
    loop {
        let line = wire.line();
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    assert!(
        head.iter().any(|line| line == "allow: GET, POST, DELETE"),
        "{head:?}"
    );
    // The connection serves on: no byte of a body stands in the way.
    let list = on(&mut wire, &served, &Ask::modern("tools/list", json!({})));
    assert!(matches!(list.json()["result"]["tools"], Value::Array(_)));
}
