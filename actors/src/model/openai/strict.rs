//! Tool schemas as OpenAI's strict mode wants them, and the way back.
//!
//! In strict mode every property is required and nothing else is allowed, so an optional property
//! becomes one that may be null. Those nulls are taken out of the arguments again: the tool never
//! sees a null that its own schema does not know.

use serde_json::{Map, Value, json};

/// String formats that strict mode knows; others are left out.
const FORMATS: &[&str] = &[
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

/// Keywords that strict mode cannot express.
const LOOSE: &[&str] = &[
    "oneOf",
    "allOf",
    "not",
    "prefixItems",
    "$ref",
    "$defs",
    "definitions",
    "if",
    "then",
    "else",
    "patternProperties",
    "dependentSchemas",
    "unevaluatedProperties",
];

/// Bounds how deep a schema is read: a deeper one is sent as it is.
const MAX_DEPTH: usize = 64;

/// What a tool's schema becomes.
#[derive(Debug, PartialEq)]
pub(super) struct Parameters {
    pub(super) schema: Value,
    pub(super) strict: bool,
}

/// Makes the `parameters` and `strict` of a tool.
pub(super) fn parameters(schema: &Value) -> Parameters {
    if schema.is_null() {
        let schema = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
        return Parameters {
            schema,
            strict: true,
        };
    }
    let strict = schema.get("type") == Some(&json!("object"));
    let strict = strict.then(|| tighten(schema, 0)).flatten();
    let (mut schema, strict) = match strict {
        Some(schema) => (schema, true),
        None => (without_unknown_formats(schema, 0), false),
    };
    if let Some(root) = schema.as_object_mut() {
        root.shift_remove("$schema");
    }
    Parameters { schema, strict }
}

/// Takes the nulls out that strict mode forced the model to write.
pub(super) fn without_forced_nulls(input: Value, schema: &Value) -> Value {
    if schema.is_null() || !parameters(schema).strict {
        return input;
    }
    prune(input, schema)
}

fn prune(value: Value, schema: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter_map(|(key, value)| {
                let Some(property) = schema.get("properties").and_then(|all| all.get(&key)) else {
                    return Some((key, value));
                };
                let forced =
                    value.is_null() && !is_required(schema, &key) && !allows_null(property);
                (!forced).then(|| (key, prune(value, property)))
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => {
            let items = items.into_iter();
            match schema.get("items") {
                Some(item) => items.map(|value| prune(value, item)).collect(),
                None => Value::Array(items.collect()),
            }
        }
        other => other,
    }
}

fn is_required(schema: &Value, key: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|name| name == key))
}

fn allows_null(schema: &Value) -> bool {
    let null = json!("null");
    let by_type = match schema.get("type") {
        Some(Value::Array(types)) => types.contains(&null),
        Some(one) => *one == null,
        None => false,
    };
    let variants = schema.get("anyOf").and_then(Value::as_array);
    by_type || variants.is_some_and(|variants| variants.iter().any(allows_null))
}

/// Makes a schema strict, or gives `None` when it says more than strict mode can.
fn tighten(schema: &Value, depth: usize) -> Option<Value> {
    let members = schema.as_object().filter(|_| depth < MAX_DEPTH)?;
    if LOOSE.iter().any(|keyword| members.contains_key(*keyword)) {
        return None;
    }
    if !members.contains_key("type") && !members.contains_key("anyOf") {
        return None;
    }
    let mut tight = Map::new();
    for (keyword, value) in members {
        let value = match keyword.as_str() {
            "default" => continue,
            "format" if !is_known_format(value) => continue,
            "properties" | "required" | "additionalProperties" => continue,
            "items" => tighten(value, depth + 1)?,
            "anyOf" => variants(value, depth)?,
            _ => value.clone(),
        };
        tight.insert(keyword.clone(), value);
    }
    if is_object(members) {
        object(members, &mut tight, depth)?;
    }
    Some(Value::Object(tight))
}

fn is_object(members: &Map<String, Value>) -> bool {
    let object = json!("object");
    match members.get("type") {
        Some(Value::Array(types)) => types.contains(&object),
        Some(one) => *one == object,
        None => false,
    }
}

fn object(
    members: &Map<String, Value>,
    tight: &mut Map<String, Value>,
    depth: usize,
) -> Option<()> {
    let closed = Value::Bool(false);
    if members
        .get("additionalProperties")
        .is_some_and(|extra| *extra != closed)
    {
        return None;
    }
    let schema = Value::Object(members.clone());
    let mut properties = Map::new();
    for (key, property) in members.get("properties")?.as_object()? {
        let mut property_schema = tighten(property, depth + 1)?;
        if !is_required(&schema, key) && !allows_null(property) {
            property_schema = nullable(property_schema)?;
        }
        properties.insert(key.clone(), property_schema);
    }
    let required = properties.keys().cloned().map(Value::String).collect();
    tight.insert("properties".to_owned(), Value::Object(properties));
    tight.insert("required".to_owned(), Value::Array(required));
    tight.insert("additionalProperties".to_owned(), closed);
    Some(())
}

/// Variants stay as they are: a null forced into one of them could not be told from a real one.
fn variants(value: &Value, depth: usize) -> Option<Value> {
    let variants = value.as_array()?.iter().map(|variant| {
        let has_optional = is_object(variant.as_object()?)
            && variant
                .get("properties")
                .and_then(Value::as_object)
                .is_some_and(|all| all.keys().any(|key| !is_required(variant, key)));
        (!has_optional).then(|| tighten(variant, depth + 1))?
    });
    variants.collect::<Option<Vec<_>>>().map(Value::Array)
}

fn nullable(mut schema: Value) -> Option<Value> {
    let null = json!("null");
    let members = schema.as_object_mut()?;
    if members.contains_key("const") {
        return Some(json!({"anyOf": [schema, {"type": "null"}]}));
    }
    if let Some(Value::Array(values)) = members.get_mut("enum") {
        values.push(Value::Null);
    }
    match members.get_mut("type") {
        Some(Value::Array(types)) => types.push(null),
        Some(one) => *one = json!([one, "null"]),
        None => {
            let variants = members.get_mut("anyOf")?.as_array_mut()?;
            variants.push(json!({"type": "null"}));
        }
    }
    Some(schema)
}

fn is_known_format(format: &Value) -> bool {
    format
        .as_str()
        .is_some_and(|format| FORMATS.contains(&format))
}

fn without_unknown_formats(schema: &Value, depth: usize) -> Value {
    let deeper = |value| without_unknown_formats(value, depth + 1);
    match schema {
        _ if depth >= MAX_DEPTH => schema.clone(),
        Value::Object(members) => {
            let is_schema = members.get("format").is_some_and(Value::is_string);
            let kept = members.iter().filter(|(keyword, value)| {
                !(is_schema && *keyword == "format" && !is_known_format(value))
            });
            kept.map(|(key, value)| (key.clone(), deeper(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(deeper).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
#[path = "strict_tests.rs"]
mod tests;
