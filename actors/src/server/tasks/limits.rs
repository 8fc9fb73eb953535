//! How much tasks may keep, and for how long.

use std::time::Duration;

use crate::{store::memory_tasks::MemoryTasksLimits, wire::ids::Owner};

/// How long a task is kept that no client has set a time for: a client that comes back within the
/// hour finds its result.
const TTL: Duration = Duration::from_hours(1);
/// The longest time that a client can set.
const MAX_TTL: Duration = Duration::from_hours(24);
/// The longest time that a client can set whom nobody has signed in: it costs nothing to be another.
const MAX_ANONYMOUS_TTL: Duration = Duration::from_hours(1);
/// The shortest: a client has to be able to ask at all.
const MIN_TTL: Duration = Duration::from_secs(1);
/// How often a client should ask.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The largest result: each is kept for as long as its task.
const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// Bounds of the tasks of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskLimits {
    ttl: Duration,
    max_ttl: Duration,
    max_anonymous_ttl: Duration,
    poll_interval: Duration,
    max_result_bytes: usize,
    memory: MemoryTasksLimits,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            ttl: TTL,
            max_ttl: MAX_TTL,
            max_anonymous_ttl: MAX_ANONYMOUS_TTL,
            poll_interval: POLL_INTERVAL,
            max_result_bytes: MAX_RESULT_BYTES,
            memory: MemoryTasksLimits::default(),
        }
    }
}

impl TaskLimits {
    /// Starts with the defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how long a task is kept after its call, whether it has ended or not, if the client does
    /// not say; one hour by default, at least a second. A task that still runs then is cancelled.
    #[must_use]
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets the longest time that a client can ask for; 24 hours by default.
    #[must_use]
    pub const fn max_ttl(mut self, ttl: Duration) -> Self {
        self.max_ttl = ttl;
        self
    }

    /// Sets the longest time that a client can ask for if nobody has signed in; one hour by default,
    /// and never less than `ttl` nor more than `max_ttl`. Raise it where such clients are trusted, as
    /// on stdio.
    #[must_use]
    pub const fn max_anonymous_ttl(mut self, ttl: Duration) -> Self {
        self.max_anonymous_ttl = ttl;
        self
    }

    /// Sets how often clients should ask how a task stands; every second by default.
    #[must_use]
    pub const fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// Sets how large a result may be, in bytes of JSON; 1 MiB by default. A larger one becomes a
    /// failure of its task.
    #[must_use]
    pub const fn max_result_bytes(mut self, bytes: usize) -> Self {
        self.max_result_bytes = bytes;
        self
    }

    /// Sets how many tasks the store in memory keeps; 4,096 by default. A call that would begin
    /// another is refused. One caller, or all together that nobody can tell apart, can have half.
    #[must_use]
    pub const fn max_tasks(mut self, tasks: usize) -> Self {
        self.memory.max_tasks = tasks;
        self
    }

    /// Sets how many of them belong to one caller or session; 256 by default. Callers that nobody
    /// can tell apart share their half of `max_tasks` only.
    #[must_use]
    pub const fn max_per_owner(mut self, tasks: usize) -> Self {
        self.memory.max_per_owner = tasks;
        self
    }

    /// Sets how many bytes of results and open questions the store in memory keeps; 256 MiB by
    /// default, of which one caller, or all together that nobody can tell apart, can have half. Each
    /// task counts 4 KiB at least. Over it, calls that would begin a task are refused, and a result or
    /// a question that does not fit becomes a failure.
    #[must_use]
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.memory.max_bytes = bytes;
        self
    }

    pub(in crate::server) const fn memory(&self) -> MemoryTasksLimits {
        self.memory
    }

    pub(super) const fn result_bytes(&self) -> usize {
        self.max_result_bytes
    }

    /// Gives how long a task of somebody is kept for which the client has asked for this.
    pub(super) fn clamp(&self, owner: &Owner, asked_ms: Option<u64>) -> Duration {
        let asked = asked_ms.map_or(self.ttl, Duration::from_millis);
        let most = if owner.is_anonymous() {
            self.max_anonymous_ttl.max(self.ttl)
        } else {
            self.max_ttl
        };
        asked.min(most).min(self.max_ttl).max(MIN_TTL)
    }

    pub(super) fn poll_interval_ms(&self) -> u64 {
        millis(self.poll_interval).max(1)
    }
}

/// Gives whole milliseconds.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_a_client_asks_for_is_bounded() {
        let limits = TaskLimits::new()
            .ttl(Duration::from_secs(60))
            .max_ttl(Duration::from_secs(100));
        let limits = limits.max_anonymous_ttl(Duration::from_secs(80));
        let ada = Owner::new("ada");
        for (asked, seconds) in [
            (None, 60),
            (Some(0), 1),
            (Some(5_000), 5),
            (Some(100_001), 100),
            (Some(u64::MAX), 100),
        ] {
            assert_eq!(limits.clamp(&ada, asked), Duration::from_secs(seconds));
            let anonymous = limits.clamp(&Owner::ANONYMOUS, asked);
            assert_eq!(anonymous, Duration::from_secs(seconds.min(80)));
        }
        let low = limits.max_anonymous_ttl(Duration::ZERO);
        let given = low.clamp(&Owner::ANONYMOUS, Some(90_000));
        assert_eq!(given, Duration::from_secs(60));
    }
}
