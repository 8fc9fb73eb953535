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

/// What says something of members that a schema does not name.
const OTHERS: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];

/// What says something of elements, beside a list of them.
const ELEMENTS: [&str; 3] = ["items", "additionalItems", "unevaluatedItems"];

/// What is told of arguments.
///
/// Values never hold what the schema marks as a secret, by `writeOnly: true` or
/// `format: "password"`, nor what a pointer names. Under a schema they hold only what it describes,
/// for a secret may stand in the wrong place: not a member that no schema names, unless
/// `additionalProperties` says that there may be others, nor a value of another type. A pattern
/// names nothing.
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
        .filter(|schemas| has_type(value, schemas))
        .filter(|_| !hidden.iter().any(|rest| rest.is_empty()));
    let Some(schemas) = open else {
        *value = Value::from(REDACTED);
        return;
    };
    match value {
        Value::Object(members) => {
            let described = schemas.iter().any(|schema| describes_members(schema));
            for (name, member) in members {
                if described && !schemas.iter().any(|schema| names(schema, name)) {
                    *member = Value::from(REDACTED);
                    continue;
                }
                let below = schemas.iter().flat_map(|schema| of_member(schema, name));
                redact(member, below.collect(), root, &step(hidden, name));
            }
        }
        Value::Array(elements) => {
            let described = schemas.iter().any(|schema| describes_elements(schema));
            for (at, element) in elements.iter_mut().enumerate() {
                let below: Vec<&Value> = schemas
                    .iter()
                    .flat_map(|schema| of_element(schema, at))
                    .collect();
                if described && below.iter().all(|schema| forbids(schema)) {
                    *element = Value::from(REDACTED);
                    continue;
                }
                redact(element, below, root, &step(hidden, &at.to_string()));
            }
        }
        _ => {}
    }
}

/// Tells whether a value is of a type that the schemas give; those that give none allow any.
fn has_type(value: &Value, schemas: &[&Value]) -> bool {
    let mut given = schemas.iter().flat_map(|schema| types(schema)).peekable();
    given.peek().is_none() || given.any(|name| name == json_type(value))
}

/// Gives the types that a schema allows by name or by value.
fn types(schema: &Value) -> Vec<&str> {
    let mut types = Vec::new();
    match schema.get("type") {
        Some(Value::Array(names)) => types.extend(names.iter().filter_map(Value::as_str)),
        Some(Value::String(name)) => types.push(name.as_str()),
        _ => {}
    }
    for name in &mut types {
        *name = type_of(name);
    }
    let values = schema.get("enum").and_then(Value::as_array);
    let values = values.into_iter().flatten().chain(schema.get("const"));
    for value in values {
        types.push(json_type(value));
    }
    types
}

/// An integer is no JSON type of its own.
fn type_of(name: &str) -> &str {
    if name == "integer" { "number" } else { name }
}

const fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn forbids(schema: &Value) -> bool {
    *schema == Value::Bool(false)
}

/// Tells whether a schema says anything of members, so that one it does not name is a stranger.
fn describes_members(schema: &Value) -> bool {
    ["properties", "patternProperties"]
        .into_iter()
        .chain(OTHERS)
        .any(|keyword| schema.get(keyword).is_some())
        || types(schema).contains(&"object")
}

/// Tells whether a schema has a member of this name.
fn names(schema: &Value, name: &str) -> bool {
    let own = schema.get("properties").and_then(|own| own.get(name));
    let mut others = OTHERS.into_iter().filter_map(|keyword| schema.get(keyword));
    match own {
        Some(own) => !forbids(own),
        None => others.any(|others| !forbids(others)),
    }
}

/// Tells whether a schema says which elements there may be.
fn describes_elements(schema: &Value) -> bool {
    schema.get("prefixItems").is_some()
        || ELEMENTS
            .into_iter()
            .any(|keyword| schema.get(keyword).is_some())
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
/// to be looked at, or not found.
fn applying<'a>(mut schemas: Vec<&'a Value>, root: &'a Value) -> Option<Vec<&'a Value>> {
    let mut at = 0;
    while let Some(schema) = schemas.get(at).copied() {
        if schemas.len() > MAX_SCHEMAS {
            return None;
        }
        at += 1;
        let reference = schema.get("$ref").and_then(Value::as_str);
        let target = reference.and_then(|text| root.pointer(text.strip_prefix('#')?));
        if reference.is_some() && target.is_none() || leads_elsewhere(schema, root) {
            return None;
        }
        let either = ["allOf", "anyOf", "oneOf"].into_iter();
        let either = either.filter_map(|keyword| schema.get(keyword)?.as_array());
        let branches = ["if", "then", "else", "not"].into_iter();
        let branches = branches.filter_map(|keyword| schema.get(keyword));
        let dependent = ["dependentSchemas", "dependencies"].into_iter();
        let dependent = dependent.filter_map(|keyword| schema.get(keyword)?.as_object());
        let dependent = dependent.flat_map(Map::values);
        let combined = either.flatten().chain(branches).chain(dependent);
        for found in target.into_iter().chain(combined) {
            if !schemas.iter().any(|known| std::ptr::eq(*known, found)) {
                schemas.push(found);
            }
        }
    }
    Some(schemas)
}

/// Tells whether a reference is not followed here: one that is bound when a value is checked, or
/// one below a base of its own, from which its path counts.
fn leads_elsewhere(schema: &Value, root: &Value) -> bool {
    let bound_late = ["$dynamicRef", "$recursiveRef"]
        .into_iter()
        .any(|keyword| schema.get(keyword).is_some());
    let has_base = ["$id", "id"]
        .into_iter()
        .any(|keyword| schema.get(keyword).is_some_and(Value::is_string));
    bound_late || has_base && !std::ptr::eq(schema, root)
}

/// Gives the schemas of a member. Which patterns fit is not asked: each one may.
fn of_member<'a>(schema: &'a Value, name: &str) -> Vec<&'a Value> {
    let own = schema.get("properties").and_then(|own| own.get(name));
    let patterns = schema.get("patternProperties").and_then(Value::as_object);
    let others = OTHERS.into_iter().filter_map(|keyword| schema.get(keyword));
    let others = others.filter(|_| own.is_none());
    let patterns = patterns.into_iter().flat_map(Map::values);
    own.into_iter().chain(patterns).chain(others).collect()
}

/// Gives the schemas of an element. Before 2020-12, `items` may be a list that tells one by one.
fn of_element(schema: &Value, at: usize) -> Vec<&Value> {
    let lists = ["prefixItems", "items"].into_iter();
    let mut lists = lists.filter_map(|keyword| schema.get(keyword)?.as_array());
    let first = lists.find_map(|items| items.get(at));
    let rest = ELEMENTS.into_iter();
    let rest = rest.filter_map(|keyword| schema.get(keyword));
    let rest = rest.filter(|rest| first.is_none() && !rest.is_array());
    let any = schema.get("contains");
    first.into_iter().chain(rest).chain(any).collect()
}

#[cfg(test)]
mod tests;
