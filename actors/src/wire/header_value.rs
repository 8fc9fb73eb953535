//! Values of `Mcp-Name` and `Mcp-Param-*`: plain text, or Base64 between markers.
//! Spec: MCP 2026-07-28, Streamable HTTP, "Request headers".

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// Writes a value so that it survives as a header.
///
/// Visible ASCII with inner blanks and tabs stays as it is; everything else, and text that looks
/// like an encoded value, becomes `=?base64?…?=`.
#[must_use]
pub fn encode(value: &str) -> Cow<'_, str> {
    let sendable = value
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    let padded = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    let marked = value.starts_with(PREFIX) && value.ends_with(SUFFIX);
    if sendable && !padded && !marked {
        Cow::Borrowed(value)
    } else {
        Cow::Owned(format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(value)))
    }
}

/// Reads a value back; `None` when it stands between the markers and is not strict Base64 of UTF-8.
#[must_use]
pub fn decode(header: &str) -> Option<Cow<'_, str>> {
    let inner = header
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_suffix(SUFFIX));
    let Some(inner) = inner else {
        return Some(Cow::Borrowed(header));
    };
    let bytes = STANDARD.decode(inner).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_the_spec_shows() {
        let table = [
            ("echo", "echo"),
            ("", ""),
            ("a b\tc", "a b\tc"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("=?base64?only a prefix", "=?base64?only a prefix"),
        ];
        for (value, header) in table {
            assert_eq!(encode(value), header);
            assert_eq!(decode(header).as_deref(), Some(value), "{header}");
        }
    }

    #[test]
    fn loose_base64_is_refused() {
        for header in [
            "=?base64?SGVsbG8?=",
            "=?base64?SGVs!!!?=",
            "=?base64?/w==?=",
        ] {
            assert_eq!(decode(header), None, "{header}");
        }
        assert_eq!(decode("SGVsbG8=?=").as_deref(), Some("SGVsbG8=?="));
    }
}
