//! Times as ISO 8601 writes them.

const DAY_MS: u64 = 86_400_000;
/// Days of 400 years, after which the calendar repeats.
const ERA_DAYS: u64 = 146_097;
/// Days from the first of March of the year 0 to the first of January 1970.
const BEFORE_1970: u64 = 719_468;

/// Writes milliseconds since 1970 as UTC, for example `2026-07-28T09:30:00.250Z`.
#[must_use]
pub fn iso8601(ms: u64) -> String {
    let days = ms / DAY_MS + BEFORE_1970;
    let (era, day) = (days / ERA_DAYS, days % ERA_DAYS);
    // Leap days stand at the end of years that begin in March.
    let year_of_era = (day - day / 1_460 + day / 36_524 - day / (ERA_DAYS - 1)) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let rest = ms % DAY_MS;
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1_000 % 60, rest % 1_000);
    format!("{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_leap_days_are_where_the_calendar_has_them() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (1_767_225_599_250, "2025-12-31T23:59:59.250Z"),
            (1_785_231_000_250, "2026-07-28T09:30:00.250Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso8601(ms), text);
        }
    }
}
