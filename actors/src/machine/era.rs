//! Which era does a request belong to? Spec: MCP 2026-07-28, "Versioning".

use crate::wire::version::{LEGACY, V2025_03_26, is_modern};

/// How a request is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// 2026-07-28 and later: version and capabilities are in every request.
    Modern,
    /// Up to 2025-11-25, in this version.
    Legacy(&'static str),
    /// A 2025 request that names a version nobody knows.
    Unknown,
}

impl Era {
    /// Tells whether the request is of the modern era.
    #[must_use]
    pub const fn is_modern(self) -> bool {
        matches!(self, Self::Modern)
    }
}

/// Decides by the version header and by the version in `_meta`, never by the method.
#[must_use]
pub fn choose(header: Option<&[u8]>, meta: Option<&str>) -> Era {
    let header = header.map(|value| std::str::from_utf8(value).unwrap_or_default());
    let Some(header) = header else {
        return match meta {
            Some(_) => Era::Modern,
            // The version before there was a header.
            None => Era::Legacy(V2025_03_26),
        };
    };
    if is_modern(header) {
        return Era::Modern;
    }
    let known = LEGACY.into_iter().find(|version| *version == header);
    match (known, meta) {
        (None, Some(_)) => Era::Modern,
        (None, None) => Era::Unknown,
        (Some(_), Some(meta)) if is_modern(meta) => Era::Modern,
        (Some(version), _) => Era::Legacy(version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_and_meta_decide() {
        let table = [
            (Some("2026-07-28"), None, Era::Modern),
            (Some("2026-07-28"), Some("v999"), Era::Modern),
            (Some("2027-01-01"), None, Era::Modern),
            (Some("v999.0.0"), Some("v999.0.0"), Era::Modern),
            (Some("v999.0.0"), None, Era::Unknown),
            (None, Some("2026-07-28"), Era::Modern),
            (None, Some("2025-11-25"), Era::Modern),
            (Some("2025-06-18"), Some("2026-07-28"), Era::Modern),
            (
                Some("2025-06-18"),
                Some("2025-06-18"),
                Era::Legacy("2025-06-18"),
            ),
            (Some("2025-11-25"), None, Era::Legacy("2025-11-25")),
            (Some("2024-11-05"), None, Era::Legacy("2024-11-05")),
            (None, None, Era::Legacy("2025-03-26")),
        ];
        for (header, meta, era) in table {
            assert_eq!(
                choose(header.map(str::as_bytes), meta),
                era,
                "{header:?} {meta:?}"
            );
        }
        assert_eq!(choose(Some(b"\xff"), None), Era::Unknown);
    }
}
