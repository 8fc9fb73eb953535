//! Tells whoever has to account for it how a task has ended.

use std::sync::Arc;

use tokio::time::Instant;

use crate::server::{
    Inner,
    audit::{AuditOutcome, AuditRecord, TaskEnding},
};

/// A task until its end, which is told exactly once: what is dropped without an end was cancelled.
pub(super) struct Trail {
    server: Arc<Inner>,
    audit: Arc<AuditRecord>,
    began: Instant,
    ended: bool,
}

impl Trail {
    /// Begins with a task that is kept.
    pub(super) fn begin(server: &Arc<Inner>, audit: Arc<AuditRecord>) -> Self {
        Self {
            server: Arc::clone(server),
            audit,
            began: Instant::now(),
            ended: false,
        }
    }

    pub(super) fn tell(&mut self, ending: TaskEnding) {
        if !std::mem::replace(&mut self.ended, true) {
            let outcome = AuditOutcome::TaskEnded(ending);
            self.audit.tell(&self.server, outcome, self.began.elapsed());
        }
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        self.tell(TaskEnding::Cancelled);
    }
}
