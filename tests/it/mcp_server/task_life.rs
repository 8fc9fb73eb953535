//! How long tasks live, with a clock that stands still, and how they end with their server.

use std::{future::Future, sync::Arc, time::Duration};

use actix::System;
use roscius::{
    machine::task::TaskEra,
    ports::task_store::{TaskScope, TaskStore as _},
    prelude::*,
    server::{Response, TaskLimits},
    store::memory_tasks::MemoryTasks,
    wire::http::{Body, Head, Method, Request},
};
use serde_json::{Value, json};
use tokio::sync::Notify;

const SECOND: Duration = Duration::from_secs(1);

/// Runs a test on a system of its own whose time passes only when it is told to.
fn paused<T>(test: impl Future<Output = T>) -> T {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap()
    };
    System::with_tokio_rt(runtime).block_on(test)
}

async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

async fn advance(time: Duration) {
    tokio::time::advance(time).await;
    settle().await;
}

/// Notes when it is dropped.
struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

fn server(gone: &Arc<Notify>, open: &Arc<Notify>) -> McpServer {
    let (gone, open) = (Arc::clone(gone), Arc::clone(open));
    let limits = TaskLimits::new().ttl(60 * SECOND).max_ttl(120 * SECOND);
    McpServer::new("tasks", "1.0.0")
        .tasks_extension(true)
        .task_limits(limits)
        .tool(
            Tool::new("wait", move || {
                let (gone, open) = (Dropped(Arc::clone(&gone)), Arc::clone(&open));
                async move {
                    open.notified().await;
                    drop(gone);
                    "waited"
                }
            })
            .task(),
        )
        .build()
        .unwrap()
}

fn send(server: &McpServer, method: &str, params: Value) -> impl Future<Output = Value> + use<> {
    let mut head = Head::new(Method::Post);
    head.content_type = Some(b"application/json");
    head.protocol_version = Some(b"2025-11-25");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let body = body.as_bytes();
    let handling = server.handle(Request { head, body }, Options::new());
    async move { json_of(handling.await) }
}

fn json_of(response: Response) -> Value {
    match response.body {
        Body::Json(body) => serde_json::from_slice(&body).unwrap(),
        other => panic!("{other:?}"),
    }
}

async fn begin(server: &McpServer, task: Value) -> Value {
    let params = json!({"name": "wait", "arguments": {}, "task": task});
    let created = send(server, "tools/call", params).await;
    created["result"]["task"]["taskId"].clone()
}

async fn status(server: &McpServer, id: &Value) -> Value {
    let task = send(server, "tasks/get", json!({"taskId": id})).await;
    match task.get("error") {
        Some(error) => error["code"].clone(),
        None => task["result"]["status"].clone(),
    }
}

#[test]
fn a_task_that_has_ended_is_kept_for_its_time_and_no_longer() {
    paused(async {
        let (gone, open) = (Arc::default(), Arc::default());
        let server = server(&gone, &open);
        let default = begin(&server, json!({})).await;
        let longer = begin(&server, json!({"ttl": 100_000})).await;
        open.notify_waiters();
        open.notify_waiters();
        settle().await;
        assert_eq!(server.running_calls(), 0);
        advance(59 * SECOND).await;
        assert_eq!(status(&server, &default).await, "completed");
        advance(SECOND).await;
        assert_eq!(status(&server, &default).await, -32602);
        assert_eq!(status(&server, &longer).await, "completed");
        assert_eq!(server.open_tasks(), 1);
        advance(40 * SECOND).await;
        assert_eq!(status(&server, &longer).await, -32602);
        assert_eq!(server.open_tasks(), 0);
    });
}

#[test]
fn a_task_that_still_runs_when_its_time_is_over_is_stopped() {
    paused(async {
        let (gone, open) = (Arc::new(Notify::new()), Arc::default());
        let server = server(&gone, &open);
        let id = begin(&server, json!({"ttl": 10_000})).await;
        let mut waits = Box::pin(send(&server, "tasks/result", json!({"taskId": id})));
        assert!(futures_util::poll!(&mut waits).is_pending());
        advance(9 * SECOND).await;
        assert_eq!(status(&server, &id).await, "working");
        advance(SECOND).await;
        gone.notified().await;
        assert_eq!(waits.await["error"]["code"], -32000);
        assert_eq!(status(&server, &id).await, -32602);
        assert_eq!((server.open_tasks(), server.running_calls()), (0, 0));
    });
}

#[test]
fn a_task_outlives_the_request_that_began_it_and_the_one_that_waits() {
    paused(async {
        let (gone, open) = (Arc::default(), Arc::new(Notify::new()));
        let server = server(&gone, &open);
        let id = begin(&server, json!({})).await;
        let mut waits = Box::pin(send(&server, "tasks/result", json!({"taskId": id})));
        assert!(futures_util::poll!(&mut waits).is_pending());
        drop(waits);
        settle().await;
        assert_eq!(status(&server, &id).await, "working");
        open.notify_one();
        let result = send(&server, "tasks/result", json!({"taskId": id})).await;
        assert_eq!(result["result"]["content"][0]["text"], "waited");
    });
}

#[test]
fn a_drain_lets_tasks_end_then_cancels_them_and_leaves_nothing() {
    paused(async {
        let (gone, open) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let server = server(&gone, &open);
        begin(&server, json!({})).await;
        let waits = begin(&server, json!({})).await;
        open.notify_one();
        settle().await;
        gone.notified().await;
        assert_eq!((server.open_tasks(), server.running_calls()), (2, 1));
        let result = send(&server, "tasks/result", json!({"taskId": waits}));
        let (result, ()) = tokio::join!(result, server.drain(5 * SECOND));
        assert!(result["error"]["code"].is_i64(), "{result}");
        gone.notified().await;
        assert_eq!((server.open_tasks(), server.running_calls()), (0, 0));
    });
}

#[test]
fn a_store_of_ones_own_hears_of_every_change_and_is_left_empty() {
    paused(async {
        let store = Arc::new(MemoryTasks::new());
        let open = Arc::new(Notify::new());
        let gate = Arc::clone(&open);
        let server = McpServer::new("tasks", "1.0.0")
            .task_store(Arc::clone(&store))
            .tool(
                Tool::new("wait", move || {
                    let gate = Arc::clone(&gate);
                    async move { gate.notified().await }
                })
                .task(),
            )
            .build()
            .unwrap();
        let id = begin(&server, json!({})).await;
        let scope = TaskScope {
            owner: Owner::ANONYMOUS,
            session: None,
            era: TaskEra::Core,
        };
        let kept = || async {
            let id = id.as_str().unwrap().into();
            let found = store.get(&scope, &id).await.unwrap();
            found.map(|record| record.task.status().to_string())
        };
        assert_eq!(kept().await.as_deref(), Some("working"));
        open.notify_one();
        settle().await;
        assert_eq!(kept().await.as_deref(), Some("completed"));
        server.drain(SECOND).await;
        assert_eq!((kept().await, store.kept()), (None, 0));
    });
}

#[test]
fn without_an_actix_system_tasks_live_on_a_thread_of_their_own() {
    let (gone, open) = (Arc::default(), Arc::new(Notify::new()));
    let server = server(&gone, &open);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let id = begin(&server, json!({})).await;
        open.notify_one();
        let result = send(&server, "tasks/result", json!({"taskId": id})).await;
        assert_eq!(result["result"]["content"][0]["text"], "waited");
        server.drain(10 * SECOND).await;
        assert_eq!(server.open_tasks(), 0);
    });
}
