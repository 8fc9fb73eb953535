//! How a client finds out which version is spoken, and how headers and body have to agree.

use roscius::prelude::*;
use serde_json::{Value, json};

use super::world::{LEGACY, MODES, Runs, exchange, raw, session, versions};
use crate::mcp_server::host::{Ask, MODERN, Served};

/// B080: the first question of a client is answered in every mode, so that no client has to guess
/// from an error which version it talks to.
#[test]
fn the_probe_of_a_client_is_answered_in_every_mode() {
    for mode in MODES {
        let served = Runs::default().serve(mode);
        let reply = Ask::modern("server/discover", json!({})).send(&served);
        assert_eq!(reply.status, 200, "{mode:?}");
        let versions = reply.json()["result"]["supportedVersions"].take();
        assert_eq!(versions[0], MODERN);
        assert_eq!(
            versions.as_array().unwrap().len() == 1,
            mode == Sessions::Reject
        );
    }
}

/// B084: a probe without a token is told to bring one, and nothing that could be taken for an old
/// server.
#[test]
fn a_probe_without_a_token_is_asked_for_one() {
    let server = Runs::default().builder().auth(crate::server_auth::by_heart);
    let server = server
        .resource_metadata_url(crate::server_auth::PRM)
        .build()
        .unwrap();
    let served = Served::new(&server);
    let initialize = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize});
    for ask in [
        Ask::modern("server/discover", json!({})),
        Ask::post(body.to_string()),
    ] {
        let reply = exchange(&served, &ask);
        assert_eq!(reply.status, 401);
        let challenge = reply.header("www-authenticate").unwrap();
        assert!(challenge.contains(&format!(
            r#"resource_metadata="{}""#,
            crate::server_auth::PRM
        )));
        assert_eq!(reply.json()["error"], "invalid_token");
    }
}

/// B082: the errors of 2026 say what the client can do about them.
#[test]
fn the_errors_of_2026_say_what_can_be_done() {
    let served = Runs::default().serve(Sessions::Stateless);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2099-01-01", "io.modelcontextprotocol/clientCapabilities": {}});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
    let ask = Ask::post(body.to_string())
        .header("mcp-protocol-version", "2099-01-01")
        .header("mcp-method", "tools/list");
    let reply = ask.send(&served);
    assert_eq!((reply.status, reply.error_code()), (400, -32022));
    let data = reply.json()["error"]["data"].take();
    assert_eq!(data["requested"], "2099-01-01");
    assert!(
        data["supported"]
            .as_array()
            .unwrap()
            .contains(&json!(MODERN))
    );
    let mismatch = Ask::modern("tools/list", json!({})).with("mcp-method", "prompts/list");
    let reply = mismatch.send(&served);
    assert_eq!((reply.status, reply.error_code()), (400, -32020));
    let unable = Ask::modern_as(json!({}), "tools/call", json!({"name": "city"}));
    let reply = unable.send(&served);
    assert_eq!((reply.status, reply.error_code()), (400, -32021));
    assert_eq!(
        reply.json()["error"]["data"],
        json!({"requiredCapabilities": {"elicitation": {"form": {}}}})
    );
}

/// B085: the header names the version that was agreed on, in every request but the first; one that
/// nobody knows is refused.
#[test]
fn the_version_that_was_agreed_on_goes_with_every_request() {
    let served = Runs::default().serve(Sessions::Memory);
    for version in LEGACY {
        let id = session(&served, version);
        let ask = |method: &'static str, version: Option<&str>| {
            let ask = match method {
                "POST" => Ask::post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
                _ => Ask::new(method).header("accept", "application/json, text/event-stream"),
            };
            let ask = ask.header("mcp-session-id", &id);
            match version {
                Some(version) => ask.header("mcp-protocol-version", version),
                None => ask,
            }
        };
        for method in ["POST", "GET", "DELETE"] {
            let reply = ask(method, Some("1999-01-01")).send(&served);
            assert_eq!(
                (reply.status, reply.error_code()),
                (400, -32000),
                "{method}"
            );
            assert!(reply.body.contains(&LEGACY.join(", ")), "{reply:?}");
        }
        assert_eq!(ask("POST", None).send(&served).status, 200);
        assert_eq!(ask("POST", Some(version)).send(&served).status, 200);
        let mut stream = crate::mcp_server::host::Wire::open(served.addr);
        stream.send(&ask("GET", Some(version)).bytes(served.addr));
        assert!(stream.line().contains("200"));
        assert_eq!(ask("DELETE", Some(version)).send(&served).status, 200);
        assert_eq!(ask("POST", Some(version)).send(&served).status, 404);
    }
    // `initialize` says in its body what it wants.
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    for header in [None, Some("2025-11-25"), Some("2025-06-18")] {
        let ask = Ask::post(body.to_string());
        let ask = match header {
            Some(header) => ask.header("mcp-protocol-version", header),
            None => ask,
        };
        let reply = ask.send(&served);
        assert_eq!(reply.status, 200, "{header:?}: {reply:?}");
        assert_eq!(reply.json()["result"]["protocolVersion"], "2025-06-18");
    }
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    format!("=?base64?{encoded}?=")
}

/// B086: a header that had to be encoded is decoded before it is compared, also where the plain
/// text looks as if it were encoded.
#[test]
fn encoded_names_are_decoded_before_they_are_compared() {
    let read = |uri: Uri| async move { uri.0 };
    let server = Runs::default()
        .builder()
        .resource(Resource::template("file:///{name}", read))
        .build()
        .unwrap();
    let served = Served::new(&server);
    for name in [
        "天気",
        " lead",
        "tail ",
        "=?base64?eA==?=",
        "=?BASE64?eA==?=",
        "a\tb",
        "",
    ] {
        let ask = Ask::modern("tools/call", json!({"name": name, "arguments": {}}));
        let reply = ask.clone().with("mcp-name", &base64(name)).send(&served);
        // The headers agree; there is no such tool.
        assert_eq!((reply.status, reply.error_code()), (200, -32602), "{name}");
        let other = ask.clone().with("mcp-name", &base64("other")).send(&served);
        assert_eq!((other.status, other.error_code()), (400, -32020), "{name}");
    }
    // Without the coding these stand for something else than they say.
    for (name, plain) in [("=?base64?eA==?=", "=?base64?eA==?="), (" lead", "lead")] {
        let ask = Ask::modern("tools/call", json!({"name": name, "arguments": {}}));
        let reply = ask.with("mcp-name", plain).send(&served);
        assert_eq!((reply.status, reply.error_code()), (400, -32020), "{name}");
    }
    let uri = "file:///ä b";
    let read = Ask::modern("resources/read", json!({"uri": uri}));
    let reply = read.with("mcp-name", &base64(uri)).send(&served);
    assert_eq!(reply.json()["result"]["contents"][0]["uri"], uri);
}

/// B087: what a proxy has read in the headers is what runs, or nothing runs.
#[test]
fn headers_that_disagree_with_the_body_run_nothing() {
    let runs = Runs::default();
    for mode in MODES {
        let served = runs.serve(mode);
        let call = Ask::modern("tools/call", json!({"name": "danger", "arguments": {}}));
        for (what, ask) in [
            ("another name", call.clone().with("mcp-name", "safe_tool")),
            ("another letter", call.clone().with("mcp-name", "Danger")),
            ("no name", call.clone().without("mcp-name")),
            ("no method", call.clone().without("mcp-method")),
            (
                "another method",
                call.clone().with("mcp-method", "tools/list"),
            ),
            (
                "a method in capitals",
                call.clone().with("mcp-method", "Tools/Call"),
            ),
            ("two names", call.clone().header("mcp-name", "safe_tool")),
            (
                "another version",
                call.clone().with("mcp-protocol-version", "2025-11-25"),
            ),
            ("no version", call.clone().without("mcp-protocol-version")),
        ] {
            let reply = ask.send(&served);
            assert_eq!(
                (reply.status, reply.error_code()),
                (400, -32020),
                "{mode:?} {what}"
            );
        }
        assert_eq!(runs.count(), 0);
        // The names of headers have no case.
        let shouted = call
            .without("mcp-name")
            .without("mcp-method")
            .header("MCP-NAME", "safe_tool")
            .header("Mcp-Method", "tools/call");
        assert_eq!(shouted.send(&served).error_code(), -32020);
    }
}

/// B089: every result of 2026 says that it is one, and none of 2025 does.
#[test]
fn every_result_of_2026_says_its_type() {
    let server = Runs::default()
        .builder()
        .resource(Resource::new("a", "a://a", || async { "a" }))
        .prompt(Prompt::new("p", || async { "p" }))
        .build()
        .unwrap();
    let served = Served::new(&server);
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "safe_tool", "arguments": {}})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "a://a"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "p"})),
    ] {
        for (version, ask) in versions(method, &params) {
            let result = ask.send(&served).json()["result"].take();
            let wanted = (version == MODERN).then(|| json!("complete"));
            assert_eq!(
                result.get("resultType"),
                wanted.as_ref(),
                "{method} {version}"
            );
        }
    }
    let discover = Ask::modern("server/discover", json!({})).send(&served);
    assert_eq!(discover.json()["result"]["resultType"], "complete");
    let asked = Ask::modern("tools/call", json!({"name": "city"})).send(&served);
    assert_eq!(asked.json()["result"]["resultType"], "input_required");
}

/// B076: the first message of a client is whatever it is.
#[test]
fn no_message_has_to_be_the_first() {
    let served = Runs::default().serve(Sessions::Stateless);
    for (method, code) in [("server/discover", -32601), ("no/such", -32601)] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        let reply = raw("none", "", "", &body).send(&served);
        assert_eq!(reply.error_code(), code, "{method}");
    }
    let list = Ask::legacy("2025-11-25", "tools/list", json!({})).send(&served);
    assert!(matches!(list.json()["result"]["tools"], Value::Array(_)));
}
