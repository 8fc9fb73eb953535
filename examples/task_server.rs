//! A tool that runs as a task: the call is answered at once, the work goes on, asks in the middle
//! and leaves its result.
//!
//! ```sh
//! cargo run --example task_server             # one task, begun, answered and read, printed
//! cargo run --example task_server -- --serve  # until ctrl-c
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]
#![expect(
    clippy::indexing_slicing,
    reason = "a JSON value that lacks a key gives null"
)]

use std::time::Duration;

use actix_web::{App, HttpServer, rt::time::sleep};
use roscius::{
    prelude::*,
    server::TaskLimits,
    web,
    wire::http::{Body, Head, Method, Request},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Clean a folder up
#[derive(Deserialize, JsonSchema)]
struct Folder {
    /// Its name
    folder: String,
}

async fn clean_up(Args(what): Args<Folder>, cx: ToolCx) -> Result<String, ToolError> {
    sleep(Duration::from_millis(50)).await;
    // A task asks with a key, and goes on from here when the answer comes.
    let schema = json!({"type": "object", "properties": {"sure": {"type": "boolean"}}});
    let question = format!("7 files of {} are old. Delete them?", what.folder);
    let form = cx.request_form("sure", question, schema).await?;
    let deleted = if form["sure"] == true { 7 } else { 0 };
    Ok(format!("{deleted} files deleted"))
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = McpServer::new("cleaner", "1.0.0")
        .tool(Tool::new("clean_up", clean_up).task())
        // Clients of 2025-11-25 get tasks without this.
        .tasks_extension(true)
        .task_limits(TaskLimits::new().ttl(Duration::from_secs(600)))
        .build()?;
    if std::env::args().any(|arg| arg == "--serve") {
        let app = HttpServer::new(move || App::new().configure(web::mcp("/mcp", &server)))
            .tcp_nodelay(true)
            .h1_allow_half_closed(false)
            .bind(("127.0.0.1", 0))?;
        println!("server: {:?}", app.addrs());
        return Ok(app.run().await?);
    }

    let call = json!({"name": "clean_up", "arguments": {"folder": "downloads"}});
    let task = send(&server, "tools/call", call).await?;
    let id = task["taskId"].clone();
    until(&server, &id, "input_required").await?;
    let answers = json!({"sure": {"action": "accept", "content": {"sure": true}}});
    let update = json!({"taskId": id, "inputResponses": answers});
    send(&server, "tasks/update", update).await?;
    until(&server, &id, "completed").await?;
    server.drain(Duration::from_secs(1)).await;
    Ok(())
}

/// Asks how the task stands until it stands like that.
async fn until(
    server: &McpServer,
    id: &Value,
    status: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    for _ in 0..200 {
        let task = send(server, "tasks/get", json!({"taskId": id})).await?;
        if task["status"] == status {
            return Ok(());
        }
        sleep(Duration::from_millis(25)).await;
    }
    Err(format!("the task is not {status}").into())
}

/// Plays a client of 2026 that can handle tasks, and prints both sides.
async fn send(
    server: &McpServer,
    method: &str,
    mut params: Value,
) -> Result<Value, Box<dyn std::error::Error>> {
    println!("> {method} {params}");
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
    let body = body.as_bytes();
    let response = server.handle(Request { head, body }, Options::new()).await;
    let Body::Json(answer) = response.body else {
        return Err("the answer is no JSON".into());
    };
    let mut answer: Value = serde_json::from_slice(&answer)?;
    let result = answer.get_mut("result").map(Value::take);
    let mut result = result.ok_or_else(|| format!("refused: {answer}"))?;
    if let Some(members) = result.as_object_mut() {
        members.shift_remove("_meta");
    }
    println!("< {result}");
    Ok(result)
}
