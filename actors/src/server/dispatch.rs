//! The way of a request: transport rules, era, headers, method.

use std::sync::Arc;

use bytes::Bytes;
use tracing::Span;

use super::{
    Handling, Inner, McpServer, Options, OutputShape, Reply, Response, Sessions,
    answer::{Members, ResultKind},
    audit::{AuditOutcome, AuditRecord},
    memory,
    methods::{self, MethodDef},
    observation::Observation,
    reply, trace,
};
use crate::{
    gauge,
    machine::{
        era::{self, Era},
        headers::check_plain,
        message::{Read, read, read_text},
    },
    session::Session,
    wire::{
        http::{self, Head, Media, Method, Request},
        jsonrpc::{RpcError, code},
        mcp::envelope::{Envelope, Params},
        version::is_modern,
    },
};

/// When a client may try again after a drain began, in seconds.
pub(super) const RETRY_AFTER: u32 = 5;

/// One request on its way to its method.
pub(super) struct Call<'a> {
    /// The id as JSON text.
    pub(super) id: &'a str,
    pub(super) era: Era,
    pub(super) head: &'a Head<'a>,
    pub(super) params: &'a Params<'a>,
    pub(super) options: Options,
    /// The answer may be a stream.
    pub(super) streams: bool,
    /// 2025, on a server that keeps sessions.
    pub(super) session: Option<Arc<Session>>,
    pub(super) span: Span,
    /// What is told of it, if anybody wants to hear.
    pub(super) audit: Option<Arc<AuditRecord>>,
}

impl Call<'_> {
    /// Answers with a result that is there as JSON text.
    pub(super) fn result(&self, parts: &[&[u8]]) -> Handling {
        Response::json(200, reply::result(self.id, parts)).into()
    }

    /// Answers with an error. What the method itself finds wrong stands in a 200.
    pub(super) fn error(&self, error: &RpcError) -> Handling {
        self.error_status(200, error)
    }

    /// Answers with an error under a status of its own.
    pub(super) fn error_status(&self, status: u16, error: &RpcError) -> Handling {
        reply::refuse(status, Some(self.id), self.era.is_modern(), error).into()
    }

    /// Answers with a page of a list that never changes: of 2026 and of 2025.
    pub(super) fn page(&self, page: Result<&[Bytes; 2], RpcError>) -> Handling {
        match page {
            Ok([modern, legacy]) => {
                self.result(&[if self.era.is_modern() { modern } else { legacy }])
            }
            Err(error) => self.error(&error),
        }
    }

    /// Answers with a result that needed no waiting.
    pub(super) fn members(&self, server: &Inner, members: Members) -> Handling {
        let writer = reply::ResultWriter {
            listings: &server.listings,
            era: self.era,
            shape: OutputShape::default(),
            id: Some(self.id),
        };
        let is_poll = members.kind == ResultKind::Poll;
        let handling = Handling::from(Response::json(200, writer.members(members)));
        if is_poll {
            handling.unaudited()
        } else {
            handling
        }
    }

    pub(super) fn not_found(&self) -> Handling {
        let status = if self.era.is_modern() { 404 } else { 200 };
        self.error_status(
            status,
            &RpcError::new(code::METHOD_NOT_FOUND, "Method not found"),
        )
    }
}

impl McpServer {
    /// Handles a request.
    ///
    /// All that can be decided at once is decided in this call, so the future borrows nothing. Drop
    /// the future, or the stream of its response, when the client has gone: in 2026 that cancels
    /// the call. Origin and Host are the host's to check before.
    pub fn handle(&self, request: Request<'_>, options: Options) -> Handling {
        if self.wants_token(&options) {
            return self.handle_behind_gate(request, options);
        }
        let handling = self.decide(request, options);
        self.0.report_refusal(handling.ready());
        handling
    }

    fn decide(&self, request: Request<'_>, options: Options) -> Handling {
        let head = &request.head;
        let modern = head
            .protocol_version
            .and_then(|version| std::str::from_utf8(version).ok())
            .is_some_and(is_modern);
        if let Some(store) = self.0.kept(&options, head, "").filter(|_| !modern)
            && matches!(head.method, Method::Get | Method::Delete)
        {
            return self.session_request(store, head, &options);
        }
        if let Some(response) = self.refusal(head, request.body.len(), modern, &options) {
            return response.into();
        }
        let streams = http::accepts(head.accept, Media::Events);
        match read(request.body) {
            Read::Message(message) => self.message(head, &message, None, options, streams),
            Read::Repaired { text, error } => match read_text(&text) {
                Read::Message(message) => {
                    self.message(head, &message, Some(&error), options, streams)
                }
                _ => reply::refuse(400, None, modern, &error).into(),
            },
            Read::Array(text) if !modern => self.batch(head, text, &options),
            Read::Response(response) if !modern => {
                let era = era::choose(head.protocol_version, None);
                self.response(head, era, response, &options)
            }
            Read::Array(_) | Read::Response(_) => {
                let error = RpcError::new(
                    code::INVALID_REQUEST,
                    "one request or one notification is expected",
                );
                reply::refuse(400, None, modern, &error).into()
            }
            Read::Broken(broken) => {
                reply::refuse(400, broken.id.as_deref(), modern, &broken.error).into()
            }
        }
    }

    /// The rules of the transport, before the body is looked at: gives the refusal.
    fn refusal(
        &self,
        head: &Head<'_>,
        body_bytes: usize,
        modern: bool,
        options: &Options,
    ) -> Option<Response> {
        let refuse = |status: u16, code: i64, message: &'static str| {
            reply::refuse(status, None, modern, &RpcError::new(code, message))
        };
        if head.method != Method::Post {
            let mut response = refuse(405, code::SERVER_ERROR, "Method not allowed.");
            response.allow = Some(if self.0.sessions == Sessions::Memory && !modern {
                "GET, POST, DELETE"
            } else {
                "POST"
            });
            return Some(response);
        }
        // What runs in a session may still wait for an answer of its client.
        let answers =
            head.session_id.is_some() && !modern && self.0.kept(options, head, "").is_some();
        if self.0.work.is_draining() && !answers {
            return Some(self.draining(modern));
        }
        if !http::is_json(head.content_type) {
            let message = "Content-Type has to be application/json";
            return Some(refuse(415, code::INVALID_REQUEST, message));
        }
        if !http::accepts(head.accept, Media::Json) {
            let message = "Accept has to allow application/json";
            return Some(refuse(406, code::INVALID_REQUEST, message));
        }
        (body_bytes > self.0.max_body_bytes).then(|| {
            let error = RpcError::new(code::INVALID_REQUEST, self.0.too_large());
            reply::refuse(413, None, modern, &error)
        })
    }

    /// Answers new work while the server drains.
    pub(super) fn draining(&self, modern: bool) -> Response {
        let error = RpcError::new(code::INTERNAL_ERROR, "the server is shutting down");
        let mut response = reply::refuse(503, None, modern, &error);
        response.retry_after = Some(RETRY_AFTER);
        response
    }

    fn message(
        &self,
        head: &Head<'_>,
        message: &Envelope<'_>,
        wrong: Option<&RpcError>,
        options: Options,
        streams: bool,
    ) -> Handling {
        let none = Params::default();
        let params = message.params.as_deref().unwrap_or(&none);
        let meta = params.meta.as_deref();
        let version = meta.and_then(|meta| meta.protocol_version.as_deref());
        let era = era::choose(head.protocol_version, version);
        let Some(id) = message.id else {
            return self.notification(head, message, era, &options);
        };
        let method = methods::find(&message.method);
        gauge::request(method.map(|method| method.name), era.is_modern());
        let observation = Observation::begin(&self.0, method, (id.get(), era, params), &options);
        let audit = observation.as_deref().and_then(Observation::audit);
        let mut call = Call {
            id: id.get(),
            era,
            head,
            params,
            options,
            streams,
            session: None,
            span: Span::none(),
            audit: audit.cloned(),
        };
        let span = trace::request(&message.method, method, &call);
        call.span = span.clone();
        let handling = span.in_scope(|| self.request(call, message, method, wrong));
        if let Some(response) = handling.ready() {
            trace::end(&span, AuditOutcome::of(response));
        }
        match observation {
            Some(observation) => handling.observed(observation),
            None => handling,
        }
    }

    fn request(
        &self,
        mut call: Call<'_>,
        message: &Envelope<'_>,
        method: Option<&'static MethodDef>,
        wrong: Option<&RpcError>,
    ) -> Handling {
        let (head, params) = (call.head, call.params);
        let modern = call.era.is_modern();
        if let Some(refused) = self.over_rate(Some(call.id), modern, &call.options) {
            return refused.into();
        }
        call.session = match self.session_of(head, call.era, &message.method, &call.options) {
            Ok(session) => session,
            Err(refused) => return refused.into(),
        };
        if self.0.work.is_draining() {
            return self.draining(modern).into();
        }
        if let Some(session) = &call.session {
            call.era = Era::Legacy(session.version());
        }
        if modern {
            let checked = self.check_modern(&call, message, params.meta.as_deref(), method);
            if let Err((status, error)) = checked {
                return call.error_status(status, &error);
            }
        } else if let Err((status, error)) = self.check_legacy(call.era, head, params) {
            return call.error_status(status, &error);
        }
        let as_events = call.streams && self.0.reply == Reply::Sse && !modern;
        let serve = method.and_then(|method| if modern { method.modern } else { method.legacy });
        match (serve, wrong) {
            (None, _) => call.not_found(),
            (Some(_), Some(wrong)) => call.error(wrong),
            (Some(serve), None) if as_events => serve(self, call).into_events(),
            (Some(serve), None) => serve(self, call),
        }
    }

    /// Handles a notification: it has no answer, and none that clients send over HTTP means anything
    /// without a session.
    fn notification(
        &self,
        head: &Head<'_>,
        message: &Envelope<'_>,
        era: Era,
        options: &Options,
    ) -> Handling {
        let none = Params::default();
        let params = message.params.as_deref().unwrap_or(&none);
        match self.session_of(head, era, &message.method, options) {
            Ok(Some(session)) => memory::notification(&session, &message.method, params),
            Ok(None) => {}
            Err(refused) => return refused.into(),
        }
        if options.headerless {
            return Response::empty(202).into();
        }
        let modern = era.is_modern();
        let checked = self
            .check_unanswered(era, head, params.meta.as_deref())
            .and_then(|()| match head.mcp_method {
                Some(_) if modern => check_plain("mcp-method", head.mcp_method, &message.method),
                _ => Ok(()),
            });
        match checked {
            Ok(()) => Response::empty(202).into(),
            Err(error) => reply::refuse(400, None, modern, &error).into(),
        }
    }

    /// Handles one element of a batch. Those exist only in the old era, and only for requests that
    /// need no handshake.
    pub(super) fn element(&self, head: &Head<'_>, text: &str, options: Options) -> Handling {
        let refuse =
            |id: Option<&str>, error: &RpcError| reply::refuse(400, id, false, error).into();
        let alone = RpcError::new(
            code::INVALID_REQUEST,
            "this message cannot be part of a batch",
        );
        match read_text(text) {
            Read::Message(message) => {
                let meta = message
                    .params
                    .as_deref()
                    .and_then(|params| params.meta.as_deref());
                let modern = meta.is_some_and(|meta| meta.protocol_version.is_some());
                if modern || &*message.method == "initialize" {
                    return refuse(message.id.map(serde_json::value::RawValue::get), &alone);
                }
                self.message(head, &message, None, options, false)
            }
            Read::Repaired { text, error } => match read_text(&text) {
                Read::Message(message) => {
                    self.message(head, &message, Some(&error), options, false)
                }
                _ => refuse(None, &error),
            },
            Read::Response(response) => {
                let era = era::choose(head.protocol_version, None);
                self.response(head, era, response, &options)
            }
            Read::Array(_) => refuse(None, &alone),
            Read::Broken(broken) => refuse(broken.id.as_deref(), &broken.error),
        }
    }
}
