//! What clients and tools do wrong with tasks, and what must come of it.

use std::{future::Future, sync::Arc, time::Duration};

use actix::System;
use bytes::Bytes;
use futures_util::{StreamExt as _, future::pending};
use roscius::{
    ports::task_store::{TaskFuture, TaskRecord, TaskScope, TaskStore},
    prelude::*,
    server::{Handling, Response, TaskLimits},
    store::memory_tasks::MemoryTasks,
    wire::{
        content::CallToolResult,
        http::{Body, Head, Method, Request},
        ids::TaskId,
    },
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
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
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

fn legacy(server: &McpServer, method: &str, params: &str) -> impl Future<Output = String> + use<> {
    let mut head = Head::new(Method::Post);
    head.content_type = Some(b"application/json");
    head.protocol_version = Some(b"2025-11-25");
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let body = body.as_bytes();
    let handling = server.handle(Request { head, body }, Options::new());
    async move { text_of(handling.await) }
}

fn modern(server: &McpServer, method: &str, params: Value) -> impl Future<Output = String> + use<> {
    let answer = answer_of(server, method, params);
    async move { text_of(answer.await) }
}

fn answer_of(server: &McpServer, method: &str, params: Value) -> Handling {
    let mut params = params;
    let name = params.get("name").or_else(|| params.get("taskId"));
    let name = name.and_then(Value::as_str).unwrap_or_default().to_owned();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": {},
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        },
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let mut head = Head::new(Method::Post);
    head.content_type = Some(b"application/json");
    head.protocol_version = Some(b"2026-07-28");
    head.mcp_method = Some(method.as_bytes());
    head.mcp_name = Some(name.as_bytes());
    head.accept = Some(b"application/json, text/event-stream");
    let body = body.as_bytes();
    server.handle(Request { head, body }, Options::new())
}

fn text_of(response: Response) -> String {
    match response.body {
        Body::Json(body) => String::from_utf8(body.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

async fn begin(server: &McpServer, name: &str) -> Value {
    let params = json!({"name": name, "arguments": {}});
    let created = read(&modern(server, "tools/call", params).await);
    assert_eq!(created["result"]["resultType"], "task", "{created}");
    created["result"]["taskId"].clone()
}

/// The result of a task of 2026, as it stands on the wire.
async fn result_of(server: &McpServer, id: &Value) -> Box<RawValue> {
    settle().await;
    let found = modern(server, "tasks/get", json!({"taskId": id})).await;
    let members: std::collections::HashMap<String, Box<RawValue>> =
        serde_json::from_str(&found).unwrap();
    let task: std::collections::HashMap<String, Box<RawValue>> =
        serde_json::from_str(members["result"].get()).unwrap();
    assert_eq!(task["status"].get(), r#""completed""#, "{found}");
    task["result"].clone()
}

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
            let created = read(&legacy(&server, "tools/call", &params).await);
            let id = created["result"]["task"]["taskId"].to_string();
            let of_2025 = legacy(&server, "tasks/result", &format!(r#"{{"taskId":{id}}}"#)).await;
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
            let reply = read(&legacy(&server, "tools/call", &params).await);
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
        let found = read(&modern(&server, "tasks/get", json!({"taskId": id})).await);
        assert_eq!(found["result"].get("ttlMs"), Some(&json!(null)), "{found}");
        tokio::time::advance(1_000_000 * SECOND).await;
        let result = result_of(&server, &id).await;
        assert!(result.get().contains("hi"));
        server.drain(SECOND).await;
        assert_eq!(server.open_tasks(), 0);
    });
}

#[test]
fn questions_that_a_function_has_given_up_are_not_asked_any_more() {
    paused(async {
        let open = Arc::new(Notify::new());
        let gate = Arc::clone(&open);
        let server = McpServer::new("tasks", "1.0.0")
            .tasks_extension(true)
            .tool(
                Tool::new("impatient", move |cx: ToolCx| {
                    let gate = Arc::clone(&gate);
                    async move {
                        let schema = json!({"type": "object"});
                        let questions = (0..60)
                            .map(|at| cx.request_form(format!("q{at}"), "Which?", schema.clone()));
                        let all = futures_util::future::join_all(questions);
                        assert!(tokio::time::timeout(5 * SECOND, all).await.is_err());
                        gate.notified().await;
                        "done"
                    }
                })
                .task(),
            )
            .build()
            .unwrap();
        let id = begin(&server, "impatient").await;
        settle().await;
        let get = || async { read(&modern(&server, "tasks/get", json!({"taskId": id})).await) };
        let asked = get().await;
        let requests = asked["result"]["inputRequests"].as_object();
        assert_eq!(requests.map(|all| all.len()), Some(60), "{asked}");
        tokio::time::advance(6 * SECOND).await;
        settle().await;
        assert_eq!(get().await["result"]["status"], "working");
        open.notify_one();
        settle().await;
        assert_eq!(get().await["result"]["status"], "completed");
    });
}

#[test]
fn an_update_of_another_shape_is_refused_and_unknown_keys_are_not() {
    paused(async {
        let server = McpServer::new("tasks", "1.0.0")
            .tasks_extension(true)
            .tool(
                Tool::new("asks", |cx: ToolCx| async move {
                    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
                    cx.request_form("one", "How many?", schema)
                        .await
                        .map(|form| form.to_string())
                })
                .task(),
            )
            .build()
            .unwrap();
        let id = begin(&server, "asks").await;
        settle().await;
        let update = |answers: Value| {
            let params = json!({"taskId": id, "inputResponses": answers});
            let reply = modern(&server, "tasks/update", params);
            async move { read(&reply.await) }
        };
        for wrong in [
            json!([]),
            json!("one"),
            json!(null),
            json!({"one": "5"}),
            json!({"one": null}),
            json!({"one": {"action": "agree", "content": {"n": 1}}}),
            json!({"one": {"action": "accept", "content": {"n": "1"}}}),
            json!({"one": {"action": "accept"}}),
            json!({"one": {"action": "accept", "content": [1]}}),
        ] {
            let reply = update(wrong.clone()).await;
            assert_eq!(reply["error"]["code"], -32602, "{wrong}: {reply}");
        }
        let unknown = json!({"two": 5, "": [], "__proto__": {}});
        assert_eq!(update(unknown).await["result"]["resultType"], "complete");
        let answer = json!({"one": {"action": "accept", "content": {"n": 5}}});
        let first = update(answer.clone()).await;
        let second = update(answer.clone()).await;
        assert_eq!(first["result"]["resultType"], "complete", "{first}");
        assert_eq!(second["result"]["resultType"], "complete", "{second}");
        let result = result_of(&server, &id).await;
        assert!(result.get().contains(r#"{\"n\":5}"#), "{result}");
        let late = update(answer).await;
        assert_eq!(late["result"]["resultType"], "complete", "{late}");
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
            let text = modern(&server, "tasks/get", json!({"taskId": id})).await;
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

#[test]
fn a_call_that_is_dropped_before_its_answer_leaves_no_task() {
    paused(async {
        let server = results();
        for _ in 0..3 {
            let params = json!({"name": "deep", "arguments": {}});
            drop(modern(&server, "tools/call", params));
            settle().await;
        }
        assert_eq!((server.open_tasks(), server.running_calls()), (0, 0));
    });
}

#[test]
fn who_listens_to_the_tasks_of_others_hears_of_none() {
    paused(async {
        let server = results();
        let params = json!({"name": "deep", "arguments": {}, "task": {}}).to_string();
        let created = read(&legacy(&server, "tools/call", &params).await);
        let foreign = created["result"]["task"]["taskId"]
            .as_str()
            .unwrap()
            .to_owned();
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let params = json!({"taskId": foreign, "inputResponses": {}});
            let reply = read(&modern(&server, method, params).await);
            assert_eq!(reply["error"]["code"], -32602, "{method}");
        }
        let own = begin(&server, "deep").await;
        for method in ["tasks/get", "tasks/cancel", "tasks/result"] {
            let params = json!({"taskId": own}).to_string();
            let reply = read(&legacy(&server, method, &params).await);
            assert_eq!(reply["error"]["code"], -32602, "{method}");
        }
    });
}

#[test]
fn a_task_of_another_type_of_id_is_refused() {
    paused(async {
        let server = results();
        for id in ["5", "null", "{}", "[]", r#""""#, r#""a\u0000b""#] {
            for method in ["tasks/get", "tasks/cancel", "tasks/result"] {
                let reply = read(&legacy(&server, method, &format!(r#"{{"taskId":{id}}}"#)).await);
                assert_eq!(reply["error"]["code"], -32602, "{method} {id}: {reply}");
            }
        }
    });
}

#[test]
fn reports_are_numbers() {
    paused(async {
        let server = McpServer::new("tasks", "1.0.0")
            .tool(Tool::new("counts", |cx: ToolCx| async move {
                cx.progress(1.0, Some(f64::NAN), None);
                cx.progress(2.0, Some(f64::INFINITY), None);
                cx.progress(f64::INFINITY, None, None);
                cx.progress(f64::NAN, None, None);
                "done"
            }))
            .build()
            .unwrap();
        let mut head = Head::new(Method::Post);
        head.content_type = Some(b"application/json");
        head.accept = Some(b"application/json, text/event-stream");
        head.protocol_version = Some(b"2025-11-25");
        let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"counts","_meta":{"progressToken":1}}}"#;
        let response = server.handle(Request { head, body }, Options::new()).await;
        let text = match response.body {
            Body::Stream(stream) => {
                use futures_util::StreamExt as _;
                let chunks: Vec<_> = stream.collect().await;
                chunks
                    .iter()
                    .map(|chunk| String::from_utf8_lossy(chunk).into_owned())
                    .collect::<String>()
            }
            Body::Events(bytes) | Body::Json(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        };
        assert!(!text.contains("null"), "{text}");
        assert!(text.contains(r#""progress":2"#), "{text}");
    });
}

#[test]
fn requests_that_wait_take_no_place_of_calls_when_their_clients_go() {
    paused(async {
        let server = McpServer::new("tasks", "1.0.0")
            .sessions(Sessions::Memory)
            .tool(Tool::new("wait", std::future::pending::<String>).task())
            .build()
            .unwrap();
        let post = |session: Option<&str>, body: Value| {
            let body = body.to_string();
            let mut head = Head::new(Method::Post);
            head.content_type = Some(b"application/json");
            head.accept = Some(b"application/json");
            head.protocol_version = Some(b"2025-11-25");
            head.session_id = session.map(str::as_bytes);
            let body = body.as_bytes();
            server.handle(Request { head, body }, Options::new())
        };
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        let greeting = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let session = post(None, greeting).await.session.unwrap();
        let call = |method: &str, params: Value| {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            post(Some(session.as_str()), body)
        };
        let task = json!({"name": "wait", "arguments": {}, "task": {}});
        let created = read(&text_of(call("tools/call", task).await));
        let id = created["result"]["task"]["taskId"].clone();
        let mut left = Vec::new();
        for _ in 0..200 {
            let mut waits = call("tasks/result", json!({"taskId": id}));
            assert!(futures_util::poll!(&mut waits).is_pending());
            left.extend(waits.detached());
        }
        assert_eq!(left.len(), 64);
        let mut waits = call("tools/call", json!({"name": "wait", "arguments": {}}));
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert!(waits.detached().is_some());
        drop(left);
        assert_eq!(server.running_calls(), 1);
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
            let text = modern(&server, "tasks/get", json!({"taskId": id})).await;
            let task = read(&text);
            assert_eq!(task["result"]["status"], ends, "{name}");
            assert!(text.len() < 12_000, "{name}: {}", text.len());
            let message = task["result"]["statusMessage"].as_str().unwrap();
            assert!(message.len() <= 1_024, "{name}: {}", message.len());
        }
    });
}

#[test]
fn a_function_whose_task_cannot_begin_is_told_to_stop() {
    paused(async {
        let heard = Arc::new(std::sync::Mutex::new(None));
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
        let refused = read(&modern(&server, "tools/call", call).await);
        assert_eq!(refused["error"]["code"], 429, "{refused}");
        settle().await;
        let token = heard.lock().unwrap().take().unwrap();
        assert!(token.is_cancelled());
        assert_eq!((server.open_tasks(), server.running_calls()), (0, 0));
    });
}

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

#[test]
fn a_store_that_does_not_answer_keeps_no_task_from_its_end() {
    paused(async {
        let server = McpServer::new("tasks", "1.0.0")
            .tasks_extension(true)
            .task_store(Hangs::default())
            .tool(Tool::new("waits", pending::<String>).task())
            .build()
            .unwrap();
        let id = begin(&server, "waits").await;
        let cancelled = modern(&server, "tasks/cancel", json!({"taskId": id}));
        let cancelled = tokio::time::timeout(10 * SECOND, cancelled).await.unwrap();
        assert_eq!(read(&cancelled)["result"]["resultType"], "complete");
        server.drain(SECOND).await;
        tokio::time::advance(10 * SECOND).await;
        settle().await;
        assert_eq!((server.open_tasks(), server.running_calls()), (0, 0));
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
        let refused = read(&modern(&server, "tools/call", call).await);
        assert_eq!(refused["error"]["code"], 429, "{refused}");
        assert_eq!(server.open_tasks(), 2);
    });
}

#[test]
fn the_stream_of_a_listener_that_does_not_read_ends_when_too_much_waits() {
    paused(async {
        let open = Arc::new(Notify::new());
        let gate = Arc::clone(&open);
        let server = McpServer::new("tasks", "1.0.0")
            .tasks_extension(true)
            .tool(
                Tool::new("large", move || {
                    let gate = Arc::clone(&gate);
                    async move {
                        gate.notified().await;
                        "x".repeat(1_000_000)
                    }
                })
                .task(),
            )
            .build()
            .unwrap();
        let mut ids = Vec::new();
        for _ in 0..6 {
            ids.push(begin(&server, "large").await);
        }
        settle().await;
        let params = json!({"notifications": {"taskIds": ids}});
        let Body::Stream(stream) = answer_of(&server, "subscriptions/listen", params)
            .await
            .body
        else {
            panic!("no stream");
        };
        open.notify_waiters();
        settle().await;
        let text = |event: Bytes| String::from_utf8(event.to_vec()).unwrap();
        let events: Vec<String> = stream.take(8).map(text).collect().await;
        assert_eq!(events.len(), 2);
        assert!(events[0].contains("acknowledged"));
        assert!(events[1].contains(r#""resultType":"complete""#));
        for id in &ids {
            assert!(result_of(&server, id).await.get().len() > 1_000_000);
        }
    });
}
