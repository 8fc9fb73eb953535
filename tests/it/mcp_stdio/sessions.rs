//! Clients of 2025 on a pipe, with a session and without.

use std::{sync::Arc, time::Duration};

use roscius::prelude::*;
use serde_json::json;

use super::{Seen, builder, cancelled, initialize, legacy, modern, serve};

#[actix_web::test]
async fn a_2025_client_is_asked_on_the_same_pipe() {
    let server = builder(&Arc::default())
        .sessions(Sessions::Memory)
        .build()
        .unwrap();
    serve(server.clone(), |mut pipes| async move {
        pipes.ask(initialize("2025-11-25")).await;
        pipes
            .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        pipes
            .send(legacy(1, "tools/call", json!({"name": "city"})))
            .await;
        let question = pipes.line().await;
        assert_eq!(question["method"], "elicitation/create");
        assert_eq!(question["params"]["message"], "Which city?");
        pipes.ask(legacy(2, "ping", json!({}))).await;
        let answer = json!({"action": "accept", "content": {"value": "Oslo"}});
        pipes
            .send(json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}))
            .await;
        let result = pipes.line().await;
        assert_eq!(result["id"], 1);
        assert_eq!(result["result"]["content"][0]["text"], "Oslo");
        assert!(pipes.end().await.is_empty());
    })
    .await
    .unwrap();
    assert_eq!(server.open_sessions(), 0);
}

#[actix_web::test]
async fn what_comes_before_the_greeting_needs_no_session() {
    let server = builder(&Arc::default())
        .sessions(Sessions::Memory)
        .build()
        .unwrap();
    serve(server, |mut pipes| async move {
        let early = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        pipes.send(early).await;
        let pong = pipes.ask(legacy(1, "ping", json!({}))).await;
        assert_eq!(pong["result"], json!({}));
        let listed = pipes.ask(legacy(2, "tools/list", json!({}))).await;
        assert!(listed["result"]["tools"].is_array(), "{listed}");
        let call = legacy(3, "tools/call", json!({"name": "city"}));
        assert_eq!(pipes.ask(call).await["result"]["isError"], true);
        let greeted = pipes.ask(initialize("2025-11-25")).await;
        assert_eq!(greeted["result"]["protocolVersion"], "2025-11-25");
        assert!(pipes.end().await.is_empty());
    })
    .await
    .unwrap();
}

#[actix_web::test]
async fn a_cancelled_call_of_a_session_is_not_answered() {
    // B010
    let seen: Arc<Seen> = Arc::default();
    let server = builder(&seen).sessions(Sessions::Memory).build().unwrap();
    serve(server, |mut pipes| async move {
        pipes.ask(initialize("2025-11-25")).await;
        pipes
            .send(legacy(5, "tools/call", json!({"name": "forever"})))
            .await;
        seen.started.notified().await;
        pipes.send(cancelled(5)).await;
        pipes.ask(legacy(6, "ping", json!({}))).await;
        assert!(pipes.end().await.is_empty());
        assert!(seen.token.lock().unwrap().as_ref().unwrap().is_cancelled());
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_2025_client_without_a_session_cannot_be_asked() {
    let server = builder(&Arc::default()).sessions(Sessions::Stateless);
    serve(server.build().unwrap(), |mut pipes| async move {
        pipes.ask(initialize("2025-11-25")).await;
        let answer = pipes
            .ask(legacy(1, "tools/call", json!({"name": "city"})))
            .await;
        assert_eq!(answer["result"]["isError"], true);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("session"), "{text}");
        let asked = pipes
            .ask(modern(2, "tools/call", json!({"name": "city"})))
            .await;
        assert_eq!(asked["result"]["resultType"], "input_required");
    })
    .await
    .unwrap();
}

#[actix_web::test]
async fn a_call_that_ends_its_connection_is_answered_on_the_pipe() {
    let long = Tool::new("long", |cx: ToolCx| async move {
        cx.close_stream();
        tokio::time::sleep(Duration::from_millis(1)).await;
        "came back"
    });
    let server = builder(&Arc::default()).sessions(Sessions::Memory);
    serve(server.tool(long).build().unwrap(), |mut pipes| async move {
        pipes.ask(initialize("2025-11-25")).await;
        let call = legacy(1, "tools/call", json!({"name": "long"}));
        let answer = pipes.ask(call).await;
        assert_eq!(answer["result"]["content"][0]["text"], "came back");
    })
    .await
    .unwrap();
}
