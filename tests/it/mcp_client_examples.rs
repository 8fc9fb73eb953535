//! The examples beside the official schema of 2026-07-28, if they are at hand (`MCP_SCHEMA_DIR`).

use std::path::PathBuf;

use bytes::Bytes;
use roscius_actors::{
    client::{ClientError, Era, McpClient},
    machine::answers::{UserAnswer, response},
    ports::transport::{Outgoing, Reply, ReplyBody},
    transport::Memory,
    wire::content::{CallToolResult, ToolListing},
};
use serde_json::{Value, json};

use crate::schema::assert_fits;

fn folder() -> Option<PathBuf> {
    std::env::var_os("MCP_SCHEMA_DIR").map(|root| PathBuf::from(root).join("2026-07-28"))
}

/// The examples of one type by name.
fn examples(kind: &str) -> Vec<(String, Value)> {
    let Some(folder) = folder() else {
        return Vec::new();
    };
    let files = std::fs::read_dir(folder.join("examples").join(kind)).unwrap();
    let examples: Vec<_> = files
        .map(|file| {
            let path = file.unwrap().path();
            let text = std::fs::read(&path).unwrap();
            (
                path.display().to_string(),
                serde_json::from_slice(&text).unwrap(),
            )
        })
        .collect();
    assert!(!examples.is_empty(), "{kind}");
    examples
}

/// A server that answers the probe with one result and everything else with another.
fn server(discover: &Value, other: &Value) -> Memory {
    let (discover, other) = (discover.clone(), other.clone());
    Memory::new("examples", move |message: Outgoing| {
        let request: Value = serde_json::from_slice(&message.body).unwrap();
        let result = match request["method"].as_str() {
            Some("server/discover") => &discover,
            _ => &other,
        };
        let body = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        let whole = ReplyBody::Whole(Bytes::from(body.to_string()));
        std::future::ready(Ok(Reply::new(200, whole)))
    })
}

#[test]
fn results_and_tools_survive_the_way_through_our_types() {
    for (name, example) in examples("CallToolResult") {
        let result: CallToolResult = serde_json::from_value(example.clone()).unwrap();
        let mut again = serde_json::to_value(result).unwrap();
        again["resultType"] = example["resultType"].clone();
        assert_eq!(again, example, "{name}");
    }
    for (name, example) in examples("Tool") {
        let tool: ToolListing = serde_json::from_value(example.clone()).unwrap();
        assert_eq!(serde_json::to_value(tool).unwrap(), example, "{name}");
    }
}

#[actix_web::test]
async fn the_client_understands_every_example() {
    for (name, discover) in examples("DiscoverResult") {
        for (_, list) in examples("ListToolsResult") {
            let client = McpClient::connect(server(&discover, &list)).await.unwrap();
            assert_eq!(client.server().unwrap().era, Era::Modern, "{name}");
            let repeats = client.list_tools().await;
            // The example says that there is another page, and so it always does.
            assert!(
                matches!(repeats, Err(ClientError::Paging(_))),
                "{repeats:?}"
            );
        }
        for (name, interim) in examples("InputRequiredResult") {
            let client = McpClient::connect(server(&discover, &interim))
                .await
                .unwrap();
            let error = client.call_tool("a", json!({})).await.unwrap_err();
            match interim.get("inputRequests") {
                Some(asked) => {
                    let questions = &error.input_required().unwrap().questions;
                    assert_eq!(serde_json::to_value(questions).unwrap(), *asked, "{name}");
                }
                None => assert!(matches!(error, ClientError::Protocol { .. }), "{name}"),
            }
        }
    }
}

#[test]
fn answers_are_valid_results() {
    let valid = |kind: &str, answer: &Value| assert_fits("2026-07-28", kind, answer);
    for (name, request) in examples("ElicitRequestFormParams") {
        let content = json!({"name": "Ada", "email": "ada@example.com", "age": 30});
        let answer = response(
            "elicitation/create",
            &request,
            UserAnswer::Resolved(&content),
        );
        valid(
            "ElicitResult",
            &answer.unwrap_or_else(|error| panic!("{name}: {error}")),
        );
        let cancelled = response("elicitation/create", &request, UserAnswer::Cancelled).unwrap();
        valid("ElicitResult", &cancelled);
    }
    for (_, request) in examples("ElicitRequestURLParams") {
        let answer = response(
            "elicitation/create",
            &request,
            UserAnswer::Resolved(&json!({})),
        );
        valid("ElicitResult", &answer.unwrap());
    }
    let text = response(
        "sampling/createMessage",
        &json!({}),
        UserAnswer::Resolved(&json!("hi")),
    );
    valid("CreateMessageResult", &text.unwrap());
    for (name, message) in examples("CreateMessageResult") {
        let answer = response(
            "sampling/createMessage",
            &json!({}),
            UserAnswer::Resolved(&message),
        );
        assert_eq!(answer, Ok(message), "{name}");
    }
}
