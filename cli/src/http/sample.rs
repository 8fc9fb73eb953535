//! `POST /api/sample`: the run's model answers a sampling request that a person has seen.

use std::time::Duration;

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web,
};
use futures_util::StreamExt as _;
use roscius::{
    ports::model::{Model, ModelContent, ModelEvent, ModelMessage, ModelRequest, ModelRole},
    wire::{
        ids::{RunId, ThreadId},
        js_json::from_js,
        mcp::envelope::Obj,
    },
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Shared, problem};

/// Bounds a request: prompts are text, sometimes with a picture.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
/// Bounds an answer; tokens bound it first.
const MAX_ANSWER_BYTES: usize = 256 * 1024;
/// Bounds what a server may ask a model to write.
const MAX_TOKENS: u64 = 4096;
/// Bounds how long a body may take to come.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// Bounds the whole answer. A person waits for it.
const DEADLINE: Duration = Duration::from_secs(120);

#[derive(Deserialize)]
struct Body {
    request: Obj<Sampling>,
}

/// The params of `sampling/createMessage`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sampling {
    messages: Vec<Obj<Message>>,
    #[serde(default)]
    system_prompt: Option<String>,
    #[serde(default)]
    max_tokens: Option<u64>,
    #[serde(default)]
    temperature: Option<f64>,
}

#[derive(Deserialize)]
struct Message {
    role: Role,
    content: Value,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

pub(super) async fn sample(
    shared: web::Data<Shared>,
    request: HttpRequest,
    payload: web::Payload,
) -> HttpResponse {
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    // A page elsewhere can send other types without asking first.
    if !kind.eq_ignore_ascii_case("application/json") {
        return problem(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body must be application/json",
        );
    }
    let sampling = match tokio::time::timeout(BODY_DEADLINE, read(payload)).await {
        Ok(Ok(sampling)) => sampling,
        Ok(Err((status, message))) => return problem(status, &message),
        Err(_) => return problem(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
    };
    // A body that does not come must not keep others from the model.
    let Ok(_slot) = shared.samples.try_acquire() else {
        return problem(
            StatusCode::SERVICE_UNAVAILABLE,
            "the model is busy, try again",
        );
    };
    let answered = tokio::time::timeout(DEADLINE, ask(shared.model.as_ref(), sampling)).await;
    match answered {
        Ok(Ok(text)) => HttpResponse::Ok().json(json!({ "text": text })),
        Ok(Err(message)) => problem(StatusCode::BAD_GATEWAY, &message),
        Err(_) => problem(StatusCode::GATEWAY_TIMEOUT, "the model took too long"),
    }
}

async fn read(payload: web::Payload) -> Result<Sampling, (StatusCode, String)> {
    let body = payload.to_bytes_limited(MAX_BODY_BYTES).await;
    let body = body.map_err(|_| {
        let message = format!("the body is larger than {MAX_BODY_BYTES} bytes");
        (StatusCode::PAYLOAD_TOO_LARGE, message)
    })?;
    let body = body.map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
    let Obj(body): Obj<Body> = from_js(&body).map_err(|error| {
        (
            StatusCode::BAD_REQUEST,
            format!("no sampling request: {error}"),
        )
    })?;
    Ok(body.request.0)
}

async fn ask(model: &dyn Model, sampling: Sampling) -> Result<String, String> {
    // Dropping this future, when the browser goes away, ends the model's stream.
    let mut events = model.stream(model_request(sampling), CancellationToken::new());
    let mut text = String::new();
    while let Some(event) = events.next().await {
        match event.map_err(|error| error.to_string())? {
            ModelEvent::TextDelta(delta) => text.push_str(&delta),
            ModelEvent::Failed { message, .. } => return Err(message),
            _ => {}
        }
        if text.len() > MAX_ANSWER_BYTES {
            return Err(format!(
                "the answer is larger than {MAX_ANSWER_BYTES} bytes"
            ));
        }
    }
    match text.trim() {
        "" => Err("the model said nothing".to_owned()),
        _ => Ok(text),
    }
}

fn model_request(sampling: Sampling) -> ModelRequest {
    let messages = sampling.messages.into_iter().map(|Obj(message)| {
        let role = match message.role {
            Role::User => ModelRole::User,
            Role::Assistant => ModelRole::Assistant,
        };
        ModelMessage::new(role, content(message.content))
    });
    let mut request = ModelRequest::new(ThreadId::random(), RunId::random(), messages.collect());
    request.system_prompts.extend(sampling.system_prompt);
    request.max_tokens = sampling.max_tokens.map(|tokens| tokens.min(MAX_TOKENS));
    if let Some(temperature) = sampling.temperature {
        request
            .options
            .insert("temperature".to_owned(), temperature.into());
    }
    request
}

/// MCP content, one block or several, as models are told it.
fn content(content: Value) -> ModelContent {
    let blocks = match content {
        Value::Array(blocks) => blocks,
        block => vec![block],
    };
    let mut parts = Vec::new();
    for block in blocks {
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        let kind = text("type").unwrap_or_default();
        parts.push(match kind {
            "text" => json!({"type": "text", "content": text("text")}),
            "image" | "audio" => json!({
                "type": kind,
                "source": {"type": "data", "value": text("data"), "mimeType": text("mimeType")},
            }),
            _ => json!({"type": "text", "content": block.to_string()}),
        });
    }
    match parts.as_slice() {
        [part] if part.get("type") == Some(&json!("text")) => {
            let text = part.get("content").and_then(Value::as_str);
            ModelContent::Text(text.unwrap_or_default().to_owned())
        }
        _ => ModelContent::Parts(parts),
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]

    use roscius::model::DemoModel;

    use super::*;

    fn sampling(request: Value) -> Sampling {
        serde_json::from_value(request).unwrap()
    }

    #[test]
    fn a_sampling_request_becomes_a_turn() {
        let request = model_request(sampling(json!({
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "hi"}},
                {"role": "assistant", "content": [{"type": "text", "text": "see"}, {"type": "image", "data": "AA", "mimeType": "image/png"}]},
            ],
            "systemPrompt": "Be short.",
            "maxTokens": 100_000,
            "temperature": 0.5,
            "includeContext": "none",
        })));
        assert_eq!(request.system_prompts, ["Be short."]);
        assert_eq!(request.max_tokens, Some(MAX_TOKENS));
        assert_eq!(request.options.get("temperature"), Some(&json!(0.5)));
        let [first, second] = request.messages.as_slice() else {
            unreachable!("two messages");
        };
        assert_eq!(first, &ModelMessage::user("hi"));
        let parts = vec![
            json!({"type": "text", "content": "see"}),
            json!({"type": "image", "source": {"type": "data", "value": "AA", "mimeType": "image/png"}}),
        ];
        assert_eq!(
            (second.role, &second.content),
            (ModelRole::Assistant, &ModelContent::Parts(parts))
        );
    }

    #[test]
    fn members_are_named() {
        let positional = br#"[[[["user","demo"]]]]"#;
        assert!(from_js::<Obj<Body>>(positional).is_err());
        let inside = br#"{"request":{"messages":[["user","demo"]]}}"#;
        assert!(from_js::<Obj<Body>>(inside).is_err());
    }

    #[actix_web::test]
    async fn the_model_answers_with_its_text_alone() {
        let request = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "Summarize in one sentence:\n\nOne. Two."}}]});
        let text = ask(&DemoModel::new(), sampling(request)).await;
        assert_eq!(text, Ok("One.".to_owned()));
    }
}
