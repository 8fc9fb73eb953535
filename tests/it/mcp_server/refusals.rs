//! Requests that are refused, and how.

mod headers;

use std::sync::{Arc, Mutex};

use roscius::{prelude::*, server::ServerFault, web::McpRoutes};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::host::{Ask, MODERN, Served, Wire};

fn server() -> McpServer {
    let region = json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
    McpServer::new("refusals", "1.0.0")
        .tool(Tool::new("echo", || async { "hi" }).description("Says hi"))
        .tool(Tool::raw("region", region, |value, _| async move { value }).description("Echoes"))
        .max_body_bytes(64 * 1024)
        .build()
        .unwrap()
}

fn list() -> Ask {
    Ask::modern("tools/list", json!({}))
}

fn call() -> Ask {
    Ask::modern("tools/call", json!({"name": "echo", "arguments": {}}))
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn modern_body(body: &str) -> Ask {
    Ask::post(body)
        .header("mcp-protocol-version", MODERN)
        .header("mcp-method", "tools/list")
}

#[test]
fn each_fault_of_a_2026_request_has_its_status_and_code() {
    let served = Served::new(&server());
    let with_meta = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{params}}}}}"#)
    };
    let table: Vec<(&str, Ask, u16, i64)> = vec![
        ("no JSON", modern_body("{"), 400, -32700),
        ("a number", modern_body("5"), 400, -32600),
        ("an array", modern_body("[]"), 400, -32600),
        (
            "a batch",
            modern_body(r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]"#),
            400,
            -32600,
        ),
        (
            "a null id",
            modern_body(r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#),
            400,
            -32600,
        ),
        (
            "a response",
            modern_body(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            400,
            -32600,
        ),
        (
            "positional params",
            modern_body(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#),
            400,
            -32600,
        ),
        (
            "no params",
            modern_body(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
            400,
            -32602,
        ),
        ("no _meta", modern_body(&with_meta("")), 400, -32602),
        (
            "no version in _meta",
            modern_body(&with_meta(
                r#""_meta":{"io.modelcontextprotocol/clientCapabilities":{}}"#,
            )),
            400,
            -32602,
        ),
        (
            "no capabilities in _meta",
            modern_body(&with_meta(
                r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
            )),
            400,
            -32602,
        ),
        (
            "capabilities that are no object",
            modern_body(&with_meta(
                r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}"#,
            )),
            400,
            -32602,
        ),
        (
            "no version header",
            list().without("mcp-protocol-version"),
            400,
            -32020,
        ),
        (
            "a version header of 2025",
            list().with("mcp-protocol-version", "2025-11-25"),
            400,
            -32020,
        ),
        (
            "another version header",
            list().with("mcp-protocol-version", "2027-01-01"),
            400,
            -32020,
        ),
        (
            "no method header",
            list().without("mcp-method"),
            400,
            -32020,
        ),
        (
            "another method header",
            list().with("mcp-method", "tools/call"),
            400,
            -32020,
        ),
        (
            "a method header in capitals",
            list().with("mcp-method", "TOOLS/LIST"),
            400,
            -32020,
        ),
        (
            "a method header twice",
            list().header("mcp-method", "tools/list"),
            400,
            -32020,
        ),
        ("no name header", call().without("mcp-name"), 400, -32020),
        (
            "another name header",
            call().with("mcp-name", "other"),
            400,
            -32020,
        ),
        (
            "a loosely encoded name",
            call().with("mcp-name", "=?base64?ZWNobw?="),
            400,
            -32020,
        ),
        (
            "a method that does not exist",
            Ask::modern("unknown/method", json!({})),
            404,
            -32601,
        ),
        (
            "initialize",
            Ask::modern("initialize", json!({})),
            404,
            -32601,
        ),
        ("ping", Ask::modern("ping", json!({})), 404, -32601),
        (
            "logging/setLevel",
            Ask::modern("logging/setLevel", json!({"level": "debug"})),
            404,
            -32601,
        ),
        (
            "resources/subscribe",
            Ask::modern("resources/subscribe", json!({"uri": "a:b"})),
            404,
            -32601,
        ),
        (
            "subscriptions/listen",
            Ask::modern("subscriptions/listen", json!({})),
            404,
            -32601,
        ),
        (
            "prompts/list",
            Ask::modern("prompts/list", json!({})),
            404,
            -32601,
        ),
        (
            "a tool that does not exist",
            Ask::modern("tools/call", json!({"name": "nope"})),
            200,
            -32602,
        ),
        (
            "a name that is no text",
            Ask::modern("tools/call", json!({"name": 5})),
            200,
            -32602,
        ),
        ("no name", Ask::modern("tools/call", json!({})), 200, -32602),
        (
            "a cursor",
            Ask::modern("tools/list", json!({"cursor": "x"})),
            200,
            -32602,
        ),
        (
            "an empty cursor",
            Ask::modern("tools/list", json!({"cursor": ""})),
            200,
            -32602,
        ),
        (
            "a member twice",
            modern_body(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"cursor":"a","cursor":"b",{META}}}}}"#
            )),
            200,
            -32602,
        ),
    ];
    for (what, ask, status, code) in table {
        let reply = ask.send(&served);
        assert_eq!(
            (reply.status, reply.error_code()),
            (status, code),
            "{what}: {reply:?}"
        );
    }
}

#[test]
fn errors_carry_the_id_of_the_request() {
    let served = Served::new(&server());
    for id in ["7", "\"seven\""] {
        for method in ["ping", "tools/list"] {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"cursor":"x",{META}}}}}"#
            );
            let reply = modern_body(&body).with("mcp-method", method).send(&served);
            assert_eq!(reply.json()["id"].to_string(), id);
        }
    }
    let unreadable = modern_body("{").send(&served).json();
    assert_eq!(unreadable.get("id"), None);
    let unreadable = Ask::post("{").send(&served).json();
    assert_eq!(unreadable["id"], json!(null));
}

#[test]
fn the_transport_refuses_before_it_reads_a_message() {
    let served = Served::new(&server());
    for method in ["GET", "DELETE", "PUT", "PATCH"] {
        let reply = Ask::new(method).send(&served);
        assert_eq!(
            (reply.status, reply.error_code()),
            (405, -32000),
            "{method}"
        );
        assert_eq!(reply.header("allow"), Some("POST"));
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded"] {
        assert_eq!(list().with("content-type", kind).send(&served).status, 415);
    }
    assert_eq!(list().without("content-type").send(&served).status, 415);
    assert_eq!(list().with("accept", "text/html").send(&served).status, 406);
    for accept in [
        "application/json",
        "*/*",
        "application/json;q=0.9, text/event-stream",
    ] {
        assert_eq!(
            list().with("accept", accept).send(&served).status,
            200,
            "{accept}"
        );
    }
    assert_eq!(list().without("accept").send(&served).status, 200);
}

#[test]
fn a_large_body_is_refused_by_its_announced_length() {
    let served = Served::new(&server());
    let mut wire = Wire::open(served.addr);
    let addr = served.addr;
    wire.send(&format!("POST /mcp HTTP/1.1\r\nhost: {addr}\r\ncontent-type: application/json\r\ncontent-length: 70000\r\n\r\n"));
    let reply = wire.reply();
    assert_eq!((reply.status, reply.error_code()), (413, -32600));
    assert!(reply.body.contains("max_body_bytes"));
}

// G10
#[test]
fn foreign_pages_and_names_are_refused() {
    let served = Served::new(&server());
    let foreign = list()
        .header("origin", "http://evil.example.com")
        .send(&served);
    assert_eq!(foreign.status, 403);
    assert!(foreign.body.contains("allow_origins"), "{foreign:?}");
    let rebound = list().host("evil.example.com").send(&served);
    assert_eq!(rebound.status, 403);
    assert!(rebound.body.contains("allowed_hosts"), "{rebound:?}");
    let own = list().header("origin", &format!("http://{}", served.addr));
    assert_eq!(own.send(&served).status, 200);
    let local = list().host(&format!("localhost:{}", served.addr.port()));
    assert_eq!(local.send(&served).status, 200);
    for method in ["GET", "OPTIONS"] {
        let reply = Ask::new(method).header("origin", "http://evil.example.com");
        assert_eq!(reply.send(&served).status, 403);
    }
}

#[test]
fn what_is_refused_before_the_server_sees_it_reaches_the_hook_too() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let hook = Arc::clone(&told);
    let server = McpServer::new("refusals", "1.0.0")
        .max_body_bytes(1_000)
        .on_error(move |fault| match fault {
            ServerFault::Rejected { status, code, .. } => {
                hook.lock().unwrap().push((*status, *code))
            }
            other => panic!("{other}"),
        })
        .build()
        .unwrap();
    let served = Served::new(&server);
    let foreign = list().header("origin", "http://evil.example.com");
    assert_eq!(foreign.send(&served).status, 403);
    let rebound = list().host("evil.example.com");
    assert_eq!(rebound.send(&served).status, 403);
    let large = modern_body(&" ".repeat(1_001));
    assert_eq!(large.send(&served).status, 413);
    let expected = [(403, -32600), (403, -32600), (413, -32600)];
    assert_eq!(*told.lock().unwrap(), expected);
}

#[test]
fn an_allowed_page_gets_its_preflight_and_its_answer() {
    let routes = McpRoutes::new("/mcp", &server()).allow_origins(["https://app.example.com"]);
    let served = Served::with(routes.routes());
    let origin = "https://app.example.com";
    let preflight = Ask::new("OPTIONS")
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .send(&served);
    assert_eq!(preflight.status, 204);
    assert_eq!(
        preflight.header("access-control-allow-origin"),
        Some(origin)
    );
    assert!(
        preflight
            .header("access-control-allow-headers")
            .unwrap()
            .contains("mcp-method")
    );
    let reply = list().header("origin", origin).send(&served);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
}
