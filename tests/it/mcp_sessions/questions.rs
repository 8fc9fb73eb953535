//! Questions that a tool puts to the client of a session while its call waits.

use std::time::Duration;

use roscius::prelude::*;
use serde_json::{Value, json};

use super::client::{Client, EVERYTHING, Gate, NEWEST, builder, json_of, messages, refusal, serve};
use crate::served::{Served, Wire};

fn served() -> Served {
    serve(&builder(&Gate::default()).build().unwrap())
}

/// The request of the server at the end of what was read.
pub(super) fn question(read: &str) -> Value {
    messages(read).pop().unwrap()
}

pub(super) fn text_of(result: &Value) -> &str {
    result["result"]["content"][0]["text"].as_str().unwrap()
}

// G9
#[test]
fn a_question_goes_out_on_the_stream_of_its_call() {
    let served = served();
    let client = Client::open(&served);
    // An open GET stream does not take it away.
    let (_, _get) = client.get(&[]);
    let (head, mut wire) = client.call(4, "ask");
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    let asked = question(&wire.until("elicitation/create"));
    assert_eq!(
        asked,
        json!({"jsonrpc": "2.0", "id": 0, "method": "elicitation/create", "params": {
            "message": "Which city?",
            "mode": "form",
            "requestedSchema": {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]},
        }})
    );
    client.answer(
        0,
        json!({"action": "accept", "content": {"value": "Paris"}}),
    );
    let answer = messages(&wire.body(&head)).pop().unwrap();
    assert_eq!((&answer["id"], text_of(&answer)), (&json!(4), "Paris"));
}

#[test]
fn several_questions_follow_each_other_and_the_reports() {
    let served = served();
    let client = Client::open(&served);
    let (head, mut wire) = client.call_with_progress(1, "ask_twice");
    let first = messages(&wire.until("elicitation/create"));
    assert_eq!(first[0]["method"], "notifications/progress");
    assert_eq!(first[1]["id"], 0);
    client.answer(0, json!({"action": "accept", "content": {"value": "a"}}));
    assert_eq!(question(&wire.until("elicitation/create"))["id"], 1);
    client.answer(1, json!({"action": "accept", "content": {"value": "b"}}));
    let answer = messages(&wire.body(&head)).pop().unwrap();
    assert_eq!(text_of(&answer), "a b");
}

#[test]
fn a_call_without_a_stream_asks_on_the_get_stream() {
    let served = served();
    let client = Client::open(&served);
    let (head, mut get) = client.get(&[]);
    assert_eq!(head.status, 200);
    let mut call = client.start("application/json", 1, json!({"name": "ask"}));
    assert_eq!(question(&get.until("elicitation/create"))["id"], 0);
    client.answer(0, json!({"action": "accept", "content": {"value": "Bern"}}));
    let head = call.head();
    assert_eq!(text_of(&json_of((head, call))), "Bern");
}

// G9
#[test]
fn without_any_stream_a_question_fails_at_once() {
    let served = served();
    let client = Client::open(&served);
    let mut call = client.start("application/json", 1, json!({"name": "ask"}));
    let head = call.head();
    let answer = json_of((head, call));
    assert_eq!(answer["result"]["isError"], true);
    assert!(text_of(&answer).contains("GET stream"), "{answer}");
}

#[test]
fn samples_and_roots_are_asked_for_too() {
    let served = served();
    let client = Client::open(&served);
    let (head, mut wire) = client.call(1, "sample");
    let asked = question(&wire.until("sampling/createMessage"));
    assert_eq!(asked["params"]["maxTokens"], 1024);
    assert_eq!(
        asked["params"]["messages"][0]["content"]["text"],
        "Summarize"
    );
    let content = json!({"type": "text", "text": "short"});
    client.answer(
        0,
        json!({"role": "assistant", "content": content, "model": "m"}),
    );
    assert_eq!(text_of(&messages(&wire.body(&head))[0]), "short");
    let (head, mut wire) = client.call(2, "roots");
    let asked = question(&wire.until("roots/list"));
    assert_eq!(
        asked,
        json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
    );
    client.answer(1, json!({"roots": [{"uri": "file:///a"}]}));
    assert_eq!(text_of(&messages(&wire.body(&head))[0]), "\"file:///a\"");
}

#[test]
fn a_refusal_is_the_error_of_the_tool() {
    let served = served();
    let client = Client::open(&served);
    // B095: content is looked at only of an answer that was accepted.
    let refusals = [
        json!({"action": "decline", "content": null}),
        json!({"action": "cancel"}),
    ];
    for (id, refusal) in refusals.into_iter().enumerate() {
        let (head, mut wire) = client.call(1, "ask");
        wire.until("elicitation/create");
        client.answer(id as u64, refusal);
        let answer = messages(&wire.body(&head)).pop().unwrap();
        assert_eq!(answer["result"]["isError"], true);
        assert_eq!(
            text_of(&answer),
            "The user did not accept the input request."
        );
    }
    let failed = |id: u64, name: &str, error: Value| {
        let (head, mut wire) = client.call(1, name);
        wire.until("\"method\"");
        let body = json!({"jsonrpc": "2.0", "id": id, "error": error});
        assert_eq!(client.post(&body.to_string()).0.status, 202);
        messages(&wire.body(&head)).pop().unwrap()
    };
    let refused = failed(2, "sample", json!({"code": -1, "message": "no"}));
    assert_eq!(
        text_of(&refused),
        "The user did not accept the input request."
    );
    let unable = failed(3, "ask", json!({"code": -32601, "message": "cannot"}));
    assert_eq!(unable["result"]["isError"], true);
    assert!(text_of(&unable).contains("cannot"), "{unable}");
    let broken = failed(4, "ask", json!(5));
    assert_eq!(broken["result"]["isError"], true);
}

#[test]
fn what_is_no_answer_at_all_is_the_error_of_the_tool() {
    let served = served();
    let client = Client::open(&served);
    for (id, answer) in [
        json!({}),
        json!([]),
        json!({"action": "accept", "content": [5]}),
    ]
    .into_iter()
    .enumerate()
    {
        let (head, mut wire) = client.call(1, "ask");
        wire.until("elicitation/create");
        client.answer(id as u64, answer);
        let answer = messages(&wire.body(&head)).pop().unwrap();
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again_within_the_call() {
    let served = served();
    let client = Client::open(&served);
    let (head, mut wire) = client.call(1, "ask");
    wire.until("elicitation/create");
    for (id, unfit) in [
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {"value": 5}}),
        json!({"action": "accept", "content": {"value": ["a"]}}),
    ]
    .into_iter()
    .enumerate()
    {
        client.answer(id as u64, unfit);
        let asked = question(&wire.until("elicitation/create"));
        assert_eq!(asked["id"], id as u64 + 1);
        let message = asked["params"]["message"].as_str().unwrap();
        assert!(message.starts_with("Which city?"), "{message}");
        assert!(message.contains("/value"), "{message}");
    }
    client.answer(3, json!({"action": "accept", "content": {"value": "Bern"}}));
    let answer = messages(&wire.body(&head)).pop().unwrap();
    assert_eq!(text_of(&answer), "Bern");
}

#[test]
fn an_answer_that_never_fits_ends_the_call() {
    let served = served();
    let client = Client::open(&served);
    let (head, mut wire) = client.call(1, "ask");
    for id in 0..10 {
        wire.until("elicitation/create");
        client.answer(id, json!({"action": "accept", "content": {"value": id}}));
    }
    let answer = messages(&wire.body(&head)).pop().unwrap();
    assert_eq!(answer["result"]["isError"], true);
    assert!(text_of(&answer).contains("/value"), "{answer}");
}

// B099: nobody is asked what they have not declared.
#[test]
fn a_client_is_asked_only_what_it_has_declared() {
    let served = served();
    for (capabilities, refused) in [
        ("{}", &["ask", "sample", "roots"][..]),
        (r#"{"elicitation":{}}"#, &["sample", "roots"]),
        (
            r#"{"elicitation":{"url":{}},"sampling":{}}"#,
            &["ask", "roots"],
        ),
    ] {
        let client = Client::open_as(&served, NEWEST, capabilities);
        for name in refused {
            let answer = json_of(client.call(1, name));
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            assert!(text_of(&answer).contains("capability"), "{answer}");
        }
    }
}

#[test]
fn an_answer_of_another_session_changes_nothing() {
    let served = served();
    let client = Client::open(&served);
    let other = Client::open(&served);
    let (_, mut wire) = client.call(1, "ask");
    wire.until("elicitation/create");
    other.answer(
        0,
        json!({"action": "accept", "content": {"value": "Paris"}}),
    );
    client.answer(0, json!({"action": "accept", "content": {"value": "Rome"}}));
    wire.until("Rome");
}

#[test]
fn a_question_has_a_deadline() {
    let limits = SessionLimits::new().answer_within(Duration::from_millis(50));
    let server = builder(&Gate::default()).session_limits(limits).build();
    let served = serve(&server.unwrap());
    let client = Client::open(&served);
    let (head, mut wire) = client.call(1, "ask");
    let all = messages(&wire.body(&head));
    let methods: Vec<&Value> = all.iter().map(|one| &one["method"]).collect();
    let end = &all[all.len() - 1];
    assert_eq!(methods[0], "elicitation/create");
    assert_eq!(end["result"]["isError"], true);
    assert!(text_of(end).contains("in time"), "{end}");
    // The late answer is taken and dropped.
    client.answer(0, json!({"action": "accept", "content": {"value": "x"}}));
}

#[test]
fn a_cancelled_call_takes_its_question_back() {
    let served = served();
    let client = Client::open(&served);
    let (_, mut get) = client.get(&[]);
    let mut call = client.start("application/json", 6, json!({"name": "ask"}));
    get.until("elicitation/create");
    client.notify("notifications/cancelled", json!({"requestId": 6}));
    assert_eq!(call.head().status, 202);
    let taken = question(&get.until("notifications/cancelled"));
    assert_eq!(taken["params"]["requestId"], 0);
}

#[test]
fn the_client_is_asked_before_a_sampler_of_the_server() {
    let sampled = builder(&Gate::default())
        .sample(|request: SampleRequest| async move { Ok::<_, ToolError>(request.text() + "!") })
        .build()
        .unwrap();
    let served = serve(&sampled);
    let unable = Client::open_as(&served, NEWEST, "{}");
    assert_eq!(text_of(&json_of(unable.call(1, "sample"))), "Summarize!");
    let able = Client::open_as(&served, NEWEST, EVERYTHING);
    let (_, mut wire): (_, Wire) = able.call(1, "sample");
    wire.until("sampling/createMessage");
}

#[test]
fn without_a_session_nobody_is_asked() {
    let server = builder(&Gate::default()).sessions(Sessions::Stateless);
    let served = serve(&server.build().unwrap());
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}"#;
    let (head, mut wire) = super::client::post(&served, &[], body);
    let answer: Value = serde_json::from_str(&wire.body(&head)).unwrap();
    assert_eq!(answer["error"]["code"], -32601);
    let get = served.request("GET", "/mcp", &[("accept", "text/event-stream")], "");
    assert_eq!(refusal(get), (405, -32000, Value::Null));
}
