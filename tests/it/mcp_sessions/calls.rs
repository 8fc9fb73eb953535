//! Calls of a session: reports, log level, cancellation, lost connections, arrays, drain.

use std::time::Duration;

use roscius::prelude::*;
use serde_json::{Value, json};

use super::client::{
    Client, EVERYTHING, Gate, builder, initialize, json_of, messages, post, refusal, serve,
};
use crate::served::eventually;

fn server(gate: &Gate) -> McpServer {
    builder(gate).build().unwrap()
}

#[test]
fn reports_turn_the_answer_into_a_stream_in_their_order() {
    let served = serve(&server(&Gate::default()));
    let client = Client::open(&served);
    let (head, mut wire) = client.call_with_progress(5, "report");
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    let all = messages(&wire.body(&head));
    assert_eq!(
        all.len(),
        2,
        "no log is sent before a level is set: {all:?}"
    );
    assert_eq!(
        all[0]["params"],
        json!({"progressToken": "t", "progress": 1})
    );
    assert_eq!(all[1]["id"], 5);
}

#[test]
fn a_session_remembers_its_log_level() {
    let served = serve(&server(&Gate::default()));
    let client = Client::open(&served);
    let set = |level: &str| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": level}});
        json_of(client.post(&body.to_string()))
    };
    assert_eq!(set("loud")["error"]["code"], -32602);
    assert_eq!(json_of(client.call(1, "report"))["id"], 1);
    assert_eq!(set("error")["result"], json!({}));
    let (head, mut wire) = client.call(2, "report");
    let all = messages(&wire.body(&head));
    assert_eq!(all[0]["params"], json!({"level": "error", "data": "high"}));
    assert_eq!((all.len(), &all[1]["id"]), (2, &json!(2)));
    set("debug");
    let (head, mut wire) = client.call(3, "report");
    assert_eq!(messages(&wire.body(&head)).len(), 3);
    // Another session has its own.
    assert_eq!(json_of(Client::open(&served).call(1, "report"))["id"], 1);
}

// B009, B010: the call of this id and of no other ends, and nothing is said about it any more.
#[test]
fn a_cancelled_call_ends_without_an_answer() {
    let gate = Gate::default();
    let server = server(&gate);
    let served = serve(&server);
    let client = Client::open(&served);
    let other = Client::open(&served);
    for (name, id) in [("plain_wait", 7), ("wait", 8)] {
        let mut wire = client.start(
            "application/json, text/event-stream",
            id,
            json!({"name": name}),
        );
        eventually("the call runs", || server.running_calls() == 1);
        other.notify("notifications/cancelled", json!({"requestId": id}));
        client.notify("notifications/cancelled", json!({"requestId": "7"}));
        assert_eq!(server.running_calls(), 1, "neither names this call");
        client.notify(
            "notifications/cancelled",
            json!({"requestId": id, "reason": "no"}),
        );
        let head = wire.head();
        assert_eq!((head.status, wire.body(&head).as_str()), (202, ""));
        assert_eq!(server.running_calls(), 0);
    }
    // One that streams already just ends.
    let (head, mut wire) = client.call_with_progress(9, "wait");
    wire.until("progress");
    client.notify("notifications/cancelled", json!({"requestId": 9}));
    assert!(messages(&wire.body(&head)).is_empty());
    assert_eq!((gate.passed(), client.ping()), (0, 200));
}

#[test]
fn a_lost_connection_does_not_cancel_a_call() {
    let gate = Gate::default();
    let server = server(&gate);
    let served = serve(&server);
    let client = Client::open(&served);
    for (passed, name) in ["plain_wait", "wait"].into_iter().enumerate() {
        let wire = client.start("application/json", 1, json!({"name": name}));
        eventually("the call runs", || gate.entered() == passed + 1);
        drop(wire);
        // The server has seen the end of the connection when it answers on a later one.
        for _ in 0..20 {
            assert_eq!(client.ping(), 200);
        }
        assert_eq!(server.running_calls(), 1);
        gate.open.notify_one();
        eventually("the call has ended", || server.running_calls() == 0);
        assert_eq!(gate.passed(), passed + 1);
    }
    // A call that nobody waits for can still be cancelled.
    let wire = client.start("application/json", 5, json!({"name": "wait"}));
    eventually("the call runs", || gate.entered() == 3);
    drop(wire);
    client.notify("notifications/cancelled", json!({"requestId": 5}));
    eventually("the call has ended", || server.running_calls() == 0);
    assert_eq!(gate.passed(), 2);
}

#[test]
fn the_end_of_a_session_ends_its_calls() {
    let gate = Gate::default();
    let server = server(&gate);
    let served = serve(&server);
    let client = Client::open(&served);
    let mut waiting = client.start("application/json", 1, json!({"name": "plain_wait"}));
    eventually("the call runs", || gate.entered() == 1);
    let (stream_head, mut asking) = client.call(2, "ask");
    asking.until("elicitation/create");
    assert_eq!(client.delete().status, 200);
    let head = waiting.head();
    assert_eq!(refusal((head, waiting)), (404, -32001, json!(1)));
    let last = messages(&asking.body(&stream_head));
    assert_eq!(last.last().unwrap()["error"]["code"], -32001);
    eventually("all is over", || {
        server.running_calls() == 0 && server.open_sessions() == 0
    });
}

#[test]
fn arrays_belong_to_the_version_of_the_session() {
    let gate = Gate::default();
    let served = serve(&server(&gate));
    let client = Client::open_as(&served, "2025-03-26", EVERYTHING);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/foo"}"#;
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hi"}}"#;
    let answers = json_of(client.post(&format!("[{ping},{note},{call}]")));
    let ids: Vec<&Value> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["id"])
        .collect();
    assert_eq!(ids, [&json!(1), &json!(2)]);
    // Answers may come as an array too.
    let (_, mut wire) = client.call(1, "ask");
    wire.until("elicitation/create");
    let answer =
        r#"{"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"value":"Oslo"}}}"#;
    assert_eq!(client.post(&format!("[{answer},{note}]")).0.status, 202);
    wire.until("Oslo");
    let newer = Client::open(&served);
    assert_eq!(newer.post(&format!("[{ping}]")).0.status, 400);
    let initialize = initialize("2025-03-26", "{}");
    assert_eq!(post(&served, &[], &format!("[{initialize}]")).0.status, 400);
}

#[test]
fn a_drain_lets_questions_be_answered_and_ends_all_sessions() {
    let gate = Gate::default();
    let server = server(&gate);
    let served = serve(&server);
    let client = Client::open(&served);
    let idle = Client::open(&served);
    let (_, mut stream) = idle.get(&[]);
    let (_, mut wire) = client.call(1, "ask");
    wire.until("elicitation/create");
    let drained = {
        let server = server.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build();
            runtime
                .unwrap()
                .block_on(server.drain(Duration::from_secs(20)));
        })
    };
    eventually("new work is refused", || client.ping() == 503);
    assert_eq!(refusal(idle.get(&[])).0, 503);
    assert_eq!(
        refusal(post(&served, &[], &initialize("2025-11-25", "{}"))).0,
        503
    );
    client.answer(0, json!({"action": "accept", "content": {"value": "Rome"}}));
    wire.until("Rome");
    drained.join().unwrap();
    assert_eq!((server.open_sessions(), server.running_calls()), (0, 0));
    while stream.chunk().is_some() {}
}

#[test]
fn a_drain_answers_the_calls_that_it_ends() {
    let gate = Gate::default();
    let server = server(&gate);
    let served = serve(&server);
    let client = Client::open(&served);
    let mut plain = client.start(
        "application/json, text/event-stream",
        1,
        json!({"name": "plain_wait"}),
    );
    let (head, mut wire) = client.call_with_progress(2, "wait");
    wire.until("progress");
    eventually("both calls run", || gate.entered() == 2);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime
        .unwrap()
        .block_on(server.drain(Duration::from_millis(50)));
    let streamed = messages(&wire.body(&head));
    let head = plain.head();
    let answers = [json_of((head, plain)), streamed[0].clone()];
    for (answer, id) in answers.into_iter().zip([1, 2]) {
        assert_eq!(answer["id"], id, "{answer}");
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
    }
    assert_eq!((server.open_sessions(), server.running_calls()), (0, 0));
    assert_eq!(gate.passed(), 0);
}
