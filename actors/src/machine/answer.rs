//! What users answer to the questions of tools, and what the tools are told.

use serde_json::{Value, json};

use super::{
    interrupt::{Answer, InputKind, PendingQuestion},
    schema_issue::{Issue, issues},
};

/// Turns an answer into the MCP result that a tool or a server expects. `None`: MCP has no result
/// for a refusal of this kind of question, the call ends instead.
#[must_use]
pub fn mcp_result(kind: InputKind, answer: &Answer) -> Option<Value> {
    match (kind, answer) {
        (InputKind::Form | InputKind::Url, Answer::Cancelled) => Some(json!({"action": "cancel"})),
        (InputKind::Sampling | InputKind::Roots, Answer::Cancelled) => None,
        (InputKind::Form | InputKind::Url, Answer::Resolved(payload)) => {
            if is_full_answer(payload) {
                return Some(payload.clone());
            }
            match kind {
                InputKind::Url => Some(json!({"action": "accept"})),
                _ => Some(json!({"action": "accept", "content": payload})),
            }
        }
        (InputKind::Sampling, Answer::Resolved(Value::String(text))) => Some(json!({
            "role": "assistant",
            "content": {"type": "text", "text": text},
            "model": "user",
        })),
        (InputKind::Sampling | InputKind::Roots, Answer::Resolved(payload)) => {
            Some(payload.clone())
        }
    }
}

/// Holds a payload against its question.
#[must_use]
pub fn payload_issues(question: &PendingQuestion, payload: &Value) -> Vec<Issue> {
    match question.kind {
        InputKind::Form => form_issues(question, payload),
        InputKind::Url => Vec::new(),
        InputKind::Sampling => {
            let complete = payload.get("content").is_some() && payload.get("role").is_some();
            if payload.is_string() || complete {
                return Vec::new();
            }
            vec![Issue::root(
                "a text or a complete sampling result is expected",
            )]
        }
        InputKind::Roots => {
            if payload.get("roots").is_some_and(Value::is_array) {
                return Vec::new();
            }
            vec![Issue::root("an object with an array `roots` is expected")]
        }
    }
}

fn form_issues(question: &PendingQuestion, payload: &Value) -> Vec<Issue> {
    let full = is_full_answer(payload);
    let content = if full {
        if payload.get("action") != Some(&json!("accept")) {
            return Vec::new();
        }
        payload.get("content").unwrap_or(&Value::Null)
    } else {
        payload
    };
    if !content.is_object() {
        return vec![Issue::root("an object is expected")];
    }
    let Some(schema) = question.request.get("requestedSchema") else {
        return Vec::new();
    };
    let mut found = issues(schema, content);
    if full {
        for issue in &mut found {
            issue.path.insert(0, Value::from("content"));
        }
    }
    found
}

/// A full MCP answer has one of the three actions and no member that MCP does not know, so that a
/// form with a field called `action` is not taken for one.
#[must_use]
pub fn is_full_answer(payload: &Value) -> bool {
    let Value::Object(members) = payload else {
        return false;
    };
    let action = members.get("action").and_then(Value::as_str);
    matches!(action, Some("accept" | "decline" | "cancel"))
        && members
            .keys()
            .all(|key| matches!(key.as_str(), "action" | "content" | "_meta"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> PendingQuestion {
        PendingQuestion {
            key: None,
            kind: InputKind::Form,
            request: json!({
                "message": "Which city?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {"value": {"type": "string"}},
                    "required": ["value"],
                },
            }),
            reason: None,
        }
    }

    fn paths(payload: &Value) -> Vec<Vec<Value>> {
        payload_issues(&form(), payload)
            .into_iter()
            .map(|issue| issue.path)
            .collect()
    }

    #[test]
    fn answers_become_mcp_results() {
        let text = json!({"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "user"});
        let rows = [
            (
                InputKind::Form,
                Answer::Resolved(json!({"value": "Oslo"})),
                Some(json!({"action": "accept", "content": {"value": "Oslo"}})),
            ),
            (
                InputKind::Form,
                Answer::Resolved(json!({"action": "decline"})),
                Some(json!({"action": "decline"})),
            ),
            (
                InputKind::Form,
                Answer::Resolved(json!({"action": "accept", "other": 1})),
                Some(json!({"action": "accept", "content": {"action": "accept", "other": 1}})),
            ),
            (
                InputKind::Form,
                Answer::Cancelled,
                Some(json!({"action": "cancel"})),
            ),
            (
                InputKind::Sampling,
                Answer::Resolved(json!("hi")),
                Some(text.clone()),
            ),
            (
                InputKind::Sampling,
                Answer::Resolved(text.clone()),
                Some(text),
            ),
            (InputKind::Sampling, Answer::Cancelled, None),
            (
                InputKind::Url,
                Answer::Resolved(json!({})),
                Some(json!({"action": "accept"})),
            ),
        ];
        for (kind, answer, result) in rows {
            assert_eq!(mcp_result(kind, &answer), result, "{kind:?} {answer:?}");
        }
    }

    #[test]
    fn a_form_answer_has_to_fit_what_was_asked() {
        assert!(paths(&json!({"value": "Oslo"})).is_empty());
        assert!(paths(&json!({"action": "cancel"})).is_empty());
        assert_eq!(paths(&json!({"value": 5})), [vec![json!("value")]]);
        assert_eq!(paths(&json!({})), [vec![json!("value")]]);
        assert_eq!(
            paths(&json!({"action": "accept", "content": {"value": 5}})),
            [vec![json!("content"), json!("value")]]
        );
        assert_eq!(paths(&json!("Oslo")), [Vec::<Value>::new()]);
    }
}
