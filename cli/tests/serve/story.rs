//! What people do with it: the conversations of the demo, a script, a model elsewhere.

use serde_json::{Value, json};

use crate::{
    process::Served,
    wire::{self, Chat},
};

pub(crate) fn of_kind<'events>(events: &'events [Value], kind: &str) -> Vec<&'events Value> {
    events
        .iter()
        .filter(|event| event["type"] == json!(kind))
        .collect()
}

pub(crate) fn text_of(events: &[Value]) -> String {
    let deltas = of_kind(events, "TEXT_MESSAGE_CONTENT");
    deltas
        .iter()
        .filter_map(|event| event["delta"].as_str())
        .collect()
}

/// The names and arguments of the calls.
pub(crate) fn calls_of(events: &[Value]) -> Vec<(String, Value)> {
    let ends = of_kind(events, "TOOL_CALL_END");
    let starts = of_kind(events, "TOOL_CALL_START");
    let calls = starts.iter().zip(ends);
    let call = |(start, end): (&&Value, &Value)| {
        let name = start["toolCallName"].as_str().unwrap().to_owned();
        (name, end["metadata"]["tanstack"]["input"].clone())
    };
    calls.map(call).collect()
}

pub(crate) fn result_of(events: &[Value]) -> String {
    let results = of_kind(events, "TOOL_CALL_RESULT");
    assert_eq!(results.len(), 1, "{events:?}");
    results[0]["content"].as_str().unwrap().to_owned()
}

pub(crate) fn interrupt_of(events: &[Value]) -> Value {
    let interrupts = &events.last().unwrap()["outcome"]["interrupts"];
    assert_eq!(interrupts.as_array().map(Vec::len), Some(1), "{events:?}");
    interrupts[0].clone()
}

pub(crate) fn finished(events: &[Value]) {
    let last = events.last().unwrap();
    assert_eq!(last["type"], json!("RUN_FINISHED"), "{last}");
    assert_eq!(
        last["metadata"]["tanstack"]["finishReason"],
        json!("stop"),
        "{last}"
    );
}

#[test]
fn hello_is_answered_with_text_alone() {
    let served = Served::start(&[]);
    let events = Chat::new(&served).say("hello");
    finished(&events);
    assert_eq!(calls_of(&events), []);
    assert!(
        text_of(&events).contains("demo_get_weather"),
        "it says what it can do"
    );
}

#[test]
fn the_examples_call_their_tools_over_http() {
    let served = Served::start(&[]);
    let events = Chat::new(&served).say("weather in Oslo");
    finished(&events);
    assert_eq!(
        calls_of(&events),
        [("demo_get_weather".to_owned(), json!({"city": "Oslo"}))]
    );
    let result: Value = serde_json::from_str(&result_of(&events)).unwrap();
    assert_eq!(result["city"], json!("Oslo"));
    assert!(text_of(&events).contains("Oslo"), "{}", text_of(&events));

    let events = Chat::new(&served).say("count to 2");
    finished(&events);
    assert_eq!(
        calls_of(&events),
        [("demo_slow_count".to_owned(), json!({"to": 2}))]
    );
    assert_eq!(result_of(&events), "counted to 2");

    let events = Chat::new(&served).say("fail: on purpose");
    finished(&events);
    assert!(result_of(&events).contains("on purpose"));
}

#[test]
fn a_question_of_a_tool_is_answered_and_the_call_goes_on() {
    let served = Served::start(&[]);
    let mut chat = Chat::new(&served);
    let events = chat.say("ask me for a city");
    let interrupt = interrupt_of(&events);
    let payload = &interrupt["metadata"]["tanstack:interruptPayload"];
    assert_eq!(
        (&interrupt["reason"], &payload["kind"]),
        (&json!("mcp_input"), &json!("form"))
    );
    assert_eq!(
        payload["request"]["requestedSchema"]["required"],
        json!(["city"])
    );
    let events = chat.answer(&interrupt, json!({"city": "Paris"}));
    finished(&events);
    assert_eq!(result_of(&events), "Paris");
    assert!(text_of(&events).contains("Paris"));
}

#[test]
fn a_sampling_question_shows_the_text_and_takes_the_answer() {
    let served = Served::start(&[]);
    let mut chat = Chat::new(&served);
    let events = chat.say("summarize: cats are small. And quick.");
    let interrupt = interrupt_of(&events);
    let request = &interrupt["metadata"]["tanstack:interruptPayload"]["request"];
    assert!(
        request["messages"]
            .to_string()
            .contains("cats are small. And quick.")
    );
    let sampled = served.send(
        "POST",
        "/api/sample",
        &["content-type: application/json"],
        &json!({ "request": request }).to_string(),
    );
    assert_eq!(
        (sampled.status, &sampled.json()),
        (200, &json!({"text": "cats are small."}))
    );
    let events = chat.answer(&interrupt, sampled.json()["text"].clone());
    finished(&events);
    assert_eq!(result_of(&events), "cats are small.");
}

#[test]
fn deleting_needs_approval_unless_told_otherwise() {
    let served = Served::start(&[]);
    let mut chat = Chat::new(&served);
    let events = chat.say("delete note 3");
    let interrupt = interrupt_of(&events);
    assert_eq!(interrupt["metadata"]["kind"], json!("approval"));
    assert_eq!(interrupt["metadata"]["input"], json!({"id": 3}));
    let events = chat.answer(&interrupt, json!({"approved": true}));
    finished(&events);
    assert_eq!(result_of(&events), r#"{"deleted":3}"#);

    let served = Served::start(&["--approve", "never"]);
    let events = Chat::new(&served).say("delete note 3");
    finished(&events);

    let served = Served::start(&["--approve", "all"]);
    let events = Chat::new(&served).say("weather in Oslo");
    assert_eq!(
        interrupt_of(&events)["metadata"]["toolName"],
        json!("demo_get_weather")
    );
}

#[test]
fn a_script_is_played() {
    let file = std::env::temp_dir().join(format!("roscius-script-{}.json", std::process::id()));
    let script = json!({"turns": [
        {"toolCalls": [{"id": "c1", "name": "demo_get_weather", "arguments": {"city": "Bergen"}}]},
        {"text": ["It ", "rains."]},
    ]});
    std::fs::write(&file, script.to_string()).unwrap();
    let served = Served::start(&["--model", &format!("scripted:{}", file.display())]);
    std::fs::remove_file(&file).unwrap();
    let mut chat = Chat::new(&served);
    let events = chat.say("anything");
    finished(&events);
    assert_eq!(
        calls_of(&events),
        [("demo_get_weather".to_owned(), json!({"city": "Bergen"}))]
    );
    assert_eq!(text_of(&events), "It rains.");
}

#[test]
fn a_model_elsewhere_is_asked_with_the_key_of_the_environment() {
    let table = [
        (&[("OPENAI_API_KEY", "sk-test")][..], Some("Bearer sk-test")),
        (&[][..], None),
    ];
    for (env, authorization) in table {
        let provider = wire::Provider::start(&[
            json!({"type": "response.created", "response": {"model": "m-1"}}),
            json!({"type": "response.output_text.delta", "delta": "Bon"}),
            json!({"type": "response.output_text.delta", "delta": "jour"}),
            json!({"type": "response.completed", "response": {"output": []}}),
        ]);
        let url = format!("http://{}/v1", provider.addr);
        let args = [
            "serve",
            "--addr",
            "127.0.0.1:0",
            "--model",
            "openai:m",
            "--base-url",
            &url,
        ];
        let served = Served::run(&args, env);
        let events = Chat::new(&served).say("hello");
        finished(&events);
        assert_eq!(text_of(&events), "Bonjour");
        let (head, body) = provider.asked();
        assert!(head.starts_with("POST /v1/responses "), "{head}");
        let key = head
            .lines()
            .find_map(|line| line.strip_prefix("authorization: "));
        assert_eq!(key, authorization);
        assert_eq!(body["model"], json!("m"));
        assert_eq!(body["tools"][0]["name"], json!("demo_get_weather"));
    }
}

#[test]
fn a_question_survives_a_restart_with_the_same_key() {
    let key = [(
        "ROSCIUS_STATE_KEY",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    )];
    let args = ["serve", "--addr", "127.0.0.1:0"];
    let first = Served::run(&args, &key);
    let mut chat = Chat::new(&first);
    let interrupt = interrupt_of(&chat.say("ask me for a city"));
    let kept = chat.kept();
    first.signal("TERM");
    assert_eq!(first.ended(), Some(0));

    let second = Served::run(&args, &key);
    let events = Chat::resumed(&second, kept.clone()).answer(&interrupt, json!({"city": "Lima"}));
    finished(&events);
    assert_eq!(result_of(&events), "Lima");

    let other = Served::start(&[]);
    let events = Chat::resumed(&other, kept).answer(&interrupt, json!({"city": "Lima"}));
    assert_eq!(
        events.last().unwrap()["type"],
        json!("RUN_ERROR"),
        "{events:?}"
    );
}
