//! Versions that are not served, wherever a request names them.

use roscius::prelude::*;
use serde_json::{Value, json};

use super::host::{Ask, MODERN, Reply, Served};

const FUTURE: &str = "2031-01-01";
const ALL: [&str; 5] = [
    MODERN,
    "2025-11-25",
    "2025-06-18",
    "2025-03-26",
    "2024-11-05",
];

fn serve(sessions: Sessions) -> Served {
    let server = McpServer::new("versions", "1.0.0")
        .tool(Tool::new("hi", || async { "hi" }))
        .sessions(sessions);
    Served::new(&server.build().unwrap())
}

fn every() -> [(Served, &'static [&'static str]); 3] {
    [
        (serve(Sessions::Stateless), &ALL),
        (serve(Sessions::Memory), &ALL),
        (serve(Sessions::Reject), &[MODERN]),
    ]
}

fn list(meta: Option<Value>) -> Ask {
    let mut body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    if let Some(meta) = meta {
        body["params"]["_meta"] = meta;
    }
    Ask::post(body.to_string()).header("mcp-method", "tools/list")
}

fn named(version: &str) -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": version})
}

fn complete(version: &str) -> Value {
    let mut meta = named(version);
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    meta
}

#[track_caller]
fn assert_unsupported(reply: &Reply, supported: &[&str], requested: Option<&str>) {
    assert_eq!(
        (reply.status, reply.error_code()),
        (400, -32022),
        "{reply:?}"
    );
    let data = &reply.json()["error"]["data"];
    assert_eq!(data["supported"], json!(supported));
    let requested = requested.map_or(Value::Null, Value::from);
    assert_eq!(data["requested"], requested);
}

#[test]
fn an_unknown_version_is_told_what_is_served() {
    let served = serve(Sessions::Stateless);
    let ask = list(Some(complete("v999.0.0")));
    let reply = ask.clone().header("mcp-protocol-version", "v999.0.0");
    assert_unsupported(&reply.send(&served), &ALL, Some("v999.0.0"));
    let discover = Ask::modern("server/discover", json!({})).send(&served);
    assert_eq!(discover.json()["result"]["supportedVersions"], json!(ALL));
    let reply = ask.header("mcp-protocol-version", MODERN).send(&served);
    assert_eq!((reply.status, reply.error_code()), (400, -32020));
}

/// What `_meta` of a version has to hold is known of those that are served.
#[test]
fn a_version_of_the_future_is_told_what_is_served_whatever_else_is_there() {
    for (served, supported) in every() {
        for meta in [
            None,
            Some(json!({})),
            Some(json!({"io.modelcontextprotocol/clientCapabilities": {}})),
            Some(named(FUTURE)),
            Some(complete(FUTURE)),
        ] {
            let ask = list(meta).header("mcp-protocol-version", FUTURE);
            assert_unsupported(&ask.send(&served), supported, Some(FUTURE));
            let without = ask.without("mcp-method").send(&served);
            assert_unsupported(&without, supported, Some(FUTURE));
        }
        let initialize = json!({"protocolVersion": FUTURE, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        let ask = Ask::legacy(FUTURE, "initialize", initialize);
        assert_unsupported(&ask.send(&served), supported, Some(FUTURE));
        // A date that no calendar has is a version like another.
        let ask = list(None).header("mcp-protocol-version", "2026-99-99");
        assert_unsupported(&ask.send(&served), supported, Some("2026-99-99"));
        let long = format!("2031-01-01{}", "x".repeat(500));
        let ask = list(Some(complete(&long))).header("mcp-protocol-version", &long);
        assert_unsupported(&ask.send(&served), supported, long.get(..100));
    }
}

#[test]
fn what_meta_lacks_is_told_of_a_version_that_is_served() {
    for (served, _) in every() {
        for meta in [None, Some(json!({})), Some(named(MODERN))] {
            let reply = list(meta).header("mcp-protocol-version", MODERN);
            let reply = reply.send(&served);
            assert_eq!((reply.status, reply.error_code()), (400, -32602));
        }
        // Header and body that name different versions disagree, whichever of them is served.
        for (header, body) in [(MODERN, FUTURE), (FUTURE, MODERN), ("2025-11-25", MODERN)] {
            let reply = list(Some(complete(body))).header("mcp-protocol-version", header);
            let reply = reply.send(&served);
            assert_eq!((reply.status, reply.error_code()), (400, -32020));
        }
        let twice = list(Some(complete(MODERN))).header("mcp-protocol-version", MODERN);
        let twice = twice.header("mcp-protocol-version", MODERN).send(&served);
        assert_eq!((twice.status, twice.error_code()), (400, -32020));
        let empty = list(Some(complete(MODERN))).header("mcp-protocol-version", "");
        let empty = empty.send(&served);
        assert_eq!((empty.status, empty.error_code()), (400, -32020));
    }
}

/// A header that names no version of 2026, without anything of 2026 in the body, is of 2025.
#[test]
fn a_header_that_names_nothing_is_refused_as_2025_refuses_it() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (sessions, code) in [
        (Sessions::Stateless, -32000),
        (Sessions::Memory, -32000),
        (Sessions::Reject, -32022),
    ] {
        let served = serve(sessions);
        for header in ["", "latest", "2026-7-28", "2025-11-26", "draft", "\u{e9}"] {
            let reply = Ask::post(ping).header("mcp-protocol-version", header);
            let reply = reply.send(&served);
            assert_eq!((reply.status, reply.error_code()), (400, code), "{header}");
            let error = &reply.json()["error"];
            let message = error["message"].as_str().unwrap();
            if sessions == Sessions::Reject {
                assert_eq!(error["data"]["supported"], json!([MODERN]));
            } else {
                assert!(message.contains("2025-11-25, 2025-06-18"), "{message}");
            }
            assert!(message.contains("nsupported protocol version") || header == "\u{e9}");
        }
        let twice = Ask::legacy("2025-11-25", "ping", json!({}))
            .header("mcp-protocol-version", "2025-11-25")
            .send(&served);
        assert_eq!((twice.status, twice.error_code()), (400, code));
        let message = twice.json()["error"]["message"].to_string();
        assert!(!message.contains("\\u0000"), "{message}");
        assert_eq!(message.contains("came twice"), code == -32000, "{message}");
    }
}

/// The spec wants 400 for a version that is not known, whether or not an answer is waited for.
#[test]
fn what_needs_no_answer_is_refused_for_its_version() {
    let bodies = [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    ];
    for sessions in [Sessions::Stateless, Sessions::Memory] {
        let served = serve(sessions);
        for body in bodies {
            let reply = Ask::post(body).header("mcp-protocol-version", "v999");
            let reply = reply.send(&served);
            assert_eq!((reply.status, reply.error_code()), (400, -32000));
        }
    }
    // Nothing of 2025 is known here, and what it tells is taken all the same.
    let served = serve(Sessions::Reject);
    for body in bodies {
        let reply = Ask::post(body).header("mcp-protocol-version", "v999");
        assert_eq!(reply.send(&served).status, 202);
    }
    for (served, supported) in every() {
        let told = |version: Option<&str>| {
            let meta = version.map(|version| json!({"_meta": named(version)}));
            let body = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": meta.unwrap_or(json!({}))});
            Ask::post(body.to_string())
        };
        for body in [None, Some(FUTURE)] {
            let reply = told(body).header("mcp-protocol-version", FUTURE);
            assert_unsupported(&reply.send(&served), supported, Some(FUTURE));
        }
        assert_unsupported(&told(Some(FUTURE)).send(&served), supported, Some(FUTURE));
        let reply = told(Some(FUTURE)).header("mcp-protocol-version", MODERN);
        assert_eq!(reply.send(&served).error_code(), -32020);
        for body in [None, Some(MODERN)] {
            let reply = told(body).header("mcp-protocol-version", MODERN);
            assert_eq!(reply.send(&served).status, 202);
        }
    }
}

#[test]
fn an_array_of_a_version_that_is_not_served_is_told_so() {
    let array = |version: Option<&str>| {
        let ask = Ask::post(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#);
        match version {
            Some(version) => ask.header("mcp-protocol-version", version),
            None => ask,
        }
    };
    let served = serve(Sessions::Stateless);
    let reply = array(Some("v999")).send(&served);
    assert_eq!((reply.status, reply.error_code()), (400, -32000));
    assert_eq!(array(None).send(&served).status, 200);
    let reject = serve(Sessions::Reject);
    for version in [None, Some("2025-03-26"), Some("v999")] {
        assert_unsupported(&array(version).send(&reject), &[MODERN], version);
    }
    // Where an array is no message, nobody has to know its version.
    for served in [served, reject] {
        for version in ["2025-11-25", MODERN, FUTURE] {
            let reply = array(Some(version)).send(&served);
            assert_eq!((reply.status, reply.error_code()), (400, -32600));
        }
    }
}

#[test]
fn other_methods_are_refused_whatever_version_they_name() {
    for (served, _) in every() {
        for method in ["GET", "DELETE"] {
            for version in [FUTURE, MODERN] {
                let ask = Ask::new(method).header("accept", "text/event-stream");
                let reply = ask.header("mcp-protocol-version", version).send(&served);
                assert_eq!((reply.status, reply.error_code()), (405, -32000));
                assert_eq!(reply.header("allow"), Some("POST"));
            }
        }
    }
    let served = serve(Sessions::Memory);
    for method in ["GET", "DELETE"] {
        let ask = Ask::new(method).header("accept", "text/event-stream");
        let reply = ask.header("mcp-protocol-version", "v999").send(&served);
        assert_eq!((reply.status, reply.error_code()), (400, -32000));
    }
}
