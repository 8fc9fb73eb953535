//! Splits what comes in into lines.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How much is read at once.
const CHUNK: usize = 16 * 1024;
/// Some editors and shells begin a file or a pipe with it.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What came in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line without its end; never blank.
    Text(Bytes),
    /// The beginning of a line that is longer than allowed; the rest of it is skipped.
    TooLong,
}

/// The lines of an input.
pub(super) struct Lines<R> {
    input: R,
    buffer: BytesMut,
    /// How much of the buffer holds no end of a line.
    scanned: usize,
    limit: usize,
    /// The rest of the line belongs to one that was refused.
    skipping: bool,
    at_start: bool,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R, limit: usize) -> Self {
        Self {
            input,
            buffer: BytesMut::new(),
            scanned: 0,
            limit,
            skipping: false,
            at_start: true,
            ended: false,
        }
    }

    /// Gives the next line; nothing when the input has ended. May be dropped while it waits.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            while let Some(line) = self.take_line() {
                if let Some(line) = self.judge(line) {
                    return Ok(Some(line));
                }
            }
            if self.ended {
                return Ok(None);
            }
            if self.buffer.len() > self.limit {
                self.buffer.clear();
                self.scanned = 0;
                if !std::mem::replace(&mut self.skipping, true) {
                    return Ok(Some(Line::TooLong));
                }
            }
            self.buffer.reserve(CHUNK);
            self.ended = self.input.read_buf(&mut self.buffer).await? == 0;
        }
    }

    /// Waits until the input ends, and gives nothing of it.
    pub(super) async fn skip_rest(&mut self) -> io::Result<()> {
        while !self.ended {
            self.buffer.clear();
            self.buffer.reserve(CHUNK);
            self.ended = self.input.read_buf(&mut self.buffer).await? == 0;
        }
        Ok(())
    }

    /// Takes a line off the buffer; the last one may lack its end.
    fn take_line(&mut self) -> Option<BytesMut> {
        let fresh = self.buffer.get(self.scanned..).unwrap_or_default();
        match fresh.iter().position(|byte| *byte == b'\n') {
            Some(at) => {
                let line = self.buffer.split_to(self.scanned + at + 1);
                self.scanned = 0;
                Some(line)
            }
            None if self.ended && !self.buffer.is_empty() => {
                self.scanned = 0;
                Some(self.buffer.split())
            }
            None => {
                self.scanned = self.buffer.len();
                None
            }
        }
    }

    fn judge(&mut self, line: BytesMut) -> Option<Line> {
        if std::mem::take(&mut self.skipping) {
            return None;
        }
        let line = line.freeze();
        let mut text = line.trim_ascii();
        if std::mem::take(&mut self.at_start) {
            text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        }
        if text.is_empty() {
            return None;
        }
        if text.len() > self.limit {
            return Some(Line::TooLong);
        }
        Some(Line::Text(line.slice_ref(text)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]

    use super::*;

    async fn lines(input: &[u8], limit: usize) -> Vec<String> {
        let mut lines = Lines::new(input, limit);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            found.push(match line {
                Line::Text(text) => String::from_utf8_lossy(&text).into_owned(),
                Line::TooLong => "TOO LONG".to_owned(),
            });
        }
        found
    }

    #[tokio::test]
    async fn lines_end_in_every_usual_way() {
        // B012, B074
        for (input, expected) in [
            ("a\nb\n", vec!["a", "b"]),
            ("a\r\n\r\n\n  \nb", vec!["a", "b"]),
            ("\u{feff}a\n\u{feff}b\n", vec!["a", "\u{feff}b"]),
            ("", vec![]),
            ("\n", vec![]),
        ] {
            assert_eq!(lines(input.as_bytes(), 100).await, expected, "{input:?}");
        }
    }

    #[tokio::test]
    async fn a_line_beyond_the_bound_is_skipped_to_its_end() {
        let long = "x".repeat(3 * CHUNK);
        for limit in [10, CHUNK, 3 * CHUNK - 1] {
            let input = format!("a\n{long}\nb\n{long}");
            let expected = ["a", "TOO LONG", "b", "TOO LONG"];
            assert_eq!(lines(input.as_bytes(), limit).await, expected, "{limit}");
        }
        let input = format!("{long}\nb");
        let whole = lines(input.as_bytes(), 3 * CHUNK).await;
        assert_eq!(whole, [long.as_str(), "b"]);
    }
}
