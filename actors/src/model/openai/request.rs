//! A turn's request as the body of `POST /responses`.

use serde_json::{Map, Value, json};

use super::strict;
use crate::ports::model::{ModelContent, ModelMessage, ModelRequest, ModelRole, Thinking};

/// OpenAI's own bounds of `metadata`: keys, bytes of a key, bytes of a value.
const MAX_METADATA: (usize, usize, usize) = (16, 64, 512);

/// Why a request cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestError {
    #[error("a user message has no content parts, OpenAI needs at least one")]
    EmptyMessage,
    #[error("a content part of type `{0}` cannot be sent to OpenAI")]
    Part(String),
    #[error("a document of type `{0}` cannot be sent to OpenAI, only PDF can")]
    Document(String),
    #[error("metadata may have at most 16 keys of 64 characters with values of 512 characters")]
    Metadata,
    #[error("`conversation` and `previous_response_id` exclude each other")]
    TwoHistories,
}

/// Makes the body.
pub(super) fn body(model: &str, request: &ModelRequest) -> Result<Value, RequestError> {
    let mut body = request.options.clone();
    if let Some(metadata) = &request.metadata {
        body.insert("metadata".to_owned(), Value::Object(metadata.clone()));
    }
    check(&body)?;
    if let Some(bound) = request.max_tokens {
        body.entry("max_output_tokens")
            .or_insert_with(|| bound.into());
    }
    if is_reasoning_model(model) {
        body.shift_remove("temperature");
        body.shift_remove("top_p");
        body.entry("include")
            .or_insert_with(|| json!(["reasoning.encrypted_content"]));
    }
    body.insert("model".to_owned(), model.into());
    if !request.system_prompts.is_empty() {
        let prompts = request.system_prompts.join("\n");
        body.insert("instructions".to_owned(), prompts.into());
    }
    let mut input = Vec::new();
    for message in &request.messages {
        items(message, &mut input)?;
    }
    body.insert("input".to_owned(), input.into());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let parameters = strict::parameters(&tool.input_schema);
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": parameters.schema,
                "strict": parameters.strict,
            })
        });
        body.insert("tools".to_owned(), tools.collect());
    }
    body.insert("stream".to_owned(), true.into());
    Ok(Value::Object(body))
}

fn check(body: &Map<String, Value>) -> Result<(), RequestError> {
    if body.contains_key("conversation") && body.contains_key("previous_response_id") {
        return Err(RequestError::TwoHistories);
    }
    let Some(metadata) = body.get("metadata").and_then(Value::as_object) else {
        return Ok(());
    };
    let (keys, key_chars, value_chars) = MAX_METADATA;
    let fits = metadata.iter().all(|(key, value)| {
        let value = value.as_str().map_or(0, |text| text.chars().count());
        key.chars().count() <= key_chars && value <= value_chars
    });
    if metadata.len() > keys || !fits {
        return Err(RequestError::Metadata);
    }
    Ok(())
}

/// Tells the models that think first: they take no sampling options and give their thoughts back
/// encrypted.
pub(super) fn is_reasoning_model(model: &str) -> bool {
    let mut letters = model.chars();
    let o_series =
        letters.next() == Some('o') && letters.next().is_some_and(|c| c.is_ascii_digit());
    let gpt_5 = model.starts_with("gpt-5") && !model.ends_with("-chat-latest");
    o_series || gpt_5 || model == "codex-mini-latest"
}

fn items(message: &ModelMessage, input: &mut Vec<Value>) -> Result<(), RequestError> {
    match message.role {
        ModelRole::System | ModelRole::User => {
            let content = match &message.content {
                ModelContent::None => return Err(RequestError::EmptyMessage),
                ModelContent::Text(text) => vec![input_text(text)],
                ModelContent::Parts(parts) => parts.iter().map(part).collect::<Result<_, _>>()?,
            };
            input.push(json!({"type": "message", "role": "user", "content": content}));
        }
        ModelRole::Assistant => {
            input.extend(message.thinking.iter().filter_map(reasoning));
            for call in &message.tool_calls {
                let mut item = json!({
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": call.arguments,
                });
                let item_id = call.metadata.as_ref().and_then(|meta| meta.get("itemId"));
                if let (Some(item), Some(id)) = (item.as_object_mut(), item_id) {
                    item.insert("id".to_owned(), id.clone());
                }
                input.push(item);
            }
            let text = message.content.text();
            if !text.is_empty() {
                input.push(json!({"type": "message", "role": "assistant", "content": text}));
            }
        }
        ModelRole::Tool => {
            let output = match &message.content {
                ModelContent::Parts(parts) => {
                    let parts = parts.iter().map(part);
                    Value::Array(parts.collect::<Result<_, _>>()?)
                }
                other => Value::String(other.text()),
            };
            input.push(json!({
                "type": "function_call_output",
                "call_id": message.tool_call_id,
                "output": output,
            }));
        }
    }
    Ok(())
}

/// Gives a thought back, if its signature says which of OpenAI's it is.
fn reasoning(thinking: &Thinking) -> Option<Value> {
    let signature: Value = serde_json::from_str(thinking.signature.as_deref()?).ok()?;
    let mut item = json!({"type": "reasoning", "id": signature.get("id")?.as_str()?});
    let members = item.as_object_mut()?;
    if let Some(encrypted) = signature.get("encrypted_content") {
        members.insert("encrypted_content".to_owned(), encrypted.clone());
    }
    let summary = match thinking.content.as_str() {
        "" => json!([]),
        text => json!([{"type": "summary_text", "text": text}]),
    };
    members.insert("summary".to_owned(), summary);
    Some(item)
}

fn input_text(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

fn part(part: &Value) -> Result<Value, RequestError> {
    let text = |key: &str| part.get(key).and_then(Value::as_str);
    let source = |key: &str| {
        part.pointer(&format!("/source/{key}"))
            .and_then(Value::as_str)
    };
    let label = |key: &str| {
        part.pointer(&format!("/metadata/{key}"))
            .and_then(Value::as_str)
    };
    let value = source("value").unwrap_or_default();
    let is_url = source("type") == Some("url");
    let mime = source("mimeType");
    let data = |default: &str| format!("data:{};base64,{value}", mime.unwrap_or(default));
    match text("type").unwrap_or_default() {
        "text" => Ok(input_text(text("content").unwrap_or_default())),
        "image" => {
            let url = if is_url {
                value.to_owned()
            } else {
                data("image/jpeg")
            };
            let detail = label("detail").unwrap_or("auto");
            Ok(json!({"type": "input_image", "image_url": url, "detail": detail}))
        }
        "document" | "audio" if is_url => Ok(json!({"type": "input_file", "file_url": value})),
        "document" => match mime.unwrap_or("application/pdf") {
            "application/pdf" => {
                let filename = label("filename").unwrap_or("document.pdf");
                let file = data("application/pdf");
                Ok(json!({"type": "input_file", "filename": filename, "file_data": file}))
            }
            other => Err(RequestError::Document(other.to_owned())),
        },
        "audio" => Ok(json!({"type": "input_file", "file_data": data("audio/wav")})),
        other => Err(RequestError::Part(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]

    use super::*;
    use crate::wire::ids::{RunId, ThreadId};

    fn request(message: ModelMessage) -> ModelRequest {
        ModelRequest::new(ThreadId::from("t"), RunId::from("r"), vec![message])
    }

    fn options(options: &Value) -> ModelRequest {
        let mut request = request(ModelMessage::user("hi"));
        request.options = options.as_object().cloned().unwrap();
        request
    }

    #[test]
    fn reasoning_models_are_known_by_their_names() {
        for (model, expected) in [
            ("o1", true),
            ("o4-mini", true),
            ("omni", false),
            ("gpt-5-mini", true),
            ("gpt-5-chat-latest", false),
            ("gpt-4o", false),
            ("codex-mini-latest", true),
        ] {
            assert_eq!(is_reasoning_model(model), expected, "{model}");
        }
    }

    #[test]
    fn what_openai_would_refuse_is_refused_here() {
        let parts = |part: Value| {
            request(ModelMessage::new(
                ModelRole::User,
                ModelContent::Parts(vec![part]),
            ))
        };
        let many: Map<_, _> = (0..17).map(|key| (key.to_string(), "v".into())).collect();
        let table = [
            (
                request(ModelMessage::new(ModelRole::User, ModelContent::None)),
                RequestError::EmptyMessage,
            ),
            (
                parts(json!({"type": "video"})),
                RequestError::Part("video".to_owned()),
            ),
            (
                parts(
                    json!({"type": "document", "source": {"type": "data", "value": "x", "mimeType": "text/csv"}}),
                ),
                RequestError::Document("text/csv".to_owned()),
            ),
            (options(&json!({"metadata": many})), RequestError::Metadata),
            (
                options(&json!({"metadata": {"k": "v".repeat(513)}})),
                RequestError::Metadata,
            ),
            (
                options(&json!({"metadata": {"k".repeat(65): "v"}})),
                RequestError::Metadata,
            ),
            (
                options(&json!({"conversation": "c", "previous_response_id": "p"})),
                RequestError::TwoHistories,
            ),
        ];
        for (request, expected) in table {
            assert_eq!(body("gpt-4o", &request), Err(expected));
        }
    }

    #[test]
    fn the_bound_of_the_request_gives_way_to_the_option() {
        let mut request = options(&json!({"max_output_tokens": 5}));
        request.max_tokens = Some(9);
        assert_eq!(
            body("m", &request).unwrap().get("max_output_tokens"),
            Some(&json!(5))
        );
        request.options.clear();
        assert_eq!(
            body("m", &request).unwrap().get("max_output_tokens"),
            Some(&json!(9))
        );
    }

    #[test]
    fn thoughts_of_other_providers_are_left_out() {
        let mut message = ModelMessage::assistant("");
        for signature in [
            None,
            Some("opaque"),
            Some(r#"{"no":"id"}"#),
            Some(r#"{"id":"rs_1"}"#),
        ] {
            message.thinking.push(Thinking {
                content: String::new(),
                signature: signature.map(str::to_owned),
            });
        }
        let body = body("m", &request(message)).unwrap();
        let expected = json!([{"type": "reasoning", "id": "rs_1", "summary": []}]);
        assert_eq!(body.get("input"), Some(&expected));
    }
}
