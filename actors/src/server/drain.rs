//! Calls that run, and how the server ends.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Inner, McpServer};
use crate::gauge::{Kind, Open};

/// Counts the calls that run, and ends them.
#[derive(Debug, Default)]
pub(super) struct Work {
    draining: AtomicBool,
    running: AtomicUsize,
    /// Calls whose clients have gone.
    left: AtomicUsize,
    /// Requests that only wait, whose clients have gone.
    left_waiting: AtomicUsize,
    idle: Notify,
    /// Cancelled when the deadline of the drain is over: every call ends now.
    closing: CancellationToken,
}

impl Work {
    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(super) const fn closing(&self) -> &CancellationToken {
        &self.closing
    }
}

/// Counts one call while it lives, and keeps its server.
pub(super) struct InFlight {
    server: Arc<Inner>,
    _open: Open,
}

impl InFlight {
    pub(super) fn new(server: &Arc<Inner>) -> Self {
        server.work.running.fetch_add(1, Ordering::AcqRel);
        Self {
            server: Arc::clone(server),
            _open: Open::new(Kind::Call),
        }
    }

    pub(super) fn server(&self) -> &Inner {
        &self.server
    }

    /// Counts the call as one whose client has gone; nothing when there are too many of them. What
    /// only waits costs nothing to begin, so it cannot take the place of calls.
    pub(super) fn leave(&self, waits: bool) -> Option<Left> {
        Left::count(&self.server, waits)
    }
}

/// Counts a call whose client has gone while it lives.
pub(super) struct Left {
    server: Arc<Inner>,
    waits: bool,
}

impl Left {
    pub(super) fn take(server: &Arc<Inner>) -> Option<Self> {
        Self::count(server, false)
    }

    fn count(server: &Arc<Inner>, waits: bool) -> Option<Self> {
        let left = Self::counter(server, waits);
        if left.fetch_add(1, Ordering::AcqRel) >= MAX_LEFT {
            left.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        let server = Arc::clone(server);
        Some(Self { server, waits })
    }

    fn counter(server: &Inner, waits: bool) -> &AtomicUsize {
        if waits {
            &server.work.left_waiting
        } else {
            &server.work.left
        }
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        Self::counter(&self.server, self.waits).fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let work = &self.server.work;
        if work.running.fetch_sub(1, Ordering::AcqRel) == 1 && work.is_draining() {
            work.idle.notify_waiters();
        }
    }
}

impl fmt::Debug for InFlight {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("InFlight(..)")
    }
}

impl McpServer {
    /// Tells how many calls run.
    #[must_use]
    pub fn running_calls(&self) -> usize {
        self.0.work.running.load(Ordering::Acquire)
    }

    /// Refuses new work with 503, gives running calls until the deadline, then cancels them: each
    /// gets an error as its answer. Then it forgets all tasks and ends the sessions of 2025 clients. Needs a tokio runtime with time.
    pub async fn drain(&self, deadline: Duration) {
        let work = &self.0.work;
        work.draining.store(true, Ordering::Release);
        if !self.idle_within(deadline).await {
            work.closing.cancel();
            // The answers have to be polled out by the host; it does so at once or never.
            self.idle_within(LAST_WORDS).await;
        }
        if let Some(tasks) = &self.0.tasks {
            tasks.end(LAST_WORDS).await;
        }
        self.0.listeners.end();
        self.end_sessions(LAST_WORDS).await;
    }

    async fn idle_within(&self, deadline: Duration) -> bool {
        let work = &self.0.work;
        let idle = async {
            loop {
                let woken = work.idle.notified();
                tokio::pin!(woken);
                woken.as_mut().enable();
                if self.running_calls() == 0 {
                    return;
                }
                woken.await;
            }
        };
        tokio::time::timeout(deadline, idle).await.is_ok()
    }
}

/// Calls that may go on without their clients. Nobody waits for them, so a client that connects and
/// leaves must not be able to pile them up.
const MAX_LEFT: usize = 64;
/// How long cancelled calls have for their last words.
const LAST_WORDS: Duration = Duration::from_millis(500);
