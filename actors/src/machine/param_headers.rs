//! Arguments mirrored into `Mcp-Param-*` headers, as `x-mcp-header` in a schema asks for.
//! Spec: MCP 2026-07-28, Streamable HTTP, "Custom headers from tool parameters".

use std::collections::HashSet;

use serde_json::{Number, Value};

use crate::wire::header_value;

const ANNOTATION: &str = "x-mcp-header";
/// Schemas nest; a path deeper than this is not followed and makes the tool invalid.
const MAX_DEPTH: usize = 32;
/// The largest integer that every JSON peer reads exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// One annotated property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamHeader {
    /// The part of the header name after `Mcp-Param-`, as the schema writes it.
    pub name: String,
    /// The property names from the root of the arguments.
    pub path: Vec<String>,
}

/// An `x-mcp-header` that the spec does not allow; the tool must not be used over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamHeaderError {
    /// The value is no header name.
    #[error("x-mcp-header {0} is not a header name")]
    NotAToken(String),
    /// Two properties have the same header name.
    #[error("x-mcp-header {0:?} is there twice")]
    Duplicate(String),
    /// The property is neither string nor integer nor boolean.
    #[error("x-mcp-header {0:?} is on a property that is not a string, integer or boolean")]
    NotMirrorable(String),
    /// The annotation stands where it cannot be read from the arguments alone.
    #[error("x-mcp-header stands outside the properties")]
    Misplaced,
    /// The schema nests too deep.
    #[error("the schema nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// Finds the annotated properties of an input schema.
///
/// # Errors
/// [`ParamHeaderError`] says why the tool is invalid.
pub fn annotated(schema: &Value) -> Result<Vec<ParamHeader>, ParamHeaderError> {
    let mut found = Vec::new();
    walk(schema, &mut Vec::new(), &mut found)?;
    let mut names = HashSet::new();
    for header in &found {
        if !names.insert(header.name.to_ascii_lowercase()) {
            return Err(ParamHeaderError::Duplicate(header.name.clone()));
        }
    }
    Ok(found)
}

fn walk(
    schema: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<ParamHeader>,
) -> Result<(), ParamHeaderError> {
    if path.len() > MAX_DEPTH {
        return Err(ParamHeaderError::TooDeep);
    }
    let Value::Object(members) = schema else {
        return Ok(());
    };
    if let Some(annotation) = members.get(ANNOTATION) {
        if path.is_empty() {
            return Err(ParamHeaderError::Misplaced);
        }
        let name = header_name(annotation)?;
        let kind = members.get("type").and_then(Value::as_str);
        if !matches!(kind, Some("string" | "integer" | "boolean")) {
            return Err(ParamHeaderError::NotMirrorable(name));
        }
        found.push(ParamHeader {
            name,
            path: path.clone(),
        });
    }
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    path.push(name.clone());
                    walk(property, path, found)?;
                    path.pop();
                }
            }
            // Data, not schemas: an annotation in there is none.
            ("default" | "const" | "enum" | "examples" | ANNOTATION, _) => {}
            (_, value) if holds_annotation(value, 0)? => return Err(ParamHeaderError::Misplaced),
            _ => {}
        }
    }
    Ok(())
}

fn holds_annotation(value: &Value, depth: usize) -> Result<bool, ParamHeaderError> {
    if depth > 4 * MAX_DEPTH {
        return Err(ParamHeaderError::TooDeep);
    }
    match value {
        Value::Object(members) => {
            if members.contains_key(ANNOTATION) {
                return Ok(true);
            }
            any(members.values(), depth)
        }
        Value::Array(items) => any(items.iter(), depth),
        _ => Ok(false),
    }
}

fn any<'a>(
    values: impl Iterator<Item = &'a Value>,
    depth: usize,
) -> Result<bool, ParamHeaderError> {
    for value in values {
        if holds_annotation(value, depth + 1)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn header_name(annotation: &Value) -> Result<String, ParamHeaderError> {
    let is_token = |name: &str| !name.is_empty() && name.bytes().all(is_token_byte);
    match annotation.as_str() {
        Some(name) if is_token(name) => Ok(name.to_owned()),
        _ => Err(ParamHeaderError::NotAToken(annotation.to_string())),
    }
}

const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// Gives the headers of one call: name part and encoded value.
///
/// An argument that is absent or null has no header, and neither has one of the wrong type: the
/// server then says what is wrong with the arguments.
#[must_use]
pub fn mirrored(headers: &[ParamHeader], arguments: &Value) -> Vec<(String, String)> {
    let mirror = |header: &ParamHeader| {
        let value = header
            .path
            .iter()
            .try_fold(arguments, |value, name| value.get(name))?;
        Some((header.name.clone(), text(value)?))
    };
    headers.iter().filter_map(mirror).collect()
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(header_value::encode(text).into_owned()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => safe_integer(number).map(|integer| integer.to_string()),
        _ => None,
    }
}

/// Gives the integer that a header may carry: one that every JSON reader reads as the same.
pub(super) fn safe_integer(number: &Number) -> Option<i64> {
    let integer = number.as_i64().or_else(|| whole(number.as_f64()?))?;
    (integer.unsigned_abs() <= MAX_SAFE_INTEGER).then_some(integer)
}

/// Reads `42.0` as 42: the type `integer` allows it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the value is whole and within the safe range"
)]
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]

    use serde_json::json;

    use super::*;

    fn on(property: Value) -> Value {
        json!({"type": "object", "properties": {"p": property}})
    }

    #[test]
    fn invalid_annotations_make_the_tool_invalid() {
        let token = |text: &str| ParamHeaderError::NotAToken(text.to_owned());
        let table = [
            (
                on(json!({"type": "string", "x-mcp-header": ""})),
                token("\"\""),
            ),
            (
                on(json!({"type": "string", "x-mcp-header": null})),
                token("null"),
            ),
            (
                on(json!({"type": "string", "x-mcp-header": {}})),
                token("{}"),
            ),
            (
                on(json!({"type": "string", "x-mcp-header": []})),
                token("[]"),
            ),
            (
                on(json!({"type": "string", "x-mcp-header": "a b"})),
                token("\"a b\""),
            ),
            (
                on(json!({"type": "string", "x-mcp-header": "a:b"})),
                token("\"a:b\""),
            ),
            (
                on(json!({"type": "string", "x-mcp-header": "é"})),
                token("\"é\""),
            ),
            (
                on(json!({"type": "string", "x-mcp-header": "a\tb"})),
                token("\"a\\tb\""),
            ),
            (
                on(json!({"type": "number", "x-mcp-header": "N"})),
                ParamHeaderError::NotMirrorable("N".to_owned()),
            ),
            (
                on(json!({"x-mcp-header": "N"})),
                ParamHeaderError::NotMirrorable("N".to_owned()),
            ),
            (
                json!({"properties": {
                    "a": {"type": "string", "x-mcp-header": "Id"},
                    "b": {"type": "object", "properties": {"c": {"type": "string", "x-mcp-header": "id"}}},
                }}),
                ParamHeaderError::Duplicate("id".to_owned()),
            ),
            (
                on(json!({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}})),
                ParamHeaderError::Misplaced,
            ),
            (
                json!({"anyOf": [on(json!({"type": "string", "x-mcp-header": "A"}))]}),
                ParamHeaderError::Misplaced,
            ),
            (
                json!({"$defs": {"d": {"type": "string", "x-mcp-header": "A"}}}),
                ParamHeaderError::Misplaced,
            ),
            (
                json!({"type": "object", "x-mcp-header": "A"}),
                ParamHeaderError::Misplaced,
            ),
        ];
        for (schema, error) in table {
            assert_eq!(annotated(&schema), Err(error), "{schema}");
        }
    }

    #[test]
    fn arguments_are_mirrored_by_their_path() {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"flag": {"type": "boolean", "x-mcp-header": "Flag"}}},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "plain": {"type": "number", "default": {"x-mcp-header": "data"}},
            "none": {"type": "string", "x-mcp-header": "None"},
            "empty": {"type": "string", "x-mcp-header": "Empty"},
        }});
        let headers = annotated(&schema).unwrap();
        let arguments = json!({
            "region": "Hello, 世界", "deep": {"flag": false}, "count": 42.0, "plain": 1.5,
            "none": null, "empty": "",
        });
        let expected = [
            ("Region", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            ("Flag", "false"),
            ("Count", "42"),
            ("Empty", ""),
        ];
        let expected: Vec<_> = expected
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        assert_eq!(mirrored(&headers, &arguments), expected);
        for nothing in [json!({}), json!({"count": i64::MIN}), json!({"count": 1.5})] {
            assert_eq!(mirrored(&headers, &nothing), vec![]);
        }
    }
}
