//! Reads raw answers: what fits a question, and what it says.

use serde_json::{Value, json};

use super::ask::{InputError, InputResponse, Question, QuestionKind};
use crate::machine::schema::Checker;

/// What is wrong with a raw answer.
pub(crate) enum Wrong {
    /// The person does not want to answer.
    Refused,
    /// It is no answer to such a question: the fault of the client.
    Malformed(String),
    /// It is one, with values that do not fit: the person can answer again.
    Unfit(String),
}

impl Wrong {
    pub(crate) fn into_error(self, key: &str) -> InputError {
        match self {
            Self::Refused => InputError::NotAccepted,
            Self::Malformed(reason) | Self::Unfit(reason) => InputError::Invalid {
                key: key.to_owned(),
                reason,
            },
        }
    }
}

/// Checks a raw answer against its question; that the person refuses is an answer.
pub(crate) fn fits(question: &Question, key: &str, answer: &Value) -> Result<(), InputError> {
    match accept(question, None, answer.clone()) {
        Ok(_) | Err(Wrong::Refused) => Ok(()),
        Err(wrong) => Err(wrong.into_error(key)),
    }
}

/// Checks a raw answer against its question: the form that was asked for, unless there is one that
/// says more.
pub(crate) fn accept(
    question: &Question,
    form: Option<&Value>,
    answer: Value,
) -> Result<Value, Wrong> {
    let malformed = |reason: &str| Err(Wrong::Malformed(reason.to_owned()));
    let Value::Object(members) = &answer else {
        return malformed("an object is expected");
    };
    match question.kind {
        QuestionKind::Form | QuestionKind::Url => {
            if is_refusal(&answer) {
                return Err(Wrong::Refused);
            }
            if members
                .get("action")
                .is_none_or(|action| action != "accept")
            {
                return malformed("/action: accept, decline or cancel is expected");
            }
            if question.kind == QuestionKind::Form {
                check_content(form.or(question.requested_schema()), members.get("content"))?;
            }
        }
        QuestionKind::Sampling => {
            if !members.contains_key("content") {
                return malformed("/content: is required");
            }
        }
        QuestionKind::Roots => {
            if !members.get("roots").is_some_and(Value::is_array) {
                return malformed("/roots: an array is expected");
            }
        }
    }
    Ok(answer)
}

/// Tells whether a person has declined or cancelled.
pub(crate) fn is_refusal(answer: &Value) -> bool {
    let action = answer.get("action").and_then(Value::as_str);
    matches!(action, Some("decline" | "cancel"))
}

/// A form that was sent without any content is one without values.
fn check_content(schema: Option<&Value>, content: Option<&Value>) -> Result<(), Wrong> {
    let empty = json!({});
    let content = content.filter(|content| !content.is_null());
    let content = content.unwrap_or(&empty);
    if !content.is_object() {
        let reason = "/content: an object is expected";
        return Err(Wrong::Malformed(reason.to_owned()));
    }
    let Some(schema) = schema else {
        return Ok(());
    };
    let checker = Checker::of_form(schema).map_err(|error| Wrong::Malformed(error.to_string()))?;
    let checked = checker.check(content);
    checked.map_err(|wrong| Wrong::Unfit(wrong.to_string()))
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
