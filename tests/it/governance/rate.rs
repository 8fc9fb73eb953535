//! How often one caller may ask.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use roscius::{
    ports::clock::ManualClock,
    prelude::*,
    server::{McpServerBuilder, RateLimit},
    wire::version::V2025_03_26,
};
use serde_json::{Value, json};

use super::{Answer, legacy, modern, post, send, serve, serve_known};
use crate::served::eventually;

/// A server that counts its calls and lets each caller ask twice a minute.
struct Twice {
    clock: Arc<ManualClock>,
    calls: Arc<AtomicUsize>,
}

impl Twice {
    fn new() -> Self {
        Self {
            clock: Arc::new(ManualClock::at(1_000_000)),
            calls: Arc::default(),
        }
    }

    fn builder(&self) -> McpServerBuilder {
        let calls = Arc::clone(&self.calls);
        let limit = RateLimit::per_minute(2).clock(self.clock.clone());
        McpServer::new("twice", "1.0.0")
            .tool(Tool::new("count", move || {
                let calls = Arc::clone(&calls);
                async move { calls.fetch_add(1, Ordering::SeqCst).to_string() }
            }))
            .rate_limit(limit)
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

fn call() -> Value {
    json!({"name": "count", "arguments": {}})
}

fn refused(answer: &Answer, id: i64, retry_after: &str, millis: u64) {
    assert_eq!(answer.head.status, 429, "{answer:?}");
    assert_eq!(answer.head.header("retry-after"), Some(retry_after));
    let json = answer.json();
    assert_eq!(json["id"], id, "{json}");
    assert_eq!(json["error"]["code"], 429, "{json}");
    assert_eq!(json["error"]["data"], json!({"retryAfterMs": millis}));
}

#[test]
fn a_caller_that_asks_too_often_is_told_when_to_come_again() {
    for request in [legacy as fn(i64, &str, Value) -> Value, modern] {
        let world = Twice::new();
        let served = serve(&world.builder().build().unwrap());
        for id in 0..2 {
            let answer = post(&served, &request(id, "tools/call", call()), &[]);
            assert_eq!(answer.head.status, 200, "{answer:?}");
        }
        let third = request(3, "tools/call", call());
        refused(&post(&served, &third, &[]), 3, "30", 30_000);
        world.clock.advance(Duration::from_millis(29_500));
        refused(&post(&served, &third, &[]), 3, "1", 500);
        world.clock.advance(Duration::from_millis(500));
        assert_eq!(post(&served, &third, &[]).head.status, 200);
        // What was refused has not run, and every method counts.
        assert_eq!(world.calls(), 3);
        let list = request(4, "tools/list", json!({}));
        refused(&post(&served, &list, &[]), 4, "30", 30_000);
    }
}

#[test]
fn each_caller_has_a_bucket_of_its_own() {
    let world = Twice::new();
    let served = serve_known(&world.builder().build().unwrap());
    let ask = |user: Option<&str>| {
        let headers: Vec<_> = user.map(|user| ("x-user", user)).into_iter().collect();
        post(&served, &legacy(1, "ping", json!({})), &headers)
            .head
            .status
    };
    for user in [Some("ann"), Some("bob"), None] {
        assert_eq!(
            [ask(user), ask(user), ask(user)],
            [200, 200, 429],
            "{user:?}"
        );
    }
}

#[test]
fn notifications_and_the_end_of_a_session_are_never_too_many() {
    let world = Twice::new();
    let server = world.builder().sessions(Sessions::Memory).build().unwrap();
    let served = serve(&server);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let opened = post(&served, &legacy(0, "initialize", params), &[]);
    let session = opened.head.header("mcp-session-id").unwrap().to_owned();
    let named = [
        ("mcp-session-id", &*session),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let ping = |id| post(&served, &legacy(id, "ping", json!({})), &named);
    assert_eq!(ping(1).head.status, 200);
    refused(&ping(2), 2, "30", 30_000);
    for method in ["notifications/initialized", "notifications/cancelled"] {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": {"requestId": 1}});
        assert_eq!(post(&served, &message, &named).head.status, 202);
    }
    let get = [("accept", "text/event-stream"), named[0], named[1]];
    let stream = send(&served, "GET", &get, "");
    assert_eq!(stream.head.status, 429, "a stream starts something");
    assert_eq!(stream.head.header("retry-after"), Some("30"));
    assert_eq!(stream.json()["id"], Value::Null);
    assert_eq!(send(&served, "DELETE", &named, "").head.status, 200);
    eventually("the end of the session", || server.open_sessions() == 0);
}

#[test]
fn every_request_of_an_array_counts() {
    let world = Twice::new();
    let served = serve(&world.builder().build().unwrap());
    let batch = json!([
        legacy(1, "tools/call", call()),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        legacy(2, "tools/call", call()),
        legacy(3, "tools/call", call()),
    ]);
    let version = [("mcp-protocol-version", V2025_03_26)];
    let answer = post(&served, &batch, &version);
    assert_eq!(answer.head.status, 200, "{answer:?}");
    let answers = answer.json();
    let codes: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["error"]["code"].as_i64())
        .collect();
    assert_eq!(codes, [None, None, Some(429)], "{answers}");
    assert_eq!(world.calls(), 2);
    // An array of nothing but refusals is one.
    let answer = post(&served, &batch, &version);
    assert_eq!(answer.head.status, 429, "{answer:?}");
    assert_eq!(answer.head.header("retry-after"), Some("30"));
    assert_eq!(answer.json().as_array().unwrap().len(), 3);
}

#[cfg(feature = "stdio")]
#[actix_web::test]
async fn on_a_pipe_the_error_is_all_there_is() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let world = Twice::new();
    let server = world.builder().build().unwrap();
    let (mut input, theirs) = tokio::io::duplex(1 << 16);
    let (ours, mut output) = tokio::io::duplex(1 << 16);
    for id in 0..3 {
        let line = format!("{}\n", modern(id, "tools/call", call()));
        input.write_all(line.as_bytes()).await.unwrap();
    }
    drop(input);
    roscius::server::serve_io(server, theirs, ours)
        .await
        .unwrap();
    let mut text = String::new();
    output.read_to_string(&mut text).await.unwrap();
    let mut lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    lines.sort_by_key(|line| line["id"].as_i64());
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!(lines[2]["error"]["code"], 429, "{text}");
    assert_eq!(lines[2]["error"]["data"]["retryAfterMs"], 30_000);
    assert_eq!(world.calls(), 2);
}
