//! A request under the eyes of whoever wants to hear of its end.

use std::sync::Arc;

use tokio::time::Instant;

use super::{
    Inner, Options,
    audit::{AuditOutcome, AuditRecord},
    methods::MethodDef,
    trace,
};
use crate::{
    gauge::{MEASURES, Timer},
    machine::era::Era,
    wire::mcp::envelope::Params,
};

/// A request until its end, which is told exactly once: what is dropped without an end was
/// cancelled.
pub(super) struct Observation {
    server: Arc<Inner>,
    started: Instant,
    timer: Timer,
    /// None if the audit does not want to hear of it.
    audit: Option<Arc<AuditRecord>>,
    ended: bool,
}

impl Observation {
    /// Begins with a request; nothing if nobody wants to hear of it.
    pub(super) fn begin(
        server: &Arc<Inner>,
        method: Option<&'static MethodDef>,
        (id, era, params): (&str, Era, &Params<'_>),
        options: &Options,
    ) -> Option<Box<Self>> {
        let audit = method.and_then(|method| {
            let about = (method.name, method.subject);
            AuditRecord::new(server, about, (id, params), options)
        });
        if audit.is_none() && !MEASURES {
            return None;
        }
        Some(Box::new(Self {
            server: Arc::clone(server),
            started: Instant::now(),
            timer: Timer::request(|| trace::operation(server, method, era, params)),
            audit: audit.map(Arc::new),
            ended: false,
        }))
    }

    /// Gives what is known of the request, if the audit wants to hear of it.
    pub(super) const fn audit(&self) -> Option<&Arc<AuditRecord>> {
        self.audit.as_ref()
    }

    /// Leaves the request out of the audit.
    pub(super) fn leave_out(&mut self) {
        self.audit = None;
    }

    /// Tells the end.
    pub(super) fn end(mut self, outcome: AuditOutcome) {
        self.tell(outcome);
    }

    fn tell(&mut self, outcome: AuditOutcome) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.timer.end(outcome.ended());
        if let Some(audit) = &self.audit {
            audit.tell(&self.server, outcome, self.started.elapsed());
        }
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        self.tell(AuditOutcome::Cancelled);
    }
}
