//! Do the headers say what the body says? Spec: MCP 2026-07-28, "Request headers".

use std::borrow::Cow;

use serde_json::{Value, json};

use super::param_headers::{ParamHeader, safe_integer};
use crate::wire::{
    header_value,
    http::Headers,
    jsonrpc::{RpcError, code},
};

/// The longest part of a value that an error quotes.
const MAX_QUOTE_CHARS: usize = 100;
/// What is said of a header that is not [`legible`].
pub const ILLEGIBLE: &str = "came twice or holds characters that a header may not hold";

/// Compares a header that mirrors the body word for word.
///
/// # Errors
/// -32020 when it is missing, not printable, or differs.
pub fn check_plain(name: &str, header: Option<&[u8]>, body: &str) -> Result<(), RpcError> {
    let header = printable(name, header, body)?;
    if header == body {
        return Ok(());
    }
    Err(mismatch(name, Some(header), body, "differs from the body"))
}

/// Compares a header whose value may be encoded as `=?base64?…?=`.
///
/// # Errors
/// -32020 when it is missing, not printable, not strict Base64, or differs.
pub fn check_encoded(name: &str, header: Option<&[u8]>, body: &str) -> Result<(), RpcError> {
    let header = printable(name, header, body)?;
    let Some(decoded) = header_value::decode(header) else {
        return Err(mismatch(
            name,
            Some(header),
            body,
            "is not strict Base64 of UTF-8",
        ));
    };
    if decoded == body {
        return Ok(());
    }
    Err(mismatch(
        name,
        Some(&decoded),
        body,
        "differs from the body",
    ))
}

/// Compares `Mcp-Param-*` with the arguments that they mirror.
///
/// # Errors
/// -32020 for the first header that is missing, malformed or differs.
pub fn check_params(
    annotated: &[ParamHeader],
    headers: &dyn Headers,
    arguments: &Value,
) -> Result<(), RpcError> {
    for param in annotated {
        let value = param
            .path
            .iter()
            .try_fold(arguments, |value, name| value.get(name));
        let name = format!("mcp-param-{}", param.name.to_ascii_lowercase());
        let header = headers.get(&name);
        let Some(expected) = value.and_then(mirrored) else {
            // Such a header is not expected, and is no reason to refuse as long as it is one.
            if header.is_some() {
                printable(&name, header, "")?;
            }
            continue;
        };
        if value.is_some_and(Value::is_number) {
            check_number(&name, header, &expected)?;
        } else {
            check_encoded(&name, header, &expected)?;
        }
    }
    Ok(())
}

/// The text of a value that is mirrored; null, objects and arrays are not, and neither are numbers
/// that no client may mirror.
fn mirrored(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Bool(flag) => Some(Cow::Borrowed(if *flag { "true" } else { "false" })),
        Value::Number(number) => safe_integer(number).map(|integer| integer.to_string().into()),
        _ => None,
    }
}

/// Integers compare as numbers: `42` equals `42.0`.
fn check_number(name: &str, header: Option<&[u8]>, body: &str) -> Result<(), RpcError> {
    let header = printable(name, header, body)?;
    let equal = header == body
        || matches!((header.parse::<f64>(), body.parse::<f64>()), (Ok(one), Ok(other)) if one == other);
    if equal {
        return Ok(());
    }
    Err(mismatch(name, Some(header), body, "differs from the body"))
}

fn printable<'a>(name: &str, header: Option<&'a [u8]>, body: &str) -> Result<&'a str, RpcError> {
    let Some(header) = header else {
        return Err(mismatch(name, None, body, "is missing"));
    };
    legible(header).ok_or_else(|| mismatch(name, None, body, ILLEGIBLE))
}

/// Gives the text of a header, unless it came twice or holds characters that a header may not hold.
#[must_use]
pub fn legible(header: &[u8]) -> Option<&str> {
    let visible = header
        .iter()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    std::str::from_utf8(header).ok().filter(|_| visible)
}

fn mismatch(name: &str, header: Option<&str>, body: &str, reason: &str) -> RpcError {
    RpcError::new(
        code::HEADER_MISMATCH,
        format!("the headers and the body disagree: {name} {reason}"),
    )
    .with_data(json!({"mismatch": {
        "name": name,
        "header": header.map(quote),
        "body": quote(body),
    }}))
}

/// Gives as much of a text as an error quotes.
#[must_use]
pub fn quote(text: &str) -> String {
    text.chars().take(MAX_QUOTE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::param_headers::annotated;

    #[test]
    fn a_mirror_is_there_printable_and_equal() {
        assert_eq!(
            check_plain("mcp-method", Some(b"tools/list"), "tools/list"),
            Ok(())
        );
        for header in [
            None,
            Some(b"TOOLS/LIST".as_slice()),
            Some(b"tools/list\0"),
            Some(b"\0"),
            Some(b""),
        ] {
            let error = check_plain("mcp-method", header, "tools/list").map_err(|error| error.code);
            assert_eq!(error, Err(code::HEADER_MISMATCH), "{header:?}");
        }
    }

    #[test]
    fn encoded_values_are_decoded_strictly() {
        for (header, body, fits) in [
            ("echo", "echo", true),
            ("=?base64?SGVsbG8=?=", "Hello", true),
            ("=?base64?SGVsbG8?=", "Hello", false),
            ("=?base64?SGV%bG8=?=", "Hello", false),
            ("=?base64?SGVsbG8=", "=?base64?SGVsbG8=", true),
            ("SGVsbG8=?=", "SGVsbG8=?=", true),
            ("=?BASE64?SGVsbG8=?=", "Hello", false),
            ("=?base64?SGVsbG8sIOS4lueVjA==?=", "Hello, 世界", true),
        ] {
            let checked = check_encoded("mcp-name", Some(header.as_bytes()), body);
            assert_eq!(checked.is_ok(), fits, "{header}");
        }
    }

    #[test]
    fn mirrored_arguments_are_compared_by_type() {
        let schema = json!({"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "count":{"type":"integer","x-mcp-header":"Count"},
            "deep":{"type":"object","properties":{"on":{"type":"boolean","x-mcp-header":"On"}}}
        }});
        let annotated = annotated(&schema).unwrap_or_default();
        assert_eq!(annotated.len(), 3);
        let ok = |headers: &[(&'static str, &'static str)], arguments: Value| {
            check_params(&annotated, &headers.to_vec(), &arguments).is_ok()
        };
        assert!(ok(&[("Mcp-Param-Region", "eu")], json!({"region":"eu"})));
        assert!(ok(&[("Mcp-Param-Region", "")], json!({"region":""})));
        assert!(!ok(&[], json!({"region":"eu"})));
        assert!(!ok(&[("Mcp-Param-Region", "us")], json!({"region":"eu"})));
        assert!(ok(&[("Mcp-Param-Other", "us")], json!({"region":null})));
        assert!(ok(&[("Mcp-Param-Region", "us")], json!({"region":null})));
        assert!(!ok(&[("Mcp-Param-Region", "u\u{7f}s")], json!({})));
        assert!(ok(&[("Mcp-Param-Count", "42.0")], json!({"count":42})));
        assert!(!ok(&[("Mcp-Param-Count", "43")], json!({"count":42})));
        assert!(ok(&[("Mcp-Param-Count", "42")], json!({"count":42.0})));
        // What no client may mirror is not expected: the schema has its own word on it.
        let far = 1_u64 << 53;
        assert!(ok(&[], json!({"count":far})) && ok(&[], json!({"count":1.5})));
        assert!(!ok(&[], json!({"count":far - 1})));
        assert!(ok(&[("Mcp-Param-On", "true")], json!({"deep":{"on":true}})));
        assert!(!ok(
            &[("Mcp-Param-On", "True")],
            json!({"deep":{"on":true}})
        ));
    }
}
