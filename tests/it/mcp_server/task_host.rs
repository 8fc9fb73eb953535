//! A server with tasks in the process of the test, whose time passes only when it is told to.

use std::{collections::HashMap, future::Future, time::Duration};

use actix::System;
use roscius::{
    prelude::*,
    server::{Handling, Response},
    wire::http::{Body, Head, Method, Request},
};
use serde_json::{Value, json, value::RawValue};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Runs a test on a system of its own whose time passes only when it is told to.
pub(crate) fn paused<T>(test: impl Future<Output = T>) -> T {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap()
    };
    System::with_tokio_rt(runtime).block_on(test)
}

/// Lets everything run that does not wait for time to pass.
pub(crate) async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn advance(time: Duration) {
    tokio::time::advance(time).await;
    settle().await;
}

/// Sends a request of 2025-11-25.
pub(crate) fn legacy(
    server: &McpServer,
    method: &str,
    params: Value,
) -> impl Future<Output = Value> + use<> {
    let answer = legacy_text(server, method, &params.to_string());
    async move { read(&answer.await) }
}

/// Sends a request of 2025-11-25 and gives the answer as it stands on the wire.
pub(crate) fn legacy_text(
    server: &McpServer,
    method: &str,
    params: &str,
) -> impl Future<Output = String> + use<> {
    let answer = legacy_as(server, Options::new(), method, params);
    async move { text_of(answer.await) }
}

/// Sends a request of 2025-11-25 as somebody, with parameters as they stand on the wire.
pub(crate) fn legacy_as(
    server: &McpServer,
    caller: Options,
    method: &str,
    params: &str,
) -> Handling {
    let mut head = Head::new(Method::Post);
    head.content_type = Some(b"application/json");
    head.protocol_version = Some(b"2025-11-25");
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let body = body.as_bytes();
    server.handle(Request { head, body }, caller)
}

/// Sends a request of 2026 whose client can handle tasks.
pub(crate) fn modern(
    server: &McpServer,
    method: &str,
    params: Value,
) -> impl Future<Output = Value> + use<> {
    let answer = modern_text(server, method, params);
    async move { read(&answer.await) }
}

/// Sends a request of 2026 whose client can handle tasks, and gives the answer as it stands on the
/// wire.
pub(crate) fn modern_text(
    server: &McpServer,
    method: &str,
    params: Value,
) -> impl Future<Output = String> + use<> {
    let answer = modern_as(server, Options::new(), method, params);
    async move { text_of(answer.await) }
}

/// Sends a request of 2026 as somebody whose client can handle tasks.
pub(crate) fn modern_as(
    server: &McpServer,
    caller: Options,
    method: &str,
    mut params: Value,
) -> Handling {
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
    server.handle(Request { head, body }, caller)
}

pub(crate) fn text_of(response: Response) -> String {
    match response.body {
        Body::Json(body) => String::from_utf8(body.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Begins a task of 2026 and gives its id.
pub(crate) async fn begin(server: &McpServer, name: &str) -> Value {
    let params = json!({"name": name, "arguments": {}});
    let created = modern(server, "tools/call", params).await;
    assert_eq!(created["result"]["resultType"], "task", "{created}");
    created["result"]["taskId"].clone()
}

/// Begins a task of 2025-11-25 and gives its id.
pub(crate) async fn begin_2025(server: &McpServer, name: &str, task: Value) -> Value {
    let params = json!({"name": name, "arguments": {}, "task": task});
    let created = legacy(server, "tools/call", params).await;
    created["result"]["task"]["taskId"].clone()
}

/// Gives the result of a task of 2026 that has completed, as it stands on the wire.
pub(crate) async fn result_of(server: &McpServer, id: &Value) -> Box<RawValue> {
    settle().await;
    let found = modern_text(server, "tasks/get", json!({"taskId": id})).await;
    let members: HashMap<String, Box<RawValue>> = serde_json::from_str(&found).unwrap();
    let task: HashMap<String, Box<RawValue>> =
        serde_json::from_str(members["result"].get()).unwrap();
    assert_eq!(task["status"].get(), r#""completed""#, "{found}");
    task["result"].clone()
}
