//! Requests that got no answer to read: what is said about them, and whether they are sent again.

use std::time::Duration;

use awc::http::{
    StatusCode,
    header::{self, HeaderMap, HeaderName},
};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use serde_json::Value;

use crate::ports::model::ModelEvent;

/// Bounds the body of an error, of which one sentence is shown.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// Bounds how much of an error's text is shown.
const MAX_ERROR_CHARS: usize = 300;

/// A request that got no answer to read.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) message: String,
    pub(super) code: Option<String>,
    pub(super) raw_event: Option<Value>,
    pub(super) retry: Retry,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Retry {
    Never,
    Soon,
    After(Duration),
}

impl Failure {
    pub(super) fn new(message: impl Into<String>, retry: Retry) -> Self {
        Self {
            message: message.into(),
            code: None,
            raw_event: None,
            retry,
        }
    }

    pub(super) fn into_event(self) -> ModelEvent {
        ModelEvent::Failed {
            message: self.message,
            code: self.code,
            raw_event: self.raw_event,
        }
    }
}

/// Tells whether and when a refused request is worth sending again.
pub(super) fn retry(status: StatusCode, headers: &HeaderMap) -> Retry {
    let again = status.is_server_error() || matches!(status.as_u16(), 408 | 409 | 429);
    if !again {
        return Retry::Never;
    }
    let number =
        |name: &HeaderName| -> Option<f64> { header_text(headers, name)?.trim().parse().ok() };
    let millis = number(&RETRY_AFTER_MS).map(|millis| millis / 1000.0);
    let seconds = millis.or_else(|| number(&header::RETRY_AFTER));
    let pause = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    pause.map_or(Retry::Soon, Retry::After)
}

static RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

pub(super) fn header_text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

pub(super) async fn error_body<S>(response: &mut S) -> BytesMut
where
    S: Stream<Item = Result<Bytes, awc::error::PayloadError>> + Unpin,
{
    let mut body = BytesMut::new();
    while let Some(Ok(chunk)) = response.next().await {
        let room = MAX_ERROR_BYTES.saturating_sub(body.len());
        body.extend(chunk.iter().take(room));
        if room <= chunk.len() {
            break;
        }
    }
    body
}

pub(super) fn refused(status: StatusCode, body: &[u8], retry: Retry) -> Failure {
    let parsed: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let error = parsed.get("error").filter(|error| error.is_object());
    let message = error.and_then(|error| error.get("message")?.as_str());
    let text = String::from_utf8_lossy(body);
    let message = message.unwrap_or(text.trim());
    let status = status.as_str();
    let message = match message {
        "" => format!("{status} status code (no body)"),
        words => format!(
            "{status} {}",
            words.chars().take(MAX_ERROR_CHARS).collect::<String>()
        ),
    };
    let code = error.and_then(|error| error.get("code")?.as_str());
    Failure {
        message,
        code: Some(code.unwrap_or(status).to_owned()),
        raw_event: error.cloned(),
        retry,
    }
}
