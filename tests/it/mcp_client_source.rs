//! A client as a chat uses it: which tools, what the model reads, and how a call pauses.

use indexmap::IndexMap;
use roscius_actors::{
    client::{ClientError, Connect, McpClient},
    ports::tool_source::{
        ExecOutcome, InputRequest, McpAnswers, SourceTool, ToolInvocation, ToolSource,
    },
    transport::Http,
    wire::ids::ToolCallId,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::mcp_client_peer::{
    Answer, Peer, Received, json_reply, legacy, modern, reply, sse_open, text_result, tool,
    tools_page,
};

fn listing() -> Value {
    json!([
        {"name": "read", "description": "Reads", "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true}, "_meta": {"ui": {"resourceUri": "ui://read"}}},
        {"name": "write", "inputSchema": {}, "outputSchema": {"type": "object"},
            "annotations": {"destructiveHint": true}},
        {"name": "hidden", "inputSchema": {"type": "object"}},
    ])
}

fn connecting(peer: &Peer) -> Connect {
    McpClient::connect(Http::new(&peer.url))
}

/// The tools of a server whose list is one tool `ask`, and whose calls `handler` answers.
async fn ask(peer: &Peer) -> SourceTool {
    let client = connecting(peer).await.unwrap();
    ToolSource::tools(&client).await.unwrap().remove(0)
}

fn asking(handler: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Peer {
    modern(move |request| match request.method() {
        "tools/list" => tools_page(request, &json!([tool("ask")]), None),
        _ => handler(request),
    })
}

fn invocation() -> ToolInvocation {
    ToolInvocation::new(
        ToolCallId::from("c1"),
        json!({"a": 1}),
        CancellationToken::new(),
    )
}

fn question(message: &str) -> InputRequest {
    InputRequest {
        method: "elicitation/create".to_owned(),
        params: json!({"mode": "form", "message": message, "requestedSchema": {
            "type": "object", "properties": {"value": {"type": "string"}}}}),
    }
}

fn asks(request: &Received, message: &str, state: &str) -> Answer {
    json_reply(
        200,
        &request.result(json!({
            "resultType": "input_required", "requestState": state,
            "inputRequests": {"input": question(message)},
        })),
    )
}

fn pauses(message: &str, state: &str) -> ExecOutcome {
    ExecOutcome::NeedsInput {
        questions: IndexMap::from([("input".to_owned(), question(message))]),
        request_state: Some(state.to_owned()),
    }
}

fn answers(shown: &str, state: &str) -> McpAnswers {
    let answer = json!({"action": "accept", "content": {"value": "Oslo"}});
    McpAnswers {
        request_state: Some(state.to_owned()),
        responses: IndexMap::from([("input".to_owned(), answer)]),
        questions: IndexMap::from([("input".to_owned(), question(shown))]),
    }
}

fn done(text: &str) -> ExecOutcome {
    ExecOutcome::Done(text.into())
}

#[actix_web::test]
async fn tools_are_filtered_named_and_marked() {
    let peer = modern(|request| tools_page(request, &listing(), None));
    let client = connecting(&peer)
        .prefix("files")
        .tool_filter(|tool| tool.name != "hidden")
        .needs_approval(|tool| {
            tool.annotations
                .as_ref()
                .is_none_or(|hints| hints.destructive_hint != Some(false))
                && tool.name == "write"
        })
        .await
        .unwrap();
    let tools = ToolSource::tools(&client).await.unwrap();
    let [read, write] = &tools[..] else {
        panic!("{tools:?}");
    };
    assert_eq!(
        (read.name.as_str(), read.native_name.as_str()),
        ("files_read", "read")
    );
    assert_eq!(read.description, "Reads");
    assert_eq!(
        *read.input_schema,
        json!({"type": "object", "properties": {}})
    );
    assert_eq!(read.server_id.as_deref(), Some("files"));
    assert_eq!(read.ui_resource_uri.as_deref(), Some("ui://read"));
    assert!(read.repeatable && !read.needs_approval);
    assert_eq!(write.name, "files_write");
    assert_eq!(
        *write.input_schema,
        json!({"type": "object", "properties": {}})
    );
    assert!(write.needs_approval && !write.repeatable && write.output_schema.is_some());
    assert_eq!(ToolSource::name(&client), "files");

    let called = client.call_tool("hidden", json!({})).await;
    assert!(called.is_ok(), "the filter is not for direct calls");
}

#[actix_web::test]
async fn two_tools_of_one_name_are_an_error() {
    let peer = modern(|request| tools_page(request, &json!([tool("a"), tool("a")]), None));
    let client = connecting(&peer).await.unwrap();
    let error = client.tools().await.unwrap_err();
    assert!(
        error.to_string().contains("duplicate MCP tool name \"a\""),
        "{error}"
    );
    assert!(ToolSource::tools(&client).await.is_err());
}

#[actix_web::test]
async fn a_list_that_cannot_be_had_is_told_with_its_code() {
    let peer = modern(|_| reply(401, &[], ""));
    let client = connecting(&peer).prefix("files").await.unwrap();
    let error = ToolSource::tools(&client).await.unwrap_err();
    assert_eq!(
        (error.source_name.as_str(), error.code.as_deref()),
        ("files", Some("401"))
    );
}

#[actix_web::test]
async fn the_model_reads_the_result_and_the_error() {
    let peer = asking(|request| match request.index {
        2 => json_reply(200, &text_result(request, "12 C")),
        3 => json_reply(
            200,
            &request.result(json!({"isError": true,
            "content": [{"type": "text", "text": "no such city"}]})),
        ),
        _ => json_reply(200, &request.error(-32602, Value::Null)),
    });
    let tool = ask(&peer).await;
    assert_eq!(tool.executor.execute(invocation()).await, done("12 C"));
    let failed = |message: &str| ExecOutcome::Failed(message.to_owned());
    let expected = failed("MCP tool \"ask\" returned an error: no such city");
    assert_eq!(tool.executor.execute(invocation()).await, expected);
    assert_eq!(
        tool.executor.execute(invocation()).await,
        failed("scripted (-32602)")
    );
}

#[actix_web::test]
async fn a_question_pauses_and_its_answer_is_one_call() {
    let peer = asking(
        |request| match request.body["params"].get("inputResponses") {
            None => asks(request, "Which city?", "opaque-1"),
            Some(_) => json_reply(200, &text_result(request, "12 C in Oslo")),
        },
    );
    let tool = ask(&peer).await;
    let paused = tool.executor.execute(invocation()).await;
    assert_eq!(paused, pauses("Which city?", "opaque-1"));

    let answered = invocation().with_answers(answers("Which city?", "opaque-1"));
    assert_eq!(tool.executor.execute(answered).await, done("12 C in Oslo"));
    let calls = peer.of("tools/call");
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1].body["params"]["requestState"], "opaque-1");
    assert_eq!(calls[1].body["params"]["arguments"], json!({"a": 1}));
    let sent = &calls[1].body["params"]["inputResponses"]["input"];
    assert_eq!(
        *sent,
        json!({"action": "accept", "content": {"value": "Oslo"}})
    );
}

#[actix_web::test]
async fn a_second_round_pauses_again() {
    let peer = asking(
        |request| match request.body["params"]["requestState"].as_str() {
            Some("1") => asks(request, "Which day?", "2"),
            _ => json_reply(200, &text_result(request, "done")),
        },
    );
    let tool = ask(&peer).await;
    let answered = invocation().with_answers(answers("Which city?", "1"));
    assert_eq!(
        tool.executor.execute(answered).await,
        pauses("Which day?", "2")
    );
}

/// Knows only the state `fresh`, and asks `message`.
fn forgetful(message: &'static str) -> Peer {
    asking(
        move |request| match request.body["params"]["requestState"].as_str() {
            None => asks(request, message, "fresh"),
            Some("fresh") => json_reply(200, &text_result(request, "12 C in Oslo")),
            Some(_) => json_reply(200, &request.error(-32602, Value::Null)),
        },
    )
}

#[actix_web::test]
async fn a_refused_state_is_asked_for_afresh_and_the_same_question_gets_the_answer() {
    let peer = forgetful("Which city?");
    let tool = ask(&peer).await;
    let answered = invocation().with_answers(answers("Which city?", "stale"));
    assert_eq!(tool.executor.execute(answered).await, done("12 C in Oslo"));
    let calls = peer.of("tools/call");
    assert_eq!(calls.len(), 3);
    assert_eq!(calls[1].body["params"].get("inputResponses"), None);
    assert_eq!(calls[2].body["params"]["requestState"], "fresh");
}

#[actix_web::test]
async fn another_question_than_the_one_shown_gets_no_answer() {
    let peer = forgetful("Which card number?");
    let tool = ask(&peer).await;
    let answered = invocation().with_answers(answers("Which city?", "stale"));
    assert_eq!(
        tool.executor.execute(answered).await,
        pauses("Which card number?", "fresh")
    );
    let calls = peer.of("tools/call");
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1].body["params"].get("inputResponses"), None);
}

#[actix_web::test]
async fn an_answer_that_is_refused_without_a_state_ends_the_call() {
    let peer = asking(|request| json_reply(200, &request.error(-32602, Value::Null)));
    let tool = ask(&peer).await;
    let mut cold = answers("Which city?", "");
    cold.request_state = None;
    let outcome = tool.executor.execute(invocation().with_answers(cold)).await;
    assert!(matches!(outcome, ExecOutcome::Failed(_)), "{outcome:?}");
    assert_eq!(peer.of("tools/call").len(), 1);
}

#[actix_web::test]
async fn questions_that_a_chat_cannot_show_fail_the_call() {
    let peer = asking(|request| {
        json_reply(
            200,
            &request.result(json!({
            "resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}})),
        )
    });
    let outcome = ask(&peer).await.executor.execute(invocation()).await;
    let expected = "the MCP server asked for unsupported input: roots/list";
    assert_eq!(outcome, ExecOutcome::Failed(expected.to_owned()));

    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {}});
    let peer = legacy(None, move |request| match request.method() {
        "tools/list" => tools_page(request, &json!([tool("ask")]), None),
        "tools/call" => Answer::Hold(sse_open(std::slice::from_ref(&asked))),
        _ => reply(202, &[], ""),
    });
    let outcome = ask(&peer).await.executor.execute(invocation()).await;
    assert!(matches!(&outcome, ExecOutcome::Failed(why) if why.contains("elicitation/create")));
}

#[actix_web::test]
async fn the_end_of_the_run_ends_the_call() {
    let peer = asking(|_| Answer::Hold(Vec::new()));
    let tool = ask(&peer).await;
    let invocation = invocation();
    let cancel = invocation.cancel.clone();
    let call = actix_rt::spawn(tool.executor.execute(invocation));
    peer.wait_for("tools/call").await;
    cancel.cancel();
    assert!(matches!(call.await.unwrap(), ExecOutcome::Failed(_)));
    peer.wait_for_hang_up().await;
}

#[actix_web::test]
async fn a_closed_source_fails_its_calls() {
    let peer = asking(|request| json_reply(200, &text_result(request, "ok")));
    let client = connecting(&peer).await.unwrap();
    let tool = ToolSource::tools(&client).await.unwrap().remove(0);
    ToolSource::close(&client).await;
    let outcome = tool.executor.execute(invocation()).await;
    assert_eq!(
        outcome,
        ExecOutcome::Failed("the MCP client is closed".to_owned())
    );
    assert_eq!(peer.of("tools/call").len(), 0);
}

#[actix_web::test]
async fn a_tool_that_only_runs_as_a_task_is_skipped_and_refused() {
    let mut task = tool("task");
    task["execution"] = json!({"taskSupport": "required"});
    let peer = legacy(None, move |request| match request.method() {
        "tools/list" => tools_page(request, &json!([task.clone(), tool("plain")]), None),
        _ => json_reply(200, &text_result(request, "ok")),
    });
    let client = connecting(&peer).await.unwrap();
    let names: Vec<_> = client
        .tools()
        .await
        .unwrap()
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    assert_eq!(names, ["plain"]);
    let error = client.call_tool("task", json!({})).await.unwrap_err();
    assert!(matches!(error, ClientError::TaskRequired { tool } if tool == "task"));
    assert_eq!(peer.of("tools/call").len(), 0);
}
