//! How calls end early, where they may go, and on which thread they run.

use std::time::Duration;

use roscius_actors::{
    client::{ClientError, McpClient},
    ports::transport::TransportError,
    transport::Http,
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::mcp_client_peer::{
    Answer, Peer, accepted, json_reply, legacy, modern, reply, sse_open, sse_reply, text_result,
};

async fn connect(peer: &Peer) -> McpClient {
    McpClient::connect(Http::new(&peer.url)).await.unwrap()
}

#[actix_web::test]
async fn a_dropped_call_closes_its_connection_in_2026() {
    let peer = modern(|_| Answer::Hold(sse_open(&[])));
    let client = connect(&peer).await;
    let call = actix_rt::spawn(client.call_tool("slow", json!({})).into_future());
    peer.wait_for("tools/call").await;
    call.abort();
    let _ = call.await;
    peer.wait_for_hang_up().await;
    assert_eq!(
        peer.methods(),
        ["server/discover", "tools/call"],
        "nothing is posted for it"
    );
}

#[actix_web::test]
async fn a_cancelled_call_tells_a_2025_server() {
    let peer = legacy(Some("s-1"), |request| match request.method() {
        "notifications/cancelled" => accepted(),
        _ => Answer::Hold(sse_open(&[])),
    });
    let client = connect(&peer).await;
    let token = CancellationToken::new();
    let call = client
        .call_tool("slow", json!({}))
        .cancel_on(token.clone())
        .into_future();
    let call = actix_rt::spawn(call);
    peer.wait_for("tools/call").await;
    token.cancel();
    assert!(matches!(call.await.unwrap(), Err(ClientError::Cancelled)));
    peer.wait_for("notifications/cancelled").await;
    let id = peer.of("tools/call")[0].body["id"].clone();
    let cancelled = &peer.of("notifications/cancelled")[0];
    assert_eq!(cancelled.body["params"]["requestId"], id);
    assert_eq!(cancelled.header("mcp-session-id"), Some("s-1"));
}

#[actix_web::test]
async fn a_call_ends_in_time() {
    let peer = modern(|_| Answer::Hold(sse_open(&[])));
    let client = connect(&peer).await;
    let timeout = Duration::from_millis(50);
    let error = client
        .call_tool("slow", json!({}))
        .timeout(timeout)
        .await
        .unwrap_err();
    assert!(
        matches!(error, ClientError::Timeout { after } if after == timeout),
        "{error:?}"
    );
    peer.wait_for_hang_up().await;
}

#[actix_web::test]
async fn closing_ends_what_is_under_way_and_refuses_the_rest() {
    let peer = modern(|_| Answer::Hold(Vec::new()));
    let client = connect(&peer).await;
    let call = actix_rt::spawn(client.call_tool("slow", json!({})).into_future());
    peer.wait_for("tools/call").await;
    client.close().await;
    client.clone().close().await;
    assert!(call.await.unwrap().unwrap_err().is_closed());
    assert!(client.list_tools().await.unwrap_err().is_closed());
    assert!(
        client
            .call_tool("a", json!({}))
            .await
            .unwrap_err()
            .is_closed()
    );
    assert_eq!(
        client.instructions().as_deref(),
        Some("Ask before you guess.")
    );
    peer.wait_for_hang_up().await;
}

#[actix_web::test]
async fn a_2025_question_in_mid_call_is_refused_and_ends_the_call() {
    let question = json!({"jsonrpc": "2.0", "id": "q-1", "method": "elicitation/create",
        "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}});
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
    let peer = legacy(Some("s-1"), move |request| match request.method() {
        "tools/call" => Answer::Hold(sse_open(&[ping.clone(), question.clone()])),
        _ => accepted(),
    });
    let client = connect(&peer).await;
    let error = client.call_tool("ask", json!({})).await.unwrap_err();
    assert!(
        matches!(&error, ClientError::InputUnsupported { method } if method == "elicitation/create")
    );
    peer.wait_for("notifications/cancelled").await;
    peer.wait_for_hang_up().await;
    let answers = peer.of("");
    assert_eq!(
        answers[0].body,
        json!({"jsonrpc": "2.0", "id": 7, "result": {}})
    );
    assert_eq!(answers[1].body["id"], "q-1");
    assert_eq!(answers[1].body["error"]["code"], -32601);
}

#[actix_web::test]
async fn an_answer_without_an_end_is_named() {
    let peer = modern(|request| {
        let body = request.result(json!({"resultType": "complete", "content": []}));
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
        Answer::Cut(format!("{head}{body}").into_bytes())
    });
    let called = connect(&peer).await.call_tool("a", json!({})).await;
    let error = called.unwrap_err().to_string();
    assert!(
        error.contains("neither a content-length nor chunks"),
        "{error}"
    );
}

#[actix_web::test]
async fn redirects_stay_within_the_origin() {
    let peer = modern(|request| match request.path.as_str() {
        "/mcp" => reply(307, &[("location", "/moved?x=1")], ""),
        _ => json_reply(200, &text_result(request, "ok")),
    });
    let client = McpClient::connect(Http::new(&peer.url).bearer("secret"))
        .await
        .unwrap();
    client.call_tool("a", json!({})).await.unwrap();
    let requests = peer.requests();
    assert_eq!(requests[2].path, "/moved?x=1");
    assert_eq!(requests[2].body, requests[1].body);
    assert_eq!(requests[2].header("authorization"), Some("Bearer secret"));

    let foreign = Peer::start(|_| accepted());
    let target = foreign.url.clone();
    let peer = modern(move |_| reply(308, &[("location", &target)], ""));
    let client = McpClient::connect(Http::new(&peer.url).bearer("secret"))
        .await
        .unwrap();
    let error = client.call_tool("a", json!({})).await.unwrap_err();
    assert!(
        matches!(
            error,
            ClientError::Transport(TransportError::Redirected { .. })
        ),
        "{error:?}"
    );
    assert_eq!(foreign.requests().len(), 0, "the token stays at home");

    let peer = modern(|_| reply(307, &[("location", "/mcp")], ""));
    let error = connect(&peer)
        .await
        .call_tool("a", json!({}))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            ClientError::Transport(TransportError::TooManyRedirects { limit: 5 })
        ),
        "{error:?}"
    );
}

#[actix_web::test]
async fn answers_are_bounded() {
    let long = "x".repeat(4000);
    let peer = modern(move |request| match request.index % 2 {
        0 => json_reply(200, &text_result(request, &long)),
        _ => sse_reply(&[text_result(request, &long)]),
    });
    let client = McpClient::connect(Http::new(&peer.url).max_response_bytes(2000))
        .await
        .unwrap();
    for _ in 0..2 {
        let error = client.call_tool("a", json!({})).await.unwrap_err();
        let expected = TransportError::TooLarge { limit: 2000 };
        assert!(
            matches!(&error, ClientError::Transport(error) if *error == expected),
            "{error:?}"
        );
    }
}

#[actix_web::test]
async fn a_stream_that_breaks_is_an_error_and_not_an_answer() {
    let other_id = json!({"jsonrpc": "2.0", "id": 99, "result": {"content": []}});
    let peer = modern(move |request| match request.index {
        1 => Answer::Cut(sse_open(&[])),
        2 => Answer::Cut(sse_open(std::slice::from_ref(&other_id))),
        _ => sse_reply(std::slice::from_ref(&other_id)),
    });
    let client = connect(&peer).await;
    for _ in 0..3 {
        let error = client.call_tool("a", json!({})).await.unwrap_err();
        let broken = matches!(error, ClientError::Transport(TransportError::Broken(_)));
        assert!(broken, "{error:?}");
    }
}

#[actix_web::test]
async fn declared_capabilities_can_be_changed() {
    let peer = modern(|request| json_reply(200, &text_result(request, "ok")));
    let mut capabilities = Map::new();
    capabilities.insert("sampling".to_owned(), Value::Null);
    capabilities.insert("roots".to_owned(), json!({}));
    McpClient::connect(Http::new(&peer.url))
        .capabilities(capabilities)
        .await
        .unwrap();
    let declared =
        &peer.requests()[0].body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(*declared, json!({"elicitation": {"form": {}}, "roots": {}}));
}

#[actix_web::test]
async fn a_handle_works_on_every_thread_and_probes_once() {
    let peer = modern(|request| json_reply(200, &text_result(request, "ok")));
    let client = connect(&peer).await;
    client.call_tool("here", json!({})).await.unwrap();
    let elsewhere = client.clone();
    let with_system = std::thread::spawn(move || {
        let call = elsewhere.call_tool("with_system", json!({})).into_future();
        actix_rt::System::new().block_on(call).map(|_| ())
    });
    with_system.join().unwrap().unwrap();
    let elsewhere = client.clone();
    let without_system = std::thread::spawn(move || {
        let call = async {
            elsewhere.call_tool("without_system", json!({})).await?;
            elsewhere.call_tool("without_system", json!({})).await
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(call).map(|_| ())
    });
    without_system.join().unwrap().unwrap();
    client.close().await;
    assert_eq!(peer.of("server/discover").len(), 1);
    assert_eq!(peer.of("tools/call").len(), 4);
}

#[test]
fn a_client_can_be_made_where_there_is_no_actix_system() {
    let peer = modern(|request| json_reply(200, &text_result(request, "ok")));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let client = connect(&peer).await;
        client.call_tool("a", json!({})).await.unwrap();
        client.close().await;
        assert!(
            client
                .call_tool("a", json!({}))
                .await
                .unwrap_err()
                .is_closed()
        );
    });
}

#[actix_web::test]
async fn calls_over_the_bound_wait_for_their_turn() {
    let peer = modern(|request| match request.body["params"]["name"].as_str() {
        Some("slow") => Answer::Hold(Vec::new()),
        _ => json_reply(200, &text_result(request, "ok")),
    });
    let client = McpClient::connect(Http::new(&peer.url))
        .max_requests(1)
        .await
        .unwrap();
    let slow = actix_rt::spawn(client.call_tool("slow", json!({})).into_future());
    peer.wait_for("tools/call").await;
    let waiting = client
        .call_tool("quick", json!({}))
        .timeout(Duration::from_millis(50));
    assert!(waiting.await.unwrap_err().is_timeout());
    assert_eq!(peer.of("tools/call").len(), 1);
    slow.abort();
    client.call_tool("quick", json!({})).await.unwrap();
}
