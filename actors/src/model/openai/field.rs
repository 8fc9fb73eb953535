//! Members of the provider's events.

use serde_json::{Map, Value};

use crate::ports::model::Usage;

pub(super) fn text_of<'value>(value: &'value Value, key: &str) -> &'value str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Calls are told apart by item id; gateways that give none are served by the call id.
pub(super) fn item_key(item: &Value) -> &str {
    match text_of(item, "id") {
        "" => text_of(item, "call_id"),
        id => id,
    }
}

pub(super) fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

pub(super) fn usage(usage: &Value) -> Option<Usage> {
    let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let part = |path: &str, name: &str| {
        let count = count(path).filter(|count| *count > 0)?;
        Some(Map::from_iter([(name.to_owned(), count.into())]))
    };
    let prompt_tokens = count("/input_tokens")?;
    let completion_tokens = count("/output_tokens")?;
    Some(Usage {
        prompt_tokens,
        completion_tokens,
        total_tokens: count("/total_tokens").unwrap_or(prompt_tokens + completion_tokens),
        prompt_tokens_details: part("/input_tokens_details/cached_tokens", "cachedTokens"),
        completion_tokens_details: part(
            "/output_tokens_details/reasoning_tokens",
            "reasoningTokens",
        ),
        ..Usage::default()
    })
}
