//! Recorded chat streams: every event is understood and written again with the same meaning.

use std::{fs, path::PathBuf};

use bytes::BytesMut;
use roscius_actors::{
    machine::{
        dialogue::ModelContent,
        rows::{intake, model_messages},
        run_input::{RunInputError, RunInputLimits, parse_run_input},
    },
    wire::agui::{BINDING_KEY, Event, EventKind, Outcome, RunAgentInput},
};
use serde_json::Value;

fn recordings(ending: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agui");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().ends_with(ending))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no recording ends with {ending}");
    paths
}

fn frames(path: &PathBuf) -> Vec<Value> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|json| serde_json::from_str(json).unwrap())
        .collect()
}

#[test]
fn every_recorded_event_is_read_and_written_with_the_same_meaning() {
    let mut seen = 0;
    for path in recordings(".response.sse") {
        for frame in frames(&path) {
            let event: Event = serde_json::from_value(frame.clone())
                .unwrap_or_else(|error| panic!("{}: {error}: {frame}", path.display()));
            assert_eq!(event.kind.name(), frame["type"]);
            let mut line = BytesMut::new();
            event.encode(&mut line).unwrap();
            let again: Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(again, frame, "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 800, "only {seen} recorded events were found");
}

#[test]
fn bindings_of_recorded_interrupts_are_understood_whole() {
    let mut seen = 0;
    for path in recordings(".response.sse") {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        // These were written by hand to show what the client makes of broken bindings.
        if name.starts_with("mcp-input-") {
            continue;
        }
        for frame in frames(&path) {
            let event: Event = serde_json::from_value(frame).unwrap();
            let EventKind::RunFinished {
                outcome: Some(Outcome::Interrupt { interrupts }),
                ..
            } = event.kind
            else {
                continue;
            };
            for interrupt in interrupts {
                let recorded = &interrupt.metadata.as_ref().unwrap()[BINDING_KEY];
                let binding = interrupt.binding().unwrap();
                assert_eq!(&serde_json::to_value(binding).unwrap(), recorded, "{name}");
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "only {seen} recorded interrupts were found");
}

#[test]
fn recorded_requests_are_read_with_rows_unchanged() {
    for path in recordings(".request.json") {
        let body: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let input: RunAgentInput = serde_json::from_value(body.clone())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(
            serde_json::to_string(&input.messages).unwrap(),
            serde_json::to_string(&body["messages"]).unwrap(),
            "{}: rows keep their members and their order",
            path.display()
        );
        assert_eq!(
            serde_json::to_value(&input.resume).unwrap(),
            body.get("resume")
                .cloned()
                .unwrap_or_else(|| serde_json::json!([])),
        );
    }
}

fn table(name: &str) -> Value {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agui");
    serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

/// The body of a row of `bad-bodies`, as it was sent.
fn body(case: &Value) -> String {
    match case.get("bodyText") {
        Some(text) => text.as_str().unwrap().to_owned(),
        None => case["body"].to_string(),
    }
}

#[test]
fn bodies_are_refused_for_the_recorded_reasons() {
    let table = table("bad-bodies.table.json");
    let cases = table["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 43);
    for case in cases {
        let read = parse_run_input(body(case).as_bytes(), &RunInputLimits::default());
        let name = &case["case"];
        if case["status"] == 200 {
            read.unwrap_or_else(|error| panic!("{name}: {error}"));
            continue;
        }
        let refused = read.expect_err(&format!("{name} is refused"));
        let recorded = case["reason"].as_str().unwrap();
        match recorded.split_once("Validation errors: ") {
            Some((_, reason)) => assert_eq!(refused.reason(), reason, "{name}"),
            None => assert!(matches!(refused, RunInputError::NotJson(_)), "{name}"),
        }
    }
}

#[test]
fn accepted_bodies_tell_the_model_what_was_recorded() {
    let table = table("bad-bodies.table.json");
    let mut seen = 0;
    for case in table["cases"].as_array().unwrap() {
        let Some(recorded) = case.get("modelMessages") else {
            continue;
        };
        let input = parse_run_input(body(case).as_bytes(), &RunInputLimits::default()).unwrap();
        let told: Vec<Value> = model_messages(&intake(input.messages))
            .into_iter()
            .map(|message| {
                let content = match message.content {
                    ModelContent::None => Value::Null,
                    ModelContent::Text(text) => text.into(),
                    ModelContent::Parts(parts) => parts.into(),
                };
                serde_json::json!([message.role, content])
            })
            .collect();
        let recorded: Vec<Value> = recorded
            .as_array()
            .unwrap()
            .iter()
            .map(|message| serde_json::json!([message["role"], message["content"]]))
            .collect();
        assert_eq!(told, recorded, "{}", case["case"]);
        seen += 1;
    }
    assert!(seen >= 10, "only {seen} cases were accepted");
}

#[test]
fn recorded_requests_are_accepted_and_bounded() {
    for path in recordings(".request.json") {
        let text = fs::read_to_string(&path).unwrap();
        let input = parse_run_input(text.as_bytes(), &RunInputLimits::default())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let derived: RunAgentInput = serde_json::from_str(&text).unwrap();
        assert_eq!(input, derived, "{}", path.display());
    }
}

#[test]
fn bounds_of_a_request_are_named() {
    let mut limits = RunInputLimits::default();
    limits.max_messages = 1;
    limits.max_tool_bytes = 40;
    let request = |messages: Value, tools: Value| {
        serde_json::json!({
            "threadId": "t", "runId": "r", "messages": messages, "tools": tools, "context": []
        })
        .to_string()
    };
    let message = serde_json::json!({"id": "m", "role": "user", "content": "x"});
    let two = request(serde_json::json!([message, message]), serde_json::json!([]));
    let refused = parse_run_input(two.as_bytes(), &limits).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("messages is over the bound of 1"),
        "{refused}"
    );
    let tool = serde_json::json!([{"name": "a", "description": "b", "parameters": {"description": "x".repeat(40)}}]);
    let large = request(serde_json::json!([]), tool);
    let refused = parse_run_input(large.as_bytes(), &limits).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("tools[0] is over the bound of 40"),
        "{refused}"
    );
    let call = serde_json::json!({"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}});
    let calls = |rows: &[usize]| {
        let rows: Vec<Value> = rows
            .iter()
            .map(|calls| serde_json::json!({"id": "a", "role": "assistant", "toolCalls": vec![&call; *calls]}))
            .collect();
        request(rows.into(), serde_json::json!([]))
    };
    let mut limits = RunInputLimits::default();
    limits.max_row_tool_calls = 2;
    limits.max_tool_calls = 3;
    let read = |rows: &[usize]| parse_run_input(calls(rows).as_bytes(), &limits);
    assert!(read(&[2, 1]).is_ok());
    let refused = read(&[3]).unwrap_err().to_string();
    assert!(refused.contains("messages[0].toolCalls is over the bound of 2"));
    let refused = read(&[2, 2]).unwrap_err().to_string();
    assert!(refused.contains("toolCalls of all messages is over the bound of 3"));
    let cut = request(
        serde_json::json!([{"id": "m", "role": "user", "content": "CUT"}]),
        serde_json::json!([]),
    );
    let cut = cut.replace("CUT", r"hi \ud83d");
    let read = parse_run_input(cut.as_bytes(), &RunInputLimits::default()).unwrap();
    assert_eq!(read.messages[0].content_text(), Some("hi \u{fffd}"));
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let refused = parse_run_input(deep.as_bytes(), &limits).unwrap_err();
    assert!(matches!(refused, RunInputError::NotJson(_)));
}
