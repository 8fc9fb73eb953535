//! What the spans of a server say.

use tracing::{
    Span,
    field::{Empty, display},
};

use super::{
    Inner,
    audit::AuditOutcome,
    dispatch::Call,
    methods::{MethodDef, Subject},
};
use crate::{
    gauge::{Ended, Operation},
    machine::{era::Era, redaction::cut},
    wire::{mcp::envelope::Params, version::V2026_07_28},
};

/// How long a `traceparent` of version 00 is.
const PARENT_BYTES: usize = 55;
/// The most that a span tells of what a client has written.
const MAX_FIELD_BYTES: usize = 256;

/// Makes the span of a request. Without a subscriber that wants it, nothing here is read.
pub(super) fn request(name: &str, method: Option<&MethodDef>, call: &Call<'_>) -> Span {
    tracing::info_span!(
        "mcp.request",
        mcp.method.name = cut(name, MAX_FIELD_BYTES),
        mcp.protocol.version = version(call.era),
        jsonrpc.request.id = cut(call.id, MAX_FIELD_BYTES),
        gen_ai.prompt.name = prompt(method, call),
        mcp.resource.uri = uri(method, call),
        error.type = Empty,
        traceparent = parent(call)
    )
}

/// Makes the span of a tool, within that of its request.
pub(super) fn tool(call: &Call<'_>) -> Span {
    tracing::info_span!(
        parent: &call.span,
        "mcp.tool",
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = call.params.name.as_deref().unwrap_or_default(),
        jsonrpc.request.id = cut(call.id, MAX_FIELD_BYTES),
        error.type = Empty
    )
}

/// Gives what a request is measured by: names of what there is, not of what was asked for.
pub(super) fn operation<'a>(
    server: &Inner,
    method: Option<&MethodDef>,
    era: Era,
    params: &'a Params<'_>,
) -> Operation<'a> {
    let method = method.map(|method| method.name);
    let named = |wanted: &str| params.name.as_deref().filter(|_| method == Some(wanted));
    let prompt = |name: &&str| {
        let prompts = server.prompts.as_ref();
        prompts.is_some_and(|prompts| prompts.get(name).is_some())
    };
    Operation {
        method,
        version: version(era),
        tool: named("tools/call").filter(|name| server.tools.contains_key(*name)),
        prompt: named("prompts/get").filter(prompt),
    }
}

/// Notes in a span that what it stands for has failed.
pub(super) fn end(span: &Span, outcome: AuditOutcome) {
    match outcome.ended() {
        Ended::Code(code) => span.record("error.type", display(code)),
        Ended::Otherwise(kind) => span.record("error.type", kind),
        Ended::Well => span,
    };
}

const fn version(era: Era) -> &'static str {
    match era {
        Era::Modern => V2026_07_28,
        Era::Legacy(version) => version,
        Era::Unknown => "",
    }
}

fn prompt<'a>(method: Option<&MethodDef>, call: &Call<'a>) -> Option<&'a str> {
    let is_prompt = method.is_some_and(|method| method.name == "prompts/get");
    let name = call.params.name.as_deref().filter(|_| is_prompt)?;
    Some(cut(name, MAX_FIELD_BYTES))
}

fn uri<'a>(method: Option<&MethodDef>, call: &Call<'a>) -> Option<&'a str> {
    let named = |method: &MethodDef| matches!(method.subject, Subject::Uri);
    let uri = call.params.uri.as_deref();
    Some(cut(
        uri.filter(|_| method.is_some_and(named))?,
        MAX_FIELD_BYTES,
    ))
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
        clippy::indexing_slicing,
        reason = "a failed expectation is the test failing"
    )]

    use std::{
        fmt,
        sync::{Arc, Mutex},
    };

    use serde_json::{Value, json};
    use tracing::{
        Metadata, Subscriber,
        field::{Field, Visit},
        span,
    };

    use crate::{
        prompt::Prompt,
        server::{McpServer, Options},
        tool::{Tool, ToolError},
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
            if let Some(parent) = span.parent() {
                line.0.push_str(&format!(" within {}", parent.into_u64()));
            }
            let mut lines = self.0.lock().unwrap();
            lines.push(line.0);
            span::Id::from_u64(lines.len() as u64)
        }

        fn record(&self, span: &span::Id, values: &span::Record<'_>) {
            let mut line = Line(String::new());
            values.record(&mut line);
            let at = usize::try_from(span.into_u64()).unwrap() - 1;
            self.0.lock().unwrap()[at].push_str(&line.0);
        }

        fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}
        fn event(&self, _event: &tracing::Event<'_>) {}
        fn enter(&self, _span: &span::Id) {}
        fn exit(&self, _span: &span::Id) {}
    }

    const META: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const HEADER: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

    /// Gives the spans of one 2025 request.
    async fn spans(method: &str, params: Value, header: Option<&str>) -> Vec<String> {
        let server = McpServer::new("traced", "1.0.0")
            .tool(Tool::new("look", || async { "seen" }))
            .tool(Tool::new("fail", || async {
                Err::<String, _>(ToolError::new("no"))
            }))
            .prompt(Prompt::new("review", || async { "look at it" }))
            .build()
            .unwrap();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut headers = vec![
            ("content-type", "application/json"),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        headers.extend(header.map(|parent| ("traceparent", parent)));
        let body = message.to_string();
        let request = Request {
            head: Head::of(Method::Post, &headers),
            body: body.as_bytes(),
        };
        let notes = Notes::default();
        let subscribed = tracing::subscriber::set_default(notes.clone());
        assert_eq!(server.handle(request, Options::new()).await.status, 200);
        drop(subscribed);
        let lines = notes.0.lock().unwrap();
        lines.clone()
    }

    fn of_request(method: &str, more: &str) -> String {
        format!(
            "mcp.request mcp.method.name={method:?} mcp.protocol.version=\"2025-11-25\" jsonrpc.request.id=\"1\"{more}"
        )
    }

    #[tokio::test]
    async fn a_span_names_the_tool_and_the_trace_of_its_caller() {
        for (meta, header, expected) in [
            (Some(META), None, Some(META)),
            (Some(META), Some(HEADER), Some(META)),
            (None, Some(HEADER), Some(HEADER)),
            (Some("00-no\n"), Some(HEADER), Some(HEADER)),
            (Some("no"), Some("neither"), None),
            (None, None, None),
        ] {
            let params = json!({"name": "look", "_meta": {"traceparent": meta}});
            let parent = expected.map(|parent| format!(" traceparent={parent:?}"));
            let tool = "mcp.tool gen_ai.operation.name=\"execute_tool\" gen_ai.tool.name=\"look\" jsonrpc.request.id=\"1\"";
            let expected = [
                of_request("tools/call", &parent.unwrap_or_default()),
                format!("{tool} within 1"),
            ];
            assert_eq!(spans("tools/call", params, header).await, expected);
        }
    }

    #[tokio::test]
    async fn every_request_has_a_span_that_says_how_it_failed() {
        for (method, params, more) in [
            ("ping", json!({}), ""),
            ("tools/list", json!({}), ""),
            (
                "prompts/get",
                json!({"name": "review"}),
                " gen_ai.prompt.name=\"review\"",
            ),
            (
                "prompts/get",
                json!({"name": "no"}),
                " gen_ai.prompt.name=\"no\" error.type=-32602",
            ),
            ("no/such", json!({}), " error.type=-32601"),
        ] {
            assert_eq!(
                spans(method, params, None).await,
                [of_request(method, more)]
            );
        }
        let failed = spans("tools/call", json!({"name": "fail"}), None).await;
        assert!(
            failed[1].ends_with(" within 1 error.type=\"tool_error\""),
            "{failed:?}"
        );
    }
}
