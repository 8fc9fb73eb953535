//! Server-sent events without IO: bytes in, events out. Spec: WHATWG HTML §9.2.
//!
//! One decoder reads one stream. It holds at most one unfinished event, and that is bounded.

use std::collections::VecDeque;

/// Bounds one event: its data and its unfinished line together.
///
/// A tool result of some megabytes fits; a peer that never ends an event does not fill the memory.
pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// One event that carries data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field; empty means `message`.
    pub event: String,
    /// The `data` lines, joined by line feeds. Empty for the events that 2025 servers send to prime
    /// a stream.
    pub data: String,
    /// The last `id` of the stream at this event, if there was any.
    pub last_event_id: Option<String>,
}

impl SseEvent {
    /// Tells the type as the spec dispatches it: `message` unless named.
    #[must_use]
    pub fn kind(&self) -> &str {
        if self.event.is_empty() {
            "message"
        } else {
            &self.event
        }
    }
}

/// Why a stream cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SseError {
    /// One event is larger than the bound.
    #[error("an event is larger than {limit} bytes")]
    TooLarge {
        /// The bound in bytes.
        limit: usize,
    },
}

/// Reads a byte stream as events.
///
/// Lines end with CR, LF or CRLF, also when a chunk ends between the two. A byte order mark at the
/// start is skipped. Comments and unknown fields are ignored, ids with NUL too. An event without
/// a data field is not emitted, but its id is remembered, and so is `retry`.
#[derive(Debug)]
pub struct SseDecoder {
    limit: usize,
    start: Start,
    after_cr: bool,
    line: Vec<u8>,
    event: String,
    data: Option<String>,
    /// The `id` field as read; it counts from the next dispatch on.
    id: Option<String>,
    last_event_id: Option<String>,
    retry_ms: Option<u64>,
    events: VecDeque<SseEvent>,
    too_large: bool,
}

/// How much of the byte order mark has been seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Mark(usize),
    Passed,
}

const BYTE_ORDER_MARK: &[u8] = &[0xEF, 0xBB, 0xBF];

impl Default for SseDecoder {
    fn default() -> Self {
        Self::new(MAX_EVENT_BYTES)
    }
}

impl SseDecoder {
    /// Makes a decoder whose events have at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            start: Start::Mark(0),
            after_cr: false,
            line: Vec::new(),
            event: String::new(),
            data: None,
            id: None,
            last_event_id: None,
            retry_ms: None,
            events: VecDeque::new(),
            too_large: false,
        }
    }

    /// Reads the next bytes of the stream.
    ///
    /// # Errors
    /// [`SseError::TooLarge`] when one event grows over the bound; the events before it stay
    /// readable, and the decoder reads nothing further.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), SseError> {
        if self.too_large {
            return Err(self.over_limit());
        }
        let mut rest = self.skip_mark(chunk);
        while !rest.is_empty() {
            if self.after_cr {
                self.after_cr = false;
                if let Some(after) = rest.strip_prefix(b"\n") {
                    rest = after;
                    continue;
                }
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
            let used = self.line.len() + self.data.as_ref().map_or(0, String::len);
            if used + piece.len() > self.limit {
                return Err(self.over_limit());
            }
            let Some((ending, after)) = after.split_first() else {
                self.line.extend_from_slice(piece);
                break;
            };
            self.after_cr = *ending == b'\r';
            rest = after;
            if self.line.is_empty() {
                self.take_line(piece);
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(piece);
                self.take_line(&line);
                line.clear();
                self.line = line;
            }
        }
        Ok(())
    }

    /// Gives the next whole event.
    pub fn next_event(&mut self) -> Option<SseEvent> {
        self.events.pop_front()
    }

    /// Tells the last event id of the stream, also of events without data.
    #[must_use]
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref().filter(|id| !id.is_empty())
    }

    /// Tells how long the server wants a client to wait before it connects again, in milliseconds.
    #[must_use]
    pub const fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Ends the stream and tells whether it stopped inside an event.
    ///
    /// The unfinished event is dropped, as the spec says; a caller that waits for an answer knows
    /// by `true` that it was cut.
    pub fn finish(&mut self) -> bool {
        let cut = !self.line.is_empty() || self.data.is_some() || !self.event.is_empty();
        self.line.clear();
        self.data = None;
        self.event.clear();
        cut
    }

    fn over_limit(&mut self) -> SseError {
        self.too_large = true;
        self.line = Vec::new();
        self.data = None;
        SseError::TooLarge { limit: self.limit }
    }

    fn skip_mark<'chunk>(&mut self, chunk: &'chunk [u8]) -> &'chunk [u8] {
        let mut rest = chunk;
        while let Start::Mark(seen) = self.start {
            let Some((first, after)) = rest.split_first() else {
                return rest;
            };
            if BYTE_ORDER_MARK.get(seen) == Some(first) {
                rest = after;
                self.start = if seen + 1 == BYTE_ORDER_MARK.len() {
                    Start::Passed
                } else {
                    Start::Mark(seen + 1)
                };
            } else {
                self.line.extend(BYTE_ORDER_MARK.iter().take(seen));
                self.start = Start::Passed;
            }
        }
        rest
    }

    fn take_line(&mut self, line: &[u8]) {
        if line.is_empty() {
            self.dispatch();
            return;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = match colon {
            Some(0) => return,
            Some(at) => {
                let (field, value) = line.split_at(at);
                let value = value.strip_prefix(b":").unwrap_or(value);
                (field, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &b""[..]),
        };
        match field {
            b"data" => self.push_data(value),
            b"event" => self.event = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => {
                self.id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let digits = std::str::from_utf8(value).ok();
                self.retry_ms = digits.and_then(|text| text.parse().ok()).or(self.retry_ms);
            }
            _ => {}
        }
    }

    fn push_data(&mut self, value: &[u8]) {
        let text = String::from_utf8_lossy(value);
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(&text);
            }
            None => self.data = Some(text.into_owned()),
        }
    }

    fn dispatch(&mut self) {
        let event = std::mem::take(&mut self.event);
        self.last_event_id.clone_from(&self.id);
        let Some(data) = self.data.take() else {
            return;
        };
        self.events.push_back(SseEvent {
            event,
            data,
            last_event_id: self.last_event_id().map(str::to_owned),
        });
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
