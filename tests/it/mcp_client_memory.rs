//! A client of a server in this process, with the clock in the test's hand.

use std::{cell::Cell, rc::Rc, time::Duration};

use bytes::Bytes;
use roscius_actors::{
    client::{ClientError, McpClient},
    ports::transport::{Outgoing, Reply, ReplyBody, TransportError},
    transport::Memory,
};
use serde_json::{Value, json};

fn read(message: &Outgoing) -> Value {
    serde_json::from_slice(&message.body).unwrap()
}

fn answer(message: &Outgoing, result: Value) -> Reply {
    let body = json!({"jsonrpc": "2.0", "id": read(message)["id"], "result": result});
    Reply::new(200, ReplyBody::Whole(Bytes::from(body.to_string())))
}

/// A modern server whose list is fresh for a minute, and whose calls take `work`.
async fn serve(message: Outgoing, work: Duration) -> Result<Reply, TransportError> {
    Ok(match read(&message)["method"].as_str().unwrap() {
        "server/discover" => answer(
            &message,
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}),
        ),
        "tools/list" => answer(
            &message,
            json!({"resultType": "complete", "tools": [], "ttlMs": 60_000, "cacheScope": "private"}),
        ),
        _ => {
            tokio::time::sleep(work).await;
            answer(&message, json!({"resultType": "complete", "content": []}))
        }
    })
}

#[actix_web::test]
async fn a_call_may_take_a_minute_and_no_longer() {
    tokio::time::pause();
    let slow = |seconds| {
        Memory::new("slow", move |message| {
            serve(message, Duration::from_secs(seconds))
        })
    };
    let client = McpClient::connect(slow(59)).await.unwrap();
    client.call_tool("a", json!({})).await.unwrap();
    let client = McpClient::connect(slow(61)).await.unwrap();
    let error = client.call_tool("a", json!({})).await.unwrap_err();
    assert!(matches!(error, ClientError::Timeout { after } if after.as_secs() == 60));
    let patient = client
        .call_tool("a", json!({}))
        .timeout(Duration::from_secs(120));
    patient.await.unwrap();
}

#[actix_web::test]
async fn a_list_is_as_fresh_as_the_server_says() {
    tokio::time::pause();
    thread_local!(static LISTED: Rc<Cell<u32>> = Rc::default());
    let memory = Memory::new("lists", |message| {
        if read(&message)["method"] == "tools/list" {
            LISTED.with(|listed| listed.set(listed.get() + 1));
        }
        serve(message, Duration::ZERO)
    });
    let client = McpClient::connect(memory).await.unwrap();
    let listed = || LISTED.with(|listed| listed.get());
    client.list_tools().await.unwrap();
    tokio::time::advance(Duration::from_secs(59)).await;
    client.list_tools().await.unwrap();
    assert_eq!(listed(), 1);
    tokio::time::advance(Duration::from_secs(2)).await;
    client.list_tools().await.unwrap();
    assert_eq!(listed(), 2);
}
