//! A tool that asks in the middle of its call: the call ends with a question, the answer completes
//! it.
//!
//! ```sh
//! cargo run --example ask_city             # one question, answered and printed
//! cargo run --example ask_city -- --serve  # until ctrl-c
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

#[path = "shared/host.rs"]
mod host;

use roscius::{client::ClientError, prelude::*};
use serde_json::{Value, json};

use self::host::Host;

async fn ask_city(cx: ToolCx) -> Result<String, ToolError> {
    // What must run once belongs after this line: with the answer the tool runs from its top.
    let city = cx.request_input("Which city?").await?;
    Ok(format!("You chose {city}."))
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = McpServer::new("ask", "1.0.0")
        .tool(Tool::new("ask_city", ask_city).description("Ask which city to use"))
        .build()?;
    let Some(host) = Host::start(&server).await? else {
        return Ok(());
    };

    let client = McpClient::connect(Http::new(&host.url)).await?;
    for answer in [
        json!({"action": "accept", "content": {"value": "Paris"}}),
        json!({"action": "decline"}),
    ] {
        play(&client, answer).await?;
    }
    client.close().await;
    host.stop().await;
    Ok(())
}

/// Calls the tool, is asked, answers, and prints all of it.
async fn play(client: &McpClient, answer: Value) -> Result<(), Box<dyn std::error::Error>> {
    let asked = match client.call_tool("ask_city", json!({})).await {
        Err(ClientError::InputRequired(asked)) => asked,
        Err(error) => return Err(error.into()),
        Ok(_) => return Err("the tool did not ask".into()),
    };
    for (key, request) in &asked.questions {
        println!("question `{key}`: {}", request.params);
    }
    let keys = asked.questions.keys().cloned();
    println!("answer: {answer}");
    let result = client
        .call_tool("ask_city", json!({}))
        .input_responses(keys.map(|key| (key, answer.clone())))
        .request_state(asked.request_state.clone())
        .await?;
    println!("result: {}", serde_json::to_string(&result)?);
    Ok(())
}
