//! Tools that say themselves when their task begins.

use std::sync::{Arc, Mutex};

use roscius::{
    ports::clock::{Clock as _, SystemClock},
    prelude::*,
    server::TaskLimits,
    wire::time::iso8601,
};
use serde_json::{Value, json};

use super::task_host::{begin, legacy, modern, paused, settle};

#[test]
fn the_time_of_a_task_counts_from_its_beginning() {
    paused(async {
        let server = McpServer::new("tasks", "1.0.0")
            .tasks_extension(true)
            .tool(
                Tool::new("late", |cx: ToolCx| async move {
                    let called = SystemClock.now_ms();
                    while SystemClock.now_ms() < called + 5 {
                        tokio::task::yield_now().await;
                    }
                    let begins = SystemClock.now_ms();
                    cx.begin_task();
                    tokio::task::yield_now().await;
                    iso8601(begins)
                })
                .begins_task(),
            )
            .build()
            .unwrap();
        let params = json!({"name": "late", "arguments": {}});
        let created = modern(&server, "tools/call", params).await["result"].clone();
        settle().await;
        let params = json!({"taskId": created["taskId"]});
        let task = modern(&server, "tasks/get", params).await["result"].clone();
        let begins = task["result"]["content"][0]["text"].as_str().unwrap();
        for told in [&created["createdAt"], &task["createdAt"]] {
            assert!(told.as_str() >= Some(begins), "{told} before {begins}");
        }
    });
}

#[test]
fn a_tool_that_begins_its_task_runs_as_one_without_saying_so_twice() {
    paused(async {
        let tool = |name: &str| {
            Tool::new(name, |cx: ToolCx| async move {
                cx.begin_task();
                tokio::task::yield_now().await;
                "done"
            })
        };
        let server = McpServer::new("tasks", "1.0.0")
            .tasks_extension(true)
            .tool(tool("alone").begins_task())
            .tool(tool("required").task_required().begins_task())
            .tool(tool("later").begins_task().task_required())
            .build()
            .unwrap();
        let listed = legacy(&server, "tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap();
        let support: Vec<&Value> = tools
            .iter()
            .map(|tool| &tool["execution"]["taskSupport"])
            .collect();
        assert_eq!(support, ["optional", "required", "required"]);
        begin(&server, "alone").await;
    });
}

#[test]
fn a_function_whose_task_cannot_begin_is_told_to_stop() {
    paused(async {
        let heard = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&heard);
        let server = McpServer::new("tasks", "1.0.0")
            .tasks_extension(true)
            .task_limits(TaskLimits::new().max_tasks(0))
            .tool(
                Tool::new("told", move |cx: ToolCx| {
                    *seen.lock().unwrap() = Some(cx.cancelled().clone());
                    async move {
                        cx.begin_task();
                        std::future::pending::<String>().await
                    }
                })
                .task()
                .begins_task(),
            )
            .build()
            .unwrap();
        let call = json!({"name": "told", "arguments": {}});
        let refused = modern(&server, "tools/call", call).await;
        assert_eq!(refused["error"]["code"], 429, "{refused}");
        settle().await;
        let token = heard.lock().unwrap().take().unwrap();
        assert!(token.is_cancelled());
        assert_eq!((server.open_tasks(), server.running_calls()), (0, 0));
    });
}
