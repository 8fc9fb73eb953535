//! Takes messages in, lets them run at the same time, and sends what comes of them.

use std::{io, time::Duration};

use bytes::Bytes;
use futures_util::{
    StreamExt as _,
    future::{self, LocalBoxFuture},
    stream::FuturesUnordered,
};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::{io::AsyncRead, sync::mpsc::Sender};
use tokio_util::sync::CancellationToken;

use super::{
    lines::{Line, Lines},
    output::forward,
};
use crate::{
    server::{Handling, McpServer, Options, Response, reply},
    wire::{
        http::{Body, Head, Method, Request},
        ids::SessionId,
        jsonrpc::{RequestId, RpcError, code},
        mcp::envelope::{Obj, Str},
    },
};

/// Requests that run at once. A client that asks for more is told so at once, because the message
/// that cancels one of them has to be read behind them.
const MAX_RUNNING: usize = 1024;
const CANCELLED: &str = "notifications/cancelled";
const INITIALIZE: &str = "initialize";

/// A message that runs until all that comes of it is sent; it gives the id of a request.
type Running = LocalBoxFuture<'static, Option<RequestId>>;

/// The messages of one client.
pub(super) struct Desk {
    server: McpServer,
    output: Sender<Bytes>,
    running: FuturesUnordered<Running>,
    /// What ends a request that the client cancels.
    cancels: IndexMap<RequestId, CancellationToken>,
    /// 2025: the version that `initialize` has settled.
    version: Option<String>,
    /// 2025: the session, on a server that keeps them.
    session: Option<SessionId>,
    /// What the server says by itself, without an end of its own: the stream of a 2025 session, and
    /// those that 2026 clients listen to.
    streams: FuturesUnordered<Running>,
}

/// What has to be known of a message before it is handled.
#[derive(Default, Deserialize)]
struct Peek<'a> {
    #[serde(default)]
    id: Option<RequestId>,
    #[serde(borrow, default)]
    method: Option<Str<'a>>,
    #[serde(borrow, default)]
    params: Option<Obj<Cancelled<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cancelled<'a> {
    #[serde(borrow, default)]
    request_id: Option<&'a RawValue>,
}

impl Desk {
    pub(super) fn new(server: McpServer, output: Sender<Bytes>) -> Self {
        Self {
            server,
            output,
            running: FuturesUnordered::new(),
            cancels: IndexMap::new(),
            version: None,
            session: None,
            streams: FuturesUnordered::new(),
        }
    }

    /// Serves until the input ends.
    pub(super) async fn serve<R>(&mut self, lines: &mut Lines<R>) -> io::Result<()>
    where
        R: AsyncRead + Unpin,
    {
        loop {
            tokio::select! {
                line = lines.next() => match line? {
                    None => return Ok(()),
                    Some(Line::Text(line)) => self.message(&line).await,
                    Some(Line::TooLong) => self.too_long().await,
                },
                Some(ended) = self.running.next(), if !self.running.is_empty() => self.ended(ended),
                Some(ended) = self.streams.next(), if !self.streams.is_empty() => self.ended(ended),
            }
        }
    }

    fn ended(&mut self, id: Option<RequestId>) {
        if let Some(id) = id {
            self.cancels.swap_remove(&id);
        }
    }

    /// Lets what runs end within a deadline; then it is cancelled.
    pub(super) async fn drain(&mut self, deadline: Duration) {
        let (running, streams) = (&mut self.running, &mut self.streams);
        let rest = async { while running.next().await.is_some() {} };
        let listen = async {
            while streams.next().await.is_some() {}
            future::pending::<()>().await;
        };
        tokio::select! {
            () = rest => {}
            () = listen => {}
            () = tokio::time::sleep(deadline) => {
                tracing::debug!("calls are cancelled: the client has ended the input");
            }
        }
        self.end_session();
        self.running.clear();
    }

    /// Nobody can come back to a session whose pipe is gone.
    fn end_session(&mut self) {
        if self.session.is_some() {
            drop(self.handle(Method::Delete, b""));
            self.session = None;
        }
    }

    fn handle(&self, method: Method, body: &[u8]) -> Handling {
        let head = Head {
            content_type: Some(b"application/json"),
            protocol_version: self.version.as_deref().map(str::as_bytes),
            session_id: self.session.as_ref().map(|id| id.as_str().as_bytes()),
            ..Head::new(method)
        };
        let options = Options::new().trusted().headerless();
        self.server.handle(Request { head, body }, options)
    }

    async fn message(&mut self, line: &Bytes) {
        // What cannot be read here is explained by the server.
        let peek: Peek<'_> = serde_json::from_slice(line).unwrap_or_default();
        let method = peek.method.as_deref().unwrap_or_default();
        if method == CANCELLED {
            self.cancel(peek.params.as_deref());
        }
        let id = peek.id.filter(|_| !method.is_empty());
        if let Some(refusal) = id.as_ref().and_then(|id| self.refusal(id, method)) {
            return self.send(refusal).await;
        }
        let handling = self.handle(Method::Post, line);
        let ready = handling.ready();
        // Such a stream goes on until the client has enough of it; the next message is behind it.
        let endless = ready.is_some_and(|response| matches!(response.body, Body::Stream(_)));
        if ready.is_some() && !endless {
            let response = handling.await;
            if method == INITIALIZE {
                self.greet(&response);
            }
            return self.send(response).await;
        }
        let cancel = CancellationToken::new();
        if let Some(id) = &id {
            self.cancels.insert(id.clone(), cancel.clone());
        }
        let output = self.output.clone();
        let running: Running = Box::pin(async move {
            let answer = async { forward(handling.await, &output).await };
            tokio::select! {
                // The spec wants nothing to be sent for a request once it is cancelled.
                biased;
                () = cancel.cancelled() => {}
                () = answer => {}
            }
            id
        });
        if endless {
            self.streams.push(running);
        } else {
            self.running.push(running);
        }
    }

    /// Refuses a request that could not be told from another, is one too many, or opens a session
    /// where there is one.
    fn refusal(&self, id: &RequestId, method: &str) -> Option<Response> {
        let error = if self.cancels.contains_key(id) {
            RpcError::new(code::INVALID_REQUEST, "a request with this id still runs")
        } else if method == INITIALIZE && self.session.is_some() {
            let message = "Invalid Request: Server already initialized";
            RpcError::new(code::INVALID_REQUEST, message)
        } else if self.running.len() >= MAX_RUNNING {
            RpcError::new(code::INTERNAL_ERROR, "too many requests run at once")
        } else {
            return None;
        };
        let id = serde_json::to_string(id).ok()?;
        Some(reply::refuse(400, Some(&id), false, &error))
    }

    /// Ends a request; its answer is not sent any more.
    fn cancel(&self, params: Option<&Cancelled<'_>>) {
        let Some(raw) = params.and_then(|params| params.request_id) else {
            return;
        };
        let id = serde_json::from_str::<RequestId>(raw.get()).ok();
        if let Some(cancel) = id.and_then(|id| self.cancels.get(&id)) {
            cancel.cancel();
        }
    }

    /// Remembers what `initialize` has settled, and listens to the session.
    fn greet(&mut self, response: &Response) {
        #[derive(Deserialize)]
        struct Initialized {
            result: Settled,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Settled {
            protocol_version: String,
        }
        let Body::Json(body) = &response.body else {
            return;
        };
        let Ok(initialized) = serde_json::from_slice::<Initialized>(body) else {
            return;
        };
        self.version = Some(initialized.result.protocol_version);
        if response.session.is_none() {
            return;
        }
        self.session = response.session.clone();
        let stream = self.handle(Method::Get, b"");
        let output = self.output.clone();
        self.streams.push(Box::pin(async move {
            forward(stream.await, &output).await;
            None
        }));
    }

    async fn too_long(&self) {
        self.send(self.server.body_too_large(false)).await;
    }

    async fn send(&self, response: Response) {
        forward(response, &self.output).await;
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.end_session();
    }
}
