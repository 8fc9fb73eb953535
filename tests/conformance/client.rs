//! The client that the official conformance suite tests. README.md beside this file says what each
//! scenario wants. The last argument is the URL of the suite's server.
#![allow(
    clippy::print_stderr,
    reason = "the suite keeps what the program prints, and it is all there is to see of a failure"
)]

use std::{env, process::ExitCode};

use roscius_actors::{
    client::{ClientError, McpClient, ToolCall},
    transport::Http,
    wire::content::ToolListing,
};
use serde_json::{Map, Value, json};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[actix_web::main]
async fn main() -> ExitCode {
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let Some(url) = env::args().nth(1).and_then(|_| env::args().next_back()) else {
        eprintln!("usage: conformance_client <server URL>");
        return ExitCode::FAILURE;
    };
    match run(&scenario, &url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{scenario}: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(scenario: &str, url: &str) -> Outcome {
    let mut capabilities = Map::new();
    capabilities.insert("roots".to_owned(), json!({}));
    let connect = McpClient::connect(Http::new(url)).name("roscius-conformance");
    let client = connect.capabilities(capabilities).await?;
    let tools = client.list_tools().await?;
    let done = match scenario {
        "tools_call" => call(&client, "add_numbers", json!({"a": 5, "b": 3})).await,
        "sep-2322-client-request-state" => input_rounds(&client).await,
        "http-standard-headers" => standard_headers(&client, &tools).await,
        "http-custom-headers" => custom_headers(&client).await,
        "http-invalid-tool-headers" => valid_tools(&client, &tools).await,
        "json-schema-2020-12-preservation" => echo_schema(&client, &tools).await,
        _ => Ok(()),
    };
    client.close().await;
    done
}

async fn call(client: &McpClient, tool: &str, arguments: Value) -> Outcome {
    client.call_tool(tool, arguments).await?;
    Ok(())
}

/// Asks twice, with a call of another tool between question and answer.
async fn input_rounds(client: &McpClient) -> Outcome {
    let echo = client.call_tool("test_mrtr_echo_state", json!({})).await;
    call(client, "test_mrtr_unrelated", json!({})).await?;
    answer(
        client.call_tool("test_mrtr_echo_state", json!({})),
        echo.err(),
    )
    .await?;

    let no_state = client.call_tool("test_mrtr_no_state", json!({})).await;
    answer(
        client.call_tool("test_mrtr_no_state", json!({})),
        no_state.err(),
    )
    .await?;
    call(client, "test_mrtr_no_result_type", json!({})).await
}

/// Confirms every question, as a user would who always says yes.
async fn answer(again: ToolCall, asked: Option<ClientError>) -> Outcome {
    let asked = asked.ok_or("the server did not ask")?;
    let Some(input) = asked.input_required() else {
        return Err(asked.into());
    };
    let yes = json!({"action": "accept", "content": {"confirmed": true}});
    let responses = input
        .questions
        .keys()
        .map(|key| (key.as_str(), yes.clone()));
    again
        .input_responses(responses)
        .request_state(input.request_state.clone())
        .await?;
    Ok(())
}

async fn standard_headers(client: &McpClient, tools: &[ToolListing]) -> Outcome {
    for tool in tools {
        call(client, &tool.name, json!({})).await?;
    }
    Ok(())
}

/// Makes the calls that the suite has written into the environment.
async fn custom_headers(client: &McpClient) -> Outcome {
    let context: Value = serde_json::from_str(&env::var("MCP_CONFORMANCE_CONTEXT")?)?;
    let calls = context.get("toolCalls").and_then(Value::as_array);
    for planned in calls.ok_or("the context holds no toolCalls")? {
        let name = planned.get("name").and_then(Value::as_str);
        let arguments = planned.get("arguments").cloned().unwrap_or_default();
        call(client, name.ok_or("a call has no name")?, arguments).await?;
    }
    Ok(())
}

async fn valid_tools(client: &McpClient, tools: &[ToolListing]) -> Outcome {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    if names != ["valid_tool"] {
        return Err(format!("tools with broken headers are still there: {names:?}").into());
    }
    call(client, "valid_tool", json!({"region": "us-west1"})).await
}

/// Sends a schema back as it was listed.
async fn echo_schema(client: &McpClient, tools: &[ToolListing]) -> Outcome {
    let named = |tool: &&ToolListing| tool.name == "json_schema_2020_12_tool";
    let listed = tools.iter().find(named).ok_or("the tool is not listed")?;
    call(
        client,
        "json_schema_echo",
        json!({"schema": listed.input_schema}),
    )
    .await
}
