//! A schema as that of one member of an object.

use serde_json::{Map, Value, json};

/// Where references of a schema may lead that stay where they are: definitions move to the root.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
/// Keywords that hold data, in which nothing is a reference.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// Keywords that hold schemas by names of the application's, which may be those of keywords.
const NAMED: [&str; 5] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
    "definitions",
];

/// Makes the schema of an object with the one member `member`, which has to be there and fits
/// `schema`. References keep their meaning: definitions and the dialect move to the root, and what
/// led anywhere else within the schema leads there still.
#[must_use]
pub fn in_member(mut schema: Value, member: &str) -> Value {
    let mut root = Map::new();
    // A schema with an id of its own is found by that, and so is all within it.
    let movable = schema.get("$id").is_none();
    if let (true, Value::Object(members)) = (movable, &mut schema) {
        if let Some(dialect) = members.shift_remove("$schema") {
            root.insert("$schema".to_owned(), dialect);
        }
        let definitions: Vec<(String, Value)> = DEFINITIONS
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), members.shift_remove(name)?)))
            .collect();
        let place = format!("#/properties/{member}");
        lead_to(&mut schema, &place);
        root.extend(wrapper(schema, member));
        for (name, mut definitions) in definitions {
            if let Value::Object(named) = &mut definitions {
                named.values_mut().for_each(|own| lead_to(own, &place));
            }
            root.insert(name, definitions);
        }
        return Value::Object(root);
    }
    root.extend(wrapper(schema, member));
    Value::Object(root)
}

fn wrapper(schema: Value, member: &str) -> Map<String, Value> {
    let mut properties = Map::new();
    properties.insert(member.to_owned(), schema);
    let mut wrapper = Map::new();
    wrapper.insert("type".to_owned(), json!("object"));
    wrapper.insert("properties".to_owned(), Value::Object(properties));
    wrapper.insert("required".to_owned(), json!([member]));
    wrapper
}

/// Puts a place before every pointer that led from the old root.
fn lead_to(node: &mut Value, place: &str) {
    match node {
        Value::Object(members) => {
            if members.get("$id").is_some_and(Value::is_string) {
                return;
            }
            for (keyword, value) in members {
                match value {
                    Value::String(target) if keyword == "$ref" => {
                        if let Some(moved) = moved(target, place) {
                            *target = moved;
                        }
                    }
                    _ if DATA.contains(&keyword.as_str()) => {}
                    Value::Object(named) if NAMED.contains(&keyword.as_str()) => {
                        named.values_mut().for_each(|own| lead_to(own, place));
                    }
                    value => lead_to(value, place),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| lead_to(item, place)),
        _ => {}
    }
}

/// Gives the new form of a reference; none for one that stays as it is.
fn moved(target: &str, place: &str) -> Option<String> {
    let pointer = target.strip_prefix('#')?;
    if pointer.is_empty() {
        return Some(place.to_owned());
    }
    let path = pointer.strip_prefix('/')?;
    let first = path.split('/').next().unwrap_or_default();
    (!DEFINITIONS.contains(&first)).then(|| format!("{place}/{path}"))
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]

    use super::*;

    #[test]
    fn references_lead_where_they_led() {
        let tree = json!({"type": "array", "items": {"$ref": "#"}});
        let names = json!({
            "type": "array",
            "prefixItems": [{"type": "string"}, {"$ref": "#/prefixItems/0"}],
        });
        let defined = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "anyOf": [{"$ref": "#/definitions/Name"}, {"type": "null"}],
            "definitions": {"Name": {"type": "string"}, "Same": {"$ref": "#/anyOf/0"}},
        });
        let named = json!({"$id": "urn:tree", "type": "array", "items": {"$ref": "#"}});
        let either = json!({"oneOf": [{"const": {"$ref": "#"}}, {"type": "integer"}]});
        // The names of members and definitions are not keywords.
        let words = json!({"anyOf": [
            {"type": "integer"},
            {"type": "object", "required": ["const"], "properties": {"const": {"$ref": "#"}}},
            {"type": "object", "required": ["enum"], "properties": {"enum": {"$ref": "#/$defs/default"}}},
        ], "$defs": {"default": {"items": {"$ref": "#/anyOf/0"}}}});
        for (schema, good, bad) in [
            (
                &words,
                json!({"const": {"const": 1}}),
                json!({"const": {"const": "1"}}),
            ),
            (
                &words,
                json!({"enum": [1]}),
                json!({"enum": ["1"], "const": "1"}),
            ),
            (&tree, json!([[], [[]]]), json!([[], [1]])),
            (&names, json!(["a", "b"]), json!(["a", 1])),
            (&defined, json!("a"), json!(1)),
            (&named, json!([[]]), json!([1])),
            (&either, json!({"$ref": "#"}), json!({"$ref": "#/x"})),
        ] {
            let plain = jsonschema::validator_for(schema).unwrap();
            let wrapped = in_member(schema.clone(), "result");
            let validator = jsonschema::validator_for(&wrapped).unwrap();
            for (value, fits) in [(good, true), (bad, false)] {
                assert_eq!(plain.is_valid(&value), fits, "{schema} {value}");
                assert_eq!(
                    validator.is_valid(&json!({"result": value})),
                    fits,
                    "{wrapped} {value}"
                );
            }
            assert!(!validator.is_valid(&json!({})), "{wrapped}");
            assert_eq!(wrapped.get("type"), Some(&json!("object")));
        }
    }
}
