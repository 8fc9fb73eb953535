//! JSON exactly as a JavaScript client prints it, and the schema hashes built on it.

use serde_json::{Map, Number, Value, json};
use sha2::{Digest, Sha256};

/// What is hashed when there is no schema.
const ABSENT: &str = "undefined";

/// Writes a value as `JSON.stringify` does: no white space, members in their order.
#[must_use]
pub fn stringify(value: &Value) -> String {
    let mut out = String::new();
    write(value, Form::AsIs, &mut out);
    out
}

/// Writes a value with sorted members, as clients do before they hash a schema.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, Form::Sorted, &mut out);
    out
}

/// Hashes a schema, or the absence of one, as clients do.
#[must_use]
pub fn schema_hash(schema: Option<&Value>) -> String {
    let text = schema.map_or_else(|| ABSENT.to_owned(), canonical);
    text_hash(&text)
}

/// Hashes the schemas of the two decisions of an approval.
#[must_use]
pub fn approval_hash(approve: Option<&Value>, reject: Option<&Value>) -> String {
    let branches = json!({"approve": approve, "reject": reject});
    schema_hash(Some(&branches))
}

/// Hashes any value by its canonical text.
#[must_use]
pub fn value_hash(value: &Value) -> String {
    text_hash(&canonical(value))
}

fn text_hash(text: &str) -> String {
    let mut hex = String::from("sha256:");
    for byte in Sha256::digest(text.as_bytes()) {
        for nibble in [byte >> 4, byte & 0xf] {
            hex.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
        }
    }
    hex
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    AsIs,
    Sorted,
}

fn write(value: &Value, form: Form, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(number, form, out),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, form, out);
            }
            out.push(']');
        }
        Value::Object(members) => write_members(members, form, out),
    }
}

fn write_members(members: &Map<String, Value>, form: Form, out: &mut String) {
    let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
    if form == Form::Sorted {
        sorted.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
    }
    out.push('{');
    for (index, (name, value)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_text(name, out);
        out.push(':');
        write(value, form, out);
    }
    out.push('}');
}

fn write_number(number: &Number, form: Form, out: &mut String) {
    // Whole numbers keep their digits in results; a hash needs what a double would print.
    if form == Form::AsIs && !number.is_f64() {
        out.push_str(&number.to_string());
        return;
    }
    match number.as_f64() {
        Some(double) => out.push_str(ryu_js::Buffer::new().format(double)),
        None => out.push_str(&number.to_string()),
    }
}

fn write_text(text: &str, out: &mut String) {
    // serde_json escapes what JSON.stringify escapes, in the same spelling.
    out.push_str(&Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "a failed expectation is the test failing"
    )]
    use super::*;
    use crate::machine::interrupt::approval_response_schema;

    fn vectors() -> Vec<Value> {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../tests/fixtures/agui/hash-vectors.json"
        );
        let text = std::fs::read_to_string(file).unwrap();
        match serde_json::from_str(&text).unwrap() {
            Value::Array(rows) => rows,
            other => other["vectors"].as_array().unwrap().clone(),
        }
    }

    #[test]
    fn recorded_hashes_are_met_bit_by_bit() {
        let rows = vectors();
        assert!(rows.len() >= 20, "{} vectors", rows.len());
        for row in rows {
            let text;
            let (canonical_text, hash) = if let Some(response) = row.get("responseSchema") {
                let present = |value: &Value| (!value.is_null()).then(|| value.clone());
                let input = present(&row["inputSchema"]);
                let approve = row["approvalSchema"].get("approve").cloned();
                let reject = row["approvalSchema"].get("reject").cloned();
                let made =
                    approval_response_schema(input.as_ref(), approve.as_ref(), reject.as_ref());
                assert_eq!(&made, response, "{row}");
                assert_eq!(
                    approval_hash(approve.as_ref(), reject.as_ref()),
                    row["approvalSchemaHash"],
                    "{row}"
                );
                text = canonical(&made);
                (text.as_str(), schema_hash(Some(&made)))
            } else if let Some(value) = row.get("valueText") {
                let value: Value = serde_json::from_str(value.as_str().unwrap()).unwrap();
                text = canonical(&value);
                (text.as_str(), value_hash(&value))
            } else if row["schema"].is_null() {
                ("undefined", schema_hash(None))
            } else {
                let schema = row.get("wireSchema").unwrap_or(&row["schema"]);
                let mut schema = schema.clone();
                if row["rule"].as_str().unwrap().contains("without $schema") {
                    schema.as_object_mut().unwrap().shift_remove("$schema");
                }
                text = canonical(&schema);
                (text.as_str(), schema_hash(Some(&schema)))
            };
            assert_eq!(canonical_text, row["canonical"], "{row}");
            assert_eq!(hash, row["hash"], "{row}");
        }
    }

    #[test]
    fn results_keep_the_order_of_members_and_the_digits_of_whole_numbers() {
        let value: Value =
            serde_json::from_str(r#"{"b":9007199254740993,"a":5.0,"c":[1e21]}"#).unwrap();
        assert_eq!(
            stringify(&value),
            r#"{"b":9007199254740993,"a":5,"c":[1e+21]}"#
        );
    }
}
