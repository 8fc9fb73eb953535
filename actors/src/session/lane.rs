//! One stream of a session: its messages in order, and the connection that reads them.
//!
//! A live connection, and one that comes back with `Last-Event-ID`, read the same way: everything
//! after an event.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::{Bytes, BytesMut};

use super::{Keep, Session, SessionLimits};

/// Names a stream within its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneId(pub(crate) u32);

impl LaneId {
    /// The stream that belongs to no call.
    pub(crate) const STANDALONE: Self = Self(0);
}

/// An event of a session as `Last-Event-ID` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventId {
    pub(crate) lane: LaneId,
    /// 0 is before the first message.
    pub(crate) seq: u64,
}

impl EventId {
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let (lane, seq) = std::str::from_utf8(text).ok()?.split_once('-')?;
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(lane) || !digits(seq) {
            return None;
        }
        Some(Self {
            lane: LaneId(lane.parse().ok()?),
            seq: seq.parse().ok()?,
        })
    }
}

/// A stream.
pub(crate) struct Lane {
    id: LaneId,
    max_events: usize,
    max_bytes: usize,
    retry: Duration,
    /// Begins with an event without data.
    primes: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    events: VecDeque<(u64, Bytes)>,
    bytes: usize,
    /// The number of the newest event.
    head: u64,
    /// The newest event that a connection has taken.
    read: u64,
    /// Some connection has taken something, so the client knows the stream.
    known: bool,
    closed: bool,
    /// Counts connections; an older one ends.
    epoch: u64,
    attached: bool,
    /// The connection that ends although the stream goes on.
    released: Option<u64>,
    waker: Option<Waker>,
}

impl Lane {
    pub(super) fn new(id: LaneId, limits: &SessionLimits, primes: bool) -> Self {
        Self {
            id,
            max_events: limits.replay_events,
            max_bytes: limits.replay_bytes,
            retry: limits.retry,
            primes,
            state: Mutex::default(),
        }
    }

    pub(crate) const fn id(&self) -> LaneId {
        self.id
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message that may be lost when its client does not read: gives whether it was taken.
    pub(crate) fn report(&self, message: &[u8]) -> bool {
        let full = self.is_full();
        if !full {
            self.push(message);
        }
        !full
    }

    /// Tells whether so much is unread that only answers are still added.
    pub(super) fn is_full(&self) -> bool {
        let state = self.state();
        let unread = state.head - state.read;
        unread >= self.max_events as u64 || (unread > 0 && state.bytes >= self.max_bytes)
    }

    /// Adds a message.
    pub(crate) fn push(&self, message: &[u8]) {
        let mut state = self.state();
        if state.closed {
            return;
        }
        state.head += 1;
        let seq = state.head;
        let event = frame(self.id, seq, message);
        state.bytes += event.len();
        state.events.push_back((seq, event));
        self.forget(&mut state);
        wake(state);
    }

    /// Keeps to the bound. What no connection has taken is never dropped.
    fn forget(&self, state: &mut State) {
        while state.events.len() > self.max_events || state.bytes > self.max_bytes {
            let Some((seq, _)) = state.events.front() else {
                return;
            };
            if *seq > state.read {
                return;
            }
            if let Some((_, event)) = state.events.pop_front() {
                state.bytes -= event.len();
            }
        }
    }

    /// Adds the last message, if there is one, and ends the stream.
    pub(crate) fn end(&self, last: &[u8]) {
        if !last.is_empty() {
            self.push(last);
        }
        self.close();
    }

    /// Ends the stream: its connection ends when it has read everything.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        wake(state);
    }

    /// Ends the connection that reads now, if its client knows how to come back.
    pub(crate) fn release(&self) {
        let mut state = self.state();
        if self.primes && state.attached {
            state.released = Some(state.epoch);
            wake(state);
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// A connection reads it now.
    pub(super) fn is_attached(&self) -> bool {
        let state = self.state();
        state.attached && !state.closed
    }

    /// The client can come back to it.
    pub(super) fn is_known(&self) -> bool {
        let state = self.state();
        state.known && !state.closed
    }

    /// Tells whether nothing was written to it.
    pub(crate) fn is_empty(&self) -> bool {
        self.state().head == 0
    }

    /// Reads what no connection has taken.
    pub(super) fn attach_unread(self: &Arc<Self>, session: &Arc<Session>) -> Reader {
        let read = self.state().read;
        self.attach(read, session)
    }

    /// Reads everything after an event. A connection that reads already ends.
    pub(crate) fn attach(self: &Arc<Self>, after: u64, session: &Arc<Session>) -> Reader {
        let mut state = self.state();
        state.epoch += 1;
        state.attached = true;
        let epoch = state.epoch;
        let after = after.min(state.head);
        wake(state);
        Reader {
            lane: Arc::clone(self),
            session: Arc::downgrade(session),
            epoch,
            after,
            begun: false,
        }
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Each message is one `data:` line, because readers split on lines.
fn frame(lane: LaneId, seq: u64, message: &[u8]) -> Bytes {
    let head = format!("id: {}-{seq}\nevent: message\ndata: ", lane.0);
    let mut out = BytesMut::with_capacity(head.len() + message.len() + 2);
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(message);
    out.extend_from_slice(b"\n\n");
    out.freeze()
}

/// A connection that reads a stream.
pub(crate) struct Reader {
    lane: Arc<Lane>,
    session: Weak<Session>,
    epoch: u64,
    after: u64,
    begun: bool,
}

impl Reader {
    pub(crate) const fn lane(&self) -> &Arc<Lane> {
        &self.lane
    }

    /// Lets the client come back to the stream.
    pub(crate) fn keep(&self) {
        let Some(session) = self.session.upgrade() else {
            return;
        };
        let Some(actor) = session.actor() else {
            return;
        };
        if actor.try_send(Keep(Arc::clone(&self.lane))).is_err() {
            tracing::debug!("a stream cannot be resumed, its session is busy or gone");
        }
    }

    /// Gives everything that a stream which has ended holds.
    pub(crate) fn rest(&mut self) -> Bytes {
        let lane = Arc::clone(&self.lane);
        let mut state = lane.state();
        state.known = true;
        self.take(&mut state)
    }

    /// Says where the stream is, so that the client can come back before the first message.
    fn begin(&mut self, out: &mut BytesMut) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let (lane, seq, retry) = (self.lane.id.0, self.after, self.lane.retry.as_millis());
        let head = format!("id: {lane}-{seq}\nretry: {retry}\n");
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(if self.lane.primes {
            b"data: \n\n"
        } else {
            b"\n"
        });
    }

    /// Gives the first event of a connection that does not wait for a message.
    pub(crate) fn greet(&mut self) -> Bytes {
        let mut out = BytesMut::new();
        self.begin(&mut out);
        self.lane.state().known = true;
        out.freeze()
    }

    /// Gives all messages that are there; none at the end of the stream.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let lane = Arc::clone(&self.lane);
        let mut state = lane.state();
        if state.epoch != self.epoch {
            return Poll::Ready(None);
        }
        if state.head > self.after {
            state.known = true;
            let chunk = self.take(&mut state);
            lane.forget(&mut state);
            return Poll::Ready(Some(chunk));
        }
        if state.closed {
            return Poll::Ready(None);
        }
        if state.released == Some(self.epoch) {
            let mut out = BytesMut::new();
            self.begin(&mut out);
            state.known = true;
            return Poll::Ready((!out.is_empty()).then(|| out.freeze()));
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn take(&mut self, state: &mut State) -> Bytes {
        let mut out = BytesMut::new();
        self.begin(&mut out);
        let oldest = state.events.front().map_or(state.head, |(seq, _)| *seq);
        let skip = usize::try_from((self.after + 1).saturating_sub(oldest)).unwrap_or(usize::MAX);
        for (_, event) in state.events.iter().skip(skip) {
            out.extend_from_slice(event);
        }
        self.after = state.head;
        state.read = state.read.max(state.head);
        out.freeze()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.lane.state();
        if state.epoch != self.epoch {
            return;
        }
        state.attached = false;
        state.waker = None;
        drop(state);
        if let Some(session) = self.session.upgrade() {
            session.touch();
        }
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Lane").field(&self.id.0).finish()
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Reader")
            .field("lane", &self.lane)
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "lane_tests.rs"]
mod tests;
