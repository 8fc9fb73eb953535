//! What users answer to the questions of a chat's tools, and what the tools are told.

use serde_json::Value;

use super::{
    answers::{AnswerError, UserAnswer, response},
    interrupt::{Answer, PendingQuestion},
    schema_issue::Issue,
};

/// Turns an answer into the MCP result that a tool or a server expects. `None`: MCP has no result
/// for a refusal of this kind of question, the call ends instead.
#[must_use]
pub fn mcp_result(question: &PendingQuestion, answer: &Answer) -> Option<Value> {
    let answer = match answer {
        Answer::Resolved(payload) => UserAnswer::Resolved(payload),
        Answer::Cancelled => UserAnswer::Cancelled,
    };
    response(question.kind.method(), &question.request, answer).ok()
}

/// Holds a payload against its question.
#[must_use]
pub fn payload_issues(question: &PendingQuestion, payload: &Value) -> Vec<Issue> {
    let answer = UserAnswer::Resolved(payload);
    match response(question.kind.method(), &question.request, answer) {
        // A refused sampling ends the call; it is a decision, not a mistake.
        Ok(_) | Err(AnswerError::SamplingCancelled) => Vec::new(),
        Err(AnswerError::InvalidPayload { path, reason }) => vec![Issue {
            path: segments(&path),
            message: reason,
        }],
        Err(error) => vec![Issue::root(error.to_string())],
    }
}

/// Splits a JSON pointer as clients want a path: names, and positions as numbers.
fn segments(pointer: &str) -> Vec<Value> {
    pointer
        .split('/')
        .skip(1)
        .map(|segment| match segment.parse::<u64>() {
            Ok(index) => Value::from(index),
            Err(_) => Value::from(segment.replace("~1", "/").replace("~0", "~")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::machine::interrupt::InputKind;

    fn question(kind: InputKind) -> PendingQuestion {
        PendingQuestion {
            key: None,
            kind,
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
        payload_issues(&question(InputKind::Form), payload)
            .into_iter()
            .map(|issue| issue.path)
            .collect()
    }

    #[test]
    fn answers_become_mcp_results() {
        let accept = json!({"action": "accept", "content": {"value": "Oslo"}});
        let form = Answer::Resolved(json!({"value": "Oslo"}));
        assert_eq!(mcp_result(&question(InputKind::Form), &form), Some(accept));
        let cancelled = mcp_result(&question(InputKind::Form), &Answer::Cancelled);
        assert_eq!(cancelled, Some(json!({"action": "cancel"})));
        let none = mcp_result(&question(InputKind::Sampling), &Answer::Cancelled);
        assert_eq!(none, None);
    }

    #[test]
    fn a_form_answer_has_to_fit_what_was_asked() {
        assert!(paths(&json!({"value": "Oslo"})).is_empty());
        assert!(paths(&json!({"action": "cancel"})).is_empty());
        assert_eq!(paths(&json!({"value": 5})), [vec![json!("value")]]);
        assert_eq!(paths(&json!({})), [vec![json!("value")]]);
        assert_eq!(paths(&json!("Oslo")), [Vec::<Value>::new()]);
    }
}
