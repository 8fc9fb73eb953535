//! How much tasks may keep, and for how long.

use std::time::Duration;

use crate::store::memory_tasks::MemoryTasksLimits;

/// How long a task is kept that no client has set a time for: a client that comes back within the
/// hour finds its result.
const TTL: Duration = Duration::from_hours(1);
/// The longest time that a client can set.
const MAX_TTL: Duration = Duration::from_hours(24);
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
    poll_interval: Duration,
    max_result_bytes: usize,
    memory: MemoryTasksLimits,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            ttl: TTL,
            max_ttl: MAX_TTL,
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
    /// another is refused.
    #[must_use]
    pub const fn max_tasks(mut self, tasks: usize) -> Self {
        self.memory.max_tasks = tasks;
        self
    }

    /// Sets how many of them belong to one caller or session; 256 by default. Callers that nobody
    /// can tell apart share `max_tasks` only.
    #[must_use]
    pub const fn max_per_owner(mut self, tasks: usize) -> Self {
        self.memory.max_per_owner = tasks;
        self
    }

    pub(in crate::server) const fn memory(&self) -> MemoryTasksLimits {
        self.memory
    }

    pub(super) const fn result_bytes(&self) -> usize {
        self.max_result_bytes
    }

    /// Gives how long a task is kept for which the client has asked for this.
    pub(super) fn clamp(&self, asked_ms: Option<u64>) -> Duration {
        let asked = asked_ms.map_or(self.ttl, Duration::from_millis);
        asked.min(self.max_ttl).max(MIN_TTL)
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
        for (asked, seconds) in [
            (None, 60),
            (Some(0), 1),
            (Some(5_000), 5),
            (Some(100_001), 100),
            (Some(u64::MAX), 100),
        ] {
            assert_eq!(limits.clamp(asked), Duration::from_secs(seconds));
        }
    }
}
