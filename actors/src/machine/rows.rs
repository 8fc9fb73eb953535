//! Message rows and what they mean: the messages a model is told, and the calls without a result.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::dialogue::{ModelContent, ModelMessage, ModelRole, ModelToolCall, Thinking};
use crate::wire::{
    agui::{Role, Row, RowToolCall},
    ids::{MessageId, ToolCallId},
};

/// One call of a conversation and the message it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowCall {
    /// The call.
    pub call: RowToolCall,
    /// The assistant message that made it.
    pub message: Option<MessageId>,
}

/// Gives every call of a conversation that the engine may have to do with, in order.
#[must_use]
pub fn calls(rows: &[Row]) -> Vec<RowCall> {
    let mut found = Vec::new();
    for row in rows
        .iter()
        .filter(|row| row.role() == Some(Role::Assistant))
    {
        for call in row.tool_calls() {
            if is_provider_executed(row, call.id.as_str()) {
                continue;
            }
            found.push(RowCall {
                call,
                message: row.id().map(MessageId::from),
            });
        }
    }
    found
}

/// Gives the calls that have no result, each id once: a call that is told twice is one call. The
/// placeholder of an approved call is no result.
#[must_use]
pub fn open_calls(rows: &[Row]) -> Vec<RowCall> {
    let done = results(rows);
    let mut seen = HashSet::new();
    calls(rows)
        .into_iter()
        .filter(|open| !done.contains_key(open.call.id.as_str()))
        .filter(|open| seen.insert(open.call.id.clone()))
        .collect()
}

/// Gives the first result of every call that has one. Every row is read once, however many calls
/// there are.
#[must_use]
pub fn results(rows: &[Row]) -> HashMap<&str, &Row> {
    let mut found = HashMap::new();
    for row in rows.iter().filter(|row| is_result(row)) {
        if let Some(call) = row.tool_call_id() {
            found.entry(call).or_insert(row);
        }
    }
    found
}

/// Tells whether a row is the result of a call: a tool row that is not a placeholder.
#[must_use]
pub fn is_result(row: &Row) -> bool {
    row.role() == Some(Role::Tool) && !is_placeholder(row)
}

/// Tells whether a tool row only says that its call has been approved.
#[must_use]
pub fn is_placeholder(row: &Row) -> bool {
    let Some(content) = row.content_text() else {
        return false;
    };
    // Most results are not looked at twice.
    if !content.contains("pendingExecution") {
        return false;
    }
    serde_json::from_str::<Value>(content)
        .is_ok_and(|value| value.get("pendingExecution") == Some(&Value::Bool(true)))
}

fn is_provider_executed(row: &Row, call: &str) -> bool {
    row.extra("toolCallMetadata")
        .and_then(|calls| calls.get(call))
        .and_then(|metadata| metadata.get("providerExecuted"))
        == Some(&Value::Bool(true))
}

/// Takes posted rows in: an id that the client made up for a tool row is dropped, because the row
/// has none of its own.
#[must_use]
pub fn intake(mut rows: Vec<Row>) -> Vec<Row> {
    for row in &mut rows {
        if row.role() != Some(Role::Tool) {
            continue;
        }
        let Some(owned) = row.extra("toolResult").and_then(Value::as_object) else {
            continue;
        };
        if !owned.contains_key("id") {
            row.members_mut().shift_remove("id");
        }
    }
    rows
}

/// Turns a conversation into what a model is told.
#[must_use]
pub fn model_messages(rows: &[Row]) -> Vec<ModelMessage> {
    let mut messages = Vec::with_capacity(rows.len());
    let mut thinking: Vec<Thinking> = Vec::new();
    for row in rows {
        match row.role() {
            Some(Role::Reasoning) => thinking.extend(thought(row)),
            Some(Role::Activity) | None => {}
            Some(Role::Developer | Role::System) => {
                messages.push(message(row, ModelRole::System, text_content(row)));
            }
            Some(Role::User) => messages.push(message(row, ModelRole::User, user_content(row))),
            Some(Role::Assistant) => {
                let mut made = message(row, ModelRole::Assistant, text_content(row));
                made.thinking = std::mem::take(&mut thinking);
                made.tool_calls = row
                    .tool_calls()
                    .into_iter()
                    .map(|call| model_call(row, call))
                    .collect();
                messages.push(made);
            }
            Some(Role::Tool) => {
                let mut made = message(row, ModelRole::Tool, tool_content(row));
                made.tool_call_id = row.tool_call_id().map(ToolCallId::from);
                made.is_error = row.error().is_some();
                messages.push(made);
            }
        }
    }
    messages
}

fn message(row: &Row, role: ModelRole, content: ModelContent) -> ModelMessage {
    let mut made = ModelMessage::new(role, content);
    made.id = row.id().map(MessageId::from);
    made.name = row
        .members()
        .get("name")
        .and_then(Value::as_str)
        .map(str::to_owned);
    made
}

fn thought(row: &Row) -> Option<Thinking> {
    let content = row.content_text().unwrap_or_default();
    let signature = row.signature().map(str::to_owned);
    if content.is_empty() && signature.is_none() {
        return None;
    }
    Some(Thinking {
        content: content.to_owned(),
        signature,
    })
}

fn text_content(row: &Row) -> ModelContent {
    match row.content_text() {
        Some(text) => ModelContent::Text(text.to_owned()),
        None => ModelContent::None,
    }
}

fn tool_content(row: &Row) -> ModelContent {
    let parts = row
        .extra("toolResult")
        .and_then(|owned| owned.get("content"))
        .and_then(Value::as_array);
    match parts {
        Some(parts) if !parts.is_empty() => ModelContent::Parts(parts.clone()),
        _ => text_content(row),
    }
}

fn user_content(row: &Row) -> ModelContent {
    let Some(Value::Array(items)) = row.content() else {
        return text_content(row);
    };
    let parts: Vec<Value> = items.iter().filter_map(part).collect();
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part.get("type").and_then(Value::as_str) {
            Some("text") => part.get("content").and_then(Value::as_str),
            _ => None,
        })
        .collect();
    match texts {
        Some(texts) if texts.iter().all(|text| text.is_empty()) => ModelContent::None,
        Some(texts) => ModelContent::Text(texts.concat()),
        None => ModelContent::Parts(parts),
    }
}

/// AG-UI says `text` where models are told `content`; `binary` parts are nothing a model reads.
fn part(item: &Value) -> Option<Value> {
    match item.get("type").and_then(Value::as_str) {
        Some("binary") => None,
        Some("text") if item.get("content").is_none() => {
            let mut made = Map::new();
            made.insert("type".to_owned(), "text".into());
            made.insert("content".to_owned(), item.get("text")?.clone());
            Some(Value::Object(made))
        }
        _ => Some(item.clone()),
    }
}

fn model_call(row: &Row, call: RowToolCall) -> ModelToolCall {
    let mut metadata = row
        .extra("toolCallMetadata")
        .and_then(|calls| calls.get(call.id.as_str()))
        .and_then(Value::as_object)
        .cloned();
    if let Some(signature) = call.encrypted_value {
        metadata
            .get_or_insert_with(Map::new)
            .insert("thoughtSignature".to_owned(), signature.into());
    }
    ModelToolCall {
        id: call.id,
        name: call.name,
        arguments: call.arguments,
        metadata,
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "a failed expectation is the test failing"
    )]
    use serde_json::json;

    use super::*;

    fn rows(value: Value) -> Vec<Row> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn reasoning_belongs_to_the_assistant_message_after_it() {
        let messages = model_messages(&rows(json!([
            {"id": "r", "role": "reasoning", "content": "hm", "encryptedValue": "S"},
            {"id": "e", "role": "reasoning", "content": ""},
            {"id": "a", "role": "assistant", "content": "Answer", "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}, "encryptedValue": "G"}
            ], "metadata": {"tanstack": {"toolCallMetadata": {"c": {"itemId": "fc_1"}}}}},
            {"id": "x", "role": "activity", "activityType": "t", "content": {}},
        ])));
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0].thinking.len(), 1);
        assert_eq!(messages[0].thinking[0].signature.as_deref(), Some("S"));
        let metadata = messages[0].tool_calls[0].metadata.clone().unwrap();
        assert_eq!(
            Value::Object(metadata),
            json!({"itemId": "fc_1", "thoughtSignature": "G"})
        );
    }

    #[test]
    fn text_parts_alone_are_one_text_and_media_keep_their_parts() {
        let messages = model_messages(&rows(json!([
            {"id": "1", "role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"id": "2", "role": "user", "content": [{"type": "text", "text": "see"}, {"type": "binary"}, {"type": "image", "source": {"type": "url", "value": "x"}}]},
            {"id": "3", "role": "user", "content": []},
            {"id": "4", "role": "developer", "content": "be kind"},
        ])));
        assert_eq!(messages[0].content, ModelContent::Text("ab".to_owned()));
        assert_eq!(
            messages[1].content,
            ModelContent::Parts(vec![
                json!({"type": "text", "content": "see"}),
                json!({"type": "image", "source": {"type": "url", "value": "x"}}),
            ])
        );
        assert_eq!(messages[2].content, ModelContent::None);
        assert_eq!(messages[3].role, ModelRole::System);
    }

    #[test]
    fn a_call_is_open_until_it_has_a_result_that_is_no_placeholder() {
        let posted = rows(json!([
            {"id": "a", "role": "assistant", "toolCalls": [
                {"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}},
                {"id": "c2", "type": "function", "function": {"name": "t", "arguments": "{}"}},
                {"id": "c3", "type": "function", "function": {"name": "t", "arguments": "{}"}},
                {"id": "c4", "type": "function", "function": {"name": "t", "arguments": "{}"}},
            ], "metadata": {"tanstack": {"toolCallMetadata": {"c4": {"providerExecuted": true}}}}},
            {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "5"},
            {"id": "t2", "role": "tool", "toolCallId": "c2", "content": "{\"approved\":true,\"pendingExecution\":true}"},
        ]));
        let open: Vec<String> = open_calls(&posted)
            .into_iter()
            .map(|open| open.call.id.to_string())
            .collect();
        assert_eq!(open, ["c2", "c3"]);
    }

    #[test]
    fn a_call_that_is_told_twice_is_open_once() {
        let call =
            json!({"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}});
        let posted = rows(json!([
            {"id": "a", "role": "assistant", "toolCalls": [call, call]},
            {"id": "b", "role": "assistant", "toolCalls": [call]},
        ]));
        let open = open_calls(&posted);
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].message, Some("a".into()));
    }

    #[test]
    fn finding_open_calls_reads_every_row_once() {
        let calls: Vec<Value> = (0..2_000)
            .map(|_| json!({"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}))
            .collect();
        let large = json!({"pendingExecution": true, "x": vec![1; 200_000]}).to_string();
        let posted = rows(json!([
            {"id": "a", "role": "assistant", "toolCalls": calls},
            {"id": "t", "role": "tool", "toolCallId": "c", "content": large},
        ]));
        let started = std::time::Instant::now();
        assert_eq!(open_calls(&posted).len(), 1);
        // Reading the row for every call takes minutes.
        assert!(started.elapsed() < std::time::Duration::from_secs(10));
    }

    #[test]
    fn a_tool_row_keeps_only_an_id_of_its_own() {
        let taken = intake(rows(json!([
            {"id": "tool-c", "role": "tool", "toolCallId": "c", "content": "1", "metadata": {"tanstack": {"toolResult": {}}}},
            {"id": "own", "role": "tool", "toolCallId": "c", "content": "1", "metadata": {"tanstack": {"toolResult": {"id": "own"}}}},
            {"id": "plain", "role": "tool", "toolCallId": "c", "content": "1"},
        ])));
        let ids: Vec<Option<&str>> = taken.iter().map(Row::id).collect();
        assert_eq!(ids, [None, Some("own"), Some("plain")]);
    }

    #[test]
    fn content_parts_of_a_result_reach_the_model_as_parts() {
        let parts = json!([{"type": "text", "content": "a"}]);
        let messages = model_messages(&rows(json!([
            {"role": "tool", "toolCallId": "c", "content": "[..]", "metadata": {"tanstack": {"toolResult": {"content": parts}}}},
        ])));
        assert_eq!(
            messages[0].content,
            ModelContent::Parts(vec![json!({"type": "text", "content": "a"})])
        );
    }
}
