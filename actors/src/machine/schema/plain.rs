//! Tells which schemas certainly compile, without compiling them.

use serde_json::{Map, Value};

/// Tells whether a schema is made of nothing but well-formed members that any validator takes.
///
/// Such a schema compiles, so its validator can wait for its first use. Anything else (a pattern,
/// a reference, a word that is not known here) says no, and has to be compiled to be trusted.
#[must_use]
pub fn is_plain(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().all(|(key, value)| is_member(key, value)),
        other => other.is_boolean(),
    }
}

fn is_member(key: &str, value: &Value) -> bool {
    match key {
        "type" => match value {
            Value::Array(types) => !types.is_empty() && types.iter().all(is_type) && differ(types),
            one => is_type(one),
        },
        "properties" => value.as_object().is_some_and(all_plain),
        "additionalProperties" | "items" => is_plain(value),
        "anyOf" | "oneOf" => is_list(value, |all| !all.is_empty() && all.iter().all(is_plain)),
        "required" => is_list(value, |all| all.iter().all(Value::is_string) && differ(all)),
        "enum" => is_list(value, |all| !all.is_empty() && differ(all)),
        "examples" => value.is_array(),
        "title" | "description" | "format" => value.is_string(),
        "minimum" | "maximum" => value.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
        "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        "const" | "default" => true,
        _ => false,
    }
}

fn all_plain(schemas: &Map<String, Value>) -> bool {
    schemas.values().all(is_plain)
}

fn is_type(name: &Value) -> bool {
    matches!(
        name.as_str(),
        Some("array" | "boolean" | "integer" | "null" | "number" | "object" | "string")
    )
}

fn is_list(value: &Value, good: impl FnOnce(&[Value]) -> bool) -> bool {
    value.as_array().is_some_and(|all| good(all))
}

/// No two are equal. The lists of a schema are short.
fn differ(all: &[Value]) -> bool {
    let mut rest = all;
    while let Some((first, others)) = rest.split_first() {
        if others.contains(first) {
            return false;
        }
        rest = others;
    }
    true
}

#[cfg(test)]
#[allow(dead_code, reason = "the types are only described")]
mod tests {
    use std::collections::BTreeMap;

    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::super::{Checker, of_input};
    use super::*;

    #[derive(Deserialize, JsonSchema)]
    struct Everyday {
        name: String,
        days: Option<u32>,
        level: u8,
        share: Option<f64>,
        tags: Vec<String>,
        extra: BTreeMap<String, bool>,
        any: Value,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Patterned {
        #[schemars(regex(pattern = "["))]
        name: String,
    }

    #[test]
    fn what_is_plain_compiles() {
        let all = [
            of_input::<Everyday>().schema,
            json!({}),
            json!(true),
            json!({"type":"object","properties":{}}),
            json!({"type":["string","null"],"minLength":1,"maxLength":3,"format":"email"}),
            json!({"type":"array","items":{"type":"number","minimum":-1.5,"maximum":2},"minItems":0,"maxItems":9}),
            json!({"oneOf":[{"const":"a","title":"A"},{"const":null}],"default":"a","examples":["a"]}),
            json!({"anyOf":[{"type":"boolean"},false],"enum":[1,"1",null],"description":"d"}),
            json!({"properties":{"type":{"type":"string"}},"required":["type"],"additionalProperties":false}),
            json!({"deprecated":true,"readOnly":false,"writeOnly":false}),
        ];
        for schema in all {
            assert!(is_plain(&schema), "{schema}");
            let compiled = Checker::new(&schema);
            assert!(compiled.is_ok(), "{schema}: {compiled:?}");
        }
    }

    #[test]
    fn what_does_not_compile_is_not_plain() {
        let all = [
            of_input::<Patterned>().schema,
            json!({"type":"nonsense"}),
            json!({"type":[]}),
            json!({"type":["string","string"]}),
            json!({"type":7}),
            json!({"properties":[]}),
            json!({"properties":{"a":{"type":"nonsense"}}}),
            json!({"properties":{"a":3}}),
            json!({"items":{"pattern":"["}}),
            json!({"additionalProperties":"no"}),
            json!({"anyOf":[]}),
            json!({"oneOf":{}}),
            json!({"oneOf":[{"type":"nonsense"}]}),
            json!({"required":"a"}),
            json!({"required":["a","a"]}),
            json!({"required":[1]}),
            json!({"enum":"a"}),
            json!({"examples":1}),
            json!({"title":1}),
            json!({"minimum":"1"}),
            json!({"minLength":-1}),
            json!({"deprecated":"yes"}),
            json!({"$ref":"#/$defs/none"}),
            json!({"$ref":"https://example.com/schema.json"}),
            json!({"$schema":"https://example.com/draft"}),
            json!("object"),
        ];
        for schema in all {
            assert!(!is_plain(&schema), "{schema}");
            assert!(Checker::new(&schema).is_err(), "{schema}");
        }
    }
}
