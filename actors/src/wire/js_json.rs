//! JSON as JavaScript writes it.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

/// Reads JSON that may have been written by JavaScript.
///
/// `JSON.stringify` writes half of a character, as is left of an emoji when a text is cut, as a lone
/// `\ud83d`. That is no Unicode, so it is read as U+FFFD, the character for what is broken.
///
/// # Errors
/// What is not JSON is the error of [`serde_json`].
pub fn from_js<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    // Hardly any text needs mending, so it is looked for only when reading has failed.
    serde_json::from_slice(json).or_else(|error| match mended(json) {
        Cow::Owned(mended) => serde_json::from_slice(&mended),
        Cow::Borrowed(_) => Err(error),
    })
}

/// Puts `\ufffd` in the place of every escaped surrogate that has no partner.
fn mended(json: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(rest) = json.get(at..).filter(|rest| !rest.is_empty()) {
        // A backslash stands in texts only, and what it escapes is skipped with it.
        let length = match (rest, escaped(rest)) {
            ([b'\\', ..], None) => 2,
            (_, None) => 1,
            (_, Some(unit)) => match unit {
                0xd800..=0xdbff if partner(rest) => 12,
                0xd800..=0xdfff => {
                    out.extend_from_slice(json.get(copied..at).unwrap_or_default());
                    out.extend_from_slice(b"\\ufffd");
                    copied = at + 6;
                    6
                }
                _ => 6,
            },
        };
        at += length;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    out.extend_from_slice(json.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

fn partner(rest: &[u8]) -> bool {
    let low = rest.get(6..).and_then(escaped);
    low.is_some_and(|unit| (0xdc00..=0xdfff).contains(&unit))
}

/// Gives the code unit of the `\uXXXX` that the text begins with.
fn escaped(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(digit).ok()?)
    })
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use serde_json::{Value, json};

    use super::*;

    fn read(json: &str) -> Value {
        from_js(json.as_bytes()).unwrap()
    }

    #[test]
    fn half_a_character_is_a_broken_one() {
        assert_eq!(read(r#"["hi \ud83d"]"#), json!(["hi \u{fffd}"]));
        assert_eq!(
            read(r#"["\uDE00!","\ud83dx"]"#),
            json!(["\u{fffd}!", "\u{fffd}x"])
        );
        assert_eq!(read(r#"["\ud83d\ud83d\ude00"]"#), json!(["\u{fffd}😀"]));
        assert_eq!(
            read(r#"{"\ud83d":"\\ud83d \ud83d\n\u0041"}"#),
            json!({"\u{fffd}": "\\ud83d \u{fffd}\nA"})
        );
    }

    #[test]
    fn whole_characters_stay_and_what_is_no_json_is_none() {
        assert_eq!(read(r#"["\ud83d\ude00","é"]"#), json!(["😀", "é"]));
        for broken in [
            r#"["\ud83d"#,
            r#"["\ud83"]"#,
            r#"["\u"]"#,
            r#"["\"#,
            "",
            "{\"a\":\"\\ud83d\",}",
        ] {
            assert!(from_js::<Value>(broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
