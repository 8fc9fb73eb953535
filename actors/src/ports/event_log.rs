//! Where the events of a run are kept, and how they are written and read.
//!
//! A run appends first and delivers by that alone: every reader, the first one included, pulls
//! strictly after an offset. So live delivery, a reload, a second tab and a re-attach are one code
//! path. [`EventLog`] is what an implementation provides; [`LogWriter`] and [`EventCursor`] are
//! what the engine uses.

mod cursor;
mod writer;

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

pub use self::{
    cursor::EventCursor,
    writer::{Lease, LogWriter},
};
use crate::wire::ids::{Offset, Owner, RunId};

/// Names the log of one run. Another owner's key is another log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogKey {
    /// Whom the run belongs to.
    pub owner: Owner,
    /// The run.
    pub run_id: RunId,
}

impl LogKey {
    /// Makes a key.
    #[must_use]
    pub const fn new(owner: Owner, run_id: RunId) -> Self {
        Self { owner, run_id }
    }
}

/// Bounds of one log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogOptions {
    /// Events that are kept. Default 8,192: a long answer of a model, several turns of it.
    pub max_events: usize,
    /// Bytes that are kept. Default 8 MiB: above every snapshot that fits into a request body.
    pub max_bytes: usize,
    /// How far the producer may be ahead of the reader that started the run, in events. Default
    /// none: nobody waits for a reader. A run started over HTTP has 256.
    pub window: Option<u64>,
    /// Whether a full log fails the run. Default no: it forgets its oldest events.
    pub durable: bool,
    /// How long a closed log can still be read. Default 1 minute: a reload finds the end.
    pub linger: Duration,
    /// How long a producer may be silent before it counts as lost. Default 30 seconds. A log in
    /// the producer's own process needs none, because it notices the end of its writer.
    pub lease: Duration,
}

/// How far a run may be ahead of the browser that started it: about a screen of text, and far less
/// than the 4 MB that sockets swallow before anybody notices a reader that does not read.
pub const STARTER_WINDOW: u64 = 256;

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            max_events: 8 * 1024,
            max_bytes: 8 * 1024 * 1024,
            window: None,
            durable: false,
            linger: Duration::from_secs(60),
            lease: Duration::from_secs(30),
        }
    }
}

/// Why a log was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CloseReason {
    /// The run is complete.
    Completed,
    /// The run waits for answers.
    Interrupted,
    /// The run has failed.
    Failed,
    /// The run was cancelled.
    Cancelled,
    /// The producer vanished without saying why.
    ProducerLost,
}

/// What can go wrong with a log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// A run of this id is live or was a moment ago.
    #[error("a run with this id exists")]
    Exists,
    /// There is no such log, or not any more.
    #[error("no such run")]
    Unknown,
    /// The reader asks for events that were forgotten.
    #[error("the reader has fallen behind: events before {first} are gone")]
    Lagged {
        /// The oldest event that is still there.
        first: Offset,
    },
    /// A durable log has reached its bound.
    #[error("the log of the run is full")]
    Full,
    /// The log is closed, or its last event was RUN_ERROR.
    #[error("the log of the run is closed")]
    Closed,
    /// Too many logs are open at once.
    #[error("too many runs are open")]
    TooManyRuns,
    /// Too many readers are attached to one log.
    #[error("too many readers of one run")]
    TooManyReaders,
    /// An event cannot be written as JSON.
    #[error("an event cannot be encoded")]
    Encode(#[source] serde_json::Error),
    /// The log's own storage failed.
    #[error("the event log failed")]
    Backend(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

impl LogError {
    /// Gives the code that stands in a RUN_ERROR.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Exists => "conflict",
            Self::Unknown => "unknown_run",
            Self::Lagged { .. } => "lagged",
            Self::Full => "log_full",
            Self::Closed => "log_closed",
            Self::TooManyRuns | Self::TooManyReaders => "overloaded",
            Self::Encode(_) | Self::Backend(_) => "log_failed",
        }
    }

    /// Tells whether the id is taken.
    #[must_use]
    pub const fn is_exists(&self) -> bool {
        matches!(self, Self::Exists)
    }

    /// Tells whether the reader may attach again at a later offset.
    #[must_use]
    pub const fn is_lagged(&self) -> bool {
        matches!(self, Self::Lagged { .. })
    }
}

/// From where a reader reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum After {
    /// From the first event.
    #[default]
    Start,
    /// From the event that follows this offset.
    Offset(Offset),
    /// Only what comes from now on.
    Now,
}

/// Where a log stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The oldest event that is kept; one above `last` when there is none.
    pub first: Offset,
    /// The newest event; [`Offset::START`] when there is none yet.
    pub last: Offset,
    /// Why the log is closed, if it is.
    pub closed: Option<CloseReason>,
}

/// Events that [`EventLog::read`] found.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The events, in order and without a gap.
    pub events: Vec<(Offset, Bytes)>,
    /// Whether anything can follow them.
    pub end: Option<BatchEnd>,
}

/// Why nothing follows a [`Batch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchEnd {
    /// The log is closed.
    Closed(CloseReason),
    /// The producer's lease has run out and nobody closed the log.
    ProducerLost,
}

/// A future of an [`EventLog`], which may cross threads.
pub type LogFuture<'a, T> = BoxFuture<'a, Result<T, LogError>>;

/// Keeps the events of runs, each as one line of JSON.
pub trait EventLog: fmt::Debug + Send + Sync + 'static {
    /// Makes an empty log and takes its lease. [`LogError::Exists`] when the key is taken.
    fn open<'a>(&'a self, key: &'a LogKey, options: &'a LogOptions) -> LogFuture<'a, ()>;

    /// Appends one event, renews the lease and gives the event's offset.
    fn append<'a>(&'a self, key: &'a LogKey, line: Bytes) -> LogFuture<'a, Offset>;

    /// Appends a last event, if there is one, and closes. Closing again does nothing at all.
    fn close<'a>(
        &'a self,
        key: &'a LogKey,
        last: Option<Bytes>,
        reason: CloseReason,
    ) -> LogFuture<'a, ()>;

    /// Closes as [`close`](Self::close) does, for a writer that is dropped: it must not block and
    /// cannot be awaited. An implementation that cannot do that lets the lease run out.
    fn abandon(&self, key: &LogKey, last: Bytes);

    /// Renews the producer's lease.
    fn renew<'a>(&'a self, key: &'a LogKey) -> LogFuture<'a, ()>;

    /// Reads at most `max` events after an offset; waits for the first one up to `wait`.
    fn read<'a>(
        &'a self,
        key: &'a LogKey,
        after: Offset,
        max: usize,
        wait: Duration,
    ) -> LogFuture<'a, Batch>;

    /// Says where a log stands.
    fn head<'a>(&'a self, key: &'a LogKey) -> LogFuture<'a, Head>;

    /// Gives direct access when the log is in this process, so that a reader is a waker in the log
    /// and nothing is boxed for an event. None: this is not such a log.
    fn local(&self, _key: &LogKey) -> Option<Result<Arc<dyn LocalLog>, LogError>> {
        None
    }
}

/// Names an attached reader of a [`LocalLog`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReaderId(pub u64);

/// The log of one run in this process.
pub trait LocalLog: fmt::Debug + Send + Sync {
    /// Appends one event.
    ///
    /// # Errors
    /// [`LogError::Closed`], or [`LogError::Full`] for a durable log.
    fn append(&self, line: Bytes) -> Result<Offset, LogError>;

    /// Appends a last event, if there is one, whatever the bounds say, and closes. Closing again
    /// does nothing.
    fn close(&self, last: Option<Bytes>, reason: CloseReason);

    /// Waits until the producer may be ahead by one more event.
    fn poll_credit(&self, cx: &mut Context<'_>) -> Poll<()>;

    /// Adds a reader. The one that `starts` gives credit, if none has done so before it.
    ///
    /// # Errors
    /// [`LogError::TooManyReaders`].
    fn attach(&self, after: After, starts: bool) -> Result<ReaderId, LogError>;

    /// Gives the reader's next event; none when the log is closed and read to its end.
    fn poll_next(
        &self,
        reader: ReaderId,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Offset, Bytes), LogError>>>;

    /// Removes a reader.
    fn detach(&self, reader: ReaderId);

    /// Says where the log stands.
    fn head(&self) -> Head;
}
