//! The wire of the server, byte by byte: what is sent is written out, and so is the whole answer
//! but for its date and what frames its body.

mod faults;
mod modern;
mod outputs;
mod refusals;
mod sessions;
mod stateless;
mod tasks;

use roscius::prelude::*;
use serde_json::json;

use crate::mcp_server::host::{Reply, Served, Wire};

/// Status and headers of an answer of JSON.
const JSON: &str = "content-type: application/json\n\n";
/// Status and headers of a stream of events.
const EVENTS: &str = "cache-control: no-cache, no-transform\ncontent-encoding: identity\ncontent-type: text/event-stream\nx-accel-buffering: no\n\n";
const BOTH: &str =
    "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";

/// A request with these header lines.
fn request(served: &Served, method: &str, headers: &str, body: &str) -> String {
    let (addr, length) = (served.addr, body.len());
    format!(
        "{method} /mcp HTTP/1.1\r\nhost: {addr}\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

fn send(served: &Served, bytes: &str) -> Reply {
    let mut wire = Wire::open(served.addr);
    wire.send(bytes);
    wire.reply()
}

/// What was sent, under which name, and what has to come.
struct Case {
    name: &'static str,
    bytes: String,
    answer: String,
}

/// Sends each request on a connection of its own and tells all answers that differ.
fn check(served: &Served, cases: Vec<Case>) {
    let mut differ = Vec::new();
    for Case {
        name,
        bytes,
        answer,
    } in cases
    {
        let told = send(served, &bytes).told();
        if told != answer {
            differ.push(format!("{name}\n--- wanted\n{answer}\n--- came\n{told}\n"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

fn builder() -> roscius::server::McpServerBuilder {
    let text =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    McpServer::new("weather", "1.0.0")
        .tool(
            Tool::raw("echo", text, |value, _| async move {
                value["text"].as_str().unwrap_or_default().to_owned()
            })
            .description("Echoes"),
        )
        .tool(Tool::new("ask", |cx: ToolCx| async move {
            Ok::<_, ToolError>(cx.request_input("Which city?").await?)
        }))
        .tool(Tool::new("sample", |cx: ToolCx| async move {
            Ok::<_, ToolError>(cx.sample("Summarize").await?)
        }))
        .tool(Tool::new("boom", || async {
            Err::<String, _>(std::io::Error::other("disk on fire"))
        }))
        .tool(Tool::new("steps", |cx: ToolCx| async move {
            cx.progress(1.0, Some(2.0), Some("half"));
            "done"
        }))
        .resource(
            Resource::new("readme", "docs://readme", || async { "Read me." })
                .mime_type("text/plain"),
        )
        .prompt(Prompt::new("hello", || async { "Hello" }))
}

/// The listings that both eras share.
const TOOLS: &str = r#""tools":[{"name":"echo","description":"Echoes","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},{"name":"ask","inputSchema":{"type":"object","properties":{}}},{"name":"sample","inputSchema":{"type":"object","properties":{}}},{"name":"boom","inputSchema":{"type":"object","properties":{}}},{"name":"steps","inputSchema":{"type":"object","properties":{}}}]"#;
const CONTENTS: &str =
    r#""contents":[{"uri":"docs://readme","mimeType":"text/plain","text":"Read me."}]"#;
const MESSAGES: &str = r#""messages":[{"role":"user","content":{"type":"text","text":"Hello"}}]"#;
const REFUSED: &str = r#""content":[{"type":"text","text":"The user did not accept the input request."}],"isError":true"#;
const QUESTION: &str = r#"{"message":"Which city?","mode":"form","requestedSchema":{"type":"object","properties":{"value":{"type":"string"}},"required":["value"]}}"#;
