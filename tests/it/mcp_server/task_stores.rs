//! Task stores that hang, and what a server does then.

use std::{future::pending, sync::Arc};

use roscius::{
    ports::task_store::{TaskFuture, TaskRecord, TaskScope, TaskStore},
    prelude::*,
    store::memory_tasks::MemoryTasks,
    wire::{auth::AuthInfo, ids::TaskId},
};
use serde_json::json;

use super::task_host::{SECOND, legacy_as, modern, paused, read, text_of};

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
