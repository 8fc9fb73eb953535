//! How much sessions may keep, and for how long.

use std::time::Duration;

/// How long a session lives without its client, as in the reference implementation.
const IDLE: Duration = Duration::from_mins(30);
/// How many sessions a server keeps: at 3 KB each, 200 MB.
const MAX_SESSIONS: usize = 65_536;
/// How many messages of one stream wait for a client that has lost its connection.
const REPLAY_EVENTS: usize = 256;
/// How many bytes of one stream are kept for that.
const REPLAY_BYTES: usize = 256 * 1024;
/// How many streams of calls are kept for that: as many calls as clients have open at once.
const REPLAY_STREAMS: usize = 8;
/// How long a person may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_mins(10);
/// How soon a client should come back when its stream has ended.
const RETRY: Duration = Duration::from_secs(1);

/// Bounds of the sessions of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    pub(super) idle: Duration,
    pub(super) max_sessions: usize,
    pub(super) replay_events: usize,
    pub(super) replay_bytes: usize,
    pub(super) replay_streams: usize,
    pub(super) answer_within: Duration,
    pub(super) retry: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            idle: IDLE,
            max_sessions: MAX_SESSIONS,
            replay_events: REPLAY_EVENTS,
            replay_bytes: REPLAY_BYTES,
            replay_streams: REPLAY_STREAMS,
            answer_within: ANSWER_WITHIN,
            retry: RETRY,
        }
    }
}

impl SessionLimits {
    /// Starts with the defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how long a session lives without its client; 30 minutes by default. An open GET
    /// stream, a call that runs and a question that waits keep it alive.
    #[must_use]
    pub const fn idle(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// Sets how many sessions there may be at once; 65,536 by default. `initialize` beyond that is
    /// answered with 503.
    #[must_use]
    pub const fn max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }

    /// Sets how much of one stream is kept for a client that comes back with `Last-Event-ID`; 256
    /// events and 256 KiB by default, whichever is less.
    #[must_use]
    pub const fn replay(mut self, events: usize, bytes: usize) -> Self {
        self.replay_events = events;
        self.replay_bytes = bytes;
        self
    }

    /// Sets how many streams of calls one session keeps for that; 8 by default.
    #[must_use]
    pub const fn replay_streams(mut self, streams: usize) -> Self {
        self.replay_streams = streams;
        self
    }

    /// Sets how long a question waits for its answer; 10 minutes by default.
    #[must_use]
    pub const fn answer_within(mut self, patience: Duration) -> Self {
        self.answer_within = patience;
        self
    }

    /// Sets how soon a client should come back when its stream has ended; a second by default.
    #[must_use]
    pub const fn retry(mut self, delay: Duration) -> Self {
        self.retry = delay;
        self
    }
}
