//! What is told of tasks: that they began, how they ended, and who read their results.

use std::{
    future::pending,
    sync::{Arc, Mutex},
};

use roscius::{
    prelude::*,
    server::{McpServerBuilder, TaskLimits},
    wire::auth::AuthInfo,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::mcp_server::task_host::{
    SECOND, advance, legacy_as, modern_as, paused, read, settle, text_of,
};

/// What a server tells, a line for each time.
#[derive(Clone, Default)]
struct Trail(Arc<Mutex<Vec<String>>>);

impl Trail {
    fn take(&self) -> Vec<String> {
        let mut lines = std::mem::take(&mut *self.0.lock().unwrap());
        lines.sort();
        lines
    }
}

fn builder(trail: &Trail) -> McpServerBuilder {
    let trail = trail.clone();
    McpServer::new("audited", "1.0.0")
        .tasks_extension(true)
        .task_limits(TaskLimits::new().ttl(60 * SECOND))
        .tool(Tool::new("hi", || async { "hi" }).task())
        .tool(Tool::new("fail", || async { Err::<(), _>(ToolError::new("no")) }).task())
        .tool(
            Tool::new("break", || async {
                Err::<(), _>(ToolError::internal("no"))
            })
            .task(),
        )
        .tool(Tool::new("wait", pending::<String>).task())
        .tool(
            Tool::new("write", || async { "written" })
                .task()
                .required_scopes(["write"]),
        )
        .audit(move |audit| {
            let client = audit.client_id.unwrap_or("nobody");
            let (method, name, outcome) = (audit.method, audit.name, audit.outcome);
            let task = audit.task.unwrap_or("-");
            let line = format!("{client} {method} {name} {} {outcome:?} {task}", audit.id);
            trail.0.lock().unwrap().push(line);
        })
}

fn ada() -> Options {
    Options::new().auth_info(AuthInfo::new("token", "ada").scopes(["write"]))
}

async fn legacy(server: &McpServer, method: &str, params: Value) -> Value {
    read(&text_of(
        legacy_as(server, ada(), method, &params.to_string()).await,
    ))
}

async fn begin(server: &McpServer, name: &str) -> String {
    let params = json!({"name": name, "arguments": {}, "task": {}});
    let created = legacy(server, "tools/call", params).await;
    settle().await;
    let id = created["result"]["task"]["taskId"].as_str();
    id.unwrap_or_else(|| panic!("{created}")).to_owned()
}

async fn begin_2026(server: &McpServer, name: &str) -> String {
    let params = json!({"name": name, "arguments": {}});
    let created = read(&text_of(
        modern_as(server, ada(), "tools/call", params).await,
    ));
    settle().await;
    let id = created["result"]["taskId"].as_str();
    id.unwrap_or_else(|| panic!("{created}")).to_owned()
}

fn ended(name: &str, id: &str, how: &str) -> [String; 2] {
    let line = |outcome: &str| format!("ada tools/call {name} 1 {outcome} {id}");
    [line("Task"), line(&format!("TaskEnded({how})"))]
}

// G5, G23
#[test]
fn how_a_task_ended_is_told_once() {
    paused(async {
        let trail = Trail::default();
        let server = builder(&trail).build().unwrap();
        for (name, how) in [("hi", "Completed"), ("fail", "Failed"), ("break", "Failed")] {
            let id = begin(&server, name).await;
            assert_eq!(trail.take(), ended(name, &id, how));
            let id = begin_2026(&server, name).await;
            assert_eq!(trail.take(), ended(name, &id, how));
        }
        let cancelled = begin(&server, "wait").await;
        let expired = begin_2026(&server, "wait").await;
        trail.take();
        legacy(&server, "tasks/cancel", json!({"taskId": cancelled})).await;
        let expected = [
            format!("ada tasks/cancel {cancelled} 1 Done -"),
            ended("wait", &cancelled, "Cancelled")[1].clone(),
        ];
        assert_eq!(trail.take(), expected);
        advance(61 * SECOND).await;
        assert_eq!(
            trail.take(),
            [ended("wait", &expired, "Expired")[1].clone()]
        );
        let drained = begin(&server, "wait").await;
        trail.take();
        server.drain(SECOND).await;
        assert_eq!(
            trail.take(),
            [ended("wait", &drained, "Cancelled")[1].clone()]
        );
        assert_eq!(server.open_tasks(), 0);
    });
}

#[test]
fn who_reads_the_result_of_a_task_is_told_and_who_asks_how_it_stands_is_not() {
    paused(async {
        let trail = Trail::default();
        let server = builder(&trail).build().unwrap();
        let (core, extension) = (begin(&server, "hi").await, begin_2026(&server, "hi").await);
        let waiting = begin_2026(&server, "wait").await;
        trail.take();
        let get = async |caller: Options, id: &str| {
            modern_as(&server, caller, "tasks/get", json!({"taskId": id}))
                .await
                .status
        };
        get(ada(), &waiting).await;
        legacy(&server, "tasks/get", json!({"taskId": core})).await;
        legacy(&server, "tasks/list", json!({})).await;
        assert_eq!(trail.take(), [""; 0]);
        legacy(&server, "tasks/result", json!({"taskId": core})).await;
        assert_eq!(trail.take(), [format!("ada tasks/result {core} 1 Done -")]);
        get(ada(), &extension).await;
        assert_eq!(
            trail.take(),
            [format!("ada tasks/get {extension} 1 Done -")]
        );
        get(Options::new(), &extension).await;
        let short = &extension[..8];
        let expected = [format!("nobody tasks/get {short}… 1 Error(-32602) -")];
        assert_eq!(trail.take(), expected);
        let written = begin_2026(&server, "write").await;
        trail.take();
        let weak = Options::new().auth_info(AuthInfo::new("other", "ada"));
        assert_eq!(get(weak, &written).await, 403);
        assert_eq!(
            trail.take(),
            [format!("ada tasks/get {written} 1 Refused(Scope) -")]
        );
    });
}

#[test]
fn a_task_that_does_not_begin_is_told_as_refused_and_has_no_end() {
    paused(async {
        for (limits, refused) in [
            (TaskLimits::new().max_per_owner(0), "Rate"),
            (TaskLimits::new().max_tasks(1), "Room"),
        ] {
            let trail = Trail::default();
            let server = builder(&trail).task_limits(limits).build().unwrap();
            if refused == "Room" {
                let params = json!({"name": "wait", "arguments": {}});
                modern_as(&server, Options::new(), "tools/call", params).await;
                settle().await;
                trail.take();
            }
            let params = json!({"name": "wait", "arguments": {}, "task": {}});
            legacy(&server, "tools/call", params).await;
            settle().await;
            let expected = [format!("ada tools/call wait 1 Refused({refused}) -")];
            assert_eq!(trail.take(), expected);
        }
    });
}

#[test]
fn the_id_of_a_task_of_nobody_is_told_only_in_part() {
    paused(async {
        let trail = Trail::default();
        let open = Arc::new(Notify::new());
        let gate = Arc::clone(&open);
        let tool = Tool::new("gated", move || {
            let gate = Arc::clone(&gate);
            async move { gate.notified().await }
        });
        let server = builder(&trail).tool(tool.task()).build().unwrap();
        let params = json!({"name": "gated", "arguments": {}});
        let created = modern_as(&server, Options::new(), "tools/call", params).await;
        let created = read(&text_of(created));
        let id = created["result"]["taskId"].as_str().unwrap();
        open.notify_one();
        settle().await;
        let lines = trail.take();
        assert_eq!(lines.len(), 2);
        for line in &lines {
            assert!(line.ends_with(&format!(" {}…", &id[..8])), "{line}");
        }
    });
}
