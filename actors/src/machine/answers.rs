//! What a user answered, as the MCP result that the asking server reads.
//!
//! A form answer is either the form's content or a whole MCP answer (`{"action": …}`); a sampling
//! answer is a text or a whole `CreateMessageResult`.

use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value, json};

/// What came from the user for one question.
#[derive(Clone, Copy, Debug)]
pub enum UserAnswer<'a> {
    /// The question was answered with this payload.
    Resolved(&'a Value),
    /// The question was dismissed.
    Cancelled,
}

/// An answer cannot be handed to the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The payload does not fit the question. Nothing is consumed; the user can answer again.
    #[error("{reason}")]
    InvalidPayload {
        /// JSON pointer into the payload; empty for the payload itself.
        path: String,
        /// Says what is wrong, without repeating the value.
        reason: String,
    },
    /// The user does not want the server to sample; the call ends with this error.
    #[error("the user cancelled the sampling request")]
    SamplingCancelled,
    /// The question is of a kind that nobody can answer here.
    #[error("the server asks for {method}, which cannot be answered here")]
    Unsupported {
        /// The MCP method of the question.
        method: String,
    },
    /// The schema of the form is no schema.
    #[error("the form cannot be checked: {0}")]
    BadSchema(String),
}

impl AnswerError {
    /// Tells whether the user can answer again.
    #[must_use]
    pub const fn is_invalid_payload(&self) -> bool {
        matches!(self, Self::InvalidPayload { .. })
    }
}

/// Makes the MCP result for one question (`elicitation/create`, `sampling/createMessage` or
/// `roots/list`).
///
/// Fields that a form leaves out get their defaults; the content is checked against
/// `requestedSchema`.
///
/// # Errors
/// [`AnswerError`]; only `InvalidPayload` is the user's to mend.
pub fn response(
    method: &str,
    params: &Value,
    answer: UserAnswer<'_>,
) -> Result<Value, AnswerError> {
    match (method, answer) {
        ("elicitation/create", UserAnswer::Cancelled) => Ok(json!({"action": "cancel"})),
        ("elicitation/create", UserAnswer::Resolved(payload)) => {
            match params.get("mode").and_then(Value::as_str) {
                None | Some("form") => form(params, payload),
                Some("url") => url(payload),
                Some(mode) => Err(AnswerError::Unsupported {
                    method: format!("{method} in mode {mode}"),
                }),
            }
        }
        ("sampling/createMessage", UserAnswer::Cancelled) => Err(AnswerError::SamplingCancelled),
        ("sampling/createMessage", UserAnswer::Resolved(payload)) => sampling(payload),
        ("roots/list", UserAnswer::Resolved(payload))
            if payload.get("roots").is_some_and(Value::is_array) =>
        {
            Ok(payload.clone())
        }
        _ => Err(AnswerError::Unsupported {
            method: method.to_owned(),
        }),
    }
}

/// Tells whether answers to a form can be held against its schema: what is no schema, or points
/// elsewhere, refuses every answer.
#[must_use]
pub fn can_be_checked(schema: &Value) -> bool {
    validator(schema).is_ok()
}

fn validator(schema: &Value) -> Result<jsonschema::Validator, AnswerError> {
    jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .map_err(|error| AnswerError::BadSchema(error.to_string()))
}

fn form(params: &Value, payload: &Value) -> Result<Value, AnswerError> {
    let Value::Object(members) = payload else {
        return Err(invalid("", "the answer to a form is an object"));
    };
    let schema = params.get("requestedSchema");
    let has_field = |name: &str| {
        let fields = schema.and_then(|schema| schema.get("properties"));
        fields.is_some_and(|fields| fields.get(name).is_some())
    };
    let Some(action) = whole_answer(members) else {
        return accepted(schema, members.clone());
    };
    if has_field("action")
        && !members.contains_key("content")
        && let Ok(accepted) = accepted(schema, members.clone())
    {
        return Ok(accepted);
    }
    match (action, members.get("content")) {
        ("accept", Some(Value::Object(content))) => {
            accepted(schema, content.clone()).map_err(|error| below("/content", error))
        }
        ("accept", None) => accepted(schema, Map::new()),
        ("accept", Some(_)) => Err(invalid("/content", "the content of a form is an object")),
        (action, _) => Ok(json!({"action": action})),
    }
}

/// Reads `{"action": …, "content"?: …}`; anything with another member is the form's content.
fn whole_answer(members: &Map<String, Value>) -> Option<&str> {
    let known = |name: &String| matches!(name.as_str(), "action" | "content" | "_meta");
    let action = members.get("action")?.as_str()?;
    let whole = matches!(action, "accept" | "decline" | "cancel") && members.keys().all(known);
    whole.then_some(action)
}

fn accepted(schema: Option<&Value>, content: Map<String, Value>) -> Result<Value, AnswerError> {
    let Some(schema) = schema else {
        return Ok(json!({"action": "accept", "content": content}));
    };
    let content = Value::Object(with_defaults(schema, content));
    if let Err(error) = validator(schema)?.validate(&content) {
        let at = error.instance_path().to_string();
        // A missing field is named by its own path, so that a form can mark it.
        let ValidationErrorKind::Required {
            property: Value::String(field),
        } = error.kind()
        else {
            return Err(invalid(&at, &error.masked().to_string()));
        };
        let field = field.replace('~', "~0").replace('/', "~1");
        return Err(invalid(&format!("{at}/{field}"), "is required"));
    }
    Ok(json!({"action": "accept", "content": content}))
}

/// Fills the defaults of fields that were left out.
fn with_defaults(schema: &Value, mut content: Map<String, Value>) -> Map<String, Value> {
    let Some(Value::Object(fields)) = schema.get("properties") else {
        return content;
    };
    for (name, field) in fields {
        if let (false, Some(default)) = (content.contains_key(name), field.get("default")) {
            content.insert(name.clone(), default.clone());
        }
    }
    content
}

/// Consent to open a page carries no content.
fn url(payload: &Value) -> Result<Value, AnswerError> {
    let action = match payload {
        Value::Object(members) if members.contains_key("action") => whole_answer(members),
        Value::Object(_) | Value::Null | Value::Bool(true) => Some("accept"),
        Value::Bool(false) => Some("decline"),
        _ => None,
    };
    match action {
        Some(action) => Ok(json!({"action": action})),
        None => Err(invalid(
            "",
            "the answer is an action: accept, decline or cancel",
        )),
    }
}

fn sampling(payload: &Value) -> Result<Value, AnswerError> {
    match payload {
        Value::String(text) => Ok(json!({
            "role": "assistant",
            "content": {"type": "text", "text": text},
            "model": "user",
        })),
        Value::Object(members) => match whole_answer(members) {
            Some("decline" | "cancel") => Err(AnswerError::SamplingCancelled),
            _ => created_message(members),
        },
        _ => Err(invalid(
            "",
            "the answer to a sampling request is a text or a message",
        )),
    }
}

fn created_message(members: &Map<String, Value>) -> Result<Value, AnswerError> {
    if !matches!(
        members.get("role").and_then(Value::as_str),
        Some("assistant" | "user")
    ) {
        return Err(invalid("/role", "the role is assistant or user"));
    }
    if !matches!(
        members.get("content"),
        Some(Value::Object(_) | Value::Array(_))
    ) {
        return Err(invalid(
            "/content",
            "the content is a block or a list of blocks",
        ));
    }
    let mut message = members.clone();
    match message.get("model") {
        None => {
            message.insert("model".to_owned(), "user".into());
        }
        Some(Value::String(_)) => {}
        Some(_) => return Err(invalid("/model", "the model is a text")),
    }
    Ok(Value::Object(message))
}

fn invalid(path: &str, reason: &str) -> AnswerError {
    AnswerError::InvalidPayload {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

fn below(prefix: &str, error: AnswerError) -> AnswerError {
    match error {
        AnswerError::InvalidPayload { path, reason } => AnswerError::InvalidPayload {
            path: format!("{prefix}{path}"),
            reason,
        },
        other => other,
    }
}

#[cfg(test)]
mod tests;
