//! The log of one run: events, readers and the producer's credit behind one mutex.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use tokio::time::Instant;

use super::Shared;
use crate::{
    ports::event_log::{
        After, BatchEnd, CloseReason, Head, LocalLog, LogError, LogKey, LogOptions, ReaderId,
    },
    wire::ids::Offset,
};

/// Readers of one run: tabs and subscribers of one conversation. More is a loop that forgets to
/// detach.
const MAX_READERS: usize = 64;

#[derive(Debug)]
pub(super) struct RunLog {
    shared: Weak<Shared>,
    key: LogKey,
    options: LogOptions,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    events: VecDeque<Bytes>,
    /// Offset of the event before the oldest that is kept.
    forgotten: u64,
    bytes: usize,
    readers: Vec<Reader>,
    next_reader: u64,
    starter: Starter,
    /// Bytes that the starting reader has not read.
    starter_bytes: usize,
    producer: Option<Waker>,
    closed: Option<CloseReason>,
    lease_until: Instant,
}

#[derive(Debug)]
struct Reader {
    id: ReaderId,
    /// The last event it has read.
    position: u64,
    waker: Option<Waker>,
}

/// The reader that gives the producer credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Starter {
    /// Nobody does: started by message, or the starting reader has gone.
    None,
    /// It has not attached yet; the window counts from the start.
    Awaited,
    /// It reads.
    Reading(ReaderId),
}

impl Inner {
    fn last(&self) -> u64 {
        self.forgotten + self.events.len() as u64
    }

    fn reader(&mut self, id: ReaderId) -> Option<&mut Reader> {
        self.readers.iter_mut().find(|reader| reader.id == id)
    }

    /// How many events the starting reader has not read; none when nobody gives credit.
    fn unread(&self) -> Option<u64> {
        let position = match self.starter {
            Starter::None => return None,
            Starter::Awaited => 0,
            Starter::Reading(id) => self.readers.iter().find(|reader| reader.id == id)?.position,
        };
        Some(self.last() - position)
    }

    /// Appends and gives the wakers of all waiting readers, the first one apart so that a run with
    /// one reader allocates nothing.
    fn push(&mut self, line: Bytes) -> (Option<Waker>, Vec<Waker>) {
        self.bytes += line.len();
        if self.starter != Starter::None {
            self.starter_bytes += line.len();
        }
        self.events.push_back(line);
        self.wakers()
    }

    fn wakers(&mut self) -> (Option<Waker>, Vec<Waker>) {
        let mut waiting = self
            .readers
            .iter_mut()
            .filter_map(|reader| reader.waker.take());
        (waiting.next(), waiting.collect())
    }

    /// Forgets the oldest events until the bounds hold, but nothing that the starting reader has
    /// still to read: its credit bounds that already.
    fn trim(&mut self, options: &LogOptions) {
        let mut spare = match self.unread() {
            Some(unread) => (self.events.len() as u64).saturating_sub(unread),
            None => (self.events.len() as u64).saturating_sub(1),
        };
        while spare > 0
            && (self.events.len() > options.max_events || self.bytes > options.max_bytes)
        {
            let Some(event) = self.events.pop_front() else {
                return;
            };
            self.bytes -= event.len();
            self.forgotten += 1;
            spare -= 1;
        }
    }

    /// Whether the producer has credit for one more event, given a share of the window.
    fn has_credit(&self, options: &LogOptions, share: u64) -> bool {
        let (Some(window), Some(unread)) = (options.window, self.unread()) else {
            return true;
        };
        // Half of the bytes, so that what the starting reader has not read always fits.
        let bytes = options.max_bytes as u64 / 2;
        self.closed.is_some()
            || (unread < (window / share).max(1) && (self.starter_bytes as u64) <= bytes / share)
    }
}

impl RunLog {
    pub(super) fn new(shared: Weak<Shared>, key: LogKey, options: LogOptions) -> Self {
        let starter = match options.window {
            Some(_) => Starter::Awaited,
            None => Starter::None,
        };
        let lease_until = Instant::now() + options.lease;
        Self {
            shared,
            key,
            options,
            inner: Mutex::new(Inner {
                events: VecDeque::new(),
                forgotten: 0,
                bytes: 0,
                readers: Vec::new(),
                next_reader: 0,
                starter,
                starter_bytes: 0,
                producer: None,
                closed: None,
                lease_until,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing in here panics half-way, so a poisoned lock holds a sound state.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn renew(&self) {
        self.lock().lease_until = Instant::now() + self.options.lease;
    }

    pub(super) fn lease_until(&self) -> Instant {
        self.lock().lease_until
    }

    /// The end of a log whose producer is silent for longer than its lease.
    pub(super) fn lost(&self) -> Option<BatchEnd> {
        let inner = self.lock();
        let lapsed = inner.closed.is_none() && inner.lease_until <= Instant::now();
        lapsed.then_some(BatchEnd::ProducerLost)
    }
}

fn wake((first, rest): (Option<Waker>, Vec<Waker>)) {
    for waker in first.into_iter().chain(rest) {
        waker.wake();
    }
}

impl LocalLog for RunLog {
    fn append(&self, line: Bytes) -> Result<Offset, LogError> {
        let mut inner = self.lock();
        if inner.closed.is_some() {
            return Err(LogError::Closed);
        }
        if self.options.durable
            && (inner.events.len() >= self.options.max_events
                || inner.bytes + line.len() > self.options.max_bytes)
        {
            return Err(LogError::Full);
        }
        inner.lease_until = Instant::now() + self.options.lease;
        let waiting = inner.push(line);
        if !self.options.durable {
            inner.trim(&self.options);
        }
        let offset = Offset(inner.last());
        drop(inner);
        wake(waiting);
        Ok(offset)
    }

    fn close(&self, last: Option<Bytes>, reason: CloseReason) {
        let mut inner = self.lock();
        if inner.closed.is_some() {
            return;
        }
        if let Some(line) = last {
            inner.bytes += line.len();
            inner.events.push_back(line);
        }
        inner.closed = Some(reason);
        let waiting = inner.wakers();
        let producer = inner.producer.take();
        let bytes = inner.bytes;
        drop(inner);
        if let Some(shared) = self.shared.upgrade() {
            shared.retire(&self.key, bytes, self.options.linger);
        }
        wake(waiting);
        wake((producer, Vec::new()));
    }

    fn poll_credit(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.lock();
        if inner.has_credit(&self.options, 1) {
            return Poll::Ready(());
        }
        inner.producer = Some(cx.waker().clone());
        Poll::Pending
    }

    fn attach(&self, after: After, starts: bool) -> Result<ReaderId, LogError> {
        let mut inner = self.lock();
        if inner.readers.len() >= MAX_READERS {
            return Err(LogError::TooManyReaders);
        }
        let id = ReaderId(inner.next_reader);
        inner.next_reader += 1;
        let position = match after {
            After::Start => 0,
            After::Offset(offset) => offset.0,
            After::Now => inner.last(),
        };
        let position = position.min(inner.last());
        inner.readers.push(Reader {
            id,
            position,
            waker: None,
        });
        if starts && inner.starter == Starter::Awaited {
            inner.starter = Starter::Reading(id);
        }
        Ok(id)
    }

    fn poll_next(
        &self,
        reader: ReaderId,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Offset, Bytes), LogError>>> {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let (forgotten, last, closed) = (inner.forgotten, inner.last(), inner.closed);
        let Some(state) = inner.reader(reader) else {
            return Poll::Ready(None);
        };
        if state.position < forgotten {
            let first = Offset(forgotten).next();
            return Poll::Ready(Some(Err(LogError::Lagged { first })));
        }
        if state.position == last {
            if closed.is_some() {
                return Poll::Ready(None);
            }
            match &mut state.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            return Poll::Pending;
        }
        state.position += 1;
        let offset = Offset(state.position);
        let index = usize::try_from(offset.0 - forgotten - 1).unwrap_or(usize::MAX);
        let Some(line) = inner.events.get(index).cloned() else {
            return Poll::Ready(None);
        };
        if inner.starter == Starter::Reading(reader) {
            inner.starter_bytes = inner.starter_bytes.saturating_sub(line.len());
            // Only at half a window, so that the producer does not wake for each event.
            if inner.producer.is_some() && inner.has_credit(&self.options, 2) {
                let producer = inner.producer.take();
                drop(guard);
                wake((producer, Vec::new()));
            }
        }
        Poll::Ready(Some(Ok((offset, line))))
    }

    fn detach(&self, reader: ReaderId) {
        let mut inner = self.lock();
        inner.readers.retain(|attached| attached.id != reader);
        if inner.starter != Starter::Reading(reader) {
            return;
        }
        inner.starter = Starter::None;
        inner.starter_bytes = 0;
        let producer = inner.producer.take();
        drop(inner);
        wake((producer, Vec::new()));
    }

    fn head(&self) -> Head {
        let inner = self.lock();
        Head {
            first: Offset(inner.forgotten).next(),
            last: Offset(inner.last()),
            closed: inner.closed,
        }
    }
}

/// A reader that is detached when it is dropped.
#[derive(Debug)]
pub(super) struct Attached {
    run: Arc<RunLog>,
    reader: ReaderId,
}

impl Attached {
    pub(super) fn new(run: &Arc<RunLog>, after: Offset) -> Result<Self, LogError> {
        let reader = run.attach(After::Offset(after), false)?;
        Ok(Self {
            run: Arc::clone(run),
            reader,
        })
    }

    pub(super) fn poll_next(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Offset, Bytes), LogError>>> {
        self.run.poll_next(self.reader, cx)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.run.detach(self.reader);
    }
}
