//! A request under the eyes of whoever wants to hear of its end.

use std::sync::Arc;

use tokio::time::Instant;

use super::{
    Inner, Options,
    audit::{AuditOutcome, AuditRecord},
    methods::MethodDef,
};
use crate::wire::mcp::envelope::Params;

/// A request until its end, which is told exactly once: what is dropped without an end was
/// cancelled.
pub(super) struct Observation {
    server: Arc<Inner>,
    started: Instant,
    audit: AuditRecord,
    ended: bool,
}

impl Observation {
    /// Begins with a request; nothing if nobody wants to hear of it.
    pub(super) fn begin(
        server: &Arc<Inner>,
        method: Option<&'static MethodDef>,
        request: (&str, &Params<'_>),
        options: &Options,
    ) -> Option<Box<Self>> {
        let method = method?;
        let audit = AuditRecord::new(server, (method.name, method.subject), request, options)?;
        Some(Box::new(Self {
            server: Arc::clone(server),
            started: Instant::now(),
            audit,
            ended: false,
        }))
    }

    /// Tells the end.
    pub(super) fn end(mut self, outcome: AuditOutcome) {
        self.tell(outcome);
    }

    fn tell(&mut self, outcome: AuditOutcome) {
        if !std::mem::replace(&mut self.ended, true) {
            self.audit
                .tell(&self.server, outcome, self.started.elapsed());
        }
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        self.tell(AuditOutcome::Cancelled);
    }
}
