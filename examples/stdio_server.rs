//! An MCP server that is a child process, and the client that starts it.
//!
//! ```sh
//! cargo run --features stdio --example stdio_server             # starts itself, one call, printed
//! cargo run --features stdio --example stdio_server -- --serve  # serves standard input and output
//! ```

use std::io::Write as _;

use roscius::{prelude::*, server::serve_stdio, transport::Stdio};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Text to count
#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

/// Counts words. It computes for long, so it has a thread of its own.
fn count(Args(asked): Args<Text>) -> String {
    // Standard output is the protocol's: what is not for the client goes to standard error.
    let _ = writeln!(std::io::stderr(), "server: counting");
    asked.text.split_whitespace().count().to_string()
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().any(|arg| arg == "--serve") {
        let server = McpServer::new("words", "1.0.0")
            .sessions(Sessions::Memory)
            .tool(Tool::blocking("count", count).read_only())
            .tool(Tool::new("greet", |cx: ToolCx| async move {
                let name = cx.request_input("What is your name?").await?;
                Ok::<_, ToolError>(format!("Hello, {name}!"))
            }))
            .on_error(|fault| {
                let _ = writeln!(std::io::stderr(), "server: {fault}");
            })
            .build()?;
        return Ok(serve_stdio(server).await?);
    }

    let mut out = std::io::stdout();
    let child = Stdio::command(std::env::current_exe()?).arg("--serve");
    let client = McpClient::connect(child).await?;
    for tool in client.tools().await? {
        writeln!(out, "tool: {}", tool.name)?;
    }
    let result = client
        .call_tool("count", json!({"text": "one two three"}))
        .await?;
    writeln!(out, "count: {}", serde_json::to_string(&result)?)?;
    let text = result.content.first().and_then(|block| block.as_text());
    if text != Some("3") {
        return Err("the count is wrong".into());
    }
    client.close().await;
    writeln!(out, "closed")?;
    Ok(())
}
