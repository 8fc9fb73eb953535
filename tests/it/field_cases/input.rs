//! Questions of the server, and what clients make of them.

use roscius::prelude::*;
use serde_json::{Value, json};

use super::world::text;
use crate::{
    mcp_server::host::{Ask, Reply, Served},
    mcp_sessions::client::{Client, EVERYTHING, Gate, NEWEST, builder, json_of, messages, serve},
};

fn server() -> McpServer {
    let value = || json!({"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]});
    McpServer::new("asking", "1.0.0")
        .sample_from_client(true)
        .tool(Tool::new("strange_key", move |cx: ToolCx| async move {
            let answer = cx.request_form("q 1", "Name?", value()).await?;
            Ok::<_, ToolError>(answer["value"].to_string())
        }))
        .tool(Tool::new("city", |cx: ToolCx| async move {
            Ok::<_, ToolError>(cx.request_input("Which city?").await?)
        }))
        .tool(Tool::new("sample", |cx: ToolCx| async move {
            Ok::<_, ToolError>(cx.sample("Summarize").await?)
        }))
        .build()
        .unwrap()
}

fn call(name: &str, more: &Value) -> Ask {
    let mut params = json!({"name": name, "arguments": {}});
    for (member, value) in more.as_object().into_iter().flatten() {
        params[member] = value.clone();
    }
    Ask::modern("tools/call", params)
}

fn is_question(reply: &Reply) -> bool {
    reply.json()["result"]["resultType"] == "input_required"
}

/// B091: a key is whatever the tool says; the state is taken as it was given or not at all.
#[test]
fn an_answer_comes_back_under_its_key_with_the_untouched_state() {
    let served = Served::new(&server());
    let asked = call("strange_key", &json!({})).send(&served).json()["result"].take();
    assert!(asked["inputRequests"].get("q 1").is_some(), "{asked}");
    let state = asked["requestState"].as_str().unwrap();
    // Only what a header, a URL and a JSON text carry unchanged.
    assert!(
        state
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.=".contains(&byte))
    );
    let answer = json!({"q 1": {"action": "accept", "content": {"value": "Anna"}}});
    for (state, wanted) in [
        (json!(state), Some("\"Anna\"")),
        // Without a state the answer is the first one.
        (Value::Null, Some("\"Anna\"")),
        (json!(format!(" {state}")), None),
        (json!(format!("{state}\n")), None),
        (json!(state.to_uppercase()), None),
        (json!(&state[..state.len() - 1]), None),
        (json!("  é==\n{\"x\":1} "), None),
        (json!({}), None),
    ] {
        let mut more = json!({"inputResponses": answer});
        if !state.is_null() {
            more["requestState"] = state.clone();
        }
        let reply = call("strange_key", &more).send(&served);
        match wanted {
            Some(wanted) => assert_eq!(text(&reply.json()), wanted),
            None => assert_eq!((reply.status, reply.error_code()), (200, -32602), "{state}"),
        }
    }
    // A state is no part of any other request.
    let list = Ask::modern("tools/list", json!({"requestState": state})).send(&served);
    assert_eq!(list.status, 200);
}

/// B094: an answer that accepts has to bring what was asked for, else it is asked for again; one
/// that is no answer is refused.
#[test]
fn an_acceptance_brings_its_content() {
    let served = Served::new(&server());
    let answer = |response: Value| call("city", &json!({"inputResponses": {"input": response}}));
    let good = json!({"action": "accept", "content": {"value": "Paris"}});
    let bad = [
        json!({"action": "accept"}),
        json!({"action": "accept", "content": null}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "accept", "content": {"city": "Paris"}}),
    ];
    assert_eq!(text(&answer(good.clone()).send(&served).json()), "Paris");
    for bad in &bad {
        assert!(is_question(&answer(bad.clone()).send(&served)), "{bad}");
    }
    let none = answer(json!({"value": "Paris"})).send(&served);
    assert_eq!((none.status, none.error_code()), (200, -32602));
    // Within a session the call goes on waiting.
    let served = serve(&builder(&Gate::default()).build().unwrap());
    let client = Client::open(&served);
    let (head, mut wire) = client.call(1, "ask");
    wire.until("elicitation/create");
    for (id, bad) in bad.into_iter().enumerate() {
        client.answer(id as u64, bad);
        wire.until("elicitation/create");
    }
    client.answer(4, good);
    let end = messages(&wire.body(&head)).pop().unwrap();
    assert_eq!(text(&end), "Paris");
}

const REFUSED: &str = "The user did not accept the input request.";

/// B095: who refuses owes no content, and no schema is held against what comes along.
#[test]
fn a_refusal_needs_no_content() {
    let refusals = [
        json!({"action": "cancel"}),
        json!({"action": "decline"}),
        json!({"action": "decline", "content": null}),
        json!({"action": "cancel", "content": {}}),
        json!({"action": "decline", "content": {"value": 5}}),
    ];
    let modern = Served::new(&server());
    let sessions = serve(&builder(&Gate::default()).build().unwrap());
    let client = Client::open(&sessions);
    for (id, refusal) in refusals.into_iter().enumerate() {
        let more = json!({"inputResponses": {"input": refusal}});
        let reply = call("city", &more).send(&modern).json();
        assert_eq!(reply["result"]["isError"], true, "{refusal}");
        assert_eq!(text(&reply), REFUSED, "{refusal}");
        let (head, mut wire) = client.call(1, "ask");
        wire.until("elicitation/create");
        client.answer(id as u64, refusal.clone());
        let end = messages(&wire.body(&head)).pop().unwrap();
        assert_eq!(end["result"]["isError"], true, "{refusal}");
        assert_eq!(text(&end), REFUSED, "{refusal}");
    }
}

/// B097: the answer of a model is a block or a list of blocks; what is neither is refused.
#[test]
fn a_models_answer_has_one_block_or_several() {
    let block = |text: &str| json!({"type": "text", "text": text});
    let message = |content: Value| json!({"role": "assistant", "model": "m", "content": content});
    let answers = [
        (message(block("x")), Some("x")),
        (message(json!([block("x")])), Some("x")),
        (
            message(
                json!([{"type": "image", "data": "AA==", "mimeType": "image/png"}, block("y")]),
            ),
            Some("y"),
        ),
        (
            message(json!([{"type": "tool_use", "id": "1", "name": "t", "input": {}}])),
            None,
        ),
        (message(json!({})), None),
        (message(json!([])), None),
        (message(json!("x")), None),
        (json!("hello"), None),
        (json!({}), None),
        (Value::Null, None),
    ];
    let modern = Served::new(&server());
    let sessions = serve(&builder(&Gate::default()).build().unwrap());
    let client = Client::open(&sessions);
    for (id, (answer, wanted)) in answers.into_iter().enumerate() {
        let more = json!({"inputResponses": {"sample": answer}});
        let reply = call("sample", &more).send(&modern).json();
        let (head, mut wire) = client.call(1, "sample");
        wire.until("sampling/createMessage");
        client.answer(id as u64, answer.clone());
        let end = messages(&wire.body(&head)).pop().unwrap();
        match wanted {
            Some(wanted) => {
                assert_eq!(text(&reply), wanted, "{answer}");
                assert_eq!(text(&end), wanted, "{answer}");
            }
            None => {
                let refused =
                    reply["error"]["code"] == -32602 || reply["result"]["isError"] == true;
                assert!(refused, "{answer}: {reply}");
                assert_eq!(end["result"]["isError"], true, "{answer}: {end}");
            }
        }
    }
}

/// B099: nobody is asked what they have not declared, and nobody waits for it.
#[test]
fn only_what_was_declared_is_asked() {
    let served = Served::new(&server());
    for (name, required) in [
        ("city", json!({"elicitation": {"form": {}}})),
        ("sample", json!({"sampling": {}})),
    ] {
        let ask = Ask::modern_as(
            json!({}),
            "tools/call",
            json!({"name": name, "arguments": {}}),
        );
        let reply = ask.send(&served);
        assert_eq!((reply.status, reply.error_code()), (400, -32021));
        assert_eq!(
            reply.json()["error"]["data"],
            json!({"requiredCapabilities": required})
        );
        assert!(is_question(&call(name, &json!({})).send(&served)));
    }
    let served = serve(&builder(&Gate::default()).build().unwrap());
    for (capabilities, name, asked) in [
        ("{}", "ask", false),
        ("{}", "sample", false),
        (EVERYTHING, "ask", true),
    ] {
        let client = Client::open_as(&served, NEWEST, capabilities);
        let (head, mut wire) = client.call(1, name);
        if asked {
            wire.until("elicitation/create");
            continue;
        }
        let end = json_of((head, wire));
        assert_eq!(end["result"]["isError"], true, "{end}");
    }
}
