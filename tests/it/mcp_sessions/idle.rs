//! How long sessions live, with a clock that stands still.

use std::{future::Future, pin::pin, time::Duration};

use actix::System;
use futures_util::{StreamExt as _, future::poll_fn};
use roscius::{
    prelude::*,
    server::{Response, SessionLimits},
    wire::http::{Body, Head, Method, Request},
};
use serde_json::json;

use super::client::{Gate, builder, initialize};

pub(super) const MINUTE: Duration = Duration::from_secs(60);

/// Runs a test on a system of its own whose time passes only when it is told to.
pub(super) fn paused<T>(test: impl Future<Output = T>) -> T {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap()
    };
    System::with_tokio_rt(runtime).block_on(test)
}

/// Lets time pass and everything that waits for it happen.
pub(super) async fn advance(time: Duration) {
    tokio::time::advance(time).await;
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

pub(super) struct Session<'a> {
    server: &'a McpServer,
    id: String,
}

impl<'a> Session<'a> {
    pub(super) async fn open(server: &'a McpServer) -> Self {
        let body = initialize("2025-11-25", r#"{"elicitation":{}}"#);
        let response = send(server, Method::Post, None, &body).await;
        let id = response.session.unwrap().to_string();
        Self { server, id }
    }

    pub(super) async fn send(&self, method: Method, body: &str) -> Response {
        send(self.server, method, Some(&self.id), body).await
    }

    async fn ping(&self) -> u16 {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        self.send(Method::Post, ping).await.status
    }
}

fn send(
    server: &McpServer,
    method: Method,
    session: Option<&str>,
    body: &str,
) -> impl Future<Output = Response> + use<> {
    let mut head = Head::new(method);
    head.content_type = Some(b"application/json");
    head.session_id = session.map(str::as_bytes);
    let body = body.as_bytes();
    server.handle(Request { head, body }, Options::new())
}

fn server(gate: &Gate, limits: SessionLimits) -> McpServer {
    builder(gate)
        .keep_alive(Duration::from_secs(15))
        .session_limits(limits)
        .build()
        .unwrap()
}

// G11
#[test]
fn a_session_lives_for_30_minutes_after_its_last_request() {
    paused(async {
        let server = server(&Gate::default(), SessionLimits::new());
        let session = Session::open(&server).await;
        advance(29 * MINUTE).await;
        assert_eq!(session.ping().await, 200);
        advance(29 * MINUTE).await;
        assert_eq!(session.ping().await, 200);
        advance(30 * MINUTE - Duration::from_secs(1)).await;
        assert_eq!(server.open_sessions(), 1);
        advance(Duration::from_secs(2)).await;
        assert_eq!((server.open_sessions(), session.ping().await), (0, 404));
    });
}

#[test]
fn an_open_stream_keeps_a_session() {
    paused(async {
        let server = server(&Gate::default(), SessionLimits::new());
        let session = Session::open(&server).await;
        let response = session.send(Method::Get, "").await;
        let Body::Stream(mut stream) = response.body else {
            panic!("no stream");
        };
        assert!(stream.next().await.unwrap().starts_with(b"id: 0-0"));
        for _ in 0..10 {
            advance(20 * MINUTE).await;
        }
        assert_eq!(server.open_sessions(), 1);
        drop(stream);
        advance(30 * MINUTE - Duration::from_secs(1)).await;
        assert_eq!(server.open_sessions(), 1);
        advance(2 * Duration::from_secs(1)).await;
        assert_eq!(server.open_sessions(), 0);
    });
}

#[test]
fn a_call_and_a_waiting_question_keep_a_session() {
    paused(async {
        let gate = Gate::default();
        let limits = SessionLimits::new().answer_within(180 * MINUTE);
        let server = server(&gate, limits);
        for name in ["plain_wait", "ask"] {
            let session = Session::open(&server).await;
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}});
            let body = body.to_string();
            let mut call = pin!(session.send(Method::Post, &body));
            let mut answer = poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx))).await;
            for _ in 0..5 {
                advance(20 * MINUTE).await;
                if answer.is_pending() {
                    answer = poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx))).await;
                }
            }
            assert_eq!(server.open_sessions(), 1, "{name}");
            gate.open.notify_one();
            drop(answer);
            drop(server.clone());
            session.send(Method::Delete, "").await;
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            assert_eq!(server.open_sessions(), 0);
        }
    });
}

#[test]
fn without_an_actix_system_sessions_live_on_a_thread_of_their_own() {
    let server = server(&Gate::default(), SessionLimits::new());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let session = Session::open(&server).await;
        assert_eq!((server.open_sessions(), session.ping().await), (1, 200));
        server.drain(Duration::from_secs(10)).await;
        assert_eq!(server.open_sessions(), 0);
    });
}
