//! A tool that asks a model: the server's own, or the one of the client.
//!
//! ```sh
//! cargo run --example sampling             # one call of each kind, printed
//! cargo run --example sampling -- --serve  # the first server, until ctrl-c
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

#[path = "shared/host.rs"]
mod host;

use std::error::Error;

use roscius::{client::ClientError, prelude::*, server::McpServerBuilder};
use serde_json::json;

use self::host::Host;

async fn summarize(cx: ToolCx) -> Result<String, ToolError> {
    let request = SampleRequest::new("Milk, bread, nails.").system_prompt("Be brief.");
    let summary = cx.sample(request).await?;
    Ok(format!("In short: {summary}"))
}

fn server() -> McpServerBuilder {
    let tool = Tool::new("summarize", summarize).description("Summarizes the notes");
    McpServer::new("summaries", "1.0.0").tool(tool)
}

/// Stands for a model: any async function does.
async fn shorten(request: SampleRequest) -> Result<String, ToolError> {
    let words = request.text().split_whitespace().count();
    Ok(format!("{words} things"))
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let own = server().sample(shorten).build()?;
    let Some(host) = Host::start(&own).await? else {
        return Ok(());
    };
    let client = McpClient::connect(Http::new(&host.url)).await?;
    let result = client.call_tool("summarize", json!({})).await?;
    println!("own model: {}", serde_json::to_string(&result.content)?);
    client.close().await;
    host.stop().await;

    let of_client = server().sample_from_client(true).build()?;
    let Some(host) = Host::start(&of_client).await? else {
        return Ok(());
    };
    let client = McpClient::connect(Http::new(&host.url)).await?;
    let asked = match client.call_tool("summarize", json!({})).await {
        Err(ClientError::InputRequired(asked)) => asked,
        other => return Err(format!("the tool did not ask: {other:?}").into()),
    };
    println!("the client is asked: {}", asked.request);
    let answer = json!({"role": "assistant", "model": "mine", "content": {"type": "text", "text": "shopping"}});
    let keys = asked.questions.keys().cloned();
    let result = client
        .call_tool("summarize", json!({}))
        .input_responses(keys.map(|key| (key, answer.clone())))
        .request_state(asked.request_state.clone())
        .await?;
    println!("its model: {}", serde_json::to_string(&result.content)?);
    client.close().await;
    host.stop().await;
    Ok(())
}
