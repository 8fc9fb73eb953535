//! Percent-encoding, and the normal form in which URIs are compared.

/// RFC 3986 2.3.
pub(super) const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// RFC 3986 2.2.
pub(super) const fn is_reserved(byte: u8) -> bool {
    matches!(
        byte,
        b':' | b'/'
            | b'?'
            | b'#'
            | b'['
            | b']'
            | b'@'
            | b'!'
            | b'$'
            | b'&'
            | b'\''
            | b'('
            | b')'
            | b'*'
            | b'+'
            | b','
            | b';'
            | b'='
    )
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

/// Reads a `%xx` at the start of the text.
fn triplet(text: &[u8]) -> Option<u8> {
    match text {
        [b'%', high, low, ..] => Some(hex(*high)? << 4 | hex(*low)?),
        _ => None,
    }
}

fn push_triplet(out: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    for digit in [byte >> 4, byte & 15] {
        out.extend(
            DIGITS
                .get(usize::from(digit))
                .map(|digit| char::from(*digit)),
        );
    }
}

/// Tells whether every `%` begins a `%xx`.
pub(super) fn is_well_encoded(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes
        .iter()
        .enumerate()
        .all(|(at, byte)| *byte != b'%' || bytes.get(at..).and_then(triplet).is_some())
}

/// Appends a value: as it is where the characters may stand, else encoded. Where reserved
/// characters may stand, so may what is encoded already (RFC 6570 3.2.3).
pub(super) fn append_encoded(out: &mut String, value: &str, allow_reserved: bool) {
    let bytes = value.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let kept = is_unreserved(byte)
            || allow_reserved && (is_reserved(byte) || bytes.get(at..).and_then(triplet).is_some());
        if kept {
            out.push(char::from(byte));
        } else {
            push_triplet(out, byte);
        }
    }
}

/// Gives the normal form of a URI or of a part of it: what may not stand in a URI is encoded,
/// what need not be encoded is not, and hexadecimal digits are capitals.
#[must_use]
pub fn normalize(uri: &str) -> String {
    let bytes = uri.as_bytes();
    let mut out = String::with_capacity(uri.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let decoded = bytes.get(at..).and_then(triplet);
        match decoded {
            Some(decoded) => {
                if is_unreserved(decoded) {
                    out.push(char::from(decoded));
                } else {
                    push_triplet(&mut out, decoded);
                }
                at += 3;
            }
            None => {
                if is_unreserved(byte) || is_reserved(byte) {
                    out.push(char::from(byte));
                } else {
                    push_triplet(&mut out, byte);
                }
                at += 1;
            }
        }
    }
    out
}

/// Decodes a value; none if its bytes are not UTF-8.
pub(super) fn decode(value: &str) -> Option<String> {
    let bytes = value.as_bytes();
    let mut out = Vec::with_capacity(value.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match bytes.get(at..).and_then(triplet) {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).ok()
}
