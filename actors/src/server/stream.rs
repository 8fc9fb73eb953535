//! An answer that reports before it ends: notifications, then the response, as SSE.

use std::{
    fmt,
    future::Future as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, future::LocalBoxFuture};
use serde_json::{Map, Value, json, value::RawValue};
use tokio::{
    sync::mpsc::{Receiver, channel},
    time::{Instant, Sleep, sleep},
};

use super::{Response, running::Running};
use crate::{
    tool::{NoticeSink, ToolNotice},
    wire::{http::Body, mcp::LogLevel},
};

/// Reports that wait to be written. A tool that reports faster than its client reads loses the
/// newest ones; reports are hints.
const MAX_WAITING: usize = 256;

/// What a client wants to hear of a call.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// `progressToken` as JSON text.
    pub(super) progress: Option<Box<RawValue>>,
    pub(super) log: Option<LogLevel>,
}

impl Wanted {
    pub(super) const fn is_nothing(&self) -> bool {
        self.progress.is_none() && self.log.is_none()
    }
}

/// The reports of a call on their way to the client.
pub(super) struct Notices {
    receiver: Receiver<ToolNotice>,
    progress: Option<Box<RawValue>>,
    /// The spec wants progress to grow.
    last_progress: f64,
}

impl Notices {
    /// Makes the two ends: what the tool reports to, and what is written from.
    pub(super) fn new(wanted: Wanted) -> (NoticeSink, Self) {
        let (sender, receiver) = channel(MAX_WAITING);
        let wants_progress = wanted.progress.is_some();
        let level = wanted.log;
        let sink = move |notice: ToolNotice| {
            let wants = match &notice {
                ToolNotice::Progress { .. } => wants_progress,
                ToolNotice::Log { level: at, .. } => level.is_some_and(|least| *at >= least),
                ToolNotice::Custom { .. } => false,
            };
            if wants && sender.try_send(notice).is_err() {
                tracing::debug!("a report of a tool was dropped");
            }
        };
        let notices = Self {
            receiver,
            progress: wanted.progress,
            last_progress: f64::NEG_INFINITY,
        };
        (Arc::new(sink), notices)
    }

    /// Gives all reports that wait, as frames.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        let mut out = BytesMut::new();
        loop {
            match self.receiver.poll_recv(cx) {
                Poll::Ready(Some(notice)) => self.write(&mut out, notice),
                Poll::Ready(None) | Poll::Pending if out.is_empty() => return Poll::Pending,
                Poll::Ready(None) | Poll::Pending => return Poll::Ready(out.freeze()),
            }
        }
    }

    /// Gives what is left when the call has ended, and its response.
    fn last(&mut self, response: &[u8]) -> Bytes {
        let mut out = BytesMut::new();
        self.drain(&mut out);
        frame(&mut out, response);
        out.freeze()
    }

    fn drain(&mut self, out: &mut BytesMut) {
        while let Ok(notice) = self.receiver.try_recv() {
            self.write(out, notice);
        }
    }

    /// Makes the response of a call that has ended before anything was written: plain JSON unless
    /// it has reported something.
    pub(super) fn into_response(mut self, status: u16, body: Bytes) -> Response {
        let mut out = BytesMut::new();
        self.drain(&mut out);
        if out.is_empty() {
            return Response::json(status, body);
        }
        frame(&mut out, &body);
        Response::new(200, Body::Events(out.freeze()))
    }

    fn write(&mut self, out: &mut BytesMut, notice: ToolNotice) {
        let message = match notice {
            ToolNotice::Progress {
                progress,
                total,
                message,
            } => {
                if progress.partial_cmp(&self.last_progress) != Some(std::cmp::Ordering::Greater) {
                    return;
                }
                self.last_progress = progress;
                self.progress_message(progress, total, message)
            }
            ToolNotice::Log { level, data } => json!({
                "jsonrpc": "2.0",
                "method": "notifications/message",
                "params": {"level": level, "data": data},
            }),
            ToolNotice::Custom { .. } => return,
        };
        frame(out, message.to_string().as_bytes());
    }

    fn progress_message(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> Value {
        let mut params = Map::new();
        params.insert("progressToken".to_owned(), json!(self.progress));
        params.insert("progress".to_owned(), number(progress));
        if let Some(total) = total {
            params.insert("total".to_owned(), number(total));
        }
        if let Some(message) = message {
            params.insert("message".to_owned(), Value::from(message));
        }
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    }
}

/// Writes whole numbers without a fraction.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the value is whole and within the exact range"
)]
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        Value::from(value as i64)
    } else {
        Value::from(value)
    }
}

/// Each message is one `data:` line, because readers split on lines.
fn frame(out: &mut BytesMut, message: &[u8]) {
    out.extend_from_slice(b"event: message\ndata: ");
    out.extend_from_slice(message);
    out.extend_from_slice(b"\n\n");
}

/// The body of an answer that streams. Dropping it cancels a 2026 call.
pub struct EventStream {
    running: Option<Box<Running>>,
    notices: Notices,
    first: Option<Bytes>,
    keep_alive: Duration,
    tick: Pin<Box<Sleep>>,
    /// Something was written since the last tick.
    wrote: bool,
}

impl EventStream {
    pub(super) fn new(running: Box<Running>, notices: Notices, first: Bytes) -> Self {
        let keep_alive = running.keep_alive();
        Self {
            running: Some(running),
            notices,
            first: Some(first),
            keep_alive,
            tick: Box::pin(sleep(keep_alive)),
            wrote: false,
        }
    }
}

impl EventStream {
    /// Gives what has to go on when the client has gone, see
    /// [`Handling::detached`](super::Handling::detached).
    pub fn detached(&mut self) -> Option<LocalBoxFuture<'static, ()>> {
        self.running.take()?.detached()
    }
}

impl Stream for EventStream {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let this = self.get_mut();
        if let Some(first) = this.first.take() {
            this.wrote = true;
            return Poll::Ready(Some(first));
        }
        let Some(running) = &mut this.running else {
            return Poll::Ready(None);
        };
        if let Poll::Ready((_, response)) = running.poll(cx) {
            this.running = None;
            return Poll::Ready(Some(this.notices.last(&response)));
        }
        if let Poll::Ready(reports) = this.notices.poll(cx) {
            this.wrote = true;
            return Poll::Ready(Some(reports));
        }
        while this.tick.as_mut().poll(cx).is_ready() {
            this.tick.as_mut().reset(Instant::now() + this.keep_alive);
            if !std::mem::replace(&mut this.wrote, false) {
                return Poll::Ready(Some(Bytes::from_static(b": keep-alive\n\n")));
            }
        }
        Poll::Pending
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("EventStream")
            .field("ended", &self.running.is_none())
            .finish_non_exhaustive()
    }
}
