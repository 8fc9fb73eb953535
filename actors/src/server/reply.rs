//! Writes answers, each into one buffer.

use bytes::{BufMut as _, Bytes, BytesMut};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    OutputShape, Response,
    answer::{Members, ResultKind},
    listing::Listings,
};
use crate::{
    gauge,
    machine::era::Era,
    tool::{Question, ToolOutput},
    wire::{
        content::{CallToolResult, ContentBlock},
        http::Response as HttpResponse,
        jsonrpc::RpcError,
        mcp::meta_key::SERVER_INFO,
        text::write_json_str,
    },
};

/// Room for the members round a result.
const FRAME_BYTES: usize = 192;

fn begin(id: &str, room: usize) -> BytesMut {
    let mut out = BytesMut::with_capacity(FRAME_BYTES + id.len() + room);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_bytes());
    out
}

/// Writes a response whose result is there as JSON text, in parts.
pub(super) fn result(id: &str, parts: &[&[u8]]) -> Bytes {
    let room = parts.iter().map(|part| part.len()).sum();
    let mut out = begin(id, room);
    out.extend_from_slice(br#","result":"#);
    for part in parts {
        out.extend_from_slice(part);
    }
    out.extend_from_slice(b"}");
    out.freeze()
}

/// Writes an error response. Without a readable id, 2025 says null and 2026 says nothing.
pub(super) fn error(id: Option<&str>, modern: bool, error: &RpcError) -> Bytes {
    let mut out = BytesMut::with_capacity(FRAME_BYTES);
    out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
    match id {
        Some(id) => {
            out.extend_from_slice(br#","id":"#);
            out.extend_from_slice(id.as_bytes());
        }
        None if modern => {}
        None => out.extend_from_slice(br#","id":null"#),
    }
    out.extend_from_slice(br#","error":"#);
    json(&mut out, error);
    out.extend_from_slice(b"}");
    out.freeze()
}

/// Makes the HTTP response of an error.
pub(super) fn refuse(status: u16, id: Option<&str>, modern: bool, cause: &RpcError) -> Response {
    tracing::debug!(status, code = cause.code, reason = %cause.message, "request refused");
    gauge::error(cause.code);
    let mut response = HttpResponse::json(status, error(id, modern, cause));
    response.error_code = i32::try_from(cause.code).ok();
    response
}

/// Writes a value whose serialisation into memory cannot fail.
pub(super) fn json<T: Serialize + ?Sized>(out: &mut BytesMut, value: &T) {
    if let Err(error) = serde_json::to_writer(out.writer(), value) {
        tracing::error!(%error, "a reply could not be written");
    }
}

/// Writes results of one tool for one era.
pub(super) struct ResultWriter<'a> {
    pub(super) listings: &'a Listings,
    pub(super) era: Era,
    pub(super) shape: OutputShape,
    /// The request that the response is to; without one the result is written by itself, as a task
    /// keeps it.
    pub(super) id: Option<&'a str>,
}

impl ResultWriter<'_> {
    fn begin(&self, room: usize, kind: &str) -> BytesMut {
        let mut out = match self.id {
            Some(id) => {
                let mut out = begin(id, room);
                out.extend_from_slice(br#","result":{"#);
                out
            }
            None => BytesMut::from(&b"{"[..]),
        };
        if self.era.is_modern() {
            out.extend_from_slice(br#""resultType":""#);
            out.extend_from_slice(kind.as_bytes());
            out.extend_from_slice(br#"","#);
        }
        out
    }

    fn end(&self, mut out: BytesMut) -> Bytes {
        if self.id.is_none() {
            out.extend_from_slice(b"}");
        } else if self.era.is_modern() {
            out.extend_from_slice(&self.listings.meta_tail);
            out.extend_from_slice(b"}");
        } else {
            out.extend_from_slice(b"}}");
        }
        out.freeze()
    }

    /// Writes what a tool returned.
    pub(super) fn output(&self, output: ToolOutput) -> Bytes {
        match output {
            ToolOutput::Empty => self.text("", None, false),
            ToolOutput::Text(text) => {
                let structured = self.shape.declared.then(|| Value::from(text.as_str()));
                let structured = structured.map(|value| value.to_string());
                self.text(&text, structured.as_deref(), false)
            }
            ToolOutput::Typed { json, object } => {
                let structured = (object || self.shape.declared).then(|| json.get());
                // A string is text as it is, without the quotes of JSON.
                let text: Option<String> = match json.get().as_bytes().first() {
                    Some(b'"') => serde_json::from_str(json.get()).ok(),
                    _ => None,
                };
                self.text(text.as_deref().unwrap_or(json.get()), structured, false)
            }
            ToolOutput::Json(value) => {
                let text = match &value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let structured =
                    (value.is_object() || self.shape.declared).then(|| value.to_string());
                self.text(&text, structured.as_deref(), false)
            }
            ToolOutput::Result(result) => self.complete(result),
        }
    }

    /// Writes a failure that the model reads.
    pub(super) fn failure(&self, message: &str) -> Bytes {
        self.text(message, None, true)
    }

    fn text(&self, text: &str, structured: Option<&str>, is_error: bool) -> Bytes {
        let room = text.len() + structured.map_or(0, str::len) + self.listings.meta_tail.len();
        let mut out = self.begin(room, "complete");
        out.extend_from_slice(br#""content":[{"type":"text","text":"#);
        write_json_str(&mut out, text);
        out.extend_from_slice(b"}]");
        if let Some(structured) = structured {
            self.structured(&mut out, structured);
        }
        if is_error {
            out.extend_from_slice(br#","isError":true"#);
        }
        self.end(out)
    }

    /// 2025 knows structured objects only.
    fn structured(&self, out: &mut BytesMut, json: &str) {
        let wrapped = !self.era.is_modern() && (self.shape.wrapped || !json.starts_with('{'));
        out.extend_from_slice(br#","structuredContent":"#);
        if wrapped {
            out.extend_from_slice(br#"{"result":"#);
        }
        out.extend_from_slice(json.as_bytes());
        if wrapped {
            out.extend_from_slice(b"}");
        }
    }

    fn complete(&self, result: CallToolResult) -> Bytes {
        let mut out = self.begin(0, "complete");
        out.extend_from_slice(br#""content":"#);
        json::<[ContentBlock]>(&mut out, &result.content);
        if let Some(structured) = &result.structured_content {
            self.structured(&mut out, &structured.to_string());
        }
        if let Some(is_error) = result.is_error {
            out.extend_from_slice(br#","isError":"#);
            json(&mut out, &is_error);
        }
        self.end_with(out, result.meta)
    }

    /// Writes a result of the members that are there as JSON text.
    pub(super) fn members(&self, members: Members) -> Bytes {
        let Members {
            text,
            cache,
            meta,
            kind,
        } = members;
        let kind = match kind {
            ResultKind::Task => "task",
            ResultKind::Complete | ResultKind::Poll => "complete",
        };
        let mut out = self.begin(text.len() + 64, kind);
        if text.is_empty() && self.era.is_modern() {
            // Nothing follows the comma: the result only says that it is one.
            out.truncate(out.len() - 1);
        }
        out.extend_from_slice(text.as_bytes());
        if let Some(hint) = cache.filter(|_| self.era.is_modern()) {
            let (ttl_ms, scope) = (hint.ttl_ms(), hint.scope());
            let hint = format!(",\"ttlMs\":{ttl_ms},\"cacheScope\":\"{scope}\"");
            out.extend_from_slice(hint.as_bytes());
        }
        self.end_with(out, meta)
    }

    /// Writes `_meta`, to which 2026 adds who the server is, and the end.
    fn end_with(&self, mut out: BytesMut, meta: Option<Map<String, Value>>) -> Bytes {
        let Some(mut meta) = meta else {
            return self.end(out);
        };
        if self.era.is_modern() && self.id.is_some() {
            let info = self.listings.server_info.clone();
            meta.entry(SERVER_INFO).or_insert(info);
        }
        out.extend_from_slice(br#","_meta":"#);
        json(&mut out, &meta);
        let end: &[u8] = if self.id.is_some() { b"}}" } else { b"}" };
        out.extend_from_slice(end);
        out.freeze()
    }

    /// Writes the questions of a call that waits, and its sealed state.
    pub(super) fn input_required(&self, questions: &[Question], state: &str) -> Bytes {
        let requests: Map<String, Value> = questions.iter().map(request).collect();
        let mut out = self.begin(state.len(), "input_required");
        out.extend_from_slice(br#""inputRequests":"#);
        json(&mut out, &requests);
        out.extend_from_slice(br#","requestState":"#);
        write_json_str(&mut out, state);
        self.end(out)
    }
}

/// Gives the key of a question, and the question as `InputRequest`.
pub(super) fn request(question: &Question) -> (String, Value) {
    let mut request = Map::new();
    request.insert("method".to_owned(), Value::from(question.kind.method()));
    if !question.request.is_null() {
        request.insert("params".to_owned(), question.request.clone());
    }
    let key = question.key.clone().unwrap_or_default();
    (key, Value::Object(request))
}
