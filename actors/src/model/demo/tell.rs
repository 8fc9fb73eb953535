//! What the demo model says: what tools returned, what it can do, what it lacks.

use std::collections::HashMap;

use serde_json::Value;

use crate::ports::model::{ModelContent, ModelMessage, ModelRole, ModelTool};

/// Bounds how much of a result is repeated; the whole of it stands beside the answer.
const MAX_RESULT_CHARS: usize = 400;
/// Bounds how many tools are listed.
const MAX_TOOLS: usize = 8;
/// Bounds a shortened text.
const MAX_SUMMARY_WORDS: usize = 25;

/// Tells what the tools returned since the user spoke.
pub(super) fn results(since: &[ModelMessage]) -> String {
    let calls = since.iter().flat_map(|message| &message.tool_calls);
    let names: HashMap<_, _> = calls.map(|call| (&call.id, call.name.as_str())).collect();
    let name_of = |message: &ModelMessage| {
        let call = message.tool_call_id.as_ref();
        let name = call.and_then(|call| names.get(call).copied());
        name.unwrap_or("the tool")
    };
    let results = since
        .iter()
        .filter(|message| message.role == ModelRole::Tool);
    let sentences =
        results.map(|message| result(name_of(message), &message.content, message.is_error));
    sentences.collect::<Vec<_>>().join("\n")
}

fn result(name: &str, content: &ModelContent, is_error: bool) -> String {
    let text = match content {
        ModelContent::Parts(parts) => parts_text(parts),
        other => other.text(),
    };
    let value = serde_json::from_str::<Value>(&text).ok();
    let error = value.as_ref().and_then(|value| {
        let members = value.as_object()?;
        let lone = members.len() == 1 || is_error;
        members.get("error").filter(|_| lone)?.as_str()
    });
    if let Some(error) = error {
        return format!("{name} gave no result: {}", shortened(error));
    }
    if is_error {
        return format!("{name} gave no result: {}", shortened(&text));
    }
    match value {
        Some(Value::Null) => format!("{name} is done and returned nothing."),
        Some(Value::Object(members)) if members.is_empty() => format!("{name} is done."),
        Some(Value::Object(members)) => {
            let pairs = members
                .iter()
                .map(|(key, value)| format!("{key} {}", plain(value)));
            let pairs = pairs.collect::<Vec<_>>().join(", ");
            format!("{name} returned: {}", shortened(&pairs))
        }
        Some(Value::Array(items)) => {
            let items = items.iter().map(plain).collect::<Vec<_>>().join(", ");
            format!("{name} returned: {}", shortened(&items))
        }
        Some(other) => format!("{name} returned: {}", shortened(&plain(&other))),
        None if text.trim().is_empty() => format!("{name} is done and returned nothing."),
        None => format!("{name} returned: {}", shortened(&text)),
    }
}

fn parts_text(parts: &[Value]) -> String {
    let parts = parts.iter().map(|part| {
        let text = part.get("content").and_then(Value::as_str);
        let kind = part.get("type").and_then(Value::as_str);
        text.map_or_else(|| format!("[{}]", kind.unwrap_or("part")), str::to_owned)
    });
    parts.collect::<Vec<_>>().join(" ")
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_RESULT_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Says what the model can do.
pub(super) fn abilities(tools: &[ModelTool]) -> String {
    let mut text =
        "I am the demo model: I know nothing of my own, but I can use these tools:".to_owned();
    for tool in tools.iter().take(MAX_TOOLS) {
        text.push_str("\n- ");
        text.push_str(&tool.name);
        let about = tool.description.lines().next().unwrap_or_default().trim();
        if !about.is_empty() {
            text.push_str(": ");
            text.push_str(about);
        }
    }
    let more = tools.len().saturating_sub(MAX_TOOLS);
    if more > 0 {
        text.push_str(&format!("\n- and {more} more"));
    }
    text
}

/// Says which arguments the message did not give.
pub(super) fn missing(tool: &ModelTool, missing: &[String]) -> String {
    let names = missing.join(" and ");
    let example = missing.iter().map(|name| format!("{name}: …"));
    let example = example.collect::<Vec<_>>().join(", ");
    format!(
        "{} fits, but it needs {names}. Say it again with \"{example}\".",
        tool.name
    )
}

/// Answers without tools: a text to shorten is shortened, anything else is not pretended to be
/// known.
pub(super) fn without_tools(text: &str) -> String {
    let lower = text.to_lowercase();
    let wants_summary = ["summar", "shorten", "tl;dr", "in short"];
    if !wants_summary.iter().any(|word| lower.contains(word)) {
        return "I am the demo model and no tools are connected, so I have nothing to answer with."
            .to_owned();
    }
    let payload = text.split_once(':').map_or(text, |(_, payload)| payload);
    let sentence = payload.trim().split_inclusive(['.', '!', '?', '\n']).next();
    let words: Vec<_> = sentence.unwrap_or_default().split_whitespace().collect();
    let shown = words
        .iter()
        .take(MAX_SUMMARY_WORDS)
        .copied()
        .collect::<Vec<_>>()
        .join(" ");
    match words.len() {
        0 => "There is nothing to summarize.".to_owned(),
        all if all > MAX_SUMMARY_WORDS => format!("{shown}…"),
        _ => shown,
    }
}
