//! What the spans of a server say.

use tracing::Span;

use super::dispatch::Call;

/// How long a `traceparent` of version 00 is.
const PARENT_BYTES: usize = 55;

/// Makes the span of a tool call. Without a subscriber that wants it, nothing here is read.
pub(super) fn tool(call: &Call<'_>) -> Span {
    tracing::info_span!(
        "mcp.tool",
        gen_ai.tool.name = name(call),
        id = call.id,
        traceparent = parent(call)
    )
}

/// Makes the span of another request.
pub(super) fn request(call: &Call<'_>) -> Span {
    tracing::info_span!(
        "mcp.request",
        name = name(call),
        id = call.id,
        traceparent = parent(call)
    )
}

fn name<'a>(call: &Call<'a>) -> &'a str {
    call.params.name.as_deref().unwrap_or_default()
}

/// Gives the trace that the request is a part of: from `_meta`, which names the caller itself, else
/// from the header, which a proxy may have written.
fn parent<'a>(call: &Call<'a>) -> Option<&'a str> {
    let meta = call.params.meta.as_deref();
    let meta = meta.and_then(|meta| meta.traceparent?.get().strip_prefix('"')?.strip_suffix('"'));
    let header = || std::str::from_utf8(call.head.others.get("traceparent")?).ok();
    let sound = |text: &&str| is_parent(text);
    meta.filter(sound).or_else(|| header().filter(sound))
}

/// Tells whether a text is what W3C Trace Context defines: it goes into logs as it is.
fn is_parent(text: &str) -> bool {
    let digits = |part: &str| {
        part.bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    // No escape is left: a backslash is no digit.
    let lengths = text.split('-').map(str::len);
    text.len() == PARENT_BYTES && text.split('-').all(digits) && lengths.eq([2, 32, 16, 2])
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]

    use std::{
        fmt,
        sync::{Arc, Mutex},
    };

    use serde_json::json;
    use tracing::{
        Metadata, Subscriber,
        field::{Field, Visit},
        span,
    };

    use crate::{
        server::{McpServer, Options},
        tool::Tool,
        wire::http::{Head, Method, Request},
    };

    /// Notes name and fields of each span.
    #[derive(Clone, Default)]
    struct Notes(Arc<Mutex<Vec<String>>>);

    struct Line(String);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            self.0.push_str(&format!(" {field}={value:?}"));
        }
    }

    impl Subscriber for Notes {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.is_span() && metadata.name().starts_with("mcp.")
        }

        fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
            let mut line = Line(span.metadata().name().to_owned());
            span.record(&mut line);
            let mut lines = self.0.lock().unwrap();
            lines.push(line.0);
            span::Id::from_u64(lines.len() as u64)
        }

        fn record(&self, _span: &span::Id, _values: &span::Record<'_>) {}
        fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}
        fn event(&self, _event: &tracing::Event<'_>) {}
        fn enter(&self, _span: &span::Id) {}
        fn exit(&self, _span: &span::Id) {}
    }

    const META: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const HEADER: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

    #[tokio::test]
    async fn a_span_names_the_tool_and_the_trace_of_its_caller() {
        let server = McpServer::new("traced", "1.0.0")
            .tool(Tool::new("look", || async { "seen" }))
            .build()
            .unwrap();
        for (meta, header, expected) in [
            (Some(META), None, Some(META)),
            (Some(META), Some(HEADER), Some(META)),
            (None, Some(HEADER), Some(HEADER)),
            (Some("00-no\n"), Some(HEADER), Some(HEADER)),
            (Some("no"), Some("neither"), None),
            (None, None, None),
        ] {
            let notes = Notes::default();
            let params = json!({"name": "look", "_meta": {"traceparent": meta}});
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            let mut headers = vec![
                ("content-type", "application/json"),
                ("mcp-protocol-version", "2025-11-25"),
            ];
            headers.extend(header.map(|parent| ("traceparent", parent)));
            let body = call.to_string();
            let request = Request {
                head: Head::of(Method::Post, &headers),
                body: body.as_bytes(),
            };
            let subscribed = tracing::subscriber::set_default(notes.clone());
            assert_eq!(server.handle(request, Options::new()).await.status, 200);
            drop(subscribed);
            let mut line = "mcp.tool gen_ai.tool.name=\"look\" id=\"1\"".to_owned();
            line.extend(expected.map(|parent| format!(" traceparent={parent:?}")));
            assert_eq!(*notes.0.lock().unwrap(), [line]);
        }
    }
}
