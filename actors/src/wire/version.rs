//! Protocol versions and the two eras they fall into.

/// The newest version: stateless requests, no handshake.
pub const V2026_07_28: &str = "2026-07-28";
/// The newest version with the `initialize` handshake.
pub const V2025_11_25: &str = "2025-11-25";
/// The version that ended batches and brought elicitation.
pub const V2025_06_18: &str = "2025-06-18";
/// The version that brought Streamable HTTP.
pub const V2025_03_26: &str = "2025-03-26";
/// The first version. On Streamable HTTP it has the wire of 2025-03-26.
pub const V2024_11_05: &str = "2024-11-05";

/// The modern versions that are spoken here, newest first.
pub const MODERN: [&str; 1] = [V2026_07_28];
/// The legacy versions that are spoken here, newest first.
pub const LEGACY: [&str; 4] = [V2025_11_25, V2025_06_18, V2025_03_26, V2024_11_05];

/// Tells whether a version belongs to the modern era. Versions compare as text.
#[must_use]
pub fn is_modern(version: &str) -> bool {
    is_date(version) && version >= V2026_07_28
}

/// Picks the newest of `spoken` that the peer offers.
#[must_use]
pub fn newest_common<'a>(
    spoken: &[&'static str],
    offered: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'static str> {
    let mut offers = spoken.iter().copied();
    offers.find(|version| offered.clone().any(|offer| offer == *version))
}

fn is_date(version: &str) -> bool {
    version.len() == 10
        && version.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dates_from_2026_on_are_modern() {
        for modern in ["2026-07-28", "2026-12-01", "2099-01-01"] {
            assert!(is_modern(modern), "{modern}");
        }
        for other in [
            "2025-11-25",
            "2024-11-05",
            "v999.0.0",
            "",
            "2026-7-28",
            "2026-07-27",
        ] {
            assert!(!is_modern(other), "{other}");
        }
    }

    #[test]
    fn the_newest_common_version_wins() {
        let offered = ["2024-11-05", "2025-06-18", "2026-07-28"];
        assert_eq!(
            newest_common(&LEGACY, offered.into_iter()),
            Some(V2025_06_18)
        );
        assert_eq!(
            newest_common(&MODERN, offered.into_iter()),
            Some(V2026_07_28)
        );
        assert_eq!(newest_common(&MODERN, ["2027-01-01"].into_iter()), None);
    }
}
