#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is the test failing"
)]

use futures_util::StreamExt as _;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::ports::model::{ModelContent, ModelToolCall};
use crate::wire::ids::{RunId, ThreadId};

fn script(turns: Value) -> Script {
    Script::from_value(&json!({ "turns": turns })).unwrap()
}

fn request(messages: Vec<ModelMessage>) -> ModelRequest {
    ModelRequest::new(ThreadId::from("t"), RunId::from("r"), messages)
}

async fn played(model: &ScriptedModel, messages: Vec<ModelMessage>) -> Vec<ModelEvent> {
    let stream = model.stream(request(messages), CancellationToken::new());
    stream.map(Result::unwrap).collect().await
}

async fn said(model: &ScriptedModel, messages: Vec<ModelMessage>) -> String {
    let events = played(model, messages).await;
    let deltas = events.into_iter().filter_map(|event| match event {
        ModelEvent::TextDelta(delta) => Some(delta),
        _ => None,
    });
    deltas.collect()
}

/// `"u"` a user message, `"a:text"` an assistant message, `"c:id,id"` one with calls,
/// `"c:id:text"` one with a call and text, `"t:id"` a result.
fn conversation(rows: &[&str]) -> Vec<ModelMessage> {
    let row = |row: &&str| {
        let (role, rest) = row.split_once(':').unwrap_or((row, "hi"));
        match role {
            "u" => ModelMessage::user(rest),
            "a" => ModelMessage::assistant(rest),
            "t" => ModelMessage::tool(rest, "{}"),
            _ => {
                let (ids, text) = rest.split_once(':').unwrap_or((rest, ""));
                let mut message = ModelMessage::assistant(text);
                message.tool_calls = ids
                    .split(',')
                    .map(|id| ModelToolCall {
                        id: id.into(),
                        name: "tool".to_owned(),
                        arguments: "{}".to_owned(),
                        metadata: None,
                    })
                    .collect();
                message
            }
        }
    };
    rows.iter().map(row).collect()
}

#[test]
fn the_first_turn_that_is_not_in_the_conversation_is_played() {
    let text = json!([{"text": ["Hel", "lo"]}, {"text": ["Bye"]}]);
    let tool = json!([{"text": ["Look"], "toolCalls": [{"id": "c1", "name": "tool"}, {"id": "c2", "name": "tool"}]}, {"text": ["Done"]}]);
    let silent =
        json!([{"error": {"message": "no"}}, {"throws": {"message": "no"}}, {"text": ["Yes"]}]);
    let after_calls = json!([{"toolCalls": [{"id": "c1", "name": "tool"}]}, {"error": {"message": "no"}}, {"text": ["Yes"]}]);
    let after_text = json!([{"text": ["One"]}, {"error": {"message": "no"}}, {"text": ["Yes"]}]);
    let twice = json!([{"text": ["Ok"]}, {"text": ["Ok"]}, {"text": ["Okay"]}]);
    let table: &[(&str, &Value, &[&str], usize)] = &[
        ("nothing said", &text, &["u"], 0),
        ("an empty conversation", &text, &[], 0),
        ("the whole text is there", &text, &["u", "a:Hello", "u"], 1),
        ("a beginning is there", &text, &["u", "a:He", "u"], 1),
        (
            "more than the text is there",
            &text,
            &["u", "a:So: Hello.", "u"],
            1,
        ),
        ("another text is there", &text, &["u", "a:Hallo", "u"], 0),
        ("the user said the text", &text, &["u:Hello", "u"], 0),
        (
            "both are there",
            &text,
            &["u", "a:Hello", "u", "a:Bye", "u"],
            2,
        ),
        ("both in one message", &text, &["u", "a:HelloBye", "u"], 2),
        (
            "a stopped second text in one message",
            &text,
            &["u", "a:HelloB", "u"],
            2,
        ),
        (
            "the text of a turn with calls does not count",
            &tool,
            &["u", "a:Look", "u"],
            0,
        ),
        ("one call of two is there", &tool, &["u", "c:c1"], 0),
        (
            "all calls are there",
            &tool,
            &["u", "c:c1,c2:Look", "t:c1", "t:c2"],
            1,
        ),
        ("calls in two messages", &tool, &["u", "c:c1", "c:c2"], 1),
        ("calls without results", &tool, &["u", "c:c2,c1"], 1),
        (
            "calls and answer",
            &tool,
            &["u", "c:c1,c2:Look", "t:c1", "t:c2", "a:Done", "u"],
            2,
        ),
        (
            "calls and answer in one message",
            &tool,
            &["u", "c:c1,c2:LookDone", "t:c1", "t:c2", "u"],
            2,
        ),
        ("a failure nobody followed", &silent, &["u"], 0),
        ("a failure the user followed", &silent, &["u", "u"], 1),
        (
            "two failures the user followed",
            &silent,
            &["u", "u", "u"],
            2,
        ),
        (
            "a success after failures",
            &silent,
            &["u", "u", "u", "a:Yes", "u"],
            3,
        ),
        (
            "a failure after calls",
            &after_calls,
            &["u", "c:c1", "t:c1"],
            1,
        ),
        (
            "a failure after calls that the user followed",
            &after_calls,
            &["u", "c:c1", "t:c1", "u"],
            2,
        ),
        (
            "a failure after a text",
            &after_text,
            &["u", "a:One", "u"],
            1,
        ),
        (
            "a failure after a text that the user followed",
            &after_text,
            &["u", "a:One", "u", "u"],
            2,
        ),
        (
            "an equal text needs a message of its own",
            &twice,
            &["u", "a:Ok", "u"],
            1,
        ),
        (
            "equal texts and a beginning of the third",
            &twice,
            &["u", "a:Ok", "u", "a:Ok", "u", "a:Ok", "u"],
            3,
        ),
    ];
    for (name, turns, rows, expected) in table {
        let turns = script((*turns).clone()).turns;
        let index = position::first_unplayed(&turns, &conversation(rows));
        assert_eq!(index, *expected, "{name}");
    }
}

#[test]
fn media_in_user_messages_do_not_disturb() {
    let mut messages = conversation(&["u", "a:Hello", "u"]);
    messages[0].content = ModelContent::Parts(vec![json!({"type": "image"})]);
    let turns = script(json!([{"text": ["Hello"]}])).turns;
    assert_eq!(position::first_unplayed(&turns, &messages), 1);
}

#[tokio::test]
async fn a_turn_is_played_in_the_order_of_the_contract() {
    let model = ScriptedModel::from_script(script(json!([{
        "reasoning": {"chunks": ["Let me ", "think"], "signature": "sig"},
        "text": ["One ", "two"],
        "toolCalls": [
            {"id": "c1", "name": "look", "arguments": {"city": "Oslo"}, "metadata": {"itemId": "fc_1"}},
            {"id": "c2", "name": "raw", "arguments": "{\"a\":", "deltas": ["{\"a\"", ":"]},
        ],
        "usage": {"promptTokens": 1, "completionTokens": 2, "totalTokens": 3},
    }])));
    let events = played(&model, vec![ModelMessage::user("hi")]).await;
    let args = |id: &str, delta: &str| ModelEvent::ToolCallArgs {
        id: id.to_owned(),
        delta: delta.to_owned(),
    };
    let expected = vec![
        ModelEvent::ReasoningStart,
        ModelEvent::ReasoningDelta("Let me ".to_owned()),
        ModelEvent::ReasoningDelta("think".to_owned()),
        ModelEvent::ReasoningEnd {
            signature: Some("sig".to_owned()),
        },
        ModelEvent::TextStart,
        ModelEvent::TextDelta("One ".to_owned()),
        ModelEvent::TextDelta("two".to_owned()),
        ModelEvent::ToolCallStart {
            id: "c1".to_owned(),
            name: "look".to_owned(),
            index: 0,
            metadata: json!({"itemId": "fc_1"}).as_object().cloned(),
        },
        args("c1", "{\"city\""),
        args("c1", ":\"Oslo\"}"),
        ModelEvent::ToolCallEnd {
            id: "c1".to_owned(),
            input: Some(json!({"city": "Oslo"})),
        },
        ModelEvent::ToolCallStart {
            id: "c2".to_owned(),
            name: "raw".to_owned(),
            index: 1,
            metadata: None,
        },
        args("c2", "{\"a\""),
        args("c2", ":"),
        ModelEvent::ToolCallEnd {
            id: "c2".to_owned(),
            input: None,
        },
        ModelEvent::TextEnd,
        ModelEvent::Finished {
            reason: FinishReason::ToolCalls,
            usage: Some(Usage {
                prompt_tokens: 1,
                completion_tokens: 2,
                total_tokens: 3,
                ..Usage::default()
            }),
        },
    ];
    assert_eq!(events, expected);
}

#[tokio::test]
async fn an_empty_text_opens_a_message_and_no_text_opens_none() {
    let model = ScriptedModel::sequence(script(json!([{"text": []}, {}])));
    let finished = ModelEvent::Finished {
        reason: FinishReason::Stop,
        usage: None,
    };
    let opened = vec![ModelEvent::TextStart, ModelEvent::TextEnd, finished.clone()];
    assert_eq!(played(&model, vec![]).await, opened);
    assert_eq!(played(&model, vec![]).await, vec![finished]);
}

#[tokio::test]
async fn past_the_last_turn_the_script_says_so() {
    let model = ScriptedModel::from_script(script(json!([{"text": ["Hello"]}])));
    assert_eq!(
        said(&model, conversation(&["u", "a:Hello", "u"])).await,
        END_OF_SCRIPT
    );
    let again = conversation(&["u", "a:Hello", "u", "a:(end of script)", "u"]);
    assert_eq!(said(&model, again).await, END_OF_SCRIPT);
}

#[tokio::test]
async fn failures_leave_the_message_open_and_end_the_stream() {
    let model = ScriptedModel::sequence(script(json!([
        {"text": ["a"], "error": {"message": "slow", "code": 429, "rawEvent": {"k": 1}}, "finishReason": "stop"},
        {"text": ["a"], "throws": {"message": "gone", "status": 502}},
        {"text": ["a"], "cut": true},
    ])));
    let mut last = Vec::new();
    for _ in 0..3 {
        let stream = model.stream(request(vec![]), CancellationToken::new());
        let items: Vec<_> = stream.collect().await;
        assert_eq!(items.len(), 3, "{items:?}");
        last.push(items[2].clone());
    }
    let failed = ModelEvent::Failed {
        message: "slow".to_owned(),
        code: Some("429".to_owned()),
        raw_event: Some(json!({"k": 1})),
    };
    let expected = [
        Ok(failed),
        Err(ModelError::new("gone").with_code("502")),
        Err(ModelError::new("terminated")),
    ];
    assert_eq!(last, expected);
}

#[tokio::test]
async fn a_sequence_plays_by_count_and_can_be_set() {
    let model = ScriptedModel::sequence(script(json!([{"text": "One"}, {"text": "Two"}])));
    let same = conversation(&["u"]);
    assert_eq!(said(&model, same.clone()).await, "One");
    assert_eq!(said(&model.clone(), same.clone()).await, "Two");
    assert_eq!(said(&model, same.clone()).await, END_OF_SCRIPT);
    assert_eq!(model.played(), Some(3));
    model.set_next(1);
    assert_eq!(said(&model, same).await, "Two");
}

#[tokio::test(start_paused = true)]
async fn delays_stand_before_each_delta_and_end_with_cancel() {
    let model = ScriptedModel::from_script(script(json!([{"text": ["a", "b"], "delayMs": 50}])));
    let begin = tokio::time::Instant::now();
    let text = said(&model, vec![ModelMessage::user("x")]).await;
    assert_eq!((text.as_str(), begin.elapsed().as_millis()), ("ab", 100));

    let cancel = CancellationToken::new();
    let mut stream = model.stream(request(vec![ModelMessage::user("x")]), cancel.clone());
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::TextStart)));
    let begin = tokio::time::Instant::now();
    let (next, ()) = futures_util::join!(stream.next(), async { cancel.cancel() });
    assert_eq!((next, begin.elapsed().as_millis()), (None, 0));
}

#[test]
fn what_does_not_fit_is_named_by_its_path() {
    let table = [
        (json!([]), "the whole must be an object"),
        (json!({}), "turns must be there"),
        (json!({"turns": {}}), "turns must be an array"),
        (json!({"turns": [1]}), "turns[0] must be an object"),
        (
            json!({"turns": [{"text": "a"}, {"tex": "b"}]}),
            "turns[1].tex must be left out: it means nothing",
        ),
        (
            json!({"turns": [{}, {"text": 1}]}),
            "turns[1].text must be a string or an array of strings",
        ),
        (
            json!({"turns": [{"text": ["a", 1]}]}),
            "turns[0].text[1] must be a string",
        ),
        (
            json!({"turns": [{"delayMs": -1}]}),
            "turns[0].delayMs must be a whole number, not negative",
        ),
        (
            json!({"turns": [{"toolCalls": [{"name": 1}]}]}),
            "turns[0].toolCalls[0].name must be a string",
        ),
        (
            json!({"turns": [{"reasoning": {"chunks": 1}}]}),
            "turns[0].reasoning.chunks must be a string or an array of strings",
        ),
        (
            json!({"turns": [{"error": {}}]}),
            "turns[0].error.message must be there",
        ),
        (
            json!({"turns": [{"throws": {"message": "x", "status": "y"}}]}),
            "turns[0].throws.status must be an integer",
        ),
        (
            json!({"turns": [{"usage": {"promptTokens": "x"}}]}),
            "turns[0].usage.promptTokens must be a whole number, not negative",
        ),
        (
            json!({"turns": [{"cut": 1}]}),
            "turns[0].cut must be a boolean",
        ),
    ];
    for (value, expected) in table {
        let error = Script::from_value(&value).unwrap_err().to_string();
        assert_eq!(error, format!("the script does not fit: {expected}"));
    }
    let error = Script::from_json("{").unwrap_err().to_string();
    assert!(error.starts_with("the script is not JSON: EOF"), "{error}");
}

#[test]
fn calls_without_id_arguments_and_deltas_get_defaults() {
    let turns = script(json!([{}, {"toolCalls": [{"name": "now"}, {"arguments": "é"}]}])).turns;
    let [first, second] = turns[1].tool_calls.as_slice() else {
        panic!("two calls");
    };
    assert_eq!(first.id, "call_2_1");
    assert_eq!((&first.deltas, &first.input), (&vec![], &Some(json!({}))));
    assert_eq!(second.deltas, ["é"]);
    assert_eq!(
        (second.id.as_str(), second.input.as_ref()),
        ("call_2_2", None)
    );
}

#[test]
fn files_are_bounded_and_missing_ones_are_named() {
    let error = Script::from_file("/no/such/script.json").unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot read the script /no/such/script.json"
    );
    let file = std::env::temp_dir().join(format!("roscius-{}.json", RunId::random()));
    std::fs::write(
        &file,
        vec![b' '; usize::try_from(MAX_SCRIPT_BYTES).unwrap() + 1],
    )
    .unwrap();
    let error = Script::from_file(&file).unwrap_err();
    std::fs::write(&file, r#"{"id": "mine", "turns": []}"#).unwrap();
    let model = ScriptedModel::from_file(&file);
    std::fs::remove_file(&file).unwrap();
    assert!(matches!(
        error,
        ScriptError::TooLarge {
            limit: MAX_SCRIPT_BYTES
        }
    ));
    assert_eq!(model.unwrap().id(), "mine");
}
