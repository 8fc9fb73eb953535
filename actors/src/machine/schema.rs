//! JSON Schemas: made from types, trimmed, compiled, and used to say what is wrong with a value.

mod lazy;
mod plain;
mod wrap;

use std::fmt;

use jsonschema::{Validator, error::ValidationErrorKind};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

pub use self::{lazy::LazyChecker, plain::is_plain, wrap::in_member};

/// Formats that schemars adds to numbers. They bound the Rust type and tell a model nothing.
const NUMBER_FORMATS: [&str; 14] = [
    "int8", "int16", "int32", "int64", "int128", "int", "uint8", "uint16", "uint32", "uint64",
    "uint128", "uint", "float", "double",
];

/// Keywords that serde does not enforce. A schema without them needs no validator on the way in.
const BEYOND_SERDE: [&str; 24] = [
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "patternProperties",
    "dependentRequired",
    "dependentSchemas",
    "not",
    "if",
    "allOf",
    "const",
    "unevaluatedProperties",
    "$ref",
];

/// A schema made from a type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeSchema {
    /// The schema without `$schema`, root title, root description and number formats.
    pub schema: Value,
    /// The doc comment of the type.
    pub description: Option<String>,
    /// The schema says more than serde enforces, so values go through a validator.
    pub needs_validator: bool,
}

/// Makes the schema of what a type reads.
#[must_use]
pub fn of_input<T: JsonSchema + ?Sized>() -> TypeSchema {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    trim(
        settings
            .into_generator()
            .into_root_schema_for::<T>()
            .to_value(),
    )
}

/// Makes the schema of what a type writes.
#[must_use]
pub fn of_output<T: JsonSchema + ?Sized>() -> TypeSchema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    trim(
        settings
            .into_generator()
            .into_root_schema_for::<T>()
            .to_value(),
    )
}

/// Gives the schema of a tool that takes no arguments.
#[must_use]
pub fn empty_object() -> Value {
    serde_json::json!({"type": "object", "properties": {}})
}

/// Tells whether every instance of the schema is an object.
#[must_use]
pub fn is_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

fn trim(mut schema: Value) -> TypeSchema {
    let mut description = None;
    if let Value::Object(root) = &mut schema {
        root.shift_remove("$schema");
        root.shift_remove("title");
        if let Some(Value::String(text)) = root.shift_remove("description") {
            description = Some(text);
        }
    }
    let mut needs_validator = false;
    drop_number_formats(&mut schema, &mut needs_validator, true);
    TypeSchema {
        schema,
        description,
        needs_validator,
    }
}

fn drop_number_formats(node: &mut Value, beyond_serde: &mut bool, root: bool) {
    match node {
        Value::Object(map) => {
            let is_number = map
                .get("format")
                .and_then(Value::as_str)
                .is_some_and(|format| NUMBER_FORMATS.contains(&format));
            if is_number {
                map.shift_remove("format");
                // A bound of zero beside a number format is the unsigned type itself.
                let own_bound =
                    |bound: Option<&Value>| bound.is_none_or(|at| at.as_u64() == Some(0));
                let wide = !map.contains_key("maximum") && own_bound(map.get("minimum"));
                *beyond_serde |= !wide;
            } else {
                *beyond_serde |= map.keys().any(|key| BEYOND_SERDE.contains(&key.as_str()));
                // serde reads a positional array where a nested struct stands.
                *beyond_serde |=
                    !root && map.contains_key("properties") && map.contains_key("type");
            }
            for (key, value) in map.iter_mut() {
                match key.as_str() {
                    "properties" | "$defs" | "patternProperties" => {
                        each_child(value, beyond_serde);
                    }
                    "default" | "const" | "enum" | "examples" => {}
                    _ => drop_number_formats(value, beyond_serde, false),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                drop_number_formats(item, beyond_serde, false);
            }
        }
        _ => {}
    }
}

fn each_child(schemas: &mut Value, beyond_serde: &mut bool) {
    if let Value::Object(schemas) = schemas {
        for schema in schemas.values_mut() {
            drop_number_formats(schema, beyond_serde, false);
        }
    }
}

/// A compiled schema.
pub struct Checker(Validator);

impl Checker {
    /// Compiles a schema. Without `$schema` it is draft 2020-12; nothing is ever fetched.
    ///
    /// # Errors
    /// [`SchemaError`] when it is no schema, or refers to something outside itself.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        jsonschema::validator_for(schema)
            .map(Self)
            .map_err(|error| SchemaError(error.to_string()))
    }

    /// Compiles the schema of a form, whose formats bind what a person writes.
    ///
    /// # Errors
    /// As [`Checker::new`].
    pub fn of_form(schema: &Value) -> Result<Self, SchemaError> {
        jsonschema::options()
            .should_validate_formats(true)
            .build(schema)
            .map(Self)
            .map_err(|error| SchemaError(error.to_string()))
    }

    /// Checks a value.
    ///
    /// # Errors
    /// [`Violation`] with the place and the reason of the first thing that is wrong.
    pub fn check(&self, value: &Value) -> Result<(), Violation> {
        let Err(error) = self.0.validate(value) else {
            return Ok(());
        };
        let mut path = error.instance_path().to_string();
        // A missing member is named by its own path, not by that of the object round it.
        if let ValidationErrorKind::Required { property } = error.kind() {
            if let Some(name) = property.as_str() {
                path.push('/');
                path.push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
            return Err(Violation {
                path,
                reason: "is required".to_owned(),
            });
        }
        Err(Violation {
            path,
            reason: clip(error.to_string()),
        })
    }
}

impl fmt::Debug for Checker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Checker(..)")
    }
}

/// The longest reason that is passed on; validators quote the whole value.
const MAX_REASON_BYTES: usize = 300;

fn clip(mut text: String) -> String {
    if text.len() > MAX_REASON_BYTES {
        let end = (0..=MAX_REASON_BYTES)
            .rev()
            .find(|&at| text.is_char_boundary(at))
            .unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// A schema that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the schema does not compile: {0}")]
pub struct SchemaError(String);

/// Where and why a value does not fit its schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Violation {
    /// JSON pointer; empty for the value itself.
    pub path: String,
    /// What is wrong there.
    pub reason: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return out.write_str(&self.reason);
        }
        write!(out, "{}: {}", self.path, self.reason)
    }
}

/// Makes a schema's root an object schema by writing `type` first, if it does not name a type.
#[must_use]
pub fn with_object_root(schema: Value) -> Value {
    match schema {
        Value::Object(map) if !map.contains_key("type") => {
            let mut rooted = Map::new();
            rooted.insert("type".to_owned(), Value::from("object"));
            rooted.extend(map);
            Value::Object(rooted)
        }
        other => other,
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    dead_code,
    reason = "a failed expectation is the test failing; the types are only described"
)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

    /// Current weather for a city
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct City {
        /// City name
        city: String,
        days: Option<u32>,
        share: f64,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Small {
        level: u8,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Nested {
        inner: Small,
    }

    #[test]
    fn a_typed_schema_holds_only_what_a_model_needs() {
        let made = of_input::<City>();
        assert_eq!(
            made.description.as_deref(),
            Some("Current weather for a city")
        );
        assert_eq!(
            made.schema,
            json!({"type":"object","properties":{
                "city":{"description":"City name","type":"string"},
                "days":{"type":["integer","null"],"minimum":0},
                "share":{"type":"number"}
            },"required":["city","share"]})
        );
        assert!(!made.needs_validator);
    }

    #[test]
    fn what_serde_would_let_pass_needs_a_validator() {
        assert!(of_input::<Nested>().needs_validator);
        assert!(of_input::<Small>().needs_validator);
    }

    #[test]
    fn a_violation_names_the_place() {
        let checker = Checker::new(&of_input::<Nested>().schema).unwrap();
        let wrong = checker.check(&json!({"inner":{"level":"x"}})).unwrap_err();
        assert_eq!(wrong.path, "/inner/level");
        let missing = checker.check(&json!({"inner":{}})).unwrap_err();
        assert_eq!(missing.to_string(), "/inner/level: is required");
        assert_eq!(checker.check(&json!({"inner":{"level":3}})), Ok(()));
    }

    #[test]
    fn a_remote_reference_is_refused() {
        assert!(Checker::new(&json!({"$ref":"https://example.com/schema.json"})).is_err());
        assert!(Checker::new(&json!({"type":"nonsense"})).is_err());
    }

    #[test]
    fn a_long_reason_is_clipped_at_a_character() {
        let checker = Checker::new(&json!({"type":"integer"})).unwrap();
        let wrong = checker.check(&json!("ü".repeat(5000))).unwrap_err();
        assert!(wrong.reason.len() <= MAX_REASON_BYTES + 3);
    }
}
