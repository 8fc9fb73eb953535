//! Tasks of a server on a pair of pipes.

use roscius::{
    prelude::*,
    server::{McpServerBuilder, serve_io},
};
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader, duplex};

use super::{Pipes, initialize, legacy, modern, serve};

fn builder() -> McpServerBuilder {
    McpServer::new("pipes", "1.0.0")
        .tasks_extension(true)
        .tool(Tool::new("quick", || async { "quick" }).task())
        .tool(
            Tool::new("asks", |cx: ToolCx| async move {
                let form = cx.request_form("ok", "Sure?", json!({"type": "object"}));
                Ok::<_, ToolError>(form.await?.to_string())
            })
            .task(),
        )
}

fn begin(name: &str) -> Value {
    json!({"name": name, "arguments": {}, "task": {}})
}

/// Reads until a message holds what is looked for.
async fn until(pipes: &mut Pipes, found: impl Fn(&Value) -> bool) -> Value {
    loop {
        let message = pipes.line().await;
        if found(&message) {
            return message;
        }
    }
}

#[tokio::test]
async fn tasks_of_both_eras_are_served_on_pipes() {
    let server = builder().sessions(Sessions::Stateless).build().unwrap();
    let watched = server.clone();
    serve(server, |mut pipes| async move {
        pipes.ask(initialize("2025-11-25")).await;
        let created = pipes.ask(legacy(1, "tools/call", begin("quick"))).await;
        let id = &created["result"]["task"]["taskId"];
        let result = pipes
            .ask(legacy(2, "tasks/result", json!({"taskId": id})))
            .await;
        assert_eq!(result["result"]["content"][0]["text"], "quick");
        let declare = |id: i64, method: &str, params: Value| {
            let mut request = modern(id, method, params);
            request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
            request
        };
        let created = pipes.ask(declare(3, "tools/call", begin("quick"))).await;
        assert_eq!(created["result"]["resultType"], "task");
        let id = &created["result"]["taskId"];
        let mut task = Value::Null;
        for _ in 0..1_000 {
            let got = pipes
                .ask(declare(4, "tasks/get", json!({"taskId": id})))
                .await;
            task = got["result"].clone();
            if task["status"] == "completed" {
                break;
            }
        }
        assert_eq!(task["result"]["content"][0]["text"], "quick");
    })
    .await
    .unwrap();
    watched.drain(std::time::Duration::from_secs(10)).await;
    assert_eq!(watched.open_tasks(), 0);
}

#[tokio::test]
async fn a_task_of_a_session_asks_on_the_same_pipe_and_ends_with_it() {
    let server = builder().sessions(Sessions::Memory).build().unwrap();
    let watched = server.clone();
    serve(server, |mut pipes| async move {
        pipes.ask(initialize("2025-11-25")).await;
        pipes.send(legacy(1, "tools/call", begin("asks"))).await;
        let mut id = Value::Null;
        let mut question = Value::Null;
        while id.is_null() || question.is_null() {
            let message = pipes.line().await;
            if message["id"] == 1 {
                id = message["result"]["task"]["taskId"].clone();
            } else if message["method"] == "elicitation/create" {
                question = message;
            }
        }
        let related = &question["params"]["_meta"]["io.modelcontextprotocol/related-task"];
        assert_eq!(*related, json!({"taskId": id}));
        let answer = json!({"action": "accept", "content": {"sure": true}});
        pipes
            .send(json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}))
            .await;
        pipes
            .send(legacy(2, "tasks/result", json!({"taskId": id})))
            .await;
        let result = until(&mut pipes, |message| message["id"] == 2).await;
        assert_eq!(result["result"]["content"][0]["text"], r#"{"sure":true}"#);
        pipes.send(legacy(3, "tools/call", begin("asks"))).await;
        // Both, in any order: what is written to a pipe that nobody reads is an error.
        let awaited =
            |message: &Value| message["id"] == 3 || message["method"] == "elicitation/create";
        until(&mut pipes, awaited).await;
        until(&mut pipes, awaited).await;
    })
    .await
    .unwrap();
    crate::served::eventually("no task is left", || watched.open_tasks() == 0);
}

#[tokio::test]
async fn a_session_ends_with_its_pipe_however_that_ends() {
    let server = builder().sessions(Sessions::Memory).build().unwrap();
    let (input, theirs) = duplex(1 << 20);
    let (ours, output) = duplex(1 << 20);
    let mut pipes = Pipes {
        input: Some(input),
        output: BufReader::new(output),
    };
    let client = async move {
        pipes.ask(initialize("2025-11-25")).await;
        pipes.send(legacy(1, "tools/call", begin("asks"))).await;
        until(&mut pipes, |message| {
            message["method"] == "elicitation/create"
        })
        .await;
        let Pipes { mut input, output } = pipes;
        drop(output);
        let ping = legacy(2, "ping", json!({})).to_string() + "\n";
        let input = input.as_mut().unwrap();
        input.write_all(ping.as_bytes()).await.unwrap();
        std::future::pending::<McpServer>().await
    };
    let watched = server.clone();
    let served = tokio::select! {
        served = serve_io(server, theirs, ours) => served,
        _ = client => unreachable!("it waits for the server"),
    };
    assert!(served.is_err());
    crate::served::eventually("no task is left", || watched.open_tasks() == 0);
}
