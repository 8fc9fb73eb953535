//! Counters: mailbox deliveries and actors alive by kind, for tests and debugging; with the feature
//! `metrics` what an operator wants to see, by the facade of the crate `metrics`.
//!
//! They are of the whole process. A test that must not see others' counts runs in its own process
//! or compares what it starts with what it ends with.

mod duration;
mod export;

#[cfg(feature = "metrics")]
pub use self::export::describe;
pub(crate) use self::{
    duration::{Ended, MEASURES, Operation, Timer, measured},
    export::{Kind, Open, error, request, tool_error},
};

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// What a span, a counter or a histogram calls a tool that failed.
pub(crate) const TOOL_ERROR: &str = "tool_error";
/// What they call what ended before its time.
pub(crate) const CANCELLED: &str = "cancelled";
/// What they call what was not let in.
pub(crate) const REFUSED: &str = "refused";

static DELIVERIES: AtomicU64 = AtomicU64::new(0);
static ALIVE: [AtomicI64; 5] = [const { AtomicI64::new(0) }; 5];

/// The kinds of actors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActorKind {
    /// One connection to an MCP server.
    Client,
    /// A set of connections.
    Pool,
    /// One 2025 session of an MCP server.
    Session,
    /// One chat run.
    Run,
    /// The runs of one thread.
    Chat,
}

/// Counts a message that an actor handles. Every handler calls it once.
pub fn mailbox_delivered() {
    DELIVERIES.fetch_add(1, Ordering::Relaxed);
}

/// Tells how many messages actors have handled in this process.
#[must_use]
pub fn mailbox_deliveries() -> u64 {
    DELIVERIES.load(Ordering::Relaxed)
}

/// Tells how many actors of a kind are alive in this process.
#[must_use]
pub fn alive(kind: ActorKind) -> i64 {
    slot(kind).load(Ordering::Relaxed)
}

/// Counts an actor as alive until it is dropped.
#[derive(Debug)]
pub struct Alive(ActorKind);

impl Alive {
    /// Counts one more actor of the kind.
    #[must_use]
    pub fn new(kind: ActorKind) -> Self {
        slot(kind).fetch_add(1, Ordering::Relaxed);
        export::actors(kind, true);
        Self(kind)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        slot(self.0).fetch_sub(1, Ordering::Relaxed);
        export::actors(self.0, false);
    }
}

const fn slot(kind: ActorKind) -> &'static AtomicI64 {
    let [client, pool, session, run, chat] = &ALIVE;
    match kind {
        ActorKind::Client => client,
        ActorKind::Pool => pool,
        ActorKind::Session => session,
        ActorKind::Run => run,
        ActorKind::Chat => chat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_counts_while_it_lives() {
        let before = alive(ActorKind::Session);
        let guard = Alive::new(ActorKind::Session);
        assert_eq!(alive(ActorKind::Session), before + 1);
        drop(guard);
        assert_eq!(alive(ActorKind::Session), before);
    }
}
