//! A server that was not told what to do with clients of 2025: its pipe keeps a session, its HTTP
//! endpoint does not.

use std::sync::Arc;

use roscius::prelude::*;
use serde_json::json;

use super::{builder, initialize, legacy, serve};
use crate::mcp_server::host::{Ask, Served};

#[tokio::test]
async fn a_pipe_keeps_a_session_unless_it_is_told_otherwise() {
    let server = builder(&Arc::default()).build().unwrap();
    let watched = server.clone();
    serve(server, |mut pipes| async move {
        // What comes before the greeting needs no session.
        assert_eq!(
            pipes.ask(legacy(1, "ping", json!({}))).await["result"],
            json!({})
        );
        let greeted = pipes.ask(initialize("2025-06-18")).await;
        let capabilities = &greeted["result"]["capabilities"];
        assert_eq!(capabilities["logging"], json!({}), "{greeted}");
        assert_eq!(watched.open_sessions(), 1);
        let level = pipes
            .ask(legacy(2, "logging/setLevel", json!({"level": "error"})))
            .await;
        assert_eq!(level["result"], json!({}));
        pipes
            .send(legacy(3, "tools/call", json!({"name": "city"})))
            .await;
        let question = pipes.line().await;
        assert_eq!(question["method"], "elicitation/create");
        let answer = json!({"action": "accept", "content": {"value": "Oslo"}});
        pipes
            .send(json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}))
            .await;
        let result = pipes.line().await;
        assert_eq!(result["id"], 3);
        assert_eq!(result["result"]["content"][0]["text"], "Oslo");
        let again = pipes.ask(initialize("2025-06-18")).await;
        assert_eq!(again["error"]["code"], -32600);
        assert!(pipes.end().await.is_empty());
        crate::served::eventually("the session has ended", || watched.open_sessions() == 0);
    })
    .await
    .unwrap();
}

#[test]
fn the_same_server_keeps_no_session_over_http() {
    let server = builder(&Arc::default()).build().unwrap();
    let served = Served::new(&server);
    let reply = Ask::post(initialize("2025-11-25").to_string()).send(&served);
    assert_eq!((reply.status, reply.header("mcp-session-id")), (200, None));
    let capabilities = reply.json()["result"]["capabilities"].take();
    assert_eq!(capabilities, json!({"tools": {"listChanged": false}}));
    let named = Ask::legacy("2025-11-25", "tools/list", json!({}));
    let named = named.header("mcp-session-id", "00000000-0000-4000-8000-000000000000");
    assert_eq!(named.send(&served).status, 200);
    let city = Ask::legacy("2025-11-25", "tools/call", json!({"name": "city"}));
    assert_eq!(city.send(&served).json()["result"]["isError"], true);
    for method in ["GET", "DELETE", "PUT"] {
        let reply = Ask::new(method).header("accept", "text/event-stream");
        let reply = reply.send(&served);
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")));
    }
    assert_eq!(server.open_sessions(), 0);
}

#[tokio::test]
async fn a_pipe_that_is_told_to_refuse_2025_does() {
    let server = builder(&Arc::default()).sessions(Sessions::Reject);
    serve(server.build().unwrap(), |mut pipes| async move {
        let refused = pipes.ask(initialize("2025-11-25")).await;
        assert_eq!(refused["error"]["code"], -32022);
        assert_eq!(
            refused["error"]["data"],
            json!({"supported": ["2026-07-28"], "requested": "2025-11-25"})
        );
        assert!(pipes.end().await.is_empty());
    })
    .await
    .unwrap();
}
