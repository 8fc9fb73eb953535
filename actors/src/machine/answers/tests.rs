#![allow(
    clippy::unwrap_used,
    reason = "a failed expectation is the test failing"
)]

use super::*;

const FORM: &str = "elicitation/create";
const SAMPLE: &str = "sampling/createMessage";

fn city() -> Value {
    json!({"message": "Which city?", "mode": "form", "requestedSchema": {
        "type": "object", "required": ["value"], "properties": {
            "value": {"type": "string", "minLength": 2},
            "days": {"type": "integer", "default": 3},
            "mail": {"type": "string", "format": "email"},
        },
    }})
}

fn with_action_field() -> Value {
    json!({"message": "What now?", "requestedSchema": {
        "type": "object", "required": ["action"],
        "properties": {"action": {"type": "string", "enum": ["accept", "retry"]}},
    }})
}

fn answer(method: &str, params: &Value, payload: Value) -> Result<Value, AnswerError> {
    response(method, params, UserAnswer::Resolved(&payload))
}

#[test]
fn forms_take_their_content_or_a_whole_answer() {
    let oslo = json!({"action": "accept", "content": {"value": "Oslo", "days": 3}});
    let table = [
        (city(), json!({"value": "Oslo"}), oslo.clone()),
        (
            city(),
            json!({"action": "accept", "content": {"value": "Oslo"}}),
            oslo,
        ),
        (
            city(),
            json!({"action": "decline"}),
            json!({"action": "decline"}),
        ),
        (
            city(),
            json!({"action": "cancel"}),
            json!({"action": "cancel"}),
        ),
        (
            with_action_field(),
            json!({"action": "accept"}),
            json!({"action": "accept", "content": {"action": "accept"}}),
        ),
        (
            with_action_field(),
            json!({"action": "decline"}),
            json!({"action": "decline"}),
        ),
        (
            with_action_field(),
            json!({"action": "retry"}),
            json!({"action": "accept", "content": {"action": "retry"}}),
        ),
        (
            with_action_field(),
            json!({"action": "accept", "content": {"action": "retry"}}),
            json!({"action": "accept", "content": {"action": "retry"}}),
        ),
    ];
    for (params, payload, expected) in table {
        assert_eq!(
            answer(FORM, &params, payload.clone()),
            Ok(expected),
            "{payload}"
        );
    }
}

#[test]
fn a_field_called_action_beside_others_is_content() {
    let params = json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}}});
    let payload = json!({"action": "decline", "why": "late"});
    let expected = json!({"action": "accept", "content": {"action": "decline", "why": "late"}});
    assert_eq!(answer(FORM, &params, payload), Ok(expected));
}

#[test]
fn an_invalid_answer_tells_its_path_and_not_its_value() {
    let table = [
        (json!("Oslo"), ""),
        (json!({}), "/value"),
        (json!({"value": 12345}), "/value"),
        (json!({"value": "x"}), "/value"),
        (json!({"value": "Oslo", "days": 1.5}), "/days"),
        (json!({"value": "Oslo", "mail": "nobody"}), "/mail"),
        (
            json!({"action": "accept", "content": {"value": 12345}}),
            "/content/value",
        ),
        (json!({"action": "accept", "content": "Oslo"}), "/content"),
    ];
    for (payload, expected) in table {
        let error = answer(FORM, &city(), payload.clone()).unwrap_err();
        assert!(error.is_invalid_payload());
        assert!(!error.to_string().contains("12345"), "{error}");
        let AnswerError::InvalidPayload { path, .. } = error else {
            continue;
        };
        assert_eq!(path, expected, "{payload}");
    }
}

#[test]
fn a_dismissed_form_is_cancelled_and_dismissed_sampling_is_an_error() {
    let cancelled = response(FORM, &city(), UserAnswer::Cancelled);
    assert_eq!(cancelled, Ok(json!({"action": "cancel"})));
    let sampling = response(SAMPLE, &json!({}), UserAnswer::Cancelled);
    assert_eq!(sampling, Err(AnswerError::SamplingCancelled));
    let declined = answer(SAMPLE, &json!({}), json!({"action": "decline"}));
    assert_eq!(declined, Err(AnswerError::SamplingCancelled));
}

#[test]
fn sampling_takes_a_text_or_a_message() {
    let text =
        json!({"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "user"});
    assert_eq!(answer(SAMPLE, &json!({}), json!("hi")), Ok(text));
    let message = json!({"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m", "stopReason": "endTurn"});
    assert_eq!(answer(SAMPLE, &json!({}), message.clone()), Ok(message));
    for payload in [
        json!(1),
        json!({"text": "hi"}),
        json!({"role": "assistant", "content": "hi"}),
    ] {
        assert!(
            answer(SAMPLE, &json!({}), payload.clone())
                .unwrap_err()
                .is_invalid_payload(),
            "{payload}"
        );
    }
}

#[test]
fn a_url_is_consented_to_without_content() {
    let params = json!({"mode": "url", "message": "Sign in", "url": "https://example.com"});
    assert_eq!(
        answer(FORM, &params, json!({})),
        Ok(json!({"action": "accept"}))
    );
    assert_eq!(
        answer(FORM, &params, json!({"action": "decline"})),
        Ok(json!({"action": "decline"}))
    );
    assert!(
        answer(FORM, &params, json!("yes"))
            .unwrap_err()
            .is_invalid_payload()
    );
}

#[test]
fn other_questions_are_not_answered() {
    let error = answer("roots/list", &json!({}), json!({})).unwrap_err();
    assert_eq!(
        error,
        AnswerError::Unsupported {
            method: "roots/list".to_owned()
        }
    );
    assert_eq!(
        answer("roots/list", &json!({}), json!({"roots": []})),
        Ok(json!({"roots": []}))
    );
    let schema = json!({"message": "?", "requestedSchema": {"type": "nonsense"}});
    assert!(matches!(
        answer(FORM, &schema, json!({})),
        Err(AnswerError::BadSchema(_))
    ));
}
