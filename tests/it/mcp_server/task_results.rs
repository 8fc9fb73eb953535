//! What a task keeps of how its function ended.

use std::sync::Arc;

use roscius::{prelude::*, server::TaskLimits, wire::content::CallToolResult};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::task_host::{SECOND, begin, legacy_text, modern_text, paused, read, result_of, settle};

/// A tree as deep as data can be.
#[derive(Serialize, JsonSchema)]
struct Tree {
    below: Option<Box<Tree>>,
}

fn tree(depth: usize) -> Tree {
    let mut tree = Tree { below: None };
    for _ in 0..depth {
        tree = Tree {
            below: Some(Box::new(tree)),
        };
    }
    tree
}

#[derive(Serialize, JsonSchema)]
struct Exact {
    large: u128,
    small: f64,
}

fn results() -> McpServer {
    let exact = Exact {
        large: u128::MAX,
        small: 7.042_055_707_759_459e-10,
    };
    let exact = Arc::new(exact);
    McpServer::new("tasks", "1.0.0")
        .tasks_extension(true)
        .tool(Tool::new("deep", || async { Json(tree(200)) }).task())
        .tool(
            Tool::new("exact", move || {
                let exact = Arc::clone(&exact);
                async move { Json(Exact { ..*exact }) }
            })
            .task(),
        )
        .build()
        .unwrap()
}

#[test]
fn the_result_of_a_task_is_what_the_call_would_have_given() {
    paused(async {
        let server = results();
        for name in ["deep", "exact"] {
            let params = json!({"name": name, "arguments": {}, "task": {}}).to_string();
            let created = read(&legacy_text(&server, "tools/call", &params).await);
            let id = created["result"]["task"]["taskId"].to_string();
            let of_2025 =
                legacy_text(&server, "tasks/result", &format!(r#"{{"taskId":{id}}}"#)).await;
            let id = begin(&server, name).await;
            let of_2026 = result_of(&server, &id).await;
            let structured = |text: &str| {
                let from = text.find(r#""structuredContent":"#).expect(text);
                let rest = &text[from..];
                let end = rest.find(r#","_meta""#).unwrap_or(rest.len() - 1);
                rest[..end].to_owned()
            };
            assert_eq!(structured(of_2026.get()), structured(&of_2025), "{name}");
        }
    });
}

#[test]
fn a_failure_keeps_no_more_than_a_result_may_and_its_status_is_short() {
    paused(async {
        let long = || "é".repeat(100_000);
        let server = McpServer::new("tasks", "1.0.0")
            .tasks_extension(true)
            .task_limits(TaskLimits::new().max_result_bytes(10_000))
            .tool(
                Tool::new("fails", move || async move {
                    Err::<(), _>(ToolError::new(long()))
                })
                .task(),
            )
            .tool(
                Tool::new("breaks", move || async move {
                    Err::<(), _>(ToolError::internal(long()))
                })
                .task(),
            )
            .tool(
                Tool::new("marked", || async {
                    CallToolResult::error("é".repeat(4_000))
                })
                .task(),
            )
            .build()
            .unwrap();
        for (name, ends) in [
            ("fails", "completed"),
            ("breaks", "failed"),
            ("marked", "completed"),
        ] {
            let id = begin(&server, name).await;
            settle().await;
            let text = modern_text(&server, "tasks/get", json!({"taskId": id})).await;
            let task = read(&text);
            assert_eq!(task["result"]["status"], ends, "{name}");
            assert!(text.len() < 12_000, "{name}: {}", text.len());
            let message = task["result"]["statusMessage"].as_str().unwrap();
            assert!(message.len() <= 1_024, "{name}: {}", message.len());
        }
    });
}

#[test]
fn a_function_that_panics_fails_its_task_even_if_the_error_hook_does_too() {
    paused(async {
        let server = McpServer::new("tasks", "1.0.0")
            .tasks_extension(true)
            .on_error(|_| panic!("the hook"))
            .audit(|_| panic!("the audit"))
            .tool(
                Tool::new("later", || async {
                    tokio::task::yield_now().await;
                    panic!("secret") as String
                })
                .task(),
            )
            .tool(
                Tool::new("at_once", || -> std::future::Ready<String> {
                    panic!("secret")
                })
                .task(),
            )
            .tool(
                Tool::new("told", |cx: ToolCx| async move {
                    cx.begin_task();
                    tokio::task::yield_now().await;
                    panic!("secret") as String
                })
                .task()
                .begins_task(),
            )
            .build()
            .unwrap();
        for name in ["later", "at_once", "told"] {
            let id = begin(&server, name).await;
            settle().await;
            let text = modern_text(&server, "tasks/get", json!({"taskId": id})).await;
            let task = read(&text);
            assert_eq!(task["result"]["status"], "failed", "{name}: {text}");
            assert_eq!(task["result"]["error"]["code"], -32603, "{name}: {text}");
            assert!(!text.contains("secret"), "{text}");
        }
        assert_eq!(server.running_calls(), 0);
        server.drain(SECOND).await;
        assert_eq!(server.open_tasks(), 0);
    });
}
