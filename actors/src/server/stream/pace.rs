//! How often a call may tell its progress.

use std::time::Duration;

use tokio::time::Instant;

/// Reports of progress that a call may make at once.
const BURST: u32 = 64;
/// After those, one of them is free again every so often. People see no more of a bar, and a loop
/// that reports every item costs its client no more than this.
const INTERVAL: Duration = Duration::from_millis(50);

/// Says which reports go out. Spec: MCP "Progress" wants them limited.
#[derive(Debug)]
pub(super) struct Pace {
    spare: u32,
    /// When one was last made free.
    since: Instant,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            spare: BURST,
            since: Instant::now(),
        }
    }

    /// Tells whether a report goes out now.
    pub(super) fn admits(&mut self) -> bool {
        let free = self.since.elapsed().as_nanos() / INTERVAL.as_nanos();
        if free > 0 {
            let free = u32::try_from(free).unwrap_or(u32::MAX);
            self.spare = self.spare.saturating_add(free).min(BURST);
            self.since += INTERVAL * free.min(BURST);
            if self.spare == BURST {
                self.since = Instant::now();
            }
        }
        let admits = self.spare > 0;
        self.spare = self.spare.saturating_sub(1);
        admits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_goes_out_and_then_twenty_a_second() {
        let mut pace = Pace::new();
        let count = |pace: &mut Pace| (0..1_000).filter(|_| pace.admits()).count();
        assert_eq!(count(&mut pace), 64);
        tokio::time::advance(Duration::from_millis(49)).await;
        assert_eq!(count(&mut pace), 0);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(count(&mut pace), 1);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(count(&mut pace), 20);
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert_eq!(count(&mut pace), 64);
    }
}
