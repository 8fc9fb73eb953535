#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed expectation is the test failing"
)]

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::{
    ports::model::{ModelContent, ModelTool, ModelToolCall},
    wire::ids::{RunId, ThreadId},
};

fn tool(name: &str, description: &str, properties: Value, required: Value) -> ModelTool {
    ModelTool {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: Arc::new(
            json!({"type": "object", "properties": properties, "required": required}),
        ),
    }
}

fn demo_tools() -> Vec<ModelTool> {
    vec![
        tool(
            "demo_get_weather",
            "Current weather for a city",
            json!({"city": {"type": "string", "description": "City name"}}),
            json!(["city"]),
        ),
        tool(
            "demo_ask_city",
            "Ask the user which city to use",
            json!({}),
            json!([]),
        ),
        tool(
            "demo_summarize",
            "Summarize a text with the client's model",
            json!({"text": {"type": "string"}}),
            json!(["text"]),
        ),
        tool(
            "demo_delete_note",
            "Delete a note for good",
            json!({"id": {"type": "integer", "minimum": 0}}),
            json!(["id"]),
        ),
        tool(
            "demo_slow_count",
            "Count slowly up to a number, a step each half second",
            json!({"to": {"type": "integer"}}),
            json!(["to"]),
        ),
        tool(
            "demo_fail",
            "Fail with a message",
            json!({"message": {"type": "string"}}),
            json!(["message"]),
        ),
    ]
}

fn ask(text: &str, tools: Vec<ModelTool>) -> Move {
    let mut request = ModelRequest::new(
        ThreadId::from("t"),
        RunId::from("r"),
        vec![ModelMessage::user(text)],
    );
    request.tools = tools;
    decide(&request)
}

fn call(name: &str, arguments: Value) -> Move {
    Move::Call(Call {
        name: name.to_owned(),
        arguments: arguments.as_object().cloned().unwrap(),
    })
}

#[test]
fn the_fixed_examples_call_their_tools() {
    let table = [
        (
            "weather in Oslo",
            "demo_get_weather",
            json!({"city": "Oslo"}),
        ),
        (
            "What's the weather in New York today?",
            "demo_get_weather",
            json!({"city": "New York"}),
        ),
        (
            "oslo weather please",
            "demo_get_weather",
            json!({"city": "oslo"}),
        ),
        (
            "Weather for são paulo",
            "demo_get_weather",
            json!({"city": "são paulo"}),
        ),
        (
            "demo_get_weather {\"city\": \"Rome\"}",
            "demo_get_weather",
            json!({"city": "Rome"}),
        ),
        (
            "weather, city: Bad Homburg",
            "demo_get_weather",
            json!({"city": "Bad Homburg"}),
        ),
        ("ask me for a city", "demo_ask_city", json!({})),
        ("Ask me for a city.", "demo_ask_city", json!({})),
        (
            "summarize: The cat: it sat. Then it left.",
            "demo_summarize",
            json!({"text": "The cat: it sat. Then it left."}),
        ),
        (
            "Summarize: delete the weather note and count",
            "demo_summarize",
            json!({"text": "delete the weather note and count"}),
        ),
        (
            "summarize \"one two\"",
            "demo_summarize",
            json!({"text": "one two"}),
        ),
        ("delete note 3", "demo_delete_note", json!({"id": 3})),
        (
            "please delete the note #12",
            "demo_delete_note",
            json!({"id": 12}),
        ),
        ("count to 5", "demo_slow_count", json!({"to": 5})),
        ("Count slowly to 20", "demo_slow_count", json!({"to": 20})),
        ("fail with boom", "demo_fail", json!({"message": "boom"})),
        (
            "fail: it broke",
            "demo_fail",
            json!({"message": "it broke"}),
        ),
    ];
    for (text, name, arguments) in table {
        assert_eq!(ask(text, demo_tools()), call(name, arguments), "{text}");
    }
}

#[test]
fn other_tools_are_matched_by_the_same_rules() {
    let tools = || {
        vec![
            tool(
                "files.searchFiles",
                "Search files by pattern",
                json!({"pattern": {"type": "string"}, "limit": {"type": "integer"}}),
                json!(["pattern"]),
            ),
            tool(
                "convert_temperature",
                "Convert a temperature",
                json!({"value": {"type": "number"}, "unit": {"type": "string", "enum": ["celsius", "kelvin"]}, "round": {"type": ["boolean", "null"]}}),
                json!(["value", "unit"]),
            ),
            tool(
                "add_numbers",
                "Add numbers",
                json!({"numbers": {"type": "array", "items": {"type": "number"}}}),
                json!(["numbers"]),
            ),
            tool(
                "tag",
                "Tag a page",
                json!({"tags": {"type": "array", "items": {"type": "string"}}}),
                json!(["tags"]),
            ),
        ]
    };
    let table = [
        (
            "search files named report.txt",
            call("files.searchFiles", json!({"pattern": "report.txt"})),
        ),
        (
            "search files pattern: *.rs, limit: 4",
            call("files.searchFiles", json!({"pattern": "*.rs", "limit": 4})),
        ),
        (
            "convert temperature 21.5 to Kelvin",
            call(
                "convert_temperature",
                json!({"value": 21.5, "unit": "kelvin"}),
            ),
        ),
        (
            "add the numbers 1, 2.5 and 3",
            call("add_numbers", json!({"numbers": [1, 2.5, 3]})),
        ),
        (
            "tag: red, green and blue",
            call("tag", json!({"tags": ["red", "green", "blue"]})),
        ),
    ];
    for (text, expected) in table {
        assert_eq!(ask(text, tools()), expected, "{text}");
    }
}

#[test]
fn what_fits_nothing_calls_nothing() {
    for text in [
        "hello",
        "",
        "Hi there!",
        "what can you do?",
        "help",
        "thank you",
    ] {
        let Move::Say(said) = ask(text, demo_tools()) else {
            panic!("{text} called a tool");
        };
        assert!(
            said.contains("- demo_get_weather: Current weather for a city"),
            "{said}"
        );
    }
}

#[test]
fn a_missing_argument_is_asked_for_and_not_made_up() {
    for (text, name) in [
        ("what's the weather?", "city"),
        ("delete note", "id"),
        ("count to many", "to"),
    ] {
        let Move::Say(said) = ask(text, demo_tools()) else {
            panic!("{text} called a tool");
        };
        assert!(said.contains(&format!("it needs {name}")), "{said}");
    }
}

#[test]
fn results_are_told_as_they_are() {
    let table = [
        (
            json!({"city": "Oslo", "celsius": 7.5}).to_string(),
            "x_tool returned: city Oslo, celsius 7.5",
        ),
        ("Paris".to_owned(), "x_tool returned: Paris"),
        ("42".to_owned(), "x_tool returned: 42"),
        ("null".to_owned(), "x_tool is done and returned nothing."),
        (
            json!({"error": "User declined tool execution"}).to_string(),
            "x_tool gave no result: User declined tool execution",
        ),
        (
            json!({"error": "none", "data": 1}).to_string(),
            "x_tool returned: error none, data 1",
        ),
    ];
    for (content, expected) in table {
        let mut assistant = ModelMessage::new(ModelRole::Assistant, ModelContent::None);
        assistant.tool_calls.push(ModelToolCall {
            id: "c1".into(),
            name: "x_tool".to_owned(),
            arguments: "{}".to_owned(),
            metadata: None,
        });
        let messages = vec![
            ModelMessage::user("weather in Oslo"),
            assistant,
            ModelMessage::tool("c1", content),
        ];
        let mut request = ModelRequest::new(ThreadId::from("t"), RunId::from("r"), messages);
        request.tools = demo_tools();
        assert_eq!(decide(&request), Move::Say(expected.to_owned()));
    }
}

#[test]
fn a_new_question_is_not_answered_with_old_results() {
    let mut request = ModelRequest::new(
        ThreadId::from("t"),
        RunId::from("r"),
        vec![
            ModelMessage::user("weather in Oslo"),
            ModelMessage::tool("c1", "old"),
            ModelMessage::user("count to 2"),
        ],
    );
    request.tools = demo_tools();
    assert_eq!(decide(&request), call("demo_slow_count", json!({"to": 2})));
}

#[test]
fn without_tools_texts_are_shortened_and_nothing_is_made_up() {
    let text = "Summarize in one sentence:\n\nThe first sentence. The second one.";
    assert_eq!(
        ask(text, vec![]),
        Move::Say("The first sentence.".to_owned())
    );
    let Move::Say(said) = ask("What is the capital of France?", vec![]) else {
        panic!("called a tool");
    };
    assert!(said.contains("no tools are connected"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn answers_stream_word_by_word_until_cancelled_or_bounded() {
    let request = || {
        ModelRequest::new(
            ThreadId::from("t"),
            RunId::from("r"),
            vec![ModelMessage::user("summarize: one two three")],
        )
    };
    let events: Vec<_> = DemoModel::new()
        .stream(request(), CancellationToken::new())
        .collect()
        .await;
    let deltas = events
        .iter()
        .filter(|event| matches!(event, Ok(ModelEvent::TextDelta(_))));
    assert_eq!((deltas.count(), events.len()), (3, 6), "{events:?}");

    let mut bounded = request();
    bounded.max_tokens = Some(2);
    let events: Vec<_> = DemoModel::new()
        .stream(bounded, CancellationToken::new())
        .collect()
        .await;
    let finished = ModelEvent::Finished {
        reason: FinishReason::Length,
        usage: None,
    };
    assert_eq!(events.last(), Some(&Ok(finished)));

    let cancel = CancellationToken::new();
    let mut stream = DemoModel::new().stream(request(), cancel.clone());
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::TextStart)));
    cancel.cancel();
    assert_eq!(stream.next().await, None);
}
