//! How often somebody may do something: a bucket of tokens, kept as one number.
//!
//! The number is the time at which the bucket is full again (the generic cell rate algorithm of
//! ATM, which decides exactly as a bucket of tokens does and needs no refilling).

use std::time::Duration;

/// A bucket: how many tokens it holds, and how fast they come back. Times are microseconds of any
/// clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// How long one token takes to come back.
    interval: u64,
    /// How long an empty bucket takes to fill.
    room: u64,
}

impl Quota {
    /// Lets `per_period` tokens come back in a period, into a bucket that holds `burst`. Each
    /// number is at least 1.
    #[must_use]
    pub fn new(per_period: u32, period: Duration, burst: u32) -> Self {
        let period = u64::try_from(period.as_micros()).unwrap_or(u64::MAX);
        let interval = (period / u64::from(per_period.max(1))).max(1);
        Self {
            interval,
            room: interval.saturating_mul(u64::from(burst.max(1))),
        }
    }

    /// Takes a token from the bucket that is full again at `full_at`.
    ///
    /// # Errors
    /// How long the next token takes, when there is none.
    pub fn take(&self, full_at: &mut u64, now: u64) -> Result<(), Duration> {
        // An empty bucket is the worst there is: a clock that was set back locks nobody out.
        let empty = now.saturating_add(self.room);
        *full_at = (*full_at).clamp(now, empty);
        let taken = full_at.saturating_add(self.interval);
        if taken > empty {
            return Err(Duration::from_micros(taken - empty));
        }
        *full_at = taken;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    /// Takes as many tokens as there are.
    fn drain(quota: Quota, full_at: &mut u64, now: u64) -> usize {
        std::iter::repeat_with(|| quota.take(full_at, now))
            .take_while(Result::is_ok)
            .count()
    }

    #[test]
    fn a_bucket_gives_its_burst_and_then_the_rate() {
        let quota = Quota::new(10, Duration::from_secs(1), 3);
        let mut full_at = 0;
        let now = 100 * SECOND;
        assert_eq!(drain(quota, &mut full_at, now), 3);
        let wait = |full_at: &mut u64, now| quota.take(full_at, now).err();
        assert_eq!(wait(&mut full_at, now), Some(Duration::from_millis(100)));
        let later = now + 40_000;
        assert_eq!(wait(&mut full_at, later), Some(Duration::from_millis(60)));
        assert_eq!(drain(quota, &mut full_at, now + 100_000), 1);
        assert_eq!(drain(quota, &mut full_at, now + 300_000), 2);
        // However long nobody came, the bucket holds no more than a burst.
        assert_eq!(drain(quota, &mut full_at, 900 * SECOND), 3);
    }

    #[test]
    fn a_clock_that_was_set_back_locks_nobody_out() {
        let quota = Quota::new(1, Duration::from_secs(1), 2);
        let mut full_at = 0;
        assert_eq!(drain(quota, &mut full_at, 5_000 * SECOND), 2);
        let back = 10 * SECOND;
        assert_eq!(quota.take(&mut full_at, back), Err(Duration::from_secs(1)));
        assert_eq!(drain(quota, &mut full_at, back + SECOND), 1);
        assert_eq!(drain(quota, &mut full_at, back + 3 * SECOND), 2);
    }

    #[test]
    fn odd_numbers_are_made_sound() {
        let quota = Quota::new(0, Duration::ZERO, 0);
        assert!(quota.take(&mut 0, 0).is_ok());
        let quota = Quota::new(1, Duration::MAX, u32::MAX);
        assert!(quota.take(&mut 0, 1).is_ok());
    }
}
