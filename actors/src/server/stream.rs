//! An answer that reports before it ends: notifications, then the response, as SSE.

mod notices;
mod pace;

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, future::LocalBoxFuture};
use tokio::time::{Instant, Sleep, sleep};

pub(super) use self::{
    notices::{Notices, Wanted, lane_sink, task_sink},
    pace::ProgressRate,
};
use super::{Response, changes::Subscription, running::Running};
use crate::{
    gauge::{Kind, Open},
    session::Reader,
    wire::http::Body,
};

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
