//! An answer that reports before it ends: notifications, then the response, as SSE.

mod pace;

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
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

use self::pace::Pace;
use super::{Response, changes::Subscription, running::Running, tasks::related};
use crate::{
    gauge::{Kind, Open},
    session::{Changed, Lane, Reader, Session, page_done},
    tool::{NoticeSink, ToolNotice},
    wire::{http::Body, ids::TaskId, mcp::LogLevel},
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

/// Words the reports of a call.
struct Wording {
    progress: Option<Box<RawValue>>,
    /// The spec wants progress to grow.
    last_progress: f64,
    pace: Pace,
    /// What the reports belong to.
    task: Option<TaskId>,
}

impl Wording {
    fn new(progress: Option<Box<RawValue>>) -> Self {
        Self {
            progress,
            last_progress: f64::NEG_INFINITY,
            pace: Pace::new(),
            task: None,
        }
    }

    /// Gives the message, as far as there is one.
    fn message(&mut self, notice: ToolNotice) -> Option<Vec<u8>> {
        match notice {
            ToolNotice::Progress {
                progress,
                total,
                message,
            } => {
                // JSON has no other numbers.
                if !progress.is_finite() || progress <= self.last_progress {
                    return None;
                }
                let total = total.filter(|total| total.is_finite());
                // The last step is told however many came before it.
                if !self.pace.admits() && total != Some(progress) {
                    return None;
                }
                self.last_progress = progress;
                let message = self.progress_message(progress, total, message);
                Some(self.bytes(message))
            }
            ToolNotice::Log { level, data } => Some(self.bytes(json!({
                "jsonrpc": "2.0",
                "method": "notifications/message",
                "params": {"level": level, "data": data},
            }))),
            ToolNotice::PageDone { id } => Some(page_done(&id)),
            ToolNotice::Custom { .. } | ToolNotice::CloseStream | ToolNotice::BeginTask => None,
        }
    }

    fn bytes(&self, mut message: Value) -> Vec<u8> {
        if let (Some(task), Some(params)) = (&self.task, message.get_mut("params")) {
            *params = related(params.take(), task.as_str());
        }
        message.to_string().into_bytes()
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

/// Gives where a call of a session reports to: the stream that its answer then becomes.
pub(super) fn lane_sink(wanted: Wanted, session: &Arc<Session>, lane: &Arc<Lane>) -> NoticeSink {
    let (session, lane) = (Arc::clone(session), Arc::clone(lane));
    let wants_progress = wanted.progress.is_some();
    let wording = Mutex::new(Wording::new(wanted.progress));
    Arc::new(move |notice: ToolNotice| {
        let wants = match &notice {
            ToolNotice::Progress { .. } => wants_progress,
            ToolNotice::Log { level, .. } => session.wants_log(*level),
            ToolNotice::CloseStream => {
                lane.release();
                false
            }
            ToolNotice::PageDone { id } => session.take_page(id),
            ToolNotice::Custom { .. } | ToolNotice::BeginTask => false,
        };
        if !wants {
            return;
        }
        // The lock is held over the writing, so that progress also grows on the wire.
        let mut wording = wording.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(message) = wording.message(notice) else {
            return;
        };
        if !lane.report(&message) {
            tracing::debug!("a report of a tool was dropped");
        }
    })
}

/// Gives where a task of a session reports to: the session's own stream.
pub(super) fn task_sink(wanted: Wanted, session: &Arc<Session>, task: &TaskId) -> NoticeSink {
    let session = Arc::clone(session);
    let wants_progress = wanted.progress.is_some();
    let wording = Mutex::new(Wording {
        task: Some(task.clone()),
        ..Wording::new(wanted.progress)
    });
    Arc::new(move |notice: ToolNotice| {
        let wants = match &notice {
            ToolNotice::Progress { .. } => wants_progress,
            ToolNotice::Log { level, .. } => session.wants_log(*level),
            ToolNotice::PageDone { id } => session.take_page(id),
            ToolNotice::CloseStream | ToolNotice::Custom { .. } | ToolNotice::BeginTask => false,
        };
        if !wants {
            return;
        }
        // The lock is held over the sending, so that progress also grows on the wire.
        let mut wording = wording.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(message) = wording.message(notice) else {
            return;
        };
        session.tell(&Changed {
            message: Arc::from(message),
            resource: None,
        });
    })
}

/// The reports of a call on their way to the client.
pub(super) struct Notices {
    receiver: Receiver<ToolNotice>,
    wording: Wording,
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
                ToolNotice::Custom { .. }
                | ToolNotice::CloseStream
                | ToolNotice::BeginTask
                | ToolNotice::PageDone { .. } => false,
            };
            if wants && sender.try_send(notice).is_err() {
                tracing::debug!("a report of a tool was dropped");
            }
        };
        let notices = Self {
            receiver,
            wording: Wording::new(wanted.progress),
        };
        (Arc::new(sink), notices)
    }

    /// Gives all reports that wait, as frames.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        let mut out = BytesMut::new();
        loop {
            match self.receiver.poll_recv(cx) {
                Poll::Ready(Some(notice)) => self.write(&mut out, notice),
                Poll::Ready(None) | Poll::Pending if out.is_empty() => return Poll::Pending,
                Poll::Ready(None) | Poll::Pending => return Poll::Ready(out.freeze()),
            }
        }
    }

    fn drain(&mut self, out: &mut BytesMut) {
        while let Ok(notice) = self.receiver.try_recv() {
            self.write(out, notice);
        }
    }

    fn write(&mut self, out: &mut BytesMut, notice: ToolNotice) {
        if let Some(message) = self.wording.message(notice) {
            frame(out, &message);
        }
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

/// Gives a response as a stream of one event.
pub(super) fn one_event(message: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(message.len() + 32);
    frame(&mut out, message);
    out.freeze()
}

/// Gives the message of a response that is one.
pub(super) fn json_of(response: &Response) -> &[u8] {
    match &response.body {
        Body::Json(body) => body,
        Body::Empty | Body::Events(_) | Body::Stream(_) => &[],
    }
}

/// What goes to the client of a call before its response.
pub(super) enum Outlet {
    Nothing,
    Notices(Notices),
    /// The stream of a session, which also carries questions.
    Lane(Reader),
    /// What a client listens to.
    Events(Subscription),
}

impl Outlet {
    /// Gives what there is to send before the response; the answer is a stream from then on.
    pub(super) fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        match self {
            Self::Nothing | Self::Events(_) => Poll::Pending,
            Self::Notices(notices) => notices.poll(cx),
            Self::Lane(reader) => match reader.poll(cx) {
                Poll::Ready(Some(first)) => {
                    reader.keep();
                    Poll::Ready(first)
                }
                Poll::Ready(None) | Poll::Pending => Poll::Pending,
            },
        }
    }

    /// Makes the response of a call that has ended before anything was written: plain JSON unless
    /// it has reported something.
    pub(super) fn into_response(self, response: Response) -> Response {
        let mut out = BytesMut::new();
        match self {
            Self::Nothing | Self::Events(_) => {}
            Self::Notices(mut notices) => notices.drain(&mut out),
            Self::Lane(mut reader) => {
                if reader.lane().is_empty() {
                    reader.lane().close();
                } else {
                    reader.lane().end(json_of(&response));
                    reader.keep();
                    return Response::new(200, Body::Events(reader.rest()));
                }
            }
        }
        let body = json_of(&response);
        if out.is_empty() || body.is_empty() {
            return response;
        }
        frame(&mut out, body);
        Response::new(200, Body::Events(out.freeze()))
    }

    /// Takes the response at the end of a stream.
    fn end(&mut self, response: &[u8]) -> Option<Bytes> {
        match std::mem::replace(self, Self::Nothing) {
            Self::Nothing | Self::Events(_) => None,
            Self::Notices(mut notices) => {
                let mut out = BytesMut::new();
                notices.drain(&mut out);
                frame(&mut out, response);
                Some(out.freeze())
            }
            Self::Lane(reader) => {
                reader.lane().end(response);
                *self = Self::Lane(reader);
                None
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self {
            Self::Nothing => Poll::Ready(None),
            Self::Notices(notices) => notices.poll(cx).map(Some),
            Self::Lane(reader) => reader.poll(cx),
            Self::Events(events) => events.poll(cx),
        }
    }
}

/// The body of an answer that streams. Dropping it cancels a 2026 call.
pub struct EventStream(Box<Streaming>);

struct Streaming {
    call: Option<Box<Running>>,
    outlet: Outlet,
    first: Option<Bytes>,
    keep_alive: Duration,
    tick: Pin<Box<Sleep>>,
    /// When something was written last. The tick is set again only when it has come.
    written: Instant,
    _open: Open,
}

impl EventStream {
    /// Streams a call that has reported already.
    pub(super) fn of_call(call: Box<Running>, outlet: Outlet, first: Bytes) -> Self {
        let keep_alive = call.keep_alive();
        Self::new(Some(call), outlet, first, keep_alive)
    }

    /// Streams what a session sends.
    pub(super) fn of_session(mut reader: Reader, keep_alive: Duration) -> Self {
        let first = reader.greet();
        Self::new(None, Outlet::Lane(reader), first, keep_alive)
    }

    /// Streams what a client listens to.
    pub(super) fn of_events(events: Subscription, first: Bytes, keep_alive: Duration) -> Self {
        Self::new(None, Outlet::Events(events), first, keep_alive)
    }

    fn new(call: Option<Box<Running>>, outlet: Outlet, first: Bytes, keep_alive: Duration) -> Self {
        Self(Box::new(Streaming {
            call,
            outlet,
            first: Some(first),
            keep_alive,
            tick: Box::pin(sleep(keep_alive)),
            written: Instant::now(),
            _open: Open::new(Kind::Stream),
        }))
    }
}

impl EventStream {
    /// Gives what has to go on when the client has gone, see
    /// [`Handling::detached`](super::Handling::detached).
    pub fn detached(&mut self) -> Option<LocalBoxFuture<'static, ()>> {
        self.0.call.take()?.detached()
    }
}

impl Stream for EventStream {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let this = &mut *self.get_mut().0;
        if let Some(first) = this.first.take() {
            this.written = Instant::now();
            return Poll::Ready(Some(first));
        }
        if let Some(call) = &mut this.call
            && let Poll::Ready(response) = call.poll(cx)
        {
            let last = this.outlet.end(json_of(&response));
            this.call = None;
            if let Some(last) = last {
                return Poll::Ready(Some(last));
            }
        }
        if let Poll::Ready(reports) = this.outlet.poll(cx) {
            this.written = Instant::now();
            return Poll::Ready(reports);
        }
        while this.tick.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            let silent = now >= this.written + this.keep_alive;
            if silent {
                this.written = now;
            }
            this.tick.as_mut().reset(this.written + this.keep_alive);
            if silent {
                return Poll::Ready(Some(Bytes::from_static(b": keep-alive\n\n")));
            }
        }
        Poll::Pending
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("EventStream")
            .field("ended", &self.0.call.is_none())
            .finish_non_exhaustive()
    }
}
