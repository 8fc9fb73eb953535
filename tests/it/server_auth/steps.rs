//! Tools that want more, hosts without a framework, and what belongs to a caller.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use roscius::{
    prelude::*,
    server::Response,
    wire::{
        auth::AuthInfo,
        http::{Body, Head, Method, Request},
    },
};
use serde_json::{Value, json};

use super::{PRM, by_heart, call, call_body, mounted, send};
use crate::served::Served;

fn server(runs: &Arc<AtomicUsize>) -> McpServer {
    let runs = Arc::clone(runs);
    let write = move || {
        let runs = Arc::clone(&runs);
        async move {
            runs.fetch_add(1, Ordering::SeqCst);
            "written"
        }
    };
    let ask = |cx: ToolCx| async move { cx.request_input("Which note?").await };
    let region = json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
    McpServer::new("notes", "1.0.0")
        .tool(Tool::new("read", || async { "read" }))
        .tool(Tool::new("write", write).required_scopes(["notes:write"]))
        .tool(Tool::new("ask", ask))
        .tool(Tool::raw("region", region, |value, _| async move { value }))
        .auth(by_heart)
        .required_scopes(["notes:read"])
        .resource_metadata_url(PRM)
        .build()
        .unwrap()
}

#[test]
fn a_tool_that_needs_more_names_every_scope_of_the_call() {
    let runs = Arc::default();
    let served = Served::start(mounted(&server(&runs)));
    assert_eq!(call(&served, Some("Bearer good"), "read").status(), 200);
    let refused = call(&served, Some("Bearer good"), "write");
    assert_eq!(refused.status(), 403);
    let challenge = format!(
        r#"Bearer error="insufficient_scope", error_description="Insufficient scope", scope="notes:read notes:write", resource_metadata="{PRM}""#
    );
    assert_eq!(refused.challenge(), Some(&*challenge));
    assert_eq!(
        refused.body,
        r#"{"error":"insufficient_scope","error_description":"Insufficient scope"}"#
    );
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    assert_eq!(call(&served, Some("Bearer writer"), "write").status(), 200);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[test]
fn an_array_with_a_call_that_needs_more_runs_nothing() {
    let runs = Arc::default();
    let served = Served::start(mounted(&server(&runs)));
    let array = format!("[{},{}]", call_body("write"), call_body("read"));
    let post = |token| {
        let headers = [
            ("content-type", "application/json"),
            ("mcp-protocol-version", "2025-03-26"),
            ("authorization", token),
        ];
        send(&served, "POST", &headers, &array)
    };
    let refused = post("Bearer good");
    assert_eq!(refused.status(), 403);
    assert!(
        refused
            .challenge()
            .is_some_and(|text| text.contains("notes:write"))
    );
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    let served = post("Bearer writer");
    assert_eq!(served.json().as_array().map(Vec::len), Some(2));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

fn modern(name: &str, arguments: Value, more: Value) -> (Vec<(String, String)>, String) {
    let mut params = json!({
        "name": name, "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        },
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        params[key] = value.clone();
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = [
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", name),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    (headers.into(), body.to_string())
}

fn handle(
    server: &McpServer,
    (mut headers, body): (Vec<(String, String)>, String),
    more: &[(&str, &str)],
    options: Options,
) -> Response {
    let more = more
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    headers.extend(more);
    let request = Request {
        head: Head::of(Method::Post, &headers),
        body: body.as_bytes(),
    };
    futures_util::FutureExt::now_or_never(server.handle(request, options)).expect("an answer")
}

fn json_of(response: &Response) -> Value {
    match &response.body {
        Body::Json(bytes) => serde_json::from_slice(bytes).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_host_without_a_framework_has_the_same_gate() {
    let server = server(&Arc::default());
    let plain = || modern("read", json!({}), json!({}));
    let refused = handle(&server, plain(), &[], Options::new());
    assert_eq!(refused.status, 401);
    assert!(
        refused
            .www_authenticate
            .is_some_and(|text| text.contains(PRM))
    );
    let token = ("authorization", "Bearer good");
    assert_eq!(
        handle(&server, plain(), &[token], Options::new()).status,
        200
    );
    let known = Options::new().auth_info(AuthInfo::new("own", "app"));
    assert_eq!(handle(&server, plain(), &[], known).status, 200);
    assert_eq!(
        handle(&server, plain(), &[], Options::new().trusted()).status,
        200
    );
}

#[test]
fn a_caller_of_the_host_needs_the_scopes_of_a_tool_too() {
    let server = server(&Arc::default());
    let write = || modern("write", json!({}), json!({}));
    let known = |scopes: &[&str]| {
        let caller = AuthInfo::new("own", "app").scopes(scopes.iter().copied());
        Options::new().auth_info(caller)
    };
    assert_eq!(handle(&server, write(), &[], known(&[])).status, 403);
    assert_eq!(
        handle(&server, write(), &[], known(&["notes:write"])).status,
        200
    );
    assert_eq!(
        handle(&server, write(), &[], Options::new().trusted()).status,
        200
    );
}

#[test]
fn mirrored_parameters_are_there_after_the_wait_for_a_token() {
    let server = server(&Arc::default());
    let region = || modern("region", json!({"region": "eu"}), json!({}));
    let token = ("authorization", "Bearer good");
    let served = handle(
        &server,
        region(),
        &[token, ("Mcp-Param-Region", "eu")],
        Options::new(),
    );
    assert_eq!(served.status, 200, "{:?}", json_of(&served));
    let other = handle(
        &server,
        region(),
        &[token, ("mcp-param-region", "us")],
        Options::new(),
    );
    assert_eq!(json_of(&other)["error"]["code"], -32020);
}

#[test]
fn a_question_belongs_to_the_caller_who_was_asked() {
    let server = server(&Arc::default());
    let good = ("authorization", "Bearer good");
    let asked = handle(
        &server,
        modern("ask", json!({}), json!({})),
        &[good],
        Options::new(),
    );
    let asked = json_of(&asked)["result"].clone();
    let key = asked["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap()
        .clone();
    let answer = json!({
        "requestState": asked["requestState"],
        "inputResponses": {key: {"action": "accept", "content": {"value": "n-1"}}},
    });
    let stolen = modern("ask", json!({}), answer.clone());
    let other = ("authorization", "Bearer other");
    let stolen = json_of(&handle(&server, stolen, &[other], Options::new()));
    assert_eq!(stolen["error"]["code"], -32602, "{stolen}");
    let own = modern("ask", json!({}), answer);
    let own = json_of(&handle(&server, own, &[good], Options::new()));
    assert_eq!(own["result"]["content"][0]["text"], "n-1", "{own}");
}
