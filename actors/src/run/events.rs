//! The events of a run, as subscribers get them.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use futures_util::stream::Stream;
use serde_json::Value;

use super::Outcome;
use crate::{
    ports::{
        clock::{Clock, SystemClock},
        event_log::{EventCursor, LogError},
    },
    wire::{
        agui::Event,
        ids::{Offset, RunId},
    },
};

/// One event of a run: one line of JSON, encoded once for all readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEvent(Bytes);

impl RunEvent {
    /// Takes an event as it stands in the log.
    #[must_use]
    pub const fn new(line: Bytes) -> Self {
        Self(line)
    }

    /// Gives the line, without a line end.
    #[must_use]
    pub const fn line(&self) -> &Bytes {
        &self.0
    }

    /// Reads the event.
    ///
    /// # Errors
    /// Fails for an event of a kind that this version does not know.
    pub fn event(&self) -> Result<Event, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// Gives the event's name, for example `TEXT_MESSAGE_CONTENT`.
    #[must_use]
    pub fn name(&self) -> String {
        self.text("type").unwrap_or_default()
    }

    /// Gives a member that is a text, for example the `delta` of a piece of an answer.
    #[must_use]
    pub fn text(&self, member: &str) -> Option<String> {
        match self.value().get_mut(member)?.take() {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Reads the event as JSON.
    #[must_use]
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.0).unwrap_or_default()
    }
}

/// The events of a run with their offsets, from where the subscription begins to the run's end.
///
/// A reader that falls behind the bound of the log gets a RUN_ERROR `lagged` of its own and may
/// subscribe again.
#[derive(Debug)]
pub struct RunEvents {
    cursor: EventCursor,
    last: Offset,
    over: bool,
}

impl RunEvents {
    /// Reads from a cursor.
    #[must_use]
    pub const fn new(cursor: EventCursor) -> Self {
        Self {
            cursor,
            last: Offset::START,
            over: false,
        }
    }
}

impl Stream for RunEvents {
    type Item = (Offset, RunEvent);

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.over {
            return Poll::Ready(None);
        }
        match ready!(Pin::new(&mut self.cursor).poll_next(cx)) {
            Some(Ok((offset, line))) => {
                self.last = offset;
                Poll::Ready(Some((offset, RunEvent(line))))
            }
            Some(Err(error)) => {
                self.over = true;
                Poll::Ready(Some((self.last.next(), RunEvent(last_line(&error)))))
            }
            None => {
                self.over = true;
                Poll::Ready(None)
            }
        }
    }
}

fn last_line(error: &LogError) -> Bytes {
    let event = Event::run_error(SystemClock.now_ms(), error.to_string(), Some(error.code()));
    let mut line = BytesMut::new();
    match event.encode(&mut line) {
        Ok(()) => line.freeze(),
        Err(_) => Bytes::from_static(br#"{"type":"RUN_ERROR","message":"the event log failed"}"#),
    }
}

/// What another actor gets that subscribes to a run with its `Recipient`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RunUpdate {
    /// The run says something.
    Event {
        /// The run.
        run: RunId,
        /// The place of the event in the run.
        offset: Offset,
        /// The event.
        event: RunEvent,
    },
    /// The run has ended; nothing follows.
    Ended {
        /// The run.
        run: RunId,
        /// How it ended.
        outcome: Outcome,
    },
}

impl actix::Message for RunUpdate {
    type Result = ();
}
