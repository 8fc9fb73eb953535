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

/// Counts the calls that run, and ends them.
#[derive(Debug, Default)]
pub(super) struct Work {
    draining: AtomicBool,
    running: AtomicUsize,
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
pub(super) struct InFlight(Arc<Inner>);

impl InFlight {
    pub(super) fn new(server: &Arc<Inner>) -> Self {
        server.work.running.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(server))
    }

    pub(super) fn server(&self) -> &Inner {
        &self.0
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let work = &self.0.work;
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
    /// gets an error as its answer. Needs a tokio runtime with time.
    pub async fn drain(&self, deadline: Duration) {
        let work = &self.0.work;
        work.draining.store(true, Ordering::Release);
        if self.idle_within(deadline).await {
            return;
        }
        work.closing.cancel();
        // The answers have to be polled out by the host; it does so at once or never.
        self.idle_within(LAST_WORDS).await;
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

/// How long cancelled calls have for their last words.
const LAST_WORDS: Duration = Duration::from_millis(500);
