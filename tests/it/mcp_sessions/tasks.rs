//! Tasks of 2025-11-25 in a session: who finds them, and how they ask.

use std::sync::Arc;

use roscius::{prelude::*, server::McpServerBuilder, wire::mcp::LogLevel};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::client::{Client, NEWEST, initialize, json_of, messages, post, serve};
use crate::served::{Head, Served, Wire, eventually};

fn builder(open: &Arc<Notify>) -> McpServerBuilder {
    let (gate, reporting) = (Arc::clone(open), Arc::clone(open));
    McpServer::new("tasks", "1.0.0")
        .sessions(Sessions::Memory)
        .tool(
            Tool::new("slow", move || {
                let gate = Arc::clone(&gate);
                async move {
                    gate.notified().await;
                    "slow"
                }
            })
            .task(),
        )
        .tool(
            Tool::new("reports", move |cx: ToolCx| {
                let gate = Arc::clone(&reporting);
                async move {
                    gate.notified().await;
                    cx.progress(1.0, Some(2.0), None);
                    cx.log(LogLevel::Error, "half way");
                    "reported"
                }
            })
            .task(),
        )
        .tool(
            Tool::new("asks", |cx: ToolCx| async move {
                let schema = json!({"type": "object"});
                let (one, two) = futures_util::join!(
                    cx.request_form("one", "One?", schema.clone()),
                    cx.request_form("two", "Two?", schema)
                );
                Ok::<_, ToolError>(format!("{} {}", one?, two?))
            })
            .task(),
        )
        .tool(
            Tool::new("unkeyed", |cx: ToolCx| async move {
                cx.request_input("Which?").await
            })
            .task(),
        )
        .tool(
            Tool::new("samples", |cx: ToolCx| async move {
                cx.sample(SampleRequest::new("Sum").key("sum")).await
            })
            .task(),
        )
}

fn served() -> (Arc<Notify>, McpServer, Served) {
    let open = Arc::new(Notify::new());
    let server = builder(&open).build().unwrap();
    let served = serve(&server);
    (open, server, served)
}

fn send(client: &Client<'_>, method: &str, params: Value) -> (Head, Wire) {
    let body = json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": params});
    client.post(&body.to_string())
}

fn ask(client: &Client<'_>, method: &str, params: Value) -> Value {
    json_of(send(client, method, params))
}

fn begin(client: &Client<'_>, name: &str) -> String {
    let params =
        json!({"name": name, "arguments": {}, "task": {}, "_meta": {"progressToken": "p"}});
    let created = ask(client, "tools/call", params);
    let id = created["result"]["task"]["taskId"].as_str();
    id.unwrap_or_else(|| panic!("{created}")).to_owned()
}

fn status(client: &Client<'_>, id: &str) -> Value {
    ask(client, "tasks/get", json!({"taskId": id}))["result"]["status"].clone()
}

fn until(client: &Client<'_>, id: &str, wanted: &str) {
    eventually(wanted, || status(client, id) == wanted);
}

/// The questions among some messages.
fn questions(read: &[Value]) -> Vec<&Value> {
    let asks = |message: &&Value| message["method"] == "elicitation/create";
    read.iter().filter(asks).collect()
}

fn accept(text: &str) -> Value {
    json!({"action": "accept", "content": {"is": text}})
}

#[test]
fn a_task_belongs_to_its_session_which_can_list_it() {
    let (open, server, served) = served();
    let greeted = json_of(post(&served, &[], &initialize(NEWEST, "{}")));
    assert_eq!(
        greeted["result"]["capabilities"]["tasks"],
        json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}})
    );
    let (client, other) = (Client::open(&served), Client::open(&served));
    let id = begin(&client, "slow");
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let foreign = ask(&other, method, json!({"taskId": id}));
        assert_eq!(foreign["error"]["code"], -32602, "{method}");
    }
    let listed = ask(&client, "tasks/list", json!({}));
    assert_eq!(listed["result"]["tasks"][0]["taskId"], *id);
    let listed = ask(&other, "tasks/list", json!({}));
    assert_eq!(listed["result"]["tasks"], json!([]));
    open.notify_one();
    let result = ask(&client, "tasks/result", json!({"taskId": id}));
    assert_eq!(result["result"]["content"][0]["text"], "slow");
    assert_eq!(server.open_tasks(), 1);
}

#[test]
fn a_task_ends_with_its_session() {
    let (_, server, served) = served();
    let client = Client::open(&served);
    begin(&client, "slow");
    begin(&client, "asks");
    assert_eq!(server.open_tasks(), 2);
    assert_eq!(client.delete().status, 200);
    eventually("no task is left", || {
        server.open_tasks() == 0 && server.running_calls() == 0
    });
}

#[test]
fn questions_of_a_task_go_out_on_the_stream_of_who_waits_for_it() {
    let (_, _, served) = served();
    let client = Client::open(&served);
    let id = begin(&client, "asks");
    until(&client, &id, "input_required");
    let (head, mut wire) = send(&client, "tasks/result", json!({"taskId": id}));
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    let mut read = wire.until("One?");
    if !read.contains("Two?") {
        read += &wire.until("Two?");
    }
    let heard = messages(&read);
    let asked = questions(&heard);
    assert_eq!(asked.len(), 2);
    let meta = json!({"io.modelcontextprotocol/related-task": {"taskId": id}});
    assert!(asked.iter().all(|one| one["params"]["_meta"] == meta));
    assert_eq!(asked[0]["params"]["mode"], "form");
    client.answer(asked[1]["id"].as_u64().unwrap(), accept("b"));
    assert_eq!(status(&client, &id), "input_required");
    client.answer(asked[0]["id"].as_u64().unwrap(), accept("a"));
    let last = messages(&wire.body(&head)).pop().unwrap();
    assert_eq!(
        last["result"]["content"][0]["text"],
        r#"{"is":"a"} {"is":"b"}"#
    );
    assert_eq!(last["result"]["_meta"], meta);
    assert_eq!(status(&client, &id), "completed");
}

#[test]
fn a_question_that_no_stream_could_carry_goes_out_when_the_session_opens_one() {
    let (_, _, served) = served();
    for waits in [false, true] {
        let client = Client::open(&served);
        let id = begin(&client, "asks");
        until(&client, &id, "input_required");
        // It takes an answer only, no stream.
        let params = json!({"taskId": id});
        let wire = waits.then(|| client.begin("application/json", 9, "tasks/result", params));
        let (_, mut get) = client.get(&[]);
        let mut read = get.until("One?");
        if !read.contains("Two?") {
            read += &get.until("Two?");
        }
        let heard = messages(&read);
        for question in questions(&heard) {
            client.answer(question["id"].as_u64().unwrap(), accept("a"));
        }
        until(&client, &id, "completed");
        if let Some(mut wire) = wire {
            let head = wire.head();
            let result = json_of((head, wire));
            assert_eq!(result["result"]["isError"], json!(null), "{result}");
        }
    }
}

#[test]
fn questions_of_a_task_go_out_on_the_stream_of_the_session_and_so_do_its_reports() {
    let (open, _, served) = served();
    let client = Client::open(&served);
    let (_, mut get) = client.get(&[]);
    let id = begin(&client, "asks");
    let mut read = get.until("One?");
    if !read.contains("Two?") {
        read += &get.until("Two?");
    }
    let heard = messages(&read);
    for (question, text) in questions(&heard).into_iter().zip(["a", "b"]) {
        client.answer(question["id"].as_u64().unwrap(), accept(text));
    }
    let heard = messages(&(read + &get.until(r#""status":"completed""#)));
    let states: Vec<&Value> = heard
        .iter()
        .filter(|one| one["method"] == "notifications/tasks/status")
        .map(|one| &one["params"]["status"])
        .collect();
    assert_eq!(states.first(), Some(&&json!("input_required")));
    assert_eq!(states.last(), Some(&&json!("completed")));
    until(&client, &id, "completed");
    ask(&client, "logging/setLevel", json!({"level": "info"}));
    let id = begin(&client, "reports");
    open.notify_one();
    let heard = messages(&get.until(r#""status":"completed""#));
    let related = json!({"taskId": id});
    for (at, method) in ["notifications/progress", "notifications/message"]
        .into_iter()
        .enumerate()
    {
        assert_eq!(heard[at]["method"], method, "{heard:?}");
        let meta = &heard[at]["params"]["_meta"];
        assert_eq!(
            meta["io.modelcontextprotocol/related-task"], related,
            "{method}"
        );
    }
    assert_eq!(heard[0]["params"]["progressToken"], "p");
}

#[test]
fn a_task_asks_only_what_its_client_has_declared_and_with_a_key() {
    let (_, _, served) = served();
    let client = Client::open_as(&served, NEWEST, "{}");
    for name in ["asks", "samples", "unkeyed"] {
        let id = begin(&client, name);
        let result = ask(&client, "tasks/result", json!({"taskId": id}));
        assert_eq!(result["result"]["isError"], true, "{name}");
        assert_eq!(status(&client, &id), "failed", "{name}");
    }
    let client = Client::open(&served);
    let id = begin(&client, "samples");
    let (head, mut wire) = send(&client, "tasks/result", json!({"taskId": id}));
    let asked = messages(&wire.until("sampling/createMessage"))
        .pop()
        .unwrap();
    let answer =
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "5"}});
    client.answer(asked["id"].as_u64().unwrap(), answer);
    let last = messages(&wire.body(&head)).pop().unwrap();
    assert_eq!(last["result"]["content"][0]["text"], "5");
}

#[test]
fn a_cancelled_task_takes_its_questions_back() {
    let (_, _, served) = served();
    let client = Client::open(&served);
    let id = begin(&client, "asks");
    let (head, mut wire) = send(&client, "tasks/result", json!({"taskId": id}));
    wire.until("One?");
    let cancelled = ask(&client, "tasks/cancel", json!({"taskId": id}));
    assert_eq!(cancelled["result"]["status"], "cancelled");
    let rest = messages(&wire.body(&head));
    let last = rest.last().unwrap();
    assert_eq!(
        (&last["id"], &last["error"]["code"]),
        (&json!(9), &json!(-32000))
    );
}

#[test]
fn a_client_that_waits_no_more_leaves_the_question_to_the_next_who_does() {
    let (_, _, served) = served();
    let client = Client::open(&served);
    let id = begin(&client, "samples");
    let (_, mut wire) = send(&client, "tasks/result", json!({"taskId": id}));
    wire.until("sampling/createMessage");
    client.notify("notifications/cancelled", json!({"requestId": 9}));
    let (head, mut wire) = send(&client, "tasks/result", json!({"taskId": id}));
    let asked = messages(&wire.until("sampling/createMessage"))
        .pop()
        .unwrap();
    let answer =
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "7"}});
    client.answer(asked["id"].as_u64().unwrap(), answer);
    let last = messages(&wire.body(&head)).pop().unwrap();
    assert_eq!(last["result"]["content"][0]["text"], "7");
}

#[test]
fn a_question_that_is_on_its_way_is_not_asked_again() {
    let (_, server, served) = served();
    let client = Client::open(&served);
    let (_, mut get) = client.get(&[]);
    for _ in 0..10 {
        let id = begin(&client, "asks");
        let mut read = get.until("One?");
        if !read.contains("Two?") {
            read += &get.until("Two?");
        }
        let both = "application/json, text/event-stream";
        let mut waits = client.begin(both, 9, "tasks/result", json!({"taskId": id}));
        eventually("the client waits", || server.running_calls() == 2);
        let heard = messages(&read);
        for question in questions(&heard) {
            client.answer(question["id"].as_u64().unwrap(), accept("a"));
        }
        let head = waits.head();
        // Nothing but the answer came, or it would be a stream.
        let result = json_of((head, waits));
        assert_eq!(
            result["result"]["content"][0]["text"],
            r#"{"is":"a"} {"is":"a"}"#
        );
    }
}
