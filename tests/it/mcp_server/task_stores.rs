//! Task stores that hang or are full, and what a server does then.

use std::{
    future::pending,
    sync::{Arc, Mutex},
};

use roscius::{
    ports::task_store::{TaskFuture, TaskRecord, TaskScope, TaskStore},
    prelude::*,
    server::{Response, ServerFault, TaskLimits},
    store::memory_tasks::MemoryTasks,
    wire::{auth::AuthInfo, ids::TaskId},
};
use serde_json::{Value, json};

use super::task_host::{
    SECOND, advance, begin, legacy_as, modern, modern_as, modern_text, paused, read, result_of,
    text_of,
};

/// A store whose storage has gone away after it has kept a task.
#[derive(Debug, Default)]
struct Hangs(MemoryTasks);

impl TaskStore for Hangs {
    fn insert(&self, record: Arc<TaskRecord>) -> TaskFuture<'_, ()> {
        self.0.insert(record)
    }

    fn update(&self, _: Arc<TaskRecord>) -> TaskFuture<'_, ()> {
        Box::pin(pending())
    }

    fn get<'a>(
        &'a self,
        _: &'a TaskScope,
        _: &'a TaskId,
    ) -> TaskFuture<'a, Option<Arc<TaskRecord>>> {
        Box::pin(pending())
    }

    fn list<'a>(&'a self, _: &'a TaskScope) -> TaskFuture<'a, Vec<Arc<TaskRecord>>> {
        Box::pin(pending())
    }

    fn remove<'a>(&'a self, _: &'a TaskScope, _: &'a TaskId) -> TaskFuture<'a, ()> {
        Box::pin(pending())
    }
}

fn server() -> McpServer {
    McpServer::new("tasks", "1.0.0")
        .tasks_extension(true)
        .task_store(Hangs::default())
        .tool(Tool::new("waits", pending::<String>).task())
        .build()
        .unwrap()
}

#[test]
fn a_store_that_does_not_answer_keeps_no_task_from_its_end() {
    paused(async {
        let server = server();
        let id = begin(&server, "waits").await;
        let cancelled = modern_text(&server, "tasks/cancel", json!({"taskId": id}));
        let cancelled = tokio::time::timeout(10 * SECOND, cancelled).await.unwrap();
        assert_eq!(read(&cancelled)["result"]["resultType"], "complete");
        server.drain(SECOND).await;
        advance(10 * SECOND).await;
        assert_eq!((server.open_tasks(), server.running_calls()), (0, 0));
    });
}

#[test]
fn a_request_does_not_wait_for_ever_for_a_store_that_does_not_answer() {
    paused(async {
        let server = server();
        let ada = || Options::new().auth_info(AuthInfo::new("token", "ada"));
        for method in ["tasks/get", "tasks/result", "tasks/cancel", "tasks/list"] {
            // No driver of this process has such a task.
            let asked = legacy_as(&server, ada(), method, r#"{"taskId":"gone"}"#);
            let answered = tokio::time::timeout(10 * SECOND, asked).await;
            let reply = read(&text_of(answered.expect(method)));
            assert_eq!(reply["error"]["code"], -32603, "{method}: {reply}");
        }
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let params = json!({"taskId": "gone", "inputResponses": {}});
            let asked = modern(&server, method, params);
            let reply = tokio::time::timeout(10 * SECOND, asked).await;
            let reply = reply.expect(method);
            assert_eq!(reply["error"]["code"], -32603, "{method}: {reply}");
        }
    });
}

/// A server that keeps four tasks, and one of each caller in each era.
fn small(faults: &Arc<Mutex<Vec<u16>>>) -> McpServer {
    let seen = Arc::clone(faults);
    let limits = TaskLimits::new().max_tasks(4).max_per_owner(1);
    McpServer::new("tasks", "1.0.0")
        .tasks_extension(true)
        .task_limits(limits.ttl(90 * SECOND))
        .on_error(move |fault| {
            if let ServerFault::Rejected { status, .. } = fault {
                seen.lock().unwrap().push(*status);
            }
        })
        .tool(Tool::new("now", pending::<String>).task())
        .tool(
            Tool::new("told", |cx: ToolCx| async move {
                cx.begin_task();
                pending::<String>().await
            })
            .begins_task(),
        )
        .build()
        .unwrap()
}

/// Checks that a refusal says when to try again, in all the ways there are.
fn refused(response: Response, status: u16, message: &str) {
    assert_eq!(response.status, status, "{response:?}");
    let seconds = response.retry_after.unwrap();
    let error = read(&text_of(response))["error"].clone();
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(status), &json!(message))
    );
    let millis = error["data"]["retryAfterMs"].as_u64().unwrap();
    assert!((80_000..=90_000).contains(&millis), "{error}");
    assert_eq!(u64::from(seconds), millis.div_ceil(1_000));
}

#[test]
fn who_would_begin_a_task_too_many_is_told_when_to_try_again() {
    const OF_ONE: &str = "too many tasks of this caller are kept: try again later";
    const IN_ALL: &str = "too many tasks are kept: try again later";
    paused(async {
        let faults = Arc::default();
        let server = small(&faults);
        let known = |name: &str| Options::new().auth_info(AuthInfo::new("token", name));
        let legacy = async |name: &str| {
            let params = json!({"name": "now", "arguments": {}, "task": {}}).to_string();
            legacy_as(&server, known(name), "tools/call", &params).await
        };
        let modern = async |name: &str, tool: &str| {
            let params = json!({"name": tool, "arguments": {}});
            modern_as(&server, known(name), "tools/call", params).await
        };
        let begun = |response: Response| {
            let created: Value = read(&text_of(response));
            assert!(created["error"].is_null(), "{created}");
        };
        begun(legacy("ada").await);
        refused(legacy("ada").await, 429, OF_ONE);
        begun(modern("ada", "told").await);
        refused(modern("ada", "told").await, 429, OF_ONE);
        refused(modern("ada", "now").await, 429, OF_ONE);
        begun(legacy("bob").await);
        begun(modern("bob", "now").await);
        refused(legacy("cleo").await, 503, IN_ALL);
        refused(modern("cleo", "now").await, 503, IN_ALL);
        refused(modern("cleo", "told").await, 503, IN_ALL);
        assert_eq!(*faults.lock().unwrap(), [429, 429, 429, 503, 503, 503]);
        assert_eq!(server.open_tasks(), 4);
    });
}

#[test]
fn a_result_and_a_question_that_the_store_has_no_room_for_are_failures() {
    paused(async {
        let server = McpServer::new("tasks", "1.0.0")
            .tasks_extension(true)
            .task_limits(TaskLimits::new().max_bytes(20_000))
            .tool(Tool::new("large", || async { "x".repeat(8_000) }).task())
            .tool(
                Tool::new("asks", |cx: ToolCx| async move {
                    let message = "x".repeat(8_000);
                    let schema = json!({"type": "object", "properties": {}});
                    cx.request_form("sure", &message, schema)
                        .await
                        .map(|answer| answer.to_string())
                })
                .task(),
            )
            .build()
            .unwrap();
        for name in ["large", "asks"] {
            let id = begin(&server, name).await;
            let result = result_of(&server, &id).await;
            assert!(result.get().contains("keeps too much"), "{}", result.get());
        }
        let call = json!({"name": "large", "arguments": {}});
        let refused = modern(&server, "tools/call", call).await;
        assert_eq!(refused["error"]["code"], 429, "{refused}");
        assert_eq!(server.open_tasks(), 2);
    });
}
