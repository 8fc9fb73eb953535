use super::*;

fn read(events: Value) -> Vec<ModelEvent> {
    let mut reader = ResponseReader::new(&[]);
    for event in events.as_array().into_iter().flatten() {
        reader.feed(event);
    }
    reader.finish("asked-for");
    std::iter::from_fn(|| reader.next_event()).collect()
}

fn failed(message: &str, code: Option<&str>) -> ModelEvent {
    ModelEvent::Failed {
        message: message.to_owned(),
        code: code.map(str::to_owned),
        raw_event: None,
    }
}

#[test]
fn a_call_cut_in_its_arguments_never_ends() {
    let events = read(json!([
        {"type": "response.output_item.added", "item": {"type": "function_call", "id": "fc", "call_id": "c", "name": "pay"}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc", "delta": "{\"all\":"},
    ]));
    let ended = events
        .iter()
        .any(|event| matches!(event, ModelEvent::ToolCallEnd { .. }));
    assert!(!ended, "{events:?}");
    let cut = failed(BROKEN_STREAM, None);
    assert_eq!(events.last(), Some(&cut));
}

#[test]
fn refusals_in_pieces_are_told_whole_and_once() {
    let table = [
        (
            json!([{"type": "response.refusal.delta", "delta": "I "}, {"type": "response.refusal.delta", "delta": "cannot"}, {"type": "response.refusal.done", "refusal": "I cannot"}]),
            "I cannot",
        ),
        (
            json!([{"type": "response.content_part.added", "part": {"type": "refusal", "refusal": ""}}, {"type": "response.refusal.delta", "delta": "No"}, {"type": "response.completed", "response": {}}]),
            "No",
        ),
        (
            json!([{"type": "response.content_part.done", "part": {"type": "refusal"}}, {"type": "response.completed"}]),
            WORDLESS_REFUSAL,
        ),
        (
            json!([{"type": "response.content_part.added", "part": {"type": "refusal"}}]),
            WORDLESS_REFUSAL,
        ),
        (
            json!([{"type": "response.completed", "response": {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No"}]}]}}]),
            "No",
        ),
    ];
    for (events, expected) in table {
        assert_eq!(read(events), [failed(expected, Some("refusal"))]);
    }
}

#[test]
fn two_thoughts_keep_two_signatures() {
    let thought = |id: &str| {
        [
            json!({"type": "response.output_item.added", "item": {"type": "reasoning", "id": id}}),
            json!({"type": "response.reasoning_text.delta", "item_id": id, "delta": id}),
            json!({"type": "response.output_item.done", "item": {"type": "reasoning", "id": id, "encrypted_content": "E"}}),
        ]
    };
    let end = json!({"type": "response.completed"});
    let thoughts = thought("r1").into_iter().chain(thought("r2"));
    let events = read(thoughts.chain([end]).collect());
    let signatures: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::ReasoningEnd { signature } => signature.as_deref(),
            _ => None,
        })
        .collect();
    let expected = [
        r#"{"id":"r1","encrypted_content":"E"}"#,
        r#"{"id":"r2","encrypted_content":"E"}"#,
    ];
    assert_eq!(signatures, expected);
}

#[test]
fn nothing_follows_the_end() {
    let mut reader = ResponseReader::new(&[]);
    reader.feed(&json!({"type": "error", "message": "slow", "code": 7}));
    reader.feed(&json!({"type": "response.output_text.delta", "delta": "x"}));
    reader.finish("asked-for");
    let events: Vec<_> = std::iter::from_fn(|| reader.next_event()).collect();
    assert_eq!(events, [failed("slow", Some("7"))]);
    assert!(reader.is_over());
}

#[test]
fn text_without_deltas_is_said_once() {
    let part = json!({"type": "output_text", "text": "late"});
    let events = read(json!([
        {"type": "response.content_part.added", "part": {"type": "output_text", "text": ""}},
        {"type": "response.content_part.done", "part": part},
        {"type": "response.completed", "response": {"output": [{"type": "message", "content": [part]}]}},
    ]));
    let deltas = events
        .iter()
        .filter(|event| matches!(event, ModelEvent::TextDelta(_)));
    assert_eq!(deltas.count(), 1, "{events:?}");
}
