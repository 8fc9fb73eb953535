//! Reads raw answers: what fits a question, and what it says.

use serde_json::{Value, json};

use super::ask::{InputError, InputResponse, Question, QuestionKind};
use crate::machine::schema::Checker;

/// Checks a raw answer against its question.
pub(crate) fn accept(question: &Question, key: &str, answer: Value) -> Result<Value, InputError> {
    let invalid = |reason: String| InputError::Invalid {
        key: key.to_owned(),
        reason,
    };
    let Value::Object(members) = &answer else {
        return Err(invalid("an object is expected".to_owned()));
    };
    match question.kind {
        QuestionKind::Form | QuestionKind::Url => {
            match members.get("action").and_then(Value::as_str) {
                Some("accept") => {}
                Some("decline" | "cancel") => return Err(InputError::NotAccepted),
                _ => {
                    return Err(invalid(
                        "/action: accept, decline or cancel is expected".to_owned(),
                    ));
                }
            }
            if question.kind == QuestionKind::Form {
                check_content(question, members.get("content")).map_err(invalid)?;
            }
        }
        QuestionKind::Sampling => {
            if !members.contains_key("content") {
                return Err(invalid("/content: is required".to_owned()));
            }
        }
        QuestionKind::Roots => {
            if !members.get("roots").is_some_and(Value::is_array) {
                return Err(invalid("/roots: an array is expected".to_owned()));
            }
        }
    }
    Ok(answer)
}

fn check_content(question: &Question, content: Option<&Value>) -> Result<(), String> {
    let Some(content) = content else {
        return Err("/content: is required".to_owned());
    };
    if !content.is_object() {
        return Err("/content: an object is expected".to_owned());
    }
    let Some(schema) = question.requested_schema() else {
        return Ok(());
    };
    let checker = Checker::new(schema).map_err(|error| error.to_string())?;
    checker
        .check(content)
        .map_err(|wrong| format!("/content{}: {}", wrong.path, wrong.reason))
}

/// Gives the text of a sampling answer: its first text block.
pub(crate) fn sampled_text(answer: &Value) -> Option<String> {
    let content = answer.get("content")?;
    let text = |block: &Value| block.get("text").and_then(Value::as_str).map(str::to_owned);
    match content {
        Value::Array(blocks) => blocks.iter().find_map(text),
        block => text(block),
    }
}

/// Turns a chat's payload into the raw answer of the question it belongs to.
pub(crate) fn from_response(question: &Question, response: &InputResponse) -> Option<Value> {
    match (response, question.kind) {
        (InputResponse::Resolved(payload), QuestionKind::Form | QuestionKind::Url) => {
            Some(if is_full_answer(payload) {
                payload.clone()
            } else {
                json!({"action": "accept", "content": payload})
            })
        }
        (InputResponse::Resolved(Value::String(text)), QuestionKind::Sampling) => Some(json!({
            "role": "assistant",
            "content": {"type": "text", "text": text},
            "model": "user"
        })),
        (InputResponse::Resolved(payload), _) => Some(payload.clone()),
        (InputResponse::Cancelled, QuestionKind::Form | QuestionKind::Url) => {
            Some(json!({"action": "cancel"}))
        }
        (InputResponse::Cancelled, _) => None,
    }
}

/// A full MCP answer has one of the three actions and no member that MCP does not know, so that a
/// form with a field called `action` is not mistaken for one.
fn is_full_answer(payload: &Value) -> bool {
    let Value::Object(members) = payload else {
        return false;
    };
    let action = members.get("action").and_then(Value::as_str);
    matches!(action, Some("accept" | "decline" | "cancel"))
        && members
            .keys()
            .all(|key| matches!(key.as_str(), "action" | "content" | "_meta"))
}
