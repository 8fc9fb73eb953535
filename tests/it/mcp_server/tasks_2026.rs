//! The extension `io.modelcontextprotocol/tasks`: calls that go on without their request.

mod calls;
mod questions;
mod requests;

use std::sync::Arc;

use roscius::{prelude::*, server::McpServerBuilder, wire::content::CallToolResult};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::host::{Ask, Reply, Served};
use crate::served::eventually;

const TASKS: &str = "io.modelcontextprotocol/tasks";

fn flag(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "boolean"}}, "required": [name]})
}

fn builder(open: &Arc<Notify>) -> McpServerBuilder {
    let (gate, told) = (Arc::clone(open), Arc::clone(open));
    McpServer::new("tasks", "1.0.0")
        .tasks_extension(true)
        .tool(Tool::new("plain", || async { "plain" }))
        .tool(
            Tool::new("slow", move || {
                let gate = Arc::clone(&gate);
                async move {
                    gate.notified().await;
                    Json(json!({"done": true}))
                }
            })
            .task(),
        )
        .tool(
            Tool::new("fails", || async {
                Err::<(), _>(ToolError::new("no luck"))
            })
            .task_required(),
        )
        .tool(Tool::new("marked", || async { CallToolResult::error("marked") }).task())
        .tool(
            Tool::new("breaks", || async {
                Err::<(), _>(ToolError::internal("broken"))
            })
            .task(),
        )
        .tool(
            Tool::new("two_questions", |cx: ToolCx| async move {
                let (one, two) = futures_util::join!(
                    cx.request_form("one", "One?", flag("ok")),
                    cx.request_form("two", "Two?", flag("ok"))
                );
                let again = cx.request_form("one", "Once more?", flag("ok")).await?;
                Ok::<_, ToolError>(format!("{} {} {again}", one?, two?))
            })
            .task(),
        )
        .tool(
            Tool::new("unkeyed", |cx: ToolCx| async move {
                cx.request_input("Which?").await
            })
            .task(),
        )
        .tool(
            Tool::new("samples", |cx: ToolCx| async move {
                cx.ask(Question::roots().key("roots"))
                    .await
                    .map(|roots| roots.to_string())
            })
            .task(),
        )
        .tool(
            Tool::new("when_told", move |cx: ToolCx| {
                let gate = Arc::clone(&told);
                async move {
                    let name = cx
                        .request_form("name", "Name?", json!({"type": "object"}))
                        .await?;
                    if name["now"] == true {
                        return Ok::<_, ToolError>("at once".to_owned());
                    }
                    cx.begin_task();
                    gate.notified().await;
                    let sure = cx.request_form("sure", "Sure?", flag("ok")).await?;
                    Ok(format!("{name} {sure}"))
                }
            })
            .task_required()
            .begins_task(),
        )
}

fn served() -> (Arc<Notify>, McpServer, Served) {
    let open = Arc::new(Notify::new());
    let server = builder(&open).build().unwrap();
    let served = Served::new(&server);
    (open, server, served)
}

fn declared() -> Value {
    json!({"elicitation": {}, "extensions": {TASKS: {}}})
}

fn ask(method: &str, params: Value) -> Ask {
    Ask::modern_as(declared(), method, params)
}

fn call(served: &Served, name: &str) -> Value {
    let reply = ask("tools/call", json!({"name": name, "arguments": {}})).send(served);
    reply.json()["result"].clone()
}

/// Begins a task and gives its id.
fn begin(served: &Served, name: &str) -> String {
    let created = call(served, name);
    assert_eq!(created["resultType"], "task", "{created}");
    created["taskId"].as_str().unwrap().to_owned()
}

/// Begins a task that asks two questions at once, and waits until both are there.
fn begin_two_questions(served: &Served) -> String {
    let id = begin(served, "two_questions");
    eventually("two questions", || {
        get(served, &id)["inputRequests"]
            .as_object()
            .is_some_and(|open| open.len() == 2)
    });
    id
}

fn get(served: &Served, id: &str) -> Value {
    let reply = ask("tasks/get", json!({"taskId": id})).send(served);
    let result = reply.json()["result"].clone();
    assert_eq!(result["resultType"], "complete", "{reply:?}");
    assert_eq!(result["taskId"], id);
    result
}

fn until(served: &Served, id: &str, status: &str) -> Value {
    eventually(status, || get(served, id)["status"] == status);
    get(served, id)
}

fn update(served: &Served, id: &str, answers: Value) -> Reply {
    ask(
        "tasks/update",
        json!({"taskId": id, "inputResponses": answers}),
    )
    .send(served)
}

fn yes(ok: bool) -> Value {
    json!({"action": "accept", "content": {"ok": ok}})
}

/// An acknowledgement says nothing but that it is one.
fn acknowledged(reply: &Reply) {
    let mut result = reply.json()["result"].clone();
    result.as_object_mut().unwrap().shift_remove("_meta");
    assert_eq!(result, json!({"resultType": "complete"}), "{reply:?}");
}
