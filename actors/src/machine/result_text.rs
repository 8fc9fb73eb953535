//! What the model and the browser read of a finished tool call.
//!
//! The sentences here are wire data: clients and recordings compare them.

use serde_json::{Value, json};

use super::js_json::stringify;
use crate::wire::js_json::from_js;

/// A call that a person refused.
pub const DECLINED: &str = "User declined tool execution";
/// A call that was cancelled instead of answered.
pub const CANCELLED: &str = "Tool execution cancelled";
/// A tool that failed without saying why.
pub const UNKNOWN_ERROR: &str = "Unknown error";
/// A sampling request that the user cancelled.
pub const SAMPLING_CANCELLED: &str = "The user cancelled the MCP sampling request.";
/// A retried run found a call that had begun and that may not be repeated.
pub const MAY_HAVE_RUN: &str =
    "The call was interrupted. It may have run; check before you call the tool again.";
/// A posted call that this chat did not make, or no longer vouches for.
pub const NOT_OURS: &str = "Tool execution cancelled";
/// The placeholder that stands for the result of an approved call that the browser will run.
pub const APPROVED_PLACEHOLDER: &str =
    r#"{"approved":true,"pendingExecution":true,"message":"User approved this action"}"#;

/// The result of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultText {
    /// The text of TOOL_CALL_RESULT and of the tool row.
    pub content: String,
    /// Content parts, when the result consists of them: the model gets these.
    pub parts: Option<Vec<Value>>,
    /// The call failed.
    pub is_error: bool,
}

impl ResultText {
    /// Words the value that a tool returned.
    #[must_use]
    pub fn value(value: &Value) -> Self {
        let parts = match value {
            Value::Array(items) if !items.is_empty() && items.iter().all(is_content_part) => {
                Some(items.clone())
            }
            _ => None,
        };
        Self {
            content: value_text(value),
            parts,
            is_error: false,
        }
    }

    /// Words a failure.
    #[must_use]
    pub fn error(message: &str) -> Self {
        Self::failure(&json!({"error": message}))
    }

    /// Words a failure that has a form of its own, for example a refusal with a payload.
    #[must_use]
    pub fn failure(value: &Value) -> Self {
        Self {
            content: value_text(value),
            parts: None,
            is_error: true,
        }
    }

    /// Takes over the text of a row as it stands.
    pub fn verbatim(content: impl Into<String>, is_error: bool) -> Self {
        Self {
            content: content.into(),
            parts: None,
            is_error,
        }
    }

    /// Words a call of a tool that does not exist.
    #[must_use]
    pub fn unknown_tool(name: &str) -> Self {
        Self::error(&format!("Unknown tool: {name}"))
    }

    /// Words arguments that are not JSON.
    #[must_use]
    pub fn bad_arguments(arguments: &str) -> Self {
        Self::error(&format!(
            "Failed to parse tool arguments as JSON: {arguments}"
        ))
    }

    /// Words a result that does not have the form its tool promises.
    #[must_use]
    pub fn bad_output(issues: &[String]) -> Self {
        Self::error(&format!("Validation failed: {}", issues.join(", ")))
    }

    /// Words arguments that do not fit the tool.
    #[must_use]
    pub fn bad_input(tool: &str, issues: &[String]) -> Self {
        Self::error(&format!(
            "Input validation failed for tool {tool}: Validation failed: {}",
            issues.join(", ")
        ))
    }

    /// Gives the `error` member of a failure, for the tool row.
    #[must_use]
    pub fn error_text(&self) -> Option<String> {
        if !self.is_error {
            return None;
        }
        let parsed: Option<Value> = serde_json::from_str(&self.content).ok();
        let message = parsed
            .as_ref()
            .and_then(|value| value.get("error"))
            .and_then(Value::as_str);
        Some(message.unwrap_or(&self.content).to_owned())
    }
}

/// Reads a call's argument text: nothing is `{}`, anything but an object is `{}`.
///
/// # Errors
///
/// Gives the result of the call when the text is not JSON.
pub fn parse_arguments(text: &str) -> Result<Value, ResultText> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(json!({}));
    }
    match from_js(text.as_bytes()) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Ok(json!({})),
        Err(_) => Err(ResultText::bad_arguments(text)),
    }
}

fn value_text(value: &Value) -> String {
    match value {
        // A text that is JSON is shown as JSON, so that `"42"` and 42 read alike.
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(parsed) => stringify(&parsed),
            Err(_) => text.clone(),
        },
        other => stringify(other),
    }
}

fn is_content_part(item: &Value) -> bool {
    let text = |value: &Value, key: &str| value.get(key).is_some_and(Value::is_string);
    match item.get("type").and_then(Value::as_str) {
        Some("text") => text(item, "content"),
        Some("image" | "audio" | "video" | "document") => {
            let Some(source) = item.get("source") else {
                return false;
            };
            match source.get("type").and_then(Value::as_str) {
                Some("url") => text(source, "value"),
                Some("data") => text(source, "value") && text(source, "mimeType"),
                _ => false,
            }
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_the_recorded_texts() {
        let rows = [
            (json!({"temperature": 5}), r#"{"temperature":5}"#),
            (json!("42"), "42"),
            (json!(r#"{"a" : 1}"#), r#"{"a":1}"#),
            (json!("plain string"), "plain string"),
            (json!(null), "null"),
            (json!(true), "true"),
            (json!([1, 2]), "[1,2]"),
            (json!(""), ""),
            (json!(2.0), "2"),
        ];
        for (value, text) in rows {
            let result = ResultText::value(&value);
            assert_eq!(result.content, text);
            assert!(!result.is_error && result.parts.is_none());
        }
    }

    #[test]
    fn content_parts_are_kept_for_the_model_only_when_all_are_valid() {
        let text = json!({"type": "text", "content": "a"});
        let image = json!({"type": "image", "source": {"type": "data", "value": "AA", "mimeType": "image/png"}});
        let bad = json!({"type": "image", "source": {"type": "data", "value": "AA"}});
        assert!(ResultText::value(&json!([text, image])).parts.is_some());
        assert!(ResultText::value(&json!([text, bad])).parts.is_none());
        assert!(ResultText::value(&json!([])).parts.is_none());
    }

    #[test]
    fn arguments_that_are_no_object_are_an_empty_one() {
        assert_eq!(parse_arguments("  "), Ok(json!({})));
        assert_eq!(parse_arguments("null"), Ok(json!({})));
        assert_eq!(parse_arguments(r#"{"a":1}"#), Ok(json!({"a": 1})));
        let refused = parse_arguments("{not json");
        assert_eq!(
            refused.map_err(|result| result.content),
            Err(r#"{"error":"Failed to parse tool arguments as JSON: {not json"}"#.to_owned())
        );
    }

    #[test]
    fn the_error_member_is_what_the_row_says() {
        assert_eq!(
            ResultText::error("kaboom").error_text().as_deref(),
            Some("kaboom")
        );
        assert_eq!(
            ResultText::failure(&json!({"why": "no"}))
                .error_text()
                .as_deref(),
            Some(r#"{"why":"no"}"#)
        );
        assert_eq!(ResultText::value(&json!(1)).error_text(), None);
    }
}
