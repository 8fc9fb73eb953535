//! The 2025 versions without sessions.

use roscius::{prelude::*, server::Sessions};
use serde_json::{Value, json};

use super::host::{Ask, Served};

fn server() -> McpServer {
    builder().build().unwrap()
}

fn builder() -> roscius::server::McpServerBuilder {
    McpServer::new("legacy", "1.0.0")
        .instructions("Be brief.")
        .tool(Tool::new("hi", || async { "hi" }))
        .tool(Tool::new("ask", |cx: ToolCx| async move {
            Ok::<_, ToolError>(cx.request_input("Which city?").await?)
        }))
        .tool(Tool::new("sample", |cx: ToolCx| async move {
            Ok::<_, ToolError>(cx.sample("Summarize").await?)
        }))
}

fn initialize(version: &str) -> Ask {
    let params = json!({"protocolVersion": version, "capabilities": {"elicitation": {}}, "clientInfo": {"name": "c", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    Ask::post(body.to_string())
}

// G17
#[test]
fn the_asked_version_is_echoed_if_it_is_known() {
    let served = Served::new(&server());
    for (asked, answered) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("1999-01-01", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
    ] {
        let reply = initialize(asked).send(&served);
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("mcp-session-id"), None);
        assert_eq!(
            reply.json()["result"],
            json!({
                "protocolVersion": answered,
                "capabilities": {"tools": {"listChanged": false}},
                "serverInfo": {"name": "legacy", "version": "1.0.0"},
                "instructions": "Be brief.",
            })
        );
    }
    let with_header = initialize("2025-11-25").header("mcp-protocol-version", "2025-11-25");
    assert_eq!(with_header.send(&served).status, 200);
}

#[test]
fn each_request_is_served_without_a_session() {
    let served = Served::new(&server());
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        let ping = Ask::legacy(version, "ping", json!({})).send(&served);
        assert_eq!(ping.json()["result"], json!({}));
        let call = Ask::legacy(version, "tools/call", json!({"name": "hi"})).send(&served);
        assert_eq!(
            call.json()["result"],
            json!({"content": [{"type": "text", "text": "hi"}]})
        );
        let list = Ask::legacy(version, "tools/list", json!({})).send(&served);
        assert_eq!(list.json()["result"]["tools"].as_array().unwrap().len(), 3);
    }
    let no_header = Ask::post(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).send(&served);
    assert_eq!(
        no_header.json(),
        json!({"jsonrpc": "2.0", "id": "p", "result": {}})
    );
}

#[test]
fn what_needs_no_answer_is_accepted() {
    let served = Served::new(&server());
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
    ] {
        let reply = Ask::post(body).send(&served);
        assert_eq!((reply.status, reply.body.as_str()), (202, ""), "{body}");
    }
    let modern = Ask::post(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#)
        .header("mcp-protocol-version", "2026-07-28");
    assert_eq!(modern.send(&served).status, 202);
}

#[test]
fn faults_have_the_codes_of_2025() {
    let served = Served::new(&server());
    let unknown = Ask::legacy("v999.0.0", "tools/list", json!({})).send(&served);
    assert_eq!((unknown.status, unknown.error_code()), (400, -32000));
    let method = Ask::legacy("2025-11-25", "unknown/method", json!({})).send(&served);
    assert_eq!((method.status, method.error_code()), (200, -32601));
    let tool = Ask::legacy("2025-11-25", "tools/call", json!({"name": "nope"})).send(&served);
    assert_eq!((tool.status, tool.error_code()), (200, -32602));
    let cursor = Ask::legacy("2025-11-25", "tools/list", json!({"cursor": "x"})).send(&served);
    assert_eq!((cursor.status, cursor.error_code()), (200, -32602));
    let discover = Ask::legacy("2025-11-25", "server/discover", json!({})).send(&served);
    assert_eq!((discover.status, discover.error_code()), (200, -32601));
    let broken = Ask::post("nonsense").send(&served);
    assert_eq!((broken.status, broken.error_code()), (400, -32700));
}

#[test]
fn nobody_can_be_asked_without_a_session() {
    let served = Served::new(&server());
    for name in ["ask", "sample"] {
        let reply = Ask::legacy("2025-11-25", "tools/call", json!({"name": name})).send(&served);
        assert_eq!(reply.json()["result"]["isError"], true, "{reply:?}");
    }
    let sampled = builder()
        .sample(|request: SampleRequest| async move { Ok::<_, ToolError>(request.text() + "!") })
        .build()
        .unwrap();
    let served = Served::new(&sampled);
    let reply = Ask::legacy("2025-11-25", "tools/call", json!({"name": "sample"})).send(&served);
    assert_eq!(reply.json()["result"]["content"][0]["text"], "Summarize!");
}

#[test]
fn reject_names_the_version_that_is_served() {
    let served = Served::new(&builder().sessions(Sessions::Reject).build().unwrap());
    let reply = initialize("2025-11-25").send(&served);
    assert_eq!((reply.status, reply.error_code()), (400, -32022));
    assert_eq!(
        reply.json()["error"]["data"],
        json!({"supported": ["2026-07-28"], "requested": "2025-11-25"})
    );
    let list = Ask::legacy("2025-06-18", "tools/list", json!({})).send(&served);
    assert_eq!((list.status, list.error_code()), (400, -32022));
    let silent = Ask::post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).send(&served);
    assert_eq!((silent.status, silent.error_code()), (400, -32022));
    let note = Ask::post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(note.send(&served).status, 202);
    assert_eq!(
        Ask::modern("tools/list", json!({})).send(&served).status,
        200
    );
    assert_eq!(Ask::new("GET").send(&served).status, 405);
}

fn batch(elements: &[&str]) -> Ask {
    Ask::post(format!("[{}]", elements.join(",")))
}

#[test]
fn arrays_are_served_for_the_version_that_has_them() {
    let served = Served::new(&server());
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hi"}}"#;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let elements = [
        ping,
        note,
        call,
        r#"{"jsonrpc":"2.0","id":3,"method":"nope"}"#,
        "5",
        r#"{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        "[]",
    ];
    for ask in [
        batch(&elements),
        batch(&elements).header("mcp-protocol-version", "2025-03-26"),
    ] {
        let reply = ask.send(&served).json();
        let answers = reply.as_array().unwrap();
        let summary: Vec<(Value, Value)> = answers
            .iter()
            .map(|answer| (answer["id"].clone(), answer["error"]["code"].clone()))
            .collect();
        assert_eq!(
            json!(summary),
            json!([
                [1, null],
                [2, null],
                [3, -32601],
                [null, -32600],
                [4, -32600],
                [5, -32600],
                [null, -32600]
            ])
        );
        assert_eq!(answers[1]["result"]["content"][0]["text"], "hi");
    }
    assert_eq!(batch(&[note, note]).send(&served).status, 202);
}

#[test]
fn other_arrays_are_refused() {
    let served = Served::new(&server());
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for version in ["2025-11-25", "2025-06-18", "2024-11-05"] {
        let reply = batch(&[ping])
            .header("mcp-protocol-version", version)
            .send(&served);
        assert_eq!(
            (reply.status, reply.error_code()),
            (400, -32600),
            "{version}"
        );
    }
    assert_eq!(batch(&[]).send(&served).status, 400);
    assert_eq!(batch(&[ping; 50]).send(&served).status, 200);
    assert_eq!(batch(&[ping; 51]).send(&served).status, 400);
    assert_eq!(Ask::post("[1,").send(&served).error_code(), -32700);
}
