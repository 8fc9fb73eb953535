//! What values need in memory.

use std::io;

use serde::Serialize;

struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Gives the bytes of a value as JSON, which is near what it needs in memory.
pub(super) fn json_bytes(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    // Counting cannot fail, and what is kept is JSON already.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}
