//! Lists and calls: what goes out, what comes back, and how a call ends early.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use roscius_actors::{
    client::{ClientError, InputKind, McpClient},
    transport::Http,
};
use serde_json::{Value, json};

use crate::mcp_client_peer::{
    Answer, Peer, Received, json_reply, legacy, modern, reply, sse_reply, text_result, tool,
    tools_page,
};

async fn connect(peer: &Peer) -> McpClient {
    McpClient::connect(Http::new(&peer.url)).await.unwrap()
}

fn names(tools: &[roscius_actors::wire::content::ToolListing]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[actix_web::test]
async fn a_list_is_walked_to_its_end_and_remembered() {
    let peer = modern(|request| match request.body["params"]["cursor"].as_str() {
        None => tools_page(request, &json!([tool("a")]), Some("")),
        Some("") => tools_page(
            request,
            &json!([tool("b"), {"nameless": true}]),
            Some("next"),
        ),
        Some("next") => tools_page(request, &json!([tool("c")]), None),
        Some(other) => panic!("cursor {other}"),
    });
    let client = connect(&peer).await;
    assert_eq!(names(&client.list_tools().await.unwrap()), ["a", "b", "c"]);
    assert_eq!(names(&client.list_tools().await.unwrap()), ["a", "b", "c"]);
    assert_eq!(
        peer.of("tools/list").len(),
        3,
        "the second list is remembered"
    );
}

#[actix_web::test]
async fn two_callers_at_once_read_the_list_once() {
    let peer = modern(|request| tools_page(request, &json!([tool("a")]), None));
    let client = connect(&peer).await;
    let (one, other) = futures_util::join!(client.list_tools(), client.list_tools());
    assert_eq!(names(&one.unwrap()), names(&other.unwrap()));
    assert_eq!(peer.of("tools/list").len(), 1);
}

#[actix_web::test]
async fn a_list_without_end_is_an_error() {
    let peer = modern(|request| tools_page(request, &json!([]), Some("again")));
    let error = connect(&peer).await.list_tools().await.unwrap_err();
    assert!(matches!(error, ClientError::Paging(_)), "{error:?}");
    assert_eq!(peer.of("tools/list").len(), 2);

    let peer = modern(|request| {
        let cursor = request.index.to_string();
        tools_page(request, &json!([]), Some(&cursor))
    });
    let error = connect(&peer).await.list_tools().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the tools cannot be listed: the list has more than 100 pages"
    );
    assert_eq!(peer.of("tools/list").len(), 100);
}

#[actix_web::test]
async fn a_call_gives_the_raw_result_in_json_and_in_sse() {
    let result = json!({
        "resultType": "complete",
        "content": [{"type": "text", "text": "no such city"}, {"type": "new", "x": 1}],
        "structuredContent": [1, 2], "isError": true, "_meta": {"a": 1},
    });
    let whole = result.clone();
    let peer = modern(move |request| match request.index % 2 {
        0 => json_reply(200, &request.result(whole.clone())),
        _ => {
            let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": 1, "progress": 1}});
            let other = json!({"jsonrpc": "2.0", "id": "other", "result": {"content": []}});
            sse_reply(&[progress, other, request.result(whole.clone())])
        }
    });
    let client = connect(&peer).await;
    for _ in 0..2 {
        let got = client
            .call_tool("get", json!({"city": "Oslo"}))
            .await
            .unwrap();
        let mut got = serde_json::to_value(got).unwrap();
        got["resultType"] = "complete".into();
        assert_eq!(got, result);
    }
    let calls = peer.of("tools/call");
    assert_eq!(calls[0].header("mcp-name"), Some("get"));
    assert_eq!(calls[0].header("mcp-method"), Some("tools/call"));
    assert_ne!(calls[0].body["id"], calls[1].body["id"]);
    let mut params = calls[0].body["params"].clone();
    params.as_object_mut().unwrap().remove("_meta").unwrap();
    assert_eq!(
        params,
        json!({"name": "get", "arguments": {"city": "Oslo"}})
    );
}

#[actix_web::test]
async fn an_error_under_any_status_is_the_servers_error() {
    for status in [200, 400, 404, 500] {
        let peer =
            modern(move |request| json_reply(status, &request.error(-32602, json!({"a": 1}))));
        let error = connect(&peer)
            .await
            .call_tool("nope", json!({}))
            .await
            .unwrap_err();
        let rpc = error.rpc().unwrap();
        assert_eq!(
            (rpc.code, rpc.data.clone()),
            (-32602, Some(json!({"a": 1}))),
            "{status}"
        );
    }
    let peer = modern(|_| reply(502, &[], "bad gateway"));
    let error = connect(&peer)
        .await
        .call_tool("a", json!({}))
        .await
        .unwrap_err();
    assert!(
        matches!(error, ClientError::Status { status: 502 }),
        "{error:?}"
    );
    let peer = modern(|_| reply(401, &[("www-authenticate", "Bearer")], ""));
    let error = connect(&peer)
        .await
        .call_tool("a", json!({}))
        .await
        .unwrap_err();
    assert!(error.is_unauthorized(), "{error:?}");
}

#[actix_web::test]
async fn answers_against_the_protocol_are_named() {
    let other_id = json!({"jsonrpc": "2.0", "id": 99, "result": {"content": []}});
    let no_response = [reply(200, &[], ""), json_reply(200, &other_id)];
    for answer in no_response {
        let Answer::Reply(bytes) = answer else {
            continue;
        };
        let peer = modern(move |_| Answer::Reply(bytes.clone()));
        let error = connect(&peer)
            .await
            .call_tool("a", json!({}))
            .await
            .unwrap_err();
        assert!(matches!(error, ClientError::Protocol { .. }), "{error:?}");
    }
    let peer = modern(|request| {
        json_reply(
            200,
            &request.result(json!({"resultType": "task", "taskId": "1"})),
        )
    });
    let error = connect(&peer)
        .await
        .call_tool("a", json!({}))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("\"task\""), "{error}");
}

#[actix_web::test]
async fn names_that_are_no_header_are_encoded() {
    let peer = modern(|request| json_reply(200, &text_result(request, "ok")));
    connect(&peer)
        .await
        .call_tool("wetter_für", Value::Null)
        .await
        .unwrap();
    let call = &peer.of("tools/call")[0];
    assert_eq!(call.header("mcp-name"), Some("=?base64?d2V0dGVyX2bDvHI=?="));
    assert_eq!(call.body["params"]["arguments"], json!({}));
}

fn annotated(name: &str, header: Value) -> Value {
    json!({"name": name, "inputSchema": {"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": header}}}})
}

#[actix_web::test]
async fn annotated_arguments_become_headers_and_invalid_tools_vanish() {
    let peer = modern(|request| match request.method() {
        "tools/list" => {
            let tools = json!([
                annotated("a", json!("Region")),
                annotated("b", json!("no token")),
                tool("c")
            ]);
            tools_page(request, &tools, None)
        }
        _ => json_reply(200, &text_result(request, "ok")),
    });
    let client = connect(&peer).await;
    assert_eq!(names(&client.list_tools().await.unwrap()), ["a", "c"]);
    for region in [json!("eu"), json!(" padded "), json!(""), Value::Null] {
        client
            .call_tool("a", json!({"region": region}))
            .await
            .unwrap();
    }
    let sent: Vec<_> = peer
        .of("tools/call")
        .iter()
        .map(|call| call.header("mcp-param-region").map(str::to_owned))
        .collect();
    let expected = [Some("eu"), Some("=?base64?IHBhZGRlZCA=?="), Some(""), None];
    assert_eq!(sent, expected.map(|value| value.map(str::to_owned)));
}

#[actix_web::test]
async fn a_header_mismatch_lists_again_and_retries_once() {
    let strict = |request: &Received| match request.header("mcp-param-region") {
        None => json_reply(400, &request.error(-32020, Value::Null)),
        Some(_) => json_reply(200, &text_result(request, "ok")),
    };
    let peer = modern(move |request| match request.method() {
        "tools/list" => tools_page(request, &json!([annotated("a", json!("Region"))]), None),
        _ => strict(request),
    });
    let client = connect(&peer).await;
    client
        .call_tool("a", json!({"region": "eu"}))
        .await
        .unwrap();
    assert_eq!(
        peer.methods(),
        ["server/discover", "tools/call", "tools/list", "tools/call"]
    );

    let error = client.call_tool("a", json!({})).await.unwrap_err();
    assert_eq!(error.rpc().unwrap().code, -32020);
    assert_eq!(
        peer.of("tools/call").len(),
        3,
        "the same headers are not sent again"
    );
}

#[actix_web::test]
async fn a_2025_server_gets_no_2026_headers() {
    let peer = legacy(None, |request| match request.method() {
        "tools/list" => tools_page(request, &json!([annotated("a", json!("no token"))]), None),
        _ => json_reply(200, &text_result(request, "ok")),
    });
    let client = connect(&peer).await;
    assert_eq!(names(&client.list_tools().await.unwrap()), ["a"]);
    client
        .call_tool("a", json!({"region": "eu"}))
        .await
        .unwrap();
    let call = &peer.of("tools/call")[0];
    assert_eq!(call.header("mcp-method"), None);
    assert_eq!(call.header("mcp-name"), None);
    assert_eq!(
        call.body["params"],
        json!({"name": "a", "arguments": {"region": "eu"}})
    );
    client.close().await;
    assert!(
        !peer.methods().contains(&"DELETE".to_owned()),
        "there was no session"
    );
}

fn asks(request: &Received, state: &str) -> Answer {
    json_reply(200, &request.result(json!({
        "resultType": "input_required", "requestState": state,
        "inputRequests": {
            "city": {"method": "elicitation/create", "params": {
                "mode": "form", "message": "Which city?", "requestedSchema": {"type": "object",
                    "properties": {"value": {"type": "string"}}, "required": ["value"]}}},
            "text": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 9}},
        },
    })))
}

#[actix_web::test]
async fn a_question_is_a_typed_error_and_its_answer_goes_back_with_the_state() {
    let peer = modern(
        |request| match request.body["params"].get("inputResponses") {
            None => asks(request, "opaque-1"),
            Some(_) => json_reply(200, &text_result(request, "12 C in Oslo")),
        },
    );
    let client = connect(&peer).await;
    let error = client.call_tool("ask", json!({"a": 1})).await.unwrap_err();
    assert!(error.is_input_required());
    let input = error.input_required().unwrap();
    assert_eq!(input.kind, InputKind::Form);
    assert_eq!(input.request["message"], "Which city?");
    assert_eq!(input.questions.keys().collect::<Vec<_>>(), ["city", "text"]);
    assert_eq!(input.questions["text"].method, "sampling/createMessage");
    assert_eq!(input.request_state.as_deref(), Some("opaque-1"));

    let answer = json!({"action": "accept", "content": {"value": "Oslo"}});
    let result = client
        .call_tool("ask", json!({"a": 1}))
        .input_responses([("city", answer.clone())])
        .request_state(input.request_state.clone())
        .await
        .unwrap();
    assert_eq!(result.content[0].as_text(), Some("12 C in Oslo"));
    let calls = peer.of("tools/call");
    assert_ne!(calls[0].body["id"], calls[1].body["id"]);
    assert_eq!(calls[1].body["params"]["requestState"], "opaque-1");
    assert_eq!(
        calls[1].body["params"]["inputResponses"],
        json!({"city": answer})
    );
    assert_eq!(calls[1].header("mcp-name"), Some("ask"));
    assert_eq!(calls[0].body["params"].get("requestState"), None);
}

#[actix_web::test]
async fn a_state_without_questions_is_sent_back_at_once_and_not_for_ever() {
    let interim = |request: &Received, state: &str| {
        json_reply(
            200,
            &request.result(json!({"resultType": "input_required", "requestState": state})),
        )
    };
    let peer = modern(
        move |request| match request.body["params"]["requestState"].as_str() {
            None => interim(request, "1"),
            Some("1") => interim(request, "2"),
            Some(_) => json_reply(200, &text_result(request, "done")),
        },
    );
    let result = connect(&peer)
        .await
        .call_tool("a", json!({}))
        .await
        .unwrap();
    assert_eq!(result.content[0].as_text(), Some("done"));
    assert_eq!(peer.of("tools/call").len(), 3);

    let peer = modern(move |request| interim(request, "1"));
    let error = connect(&peer)
        .await
        .call_tool("a", json!({}))
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Protocol { .. }), "{error:?}");
    assert_eq!(peer.of("tools/call").len(), 10);
}

#[actix_web::test]
async fn a_changed_list_is_read_again() {
    let said = Arc::new(AtomicBool::new(false));
    let peer = legacy(None, move |request| match request.method() {
        "tools/list" if said.load(Ordering::SeqCst) => {
            tools_page(request, &json!([tool("b")]), None)
        }
        "tools/list" => tools_page(request, &json!([tool("a")]), None),
        _ => {
            said.store(true, Ordering::SeqCst);
            let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            sse_reply(&[changed, text_result(request, "ok")])
        }
    });
    let client = connect(&peer).await;
    assert_eq!(names(&client.list_tools().await.unwrap()), ["a"]);
    client.call_tool("a", json!({})).await.unwrap();
    assert_eq!(names(&client.list_tools().await.unwrap()), ["b"]);
}
