//! The one producer of a log.

use std::{future::poll_fn, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};

use super::{CloseReason, EventLog, LocalLog, LogError, LogKey, LogOptions};
use crate::{
    ports::clock::{Clock, SystemClock},
    wire::{agui::Event, ids::Offset},
};

/// Events are cut from blocks of this size: about 16 deltas share one allocation.
const ARENA_BYTES: usize = 2048;
/// A block with less room than this is left, so that a delta is not moved while it is written.
const ARENA_REST: usize = 192;

/// A lease is renewed this often in its time, so that one lost renewal does no harm.
const LEASE_SHARE: u32 = 3;

/// Writes the events of one run; there is one for each log.
///
/// Whatever happens, a log ends in RUN_FINISHED or RUN_ERROR: closing one whose last event is
/// neither adds a RUN_ERROR, and so does dropping the writer without closing.
#[derive(Debug)]
pub struct LogWriter {
    log: Arc<dyn EventLog>,
    key: LogKey,
    local: Option<Arc<dyn LocalLog>>,
    lease: Duration,
    arena: BytesMut,
    end: End,
    closed: bool,
}

/// What tells the readers of another process that a silent producer is alive.
#[derive(Clone, Debug)]
pub struct Lease {
    log: Arc<dyn EventLog>,
    key: LogKey,
    every: Duration,
}

impl Lease {
    /// Says how often it has to be renewed.
    #[must_use]
    pub const fn every(&self) -> Duration {
        self.every
    }

    /// Renews it.
    ///
    /// # Errors
    /// What the log's storage says.
    pub async fn renew(&self) -> Result<(), LogError> {
        self.log.renew(&self.key).await
    }
}

/// What the last event was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    Finished,
    Failed,
}

impl LogWriter {
    /// Makes the log of a run and becomes its producer.
    ///
    /// # Errors
    /// [`LogError::Exists`] when a run of this owner and id is live or was a moment ago.
    pub async fn open(
        log: &Arc<dyn EventLog>,
        key: LogKey,
        options: LogOptions,
    ) -> Result<Self, LogError> {
        log.open(&key, &options).await?;
        let local = log.local(&key).transpose()?;
        Ok(Self {
            log: Arc::clone(log),
            key,
            local,
            lease: options.lease,
            arena: BytesMut::with_capacity(ARENA_BYTES),
            end: End::Open,
            closed: false,
        })
    }

    /// Names the log.
    #[must_use]
    pub const fn key(&self) -> &LogKey {
        &self.key
    }

    /// Appends an event; readers are woken before this returns.
    ///
    /// # Errors
    /// [`LogError::Closed`] after RUN_ERROR, because nothing follows it; [`LogError::Full`] when
    /// the log is durable and has no room; what the log's storage says.
    pub async fn append(&mut self, event: &Event) -> Result<Offset, LogError> {
        if self.end == End::Failed {
            return Err(LogError::Closed);
        }
        let line = encode(&mut self.arena, event)?;
        let offset = match &self.local {
            Some(local) => local.append(line)?,
            None => self.log.append(&self.key, line).await?,
        };
        self.end = match (event.is_error(), event.is_terminal()) {
            (true, _) => End::Failed,
            (false, true) => End::Finished,
            (false, false) => End::Open,
        };
        Ok(offset)
    }

    /// Waits until the reader that started the run has read enough. Returns at once for a run
    /// without such a reader, and for a log of another process, which has its own bounds.
    pub async fn credit(&self) {
        if let Some(local) = &self.local {
            poll_fn(|cx| local.poll_credit(cx)).await;
        }
    }

    /// Gives the lease that has to be renewed while nothing is appended. None when the log is in
    /// this process: it sees the writer go.
    #[must_use]
    pub fn lease(&self) -> Option<Lease> {
        self.local.is_none().then(|| Lease {
            log: Arc::clone(&self.log),
            key: self.key.clone(),
            every: self.lease / LEASE_SHARE,
        })
    }

    /// Closes the log. Without a terminal event before it, a RUN_ERROR is added that says why.
    ///
    /// # Errors
    /// What the log's storage says.
    pub async fn close(mut self, reason: CloseReason) -> Result<(), LogError> {
        self.closed = true;
        let last = (self.end == End::Open).then(|| last_words(&mut self.arena, reason));
        match &self.local {
            Some(local) => local.close(last, reason),
            None => self.log.close(&self.key, last, reason).await?,
        }
        Ok(())
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        let last = match self.end {
            End::Failed => None,
            End::Open | End::Finished => {
                Some(last_words(&mut self.arena, CloseReason::ProducerLost))
            }
        };
        match (&self.local, last) {
            (Some(local), last) => local.close(last, CloseReason::ProducerLost),
            (None, Some(last)) => self.log.abandon(&self.key, last),
            // The stream has its RUN_ERROR; readers end when the lease does.
            (None, None) => {}
        }
    }
}

fn encode(arena: &mut BytesMut, event: &Event) -> Result<Bytes, LogError> {
    if arena.capacity() < ARENA_REST {
        *arena = BytesMut::with_capacity(ARENA_BYTES);
    }
    if let Err(error) = event.encode(arena) {
        arena.clear();
        return Err(LogError::Encode(error));
    }
    Ok(arena.split().freeze())
}

/// The RUN_ERROR of a run that ends without a word of its own.
pub(super) fn last_words(arena: &mut BytesMut, reason: CloseReason) -> Bytes {
    let (message, code) = match reason {
        CloseReason::Cancelled => ("Request aborted", "aborted"),
        CloseReason::ProducerLost => ("producer lost", "producer_lost"),
        CloseReason::Completed | CloseReason::Interrupted | CloseReason::Failed => {
            ("the run ended without a result", "incomplete")
        }
    };
    let event = Event::run_error(SystemClock.now_ms(), message, Some(code));
    encode(arena, &event).unwrap_or_else(|_| {
        Bytes::from_static(br#"{"type":"RUN_ERROR","message":"producer lost"}"#)
    })
}
