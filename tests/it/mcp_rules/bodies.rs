//! Bodies that are no message, or hardly one, and what they must not do to the server.

use std::io::Write as _;

use roscius::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::mcp_server::host::{Ask, MODERN, Reply, Served, Wire};

#[derive(Deserialize, JsonSchema)]
struct Tree {
    #[serde(default)]
    children: Vec<Tree>,
}

fn depth(tree: &Tree) -> usize {
    1 + tree.children.iter().map(depth).max().unwrap_or_default()
}

fn served() -> Served {
    let any = json!({"type": "object"});
    let server = McpServer::new("bodies", "1")
        .tool(Tool::raw("echo", any, |value, _| async move { value }))
        .tool(Tool::new("tree", |Args(tree): Args<Tree>| async move {
            depth(&tree).to_string()
        }));
    Served::new(&server.build().unwrap())
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A call of both eras with these arguments.
fn calls(name: &str, arguments: &str) -> [Ask; 2] {
    let body = |meta: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}{meta}}}}}"#
        )
    };
    let modern = Ask::post(body(&format!(",{META}")))
        .header("mcp-protocol-version", MODERN)
        .header("mcp-method", "tools/call")
        .header("mcp-name", name);
    let legacy = Ask::post(body("")).header("mcp-protocol-version", "2025-11-25");
    [modern, legacy]
}

fn lives(served: &Served) {
    let list = Ask::modern("tools/list", json!({})).send(served);
    assert_eq!(list.status, 200, "{list:?}");
}

/// J-3: what nests deeper than anybody reads is refused, and no stack overflows.
#[test]
fn deep_arguments_are_refused() {
    let served = served();
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}"), (r#"{"children":["#, "]}")] {
        for depth in [200, 10_000, 100_000] {
            let middle = if open.ends_with(':') { "1" } else { "" };
            let nested = open.repeat(depth) + middle + &close.repeat(depth);
            for name in ["echo", "tree"] {
                let key = if name == "tree" { "children" } else { "a" };
                for ask in calls(name, &format!(r#"{{"{key}":{nested}}}"#)) {
                    let mut wire = Wire::open(served.addr);
                    wire.send(&ask.bytes(served.addr));
                    let reply = wire.reply();
                    let message = reply.json();
                    let refused =
                        message["error"].is_object() || message["result"]["isError"] == true;
                    assert!(refused, "{depth} {open} {name}: {}", reply.status);
                    assert!(reply.body.len() < 10_000, "the answer repeats it all");
                }
            }
        }
    }
    lives(&served);
    let nested = r#"{"children":["#.repeat(20) + &"]}".repeat(20);
    for ask in calls("tree", &nested) {
        assert_eq!(
            ask.send(&served).json()["result"]["content"][0]["text"],
            "20"
        );
    }
}

/// B-1, B-5: what is not the JSON-RPC of the spec is no message.
#[test]
fn what_is_no_json_rpc_is_refused() {
    let served = served();
    for body in [
        r#"{"id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":2.0,"id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1e3,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"x"}"#,
        r#""text""#,
        "null",
    ] {
        for version in [MODERN, "2025-11-25"] {
            let reply = Ask::post(body)
                .header("mcp-protocol-version", version)
                .header("mcp-method", "tools/list")
                .send(&served);
            assert_eq!(
                (reply.status, reply.error_code()),
                (400, -32600),
                "{version} {body}"
            );
        }
    }
    lives(&served);
}

fn bytes(served: &Served, version: &str, body: &[u8]) -> Reply {
    let mut wire = Wire::open(served.addr);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nmcp-protocol-version: {version}\r\nmcp-method: tools/call\r\nmcp-name: echo\r\ncontent-length: {}\r\n\r\n",
        served.addr,
        body.len()
    );
    wire.send(&head);
    wire.0.get_mut().write_all(body).unwrap();
    wire.reply()
}

/// B-1: messages are UTF-8. Bytes that are none are refused and never repaired; half of a pair of
/// UTF-16 is no character either.
#[test]
fn what_is_no_text_is_refused() {
    let served = served();
    let call = |text: &[u8], version: &str| {
        let meta = if version == MODERN {
            format!(",{META}")
        } else {
            String::new()
        };
        let start = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"t":""#;
        let end = format!(r#""}}{meta}}}}}"#);
        [start.as_bytes(), text, end.as_bytes()].concat()
    };
    for version in [MODERN, "2025-11-25"] {
        for text in [&b"\xff"[..], b"\xc3", b"\xed\xa0\x80", b"\0", b"\n"] {
            let reply = bytes(&served, version, &call(text, version));
            assert_eq!(
                (reply.status, reply.error_code()),
                (400, -32700),
                "{version} {text:?}"
            );
        }
        let half = bytes(&served, version, &call(br"\ud83d", version)).json();
        let refused = half["error"].is_object() || half["result"]["isError"] == true;
        assert!(refused, "{half}");
        let whole = bytes(&served, version, &call(br"\ud83d\ude00\u0000", version)).json();
        assert_eq!(
            whole["result"]["structuredContent"],
            json!({"t": "\u{1f600}\0"})
        );
        for nothing in [&b""[..], b" ", b"\x00"] {
            let reply = bytes(&served, version, nothing);
            assert_eq!((reply.status, reply.error_code()), (400, -32700));
        }
    }
    lives(&served);
}

/// B-3: names that are members of every object mean nothing special, and what is not known is
/// ignored.
#[test]
fn members_that_nobody_knows_are_ignored() {
    let served = served();
    let odd = json!({"__proto__": {"a": 1}, "constructor": 1, "": null, "a.b": [], "$ref": "x"});
    for ask in calls("echo", &odd.to_string()) {
        let message = ask.send(&served).json();
        assert_eq!(message["result"]["structuredContent"], odd);
    }
    let body = format!(
        r#"{{"x":1,"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"y":{{}},{META},"z":[]}},"error":null,"w":null}}"#
    );
    let reply = Ask::post(body)
        .header("mcp-protocol-version", MODERN)
        .header("mcp-method", "tools/list")
        .send(&served);
    assert!(
        matches!(reply.json()["result"]["tools"], Value::Array(_)),
        "{reply:?}"
    );
}
