//! What may be told of the arguments of a call: their shape, or their values without secrets.

use indexmap::IndexMap;
use serde_json::{Map, Value, value::RawValue};

use crate::wire::mcp::envelope::Str;

/// Stands where a value was taken out.
pub const REDACTED: &str = "[redacted]";

/// Members that a shape names. Names come from the client and are not worth more.
const MAX_MEMBERS: usize = 64;
/// The longest name of a member in a shape.
const MAX_NAME_BYTES: usize = 128;
/// Arguments larger than this, as JSON text, are told by their shape only: an audit trail must not
/// grow as a client likes.
const MAX_VALUES_BYTES: usize = 64 * 1024;
/// Schemas that apply to one value, through references and combinations. A value to which more
/// apply is taken out, for any of them might mark it.
const MAX_SCHEMAS: usize = 256;

/// What is told of arguments.
///
/// Values never hold what the schema marks as a secret, by `writeOnly: true` or
/// `format: "password"`, nor what a pointer names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redaction {
    values: bool,
    hidden: Vec<Vec<String>>,
}

impl Redaction {
    /// Tells the names and the JSON types of the members: `{"city": "string"}`. The default.
    #[must_use]
    pub fn shape() -> Self {
        Self::default()
    }

    /// Tells values, of arguments up to 64 KiB; larger ones by their shape.
    #[must_use]
    pub fn values() -> Self {
        Self {
            values: true,
            hidden: Vec::new(),
        }
    }

    /// Takes out what these JSON Pointers name, in the arguments of every call; `*` stands for
    /// every element or member: `/card/number`, `/users/*/password`.
    #[must_use]
    pub fn hide<S: AsRef<str>>(mut self, pointers: impl IntoIterator<Item = S>) -> Self {
        let pointers = pointers.into_iter().map(|pointer| {
            let steps = pointer.as_ref().split('/').skip(1);
            let steps = steps.map(|step| step.replace("~1", "/").replace("~0", "~"));
            steps.collect()
        });
        self.hidden.extend(pointers);
        self
    }

    /// Gives what is told of arguments, which are JSON text, under the schema that describes them.
    /// What cannot be read is null.
    #[must_use]
    pub fn tell(&self, arguments: &str, schema: Option<&Value>) -> Value {
        if !self.values || arguments.len() > MAX_VALUES_BYTES {
            return shape(arguments);
        }
        let mut told: Value = serde_json::from_str(arguments).unwrap_or_default();
        let none = Value::Bool(true);
        let root = schema.unwrap_or(&none);
        let hidden: Vec<&[String]> = self.hidden.iter().map(Vec::as_slice).collect();
        redact(&mut told, vec![root], root, &hidden);
        told
    }
}

/// Reads no more than the names: values may be large.
fn shape(arguments: &str) -> Value {
    let read = serde_json::from_str::<IndexMap<Str<'_>, &RawValue>>(arguments);
    let Ok(members) = read else {
        return Value::from(type_name(arguments));
    };
    let mut told = Map::new();
    for (name, value) in members.iter().take(MAX_MEMBERS) {
        let name = cut(name, MAX_NAME_BYTES).to_owned();
        told.insert(name, Value::from(type_name(value.get())));
    }
    if let Some(more) = members
        .len()
        .checked_sub(MAX_MEMBERS)
        .filter(|more| *more > 0)
    {
        told.insert("…".to_owned(), Value::from(more));
    }
    Value::Object(told)
}

fn type_name(text: &str) -> &'static str {
    match text.trim_start().as_bytes().first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'-' | b'0'..=b'9') => "number",
        _ => "null",
    }
}

/// Gives the beginning of a text.
#[must_use]
pub fn cut(text: &str, most_bytes: usize) -> &str {
    let end = text.floor_char_boundary(most_bytes);
    text.get(..end).unwrap_or_default()
}

/// Takes secrets out of a value to which the schemas apply; `hidden` holds what is left of the
/// pointers that lead here.
fn redact(value: &mut Value, schemas: Vec<&Value>, root: &Value, hidden: &[&[String]]) {
    let open = applying(schemas, root)
        .filter(|schemas| !schemas.iter().any(|schema| is_secret(schema)))
        .filter(|_| !hidden.iter().any(|rest| rest.is_empty()));
    let Some(schemas) = open else {
        *value = Value::from(REDACTED);
        return;
    };
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let below = schemas.iter().flat_map(|schema| of_member(schema, name));
                redact(member, below.collect(), root, &step(hidden, name));
            }
        }
        Value::Array(elements) => {
            for (at, element) in elements.iter_mut().enumerate() {
                let below = schemas.iter().flat_map(|schema| of_element(schema, at));
                redact(
                    element,
                    below.collect(),
                    root,
                    &step(hidden, &at.to_string()),
                );
            }
        }
        _ => {}
    }
}

fn step<'a>(hidden: &[&'a [String]], name: &str) -> Vec<&'a [String]> {
    let leads = |pointer: &&'a [String]| {
        let (first, rest) = pointer.split_first()?;
        (first == "*" || first == name).then_some(rest)
    };
    hidden.iter().filter_map(leads).collect()
}

fn is_secret(schema: &Value) -> bool {
    let write_only = schema.get("writeOnly").and_then(Value::as_bool);
    let format = schema.get("format").and_then(Value::as_str);
    write_only == Some(true) || format == Some("password")
}

/// Adds to schemas what they refer to and what they are combined of; nothing if those are too many
/// to be looked at.
fn applying<'a>(mut schemas: Vec<&'a Value>, root: &'a Value) -> Option<Vec<&'a Value>> {
    let mut at = 0;
    while let Some(schema) = schemas.get(at).copied() {
        if schemas.len() > MAX_SCHEMAS {
            return None;
        }
        at += 1;
        let reference = schema.get("$ref").and_then(Value::as_str);
        let target = reference.and_then(|text| root.pointer(text.strip_prefix('#')?));
        let either = ["allOf", "anyOf", "oneOf"].into_iter();
        let either = either.filter_map(|keyword| schema.get(keyword)?.as_array());
        let branches = ["if", "then", "else", "not"].into_iter();
        let branches = branches.filter_map(|keyword| schema.get(keyword));
        let dependent = schema.get("dependentSchemas").and_then(Value::as_object);
        let dependent = dependent.into_iter().flat_map(Map::values);
        let combined = either.flatten().chain(branches).chain(dependent);
        for found in target.into_iter().chain(combined) {
            if !schemas.iter().any(|known| std::ptr::eq(*known, found)) {
                schemas.push(found);
            }
        }
    }
    Some(schemas)
}

/// Gives the schemas of a member. Which patterns fit is not asked: each one may.
fn of_member<'a>(schema: &'a Value, name: &str) -> Vec<&'a Value> {
    let own = schema.get("properties").and_then(|own| own.get(name));
    let patterns = schema.get("patternProperties").and_then(Value::as_object);
    let others = ["additionalProperties", "unevaluatedProperties"].into_iter();
    let others = others.filter_map(|keyword| schema.get(keyword));
    let others = others.filter(|_| own.is_none());
    let patterns = patterns.into_iter().flat_map(Map::values);
    own.into_iter().chain(patterns).chain(others).collect()
}

fn of_element(schema: &Value, at: usize) -> Vec<&Value> {
    let first = schema.get("prefixItems").and_then(|items| items.get(at));
    let rest = ["items", "unevaluatedItems"].into_iter();
    let rest = rest.filter_map(|keyword| schema.get(keyword));
    let rest = rest.filter(|_| first.is_none());
    let any = schema.get("contains");
    first.into_iter().chain(rest).chain(any).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_shape_names_members_and_types_and_no_value() {
        let arguments = json!({
            "city": "Oslo", "days": 3, "deep": {"secret": 1}, "list": [1], "on": true, "none": null,
        });
        assert_eq!(
            Redaction::shape().tell(&arguments.to_string(), None),
            json!({
                "city": "string", "days": "number", "deep": "object", "list": "array",
                "on": "boolean", "none": "null",
            })
        );
        assert_eq!(Redaction::default().tell("[1, 2]", None), json!("array"));
        assert_eq!(Redaction::default().tell("", None), json!("null"));
        let many: Map<String, Value> = (0..70).map(|at| (at.to_string(), json!(at))).collect();
        let told = Redaction::shape().tell(&Value::Object(many).to_string(), None);
        assert_eq!(
            (told.as_object().map(Map::len), &told["…"]),
            (Some(65), &json!(6))
        );
        let long = json!({"ä".repeat(100): 1}).to_string();
        let told = Redaction::shape().tell(&long, None);
        assert_eq!(told, json!({"ä".repeat(64): "number"}));
    }

    #[test]
    fn values_lack_what_pointers_name() {
        let arguments = json!({
            "card": {"number": "4111", "name": "A"}, "a/b": 1,
            "users": [{"name": "x", "password": "p"}, {"password": "q"}],
        });
        let redaction = Redaction::values().hide(["/card/number", "/users/*/password", "/a~1b"]);
        assert_eq!(
            redaction.tell(&arguments.to_string(), None),
            json!({
                "card": {"number": REDACTED, "name": "A"}, "a/b": REDACTED,
                "users": [{"name": "x", "password": REDACTED}, {"password": REDACTED}],
            })
        );
        let all = Redaction::values().hide([""]);
        assert_eq!(all.tell(&arguments.to_string(), None), json!(REDACTED));
    }

    #[test]
    fn values_lack_what_the_schema_marks() {
        let secret = json!({"type": "string", "writeOnly": true});
        let schema = json!({
            "properties": {
                "password": {"type": "string", "format": "password"},
                "login": {"$ref": "#/$defs/login"},
                "choice": {"anyOf": [{"type": "null"}, {"allOf": [secret]}]},
                "pair": {"prefixItems": [{}, secret], "items": {"$ref": "#/$defs/login"}},
                "loop": {"$ref": "#/properties/loop"},
            },
            "patternProperties": {"^x-": {"properties": {"key": secret}}},
            "additionalProperties": {"properties": {"key": secret}},
            "$defs": {"login": {"properties": {"user": {}, "pin": secret}}},
        });
        let arguments = json!({
            "password": "a", "login": {"user": "b", "pin": 1}, "choice": "c",
            "pair": ["d", "e", {"pin": 2}], "loop": 1, "x-other": {"key": 3}, "more": {"key": 4, "seen": 5},
        });
        assert_eq!(
            Redaction::values().tell(&arguments.to_string(), Some(&schema)),
            json!({
                "password": REDACTED, "login": {"user": "b", "pin": REDACTED}, "choice": REDACTED,
                "pair": ["d", REDACTED, {"pin": REDACTED}], "loop": 1, "x-other": {"key": REDACTED},
                "more": {"key": REDACTED, "seen": 5},
            })
        );
    }

    #[test]
    fn large_arguments_are_told_by_their_shape() {
        let arguments = json!({"text": "x".repeat(MAX_VALUES_BYTES)}).to_string();
        let told = Redaction::values().tell(&arguments, None);
        assert_eq!(told, json!({"text": "string"}));
    }

    #[test]
    fn a_secret_is_hidden_however_the_schema_leads_to_it() {
        let secret = json!({"type": "string", "writeOnly": true});
        let holds = json!({"properties": {"pin": secret}});
        for schema in [
            json!({"if": holds}),
            json!({"dependentSchemas": {"user": holds}}),
            json!({"unevaluatedProperties": secret}),
            json!({"not": {"not": holds}}),
        ] {
            let told = Redaction::values().tell(r#"{"user":1,"pin":"1234"}"#, Some(&schema));
            assert_eq!(told["pin"], json!(REDACTED), "{schema}");
        }
        for schema in [
            json!({"contains": secret}),
            json!({"unevaluatedItems": secret}),
        ] {
            let schema = json!({"properties": {"pins": schema}});
            let told = Redaction::values().tell(r#"{"pins":["1234"]}"#, Some(&schema));
            assert_eq!(told["pins"], json!([REDACTED]), "{schema}");
        }
    }

    #[test]
    fn a_secret_of_the_last_of_many_alternatives_is_hidden() {
        let mut defs = Map::new();
        let mut alternatives = Vec::new();
        for at in 0..200 {
            let field = format!("pin{at}");
            let own = json!({"properties": {field: {"type": "string", "writeOnly": true}}});
            defs.insert(format!("of{at}"), own);
            alternatives.push(json!({"$ref": format!("#/$defs/of{at}")}));
        }
        let schema = json!({"oneOf": alternatives, "$defs": defs});
        for at in [0, 63, 64, 199] {
            let field = format!("pin{at}");
            let arguments = json!({field.clone(): "1234"}).to_string();
            let told = Redaction::values()
                .tell(&arguments, Some(&schema))
                .to_string();
            assert!(!told.contains("1234"), "{told}");
        }
    }
}
