//! How often a call may tell its progress.

use std::time::Duration;

use tokio::time::Instant;

/// How often a call may tell its progress. People see no more of a bar than the default, and a loop
/// that reports every item costs its client no more.
#[derive(Clone, Copy, Debug)]
pub(in crate::server) struct ProgressRate {
    /// Reports at once, at least 1.
    burst: u32,
    /// After those, one is free again every so often.
    interval: Duration,
}

impl ProgressRate {
    pub(in crate::server) fn new(burst: u32, per_second: u32) -> Self {
        Self {
            burst: burst.max(1),
            interval: Duration::from_secs(1) / per_second.clamp(1, 1_000_000),
        }
    }
}

impl Default for ProgressRate {
    fn default() -> Self {
        Self::new(64, 20)
    }
}

/// Says which reports go out. Spec: MCP "Progress" wants them limited.
#[derive(Debug)]
pub(super) struct Pace {
    rate: ProgressRate,
    spare: u32,
    /// When one was last made free.
    since: Instant,
}

impl Pace {
    pub(super) fn new(rate: ProgressRate) -> Self {
        Self {
            rate,
            spare: rate.burst,
            since: Instant::now(),
        }
    }

    /// Tells whether a report goes out now.
    pub(super) fn admits(&mut self) -> bool {
        let ProgressRate { burst, interval } = self.rate;
        let free = self.since.elapsed().as_nanos() / interval.as_nanos();
        if free > 0 {
            let free = u32::try_from(free).unwrap_or(u32::MAX);
            self.spare = self.spare.saturating_add(free).min(burst);
            self.since += interval * free.min(burst);
            if self.spare == burst {
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
        let mut pace = Pace::new(ProgressRate::default());
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

    #[tokio::test(start_paused = true)]
    async fn a_rate_has_at_least_one_report() {
        let mut pace = Pace::new(ProgressRate::new(0, 0));
        assert!(pace.admits());
        tokio::time::advance(Duration::from_millis(999)).await;
        assert!(!pace.admits());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(pace.admits());
    }
}
