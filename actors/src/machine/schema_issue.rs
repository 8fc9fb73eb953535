//! Everything that is wrong with a value, place by place.

use jsonschema::{error::ValidationErrorKind, paths::LocationSegment};
use serde_json::Value;

/// The longest sentence that is passed on: validators quote whole values.
const MAX_MESSAGE_CHARS: usize = 300;

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Where: member names and array positions from the root.
    pub path: Vec<Value>,
    /// What.
    pub message: String,
}

impl Issue {
    /// Makes an issue with the value as a whole.
    pub fn root(message: impl Into<String>) -> Self {
        Self {
            path: Vec::new(),
            message: message.into(),
        }
    }
}

/// Holds a value against a schema. A schema that does not compile, or that points outside itself,
/// holds nobody up.
#[must_use]
pub fn issues(schema: &Value, value: &Value) -> Vec<Issue> {
    let Ok(validator) = jsonschema::validator_for(schema) else {
        return Vec::new();
    };
    let mut found: Vec<Issue> = validator
        .iter_errors(value)
        .map(|error| {
            let mut path: Vec<Value> = error
                .instance_path()
                .segments()
                .map(|segment| match segment {
                    LocationSegment::Property(name) => Value::from(name.as_ref()),
                    LocationSegment::Index(index) => Value::from(index),
                })
                .collect();
            // A missing member is named by its own path, not by that of the object round it.
            if let ValidationErrorKind::Required { property } = error.kind() {
                path.push(property.clone());
            }
            Issue {
                path,
                message: error.to_string().chars().take(MAX_MESSAGE_CHARS).collect(),
            }
        })
        .collect();
    // In the order of the schema's members, which is the order a form shows them in.
    let properties = schema.get("properties").and_then(Value::as_object);
    let place = |issue: &Issue| {
        let name = issue.path.first().and_then(Value::as_str)?;
        properties?.keys().position(|property| property == name)
    };
    found.sort_by_key(|issue| place(issue).unwrap_or(usize::MAX));
    found
}

/// Gives the sentences of [`issues`] alone.
#[must_use]
pub fn messages(schema: &Value, value: &Value) -> Vec<String> {
    issues(schema, value)
        .into_iter()
        .map(|issue| issue.message)
        .collect()
}
