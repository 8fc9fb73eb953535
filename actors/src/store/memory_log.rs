//! Event logs in memory.

mod run_log;

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use dashmap::{DashMap, Entry};
use futures_util::{
    future::{self, FutureExt},
    task::noop_waker_ref,
};
use tokio::time::{Instant, timeout_at};

use self::run_log::{Attached, RunLog};
use crate::{
    ports::event_log::{
        Batch, BatchEnd, CloseReason, EventLog, Head, LocalLog, LogError, LogFuture, LogKey,
        LogOptions,
    },
    wire::ids::Offset,
};

/// Keeps the logs of runs in this process; a clone is the same log.
///
/// A reader is a waker inside the log of its run; nothing is spawned and nothing is polled in vain.
#[derive(Clone, Debug, Default)]
pub struct MemoryLog {
    shared: Arc<Shared>,
}

/// Bounds of a [`MemoryLog`] over all runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryLogLimits {
    /// Logs of live runs. Default 10,000; each needs about 5 KB and what its bounds allow.
    pub max_open: usize,
    /// Closed logs that can still be read. Default 1,024.
    pub max_closed: usize,
    /// Bytes of events in closed logs. Default 64 MiB, so that long answers do not fill the memory
    /// of a server that nobody reloads.
    pub max_closed_bytes: usize,
}

impl Default for MemoryLogLimits {
    fn default() -> Self {
        Self {
            max_open: 10_000,
            max_closed: 1_024,
            max_closed_bytes: 64 * 1024 * 1024,
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    limits: MemoryLogLimits,
    runs: DashMap<LogKey, Arc<RunLog>>,
    open: AtomicUsize,
    closed: Mutex<Closed>,
}

/// Closed logs, the oldest first.
#[derive(Debug, Default)]
struct Closed {
    logs: VecDeque<(Instant, LogKey, usize)>,
    bytes: usize,
}

impl MemoryLog {
    /// Makes an empty log with default bounds.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an empty log with bounds of its own.
    #[must_use]
    pub fn with_limits(limits: MemoryLogLimits) -> Self {
        Self {
            shared: Arc::new(Shared {
                limits,
                ..Shared::default()
            }),
        }
    }

    /// Counts the logs of live runs.
    #[must_use]
    pub fn open_runs(&self) -> usize {
        self.shared.open.load(Ordering::Relaxed)
    }

    /// Counts all logs that can be read, closed ones included.
    #[must_use]
    pub fn kept_runs(&self) -> usize {
        self.shared.sweep();
        self.shared.runs.len()
    }

    fn run(&self, key: &LogKey) -> Result<Arc<RunLog>, LogError> {
        self.shared.sweep();
        let run = self.shared.runs.get(key).ok_or(LogError::Unknown)?;
        Ok(Arc::clone(&run))
    }
}

impl Shared {
    /// Frees closed logs whose time is over, or which are too many.
    fn sweep(&self) {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        while let Some((until, ..)) = closed.logs.front() {
            let over = closed.logs.len() > self.limits.max_closed
                || closed.bytes > self.limits.max_closed_bytes;
            if *until > now && !over {
                return;
            }
            let Some((_, key, bytes)) = closed.logs.pop_front() else {
                return;
            };
            closed.bytes -= bytes;
            self.runs.remove(&key);
        }
    }

    /// Takes note that a log was closed.
    fn retire(&self, key: &LogKey, bytes: usize, linger: Duration) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        if linger.is_zero() {
            self.runs.remove(key);
            return;
        }
        {
            let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
            closed.bytes += bytes;
            closed
                .logs
                .push_back((Instant::now() + linger, key.clone(), bytes));
        }
        self.sweep();
    }
}

impl EventLog for MemoryLog {
    fn open<'a>(&'a self, key: &'a LogKey, options: &'a LogOptions) -> LogFuture<'a, ()> {
        self.shared.sweep();
        let opened = match self.shared.runs.entry(key.clone()) {
            Entry::Occupied(_) => Err(LogError::Exists),
            Entry::Vacant(_) if self.open_runs() >= self.shared.limits.max_open => {
                Err(LogError::TooManyRuns)
            }
            Entry::Vacant(vacant) => {
                self.shared.open.fetch_add(1, Ordering::Relaxed);
                let shared = Arc::downgrade(&self.shared);
                vacant.insert(Arc::new(RunLog::new(shared, key.clone(), options.clone())));
                Ok(())
            }
        };
        future::ready(opened).boxed()
    }

    fn append<'a>(&'a self, key: &'a LogKey, line: Bytes) -> LogFuture<'a, Offset> {
        future::ready(self.run(key).and_then(|run| run.append(line))).boxed()
    }

    fn close<'a>(
        &'a self,
        key: &'a LogKey,
        last: Option<Bytes>,
        reason: CloseReason,
    ) -> LogFuture<'a, ()> {
        // A log that was closed and freed is closed.
        if let Ok(run) = self.run(key) {
            run.close(last, reason);
        }
        future::ready(Ok(())).boxed()
    }

    fn abandon(&self, key: &LogKey, last: Bytes) {
        if let Ok(run) = self.run(key) {
            run.close(Some(last), CloseReason::ProducerLost);
        }
    }

    fn renew<'a>(&'a self, key: &'a LogKey) -> LogFuture<'a, ()> {
        future::ready(self.run(key).map(|run| run.renew())).boxed()
    }

    fn read<'a>(
        &'a self,
        key: &'a LogKey,
        after: Offset,
        max: usize,
        wait: Duration,
    ) -> LogFuture<'a, Batch> {
        async move {
            let run = self.run(key)?;
            let deadline = (Instant::now() + wait).min(run.lease_until());
            let reader = Attached::new(&run, after)?;
            let mut batch = Batch::default();
            let Ok(mut next) = timeout_at(deadline, poll_fn(|cx| reader.poll_next(cx))).await
            else {
                batch.end = run.lost();
                return Ok(batch);
            };
            // What is there already comes along.
            let mut cx = Context::from_waker(noop_waker_ref());
            loop {
                match next {
                    Some(event) => batch.events.push(event?),
                    None => {
                        batch.end = run.head().closed.map(BatchEnd::Closed);
                        return Ok(batch);
                    }
                }
                if batch.events.len() >= max {
                    return Ok(batch);
                }
                match reader.poll_next(&mut cx) {
                    Poll::Ready(more) => next = more,
                    Poll::Pending => return Ok(batch),
                }
            }
        }
        .boxed()
    }

    fn head<'a>(&'a self, key: &'a LogKey) -> LogFuture<'a, Head> {
        future::ready(self.run(key).map(|run| run.head())).boxed()
    }

    fn local(&self, key: &LogKey) -> Option<Result<Arc<dyn LocalLog>, LogError>> {
        Some(self.run(key).map(|run| run as Arc<dyn LocalLog>))
    }
}
