//! The server that the official conformance suite talks to. See `README.md` beside this file.
#![expect(
    clippy::indexing_slicing,
    reason = "a JSON value that lacks a key gives null"
)]

mod contents;
mod library;
mod questions;
mod tasks;

use actix_web::{App, HttpServer};
use roscius::{prelude::*, server::Changes, web};
use serde_json::{Value, json};

/// One white pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
fn object(name: &str, kind: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": kind}}, "required": [name]})
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Tools of 2026 that depend on what the request declares.
fn requests() -> Vec<Tool> {
    let region = json!({
        "type": "object",
        "properties": {"region": {"type": "string", "description": "A region", "x-mcp-header": "Region"}},
    });
    vec![
        Tool::new("test_missing_capability", |cx: ToolCx| async move {
            cx.sample("Anything").await
        })
        .description("Needs sampling"),
        Tool::new("test_streaming_elicitation", |cx: ToolCx| async move {
            cx.request_form("streamed", "Anything?", object("answer", "string"))
                .await
        })
        .description("Asks for a form"),
        Tool::new("test_logging_tool", |cx: ToolCx| async move {
            cx.log(roscius::wire::mcp::LogLevel::Info, "the tool runs");
            "logged"
        })
        .description("Logs if the request wants it"),
        Tool::raw("test_x_mcp_header", region, |value, _| async move {
            format!("region: {}", word(&value["region"]))
        })
        .description("Echoes an argument that a header mirrors"),
    ]
}

/// Tools that say that something has changed.
fn triggers(changes: &Changes) -> Vec<Tool> {
    let (tools, prompts) = (changes.clone(), changes.clone());
    vec![
        Tool::new("test_trigger_tool_change", move || {
            tools.tools_list_changed();
            std::future::ready("changed")
        })
        .description("Says that the list of tools has changed"),
        Tool::new("test_trigger_prompt_change", move || {
            prompts.prompts_list_changed();
            std::future::ready("changed")
        })
        .description("Says that the list of prompts has changed"),
    ]
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port: u16 = std::env::var("PORT")?.parse()?;
    let changes = Changes::new();
    let server = McpServer::new("roscius-conformance", env!("CARGO_PKG_VERSION"))
        .sample_from_client(true)
        .sessions(Sessions::Memory)
        .changes(&changes)
        .tools(contents::contents())
        .tools(requests())
        .tools(questions::questions())
        .tools(questions::sessions())
        .tools(triggers(&changes))
        .tools(tasks::tasks())
        .tasks_extension(true)
        .resources(library::resources())
        .prompts(library::prompts())
        .skills(library::skills()?)
        .build()?;
    HttpServer::new(move || App::new().configure(web::mcp("/mcp", &server)))
        .workers(1)
        .tcp_nodelay(true)
        .h1_allow_half_closed(false)
        .bind(("127.0.0.1", port))?
        .run()
        .await?;
    Ok(())
}
