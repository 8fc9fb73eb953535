//! How long tasks live, with a clock that stands still, and how they end with their server.

use std::{sync::Arc, time::Duration};

use roscius::{
    machine::task::TaskEra,
    ports::task_store::{TaskScope, TaskStore as _},
    prelude::*,
    server::TaskLimits,
    store::memory_tasks::MemoryTasks,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::task_host::{
    SECOND, advance, begin, begin_2025, legacy, legacy_text, modern, paused, read, result_of,
    settle,
};

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

async fn status(server: &McpServer, id: &Value) -> Value {
    let task = legacy(server, "tasks/get", json!({"taskId": id})).await;
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
        let default = begin_2025(&server, "wait", json!({})).await;
        let longer = begin_2025(&server, "wait", json!({"ttl": 100_000})).await;
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
        let id = begin_2025(&server, "wait", json!({"ttl": 10_000})).await;
        let mut waits = Box::pin(legacy(&server, "tasks/result", json!({"taskId": id})));
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
        let id = begin_2025(&server, "wait", json!({})).await;
        let mut waits = Box::pin(legacy(&server, "tasks/result", json!({"taskId": id})));
        assert!(futures_util::poll!(&mut waits).is_pending());
        drop(waits);
        settle().await;
        assert_eq!(status(&server, &id).await, "working");
        open.notify_one();
        let result = legacy(&server, "tasks/result", json!({"taskId": id})).await;
        assert_eq!(result["result"]["content"][0]["text"], "waited");
    });
}

#[test]
fn a_drain_lets_tasks_end_then_cancels_them_and_leaves_nothing() {
    paused(async {
        let (gone, open) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let server = server(&gone, &open);
        begin_2025(&server, "wait", json!({})).await;
        let waits = begin_2025(&server, "wait", json!({})).await;
        open.notify_one();
        settle().await;
        gone.notified().await;
        assert_eq!((server.open_tasks(), server.running_calls()), (2, 1));
        let result = legacy(&server, "tasks/result", json!({"taskId": waits}));
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
        let id = begin_2025(&server, "wait", json!({})).await;
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
        let id = begin_2025(&server, "wait", json!({})).await;
        open.notify_one();
        let result = legacy(&server, "tasks/result", json!({"taskId": id})).await;
        assert_eq!(result["result"]["content"][0]["text"], "waited");
        server.drain(10 * SECOND).await;
        assert_eq!(server.open_tasks(), 0);
    });
}

#[test]
fn a_time_that_cannot_be_is_refused_and_an_odd_one_bounded() {
    paused(async {
        let server = McpServer::new("tasks", "1.0.0")
            .tool(Tool::new("hi", || async { "hi" }).task())
            .build()
            .unwrap();
        for (task, expected) in [
            ("{}", json!(3_600_000)),
            (r#"{"ttl":null}"#, json!(3_600_000)),
            (r#"{"ttl":0}"#, json!(1_000)),
            (r#"{"ttl":60000}"#, json!(60_000)),
            (r#"{"ttl":60000.0}"#, json!(60_000)),
            (r#"{"ttl":6e4}"#, json!(60_000)),
            (r#"{"ttl":18446744073709551615}"#, json!(3_600_000)),
            (r#"{"ttl":1e30}"#, json!(3_600_000)),
            (r#"{"ttl":-1}"#, json!(-32602)),
            (r#"{"ttl":1.5}"#, json!(-32602)),
            (r#"{"ttl":"5"}"#, json!(-32602)),
            ("true", json!(-32602)),
            ("[]", json!(-32602)),
        ] {
            let params = format!(r#"{{"name":"hi","arguments":{{}},"task":{task}}}"#);
            let reply = read(&legacy_text(&server, "tools/call", &params).await);
            let got = match reply.get("error") {
                Some(error) => &error["code"],
                None => &reply["result"]["task"]["ttl"],
            };
            assert_eq!(*got, expected, "{task}: {reply}");
        }
    });
}

#[test]
fn a_server_may_keep_its_tasks_for_ever() {
    paused(async {
        let limits = TaskLimits::new().ttl(Duration::MAX).max_ttl(Duration::MAX);
        let server = McpServer::new("tasks", "1.0.0")
            .tasks_extension(true)
            .task_limits(limits)
            .tool(Tool::new("hi", || async { "hi" }).task())
            .build()
            .unwrap();
        let id = begin(&server, "hi").await;
        let found = modern(&server, "tasks/get", json!({"taskId": id})).await;
        assert_eq!(found["result"].get("ttlMs"), Some(&json!(null)), "{found}");
        tokio::time::advance(1_000_000 * SECOND).await;
        let result = result_of(&server, &id).await;
        assert!(result.get().contains("hi"));
        server.drain(SECOND).await;
        assert_eq!(server.open_tasks(), 0);
    });
}
