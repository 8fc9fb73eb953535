//! Forms for people: the flat schemas of elicitation, made from types.
//! Spec: MCP "Elicitation", `PrimitiveSchemaDefinition`.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::schema;

/// The formats that MCP knows in a form.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];
/// What a type has beside its fields if it is an enum with data, or holds one among them: fields
/// that no flat form can ask for.
const COMBINED: [&str; 5] = ["oneOf", "anyOf", "allOf", "$ref", "patternProperties"];
/// How often one schema may refer to another. A type that holds itself would never end.
const MAX_REFERENCES: usize = 16;

/// A form that a type describes.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// What clients are shown, in the words of 2025-11-25 and later.
    pub requested: Value,
    /// What answers are held against. It may say more (a pattern, a bound that excludes its own
    /// value) than MCP has words for.
    pub checked: Value,
}

/// Why a type, or a schema, cannot be a form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormError {
    /// It is no struct with named fields.
    #[error("a form has to be an object of fields")]
    NotAnObject,
    /// A field is of a kind that no form has.
    #[error("the field `{member}` cannot stand in a form: {reason}")]
    Member {
        /// The field, by its name on the wire.
        member: String,
        /// Why not.
        reason: Cow<'static, str>,
    },
}

/// Why one field cannot be.
type Reason = Cow<'static, str>;

/// Makes the form of a type: strings, numbers, booleans, enums of units, lists of such enums, and
/// `Option`s of them.
///
/// Doc comments describe fields and title the choices of an enum; bounds, formats and defaults
/// come from the attributes of serde and schemars.
///
/// # Errors
/// [`FormError`] names the field that no form can have.
pub fn of<T: JsonSchema + ?Sized>() -> Result<Form, FormError> {
    let checked = schema::of_input::<T>().schema;
    let none = Map::new();
    let defs = checked.get("$defs").and_then(Value::as_object);
    let defs = defs.unwrap_or(&none);
    if !schema::is_object(&checked) {
        return Err(FormError::NotAnObject);
    }
    let fields = checked.get("properties").and_then(Value::as_object);
    let is_map = fields.is_none() && checked.get("additionalProperties").is_some_and(is_open);
    if is_map || COMBINED.iter().any(|key| checked.get(*key).is_some()) {
        return Err(FormError::NotAnObject);
    }
    let mut properties = Map::new();
    for (name, field) in fields.into_iter().flatten() {
        let primitive = primitive(field, defs).map_err(|reason| FormError::Member {
            member: name.clone(),
            reason,
        })?;
        properties.insert(name.clone(), Value::Object(primitive));
    }
    let mut requested = Map::new();
    requested.insert("type".to_owned(), Value::from("object"));
    requested.insert("properties".to_owned(), Value::Object(properties));
    if let Some(required) = checked.get("required") {
        requested.insert("required".to_owned(), required.clone());
    }
    Ok(Form {
        requested: Value::Object(requested),
        checked,
    })
}

/// Tells whether a schema lets anything through at all.
fn is_open(schema: &Value) -> bool {
    schema != &Value::Bool(false)
}

/// Follows references, and takes away the null of an `Option`.
fn resolve(field: &Value, defs: &Map<String, Value>) -> Result<Map<String, Value>, Reason> {
    let mut members = match field {
        Value::Object(members) => members.clone(),
        _ => return Err("its type is not known".into()),
    };
    for _ in 0..MAX_REFERENCES {
        let inner = if let Some(Value::String(name)) = members.get("$ref") {
            let name = name.strip_prefix("#/$defs/").unwrap_or_default();
            let found = defs.get(name).ok_or("it refers to something unknown")?;
            let found = found.clone();
            members.shift_remove("$ref");
            found
        } else if let Some(only) = one_beside_null(&members, "anyOf") {
            members.shift_remove("anyOf");
            only
        } else if let Some(only) = one_beside_null(&members, "allOf") {
            members.shift_remove("allOf");
            only
        } else {
            return Ok(members);
        };
        let Value::Object(inner) = inner else {
            return Err("its type is not known".into());
        };
        // What is said of the field goes before what is said of its type.
        for (key, value) in inner {
            members.entry(key).or_insert(value);
        }
    }
    Err("its type holds itself".into())
}

/// Gives the one alternative beside null.
fn one_beside_null(members: &Map<String, Value>, key: &str) -> Option<Value> {
    let all = members.get(key)?.as_array()?;
    let is_null = |schema: &&Value| schema.get("type").is_some_and(|ty| ty == "null");
    let mut others = all.iter().filter(|schema| !is_null(schema));
    let only = others.next()?;
    others.next().is_none().then(|| only.clone())
}

/// Gives the one type beside null.
fn type_of(members: &Map<String, Value>) -> Option<&str> {
    match members.get("type")? {
        Value::String(ty) => Some(ty),
        Value::Array(types) => {
            let mut others = types.iter().filter_map(Value::as_str);
            let others: Vec<&str> = others.by_ref().filter(|ty| *ty != "null").collect();
            match others.as_slice() {
                [only] => Some(only),
                _ => None,
            }
        }
        _ => None,
    }
}

fn primitive(field: &Value, defs: &Map<String, Value>) -> Result<Map<String, Value>, Reason> {
    let members = resolve(field, defs)?;
    let mut out = Map::new();
    if let Some(choices) = choices(&members) {
        let choices = choices?;
        out.insert("type".to_owned(), Value::from("string"));
        choices.write(&mut out, "oneOf");
        copy(&members, &mut out, &["title", "description"]);
        copy_default(&members, &mut out, Value::is_string);
        return Ok(out);
    }
    match type_of(&members) {
        Some("string") => {
            out.insert("type".to_owned(), Value::from("string"));
            copy(
                &members,
                &mut out,
                &["title", "description", "minLength", "maxLength"],
            );
            let format = members.get("format").and_then(Value::as_str);
            if let Some(format) = format.filter(|format| FORMATS.contains(format)) {
                out.insert("format".to_owned(), Value::from(format));
            }
            copy_default(&members, &mut out, Value::is_string);
        }
        Some(ty @ ("integer" | "number")) => {
            out.insert("type".to_owned(), Value::from(ty));
            copy(
                &members,
                &mut out,
                &["title", "description", "minimum", "maximum"],
            );
            if ty == "integer" {
                whole_bound(&members, &mut out, "exclusiveMinimum", "minimum", 1);
                whole_bound(&members, &mut out, "exclusiveMaximum", "maximum", -1);
            }
            copy_default(&members, &mut out, Value::is_number);
        }
        Some("boolean") => {
            out.insert("type".to_owned(), Value::from("boolean"));
            copy(&members, &mut out, &["title", "description"]);
            copy_default(&members, &mut out, Value::is_boolean);
        }
        Some("array") => several(&members, defs, &mut out)?,
        Some("object") => return Err("objects cannot be nested".into()),
        _ => return Err("a string, number, boolean, enum or list of enums is expected".into()),
    }
    Ok(out)
}

/// A list of enums: several choices of one field.
fn several(
    members: &Map<String, Value>,
    defs: &Map<String, Value>,
    out: &mut Map<String, Value>,
) -> Result<(), Reason> {
    const ENUMS: &str = "a list can only hold an enum of strings";
    let items = members.get("items").ok_or(ENUMS)?;
    let items = resolve(items, defs)?;
    let choices = choices(&items).ok_or(ENUMS)??;
    out.insert("type".to_owned(), Value::from("array"));
    copy(
        members,
        out,
        &["title", "description", "minItems", "maxItems"],
    );
    let mut item = Map::new();
    if !choices.are_titled() {
        item.insert("type".to_owned(), Value::from("string"));
    }
    choices.write(&mut item, "anyOf");
    out.insert("items".to_owned(), Value::Object(item));
    let are_texts = |value: &Value| {
        let texts = value.as_array();
        texts.is_some_and(|texts| texts.iter().all(Value::is_string))
    };
    copy_default(members, out, are_texts);
    Ok(())
}

fn copy(from: &Map<String, Value>, to: &mut Map<String, Value>, keys: &[&str]) {
    for key in keys {
        if let Some(value) = from.get(*key) {
            to.insert((*key).to_owned(), value.clone());
        }
    }
}

/// The default of an `Option` is null, which no form can say.
fn copy_default(
    from: &Map<String, Value>,
    to: &mut Map<String, Value>,
    fits: impl Fn(&Value) -> bool,
) {
    if let Some(value) = from.get("default").filter(|value| fits(value)) {
        to.insert("default".to_owned(), value.clone());
    }
}

fn whole_bound(
    from: &Map<String, Value>,
    to: &mut Map<String, Value>,
    exclusive: &str,
    inclusive: &str,
    step: i64,
) {
    let bound = from.get(exclusive).and_then(Value::as_i64);
    if let Some(bound) = bound.and_then(|bound| bound.checked_add(step)) {
        to.entry(inclusive).or_insert_with(|| Value::from(bound));
    }
}

/// What can be chosen: the values and their titles.
struct Choices(Vec<(String, Option<String>)>);

impl Choices {
    fn are_titled(&self) -> bool {
        self.0.iter().any(|(_, title)| title.is_some())
    }

    fn write(self, out: &mut Map<String, Value>, titled: &str) {
        if self.are_titled() {
            let all = self.0.into_iter().map(|(value, title)| {
                let title = title.unwrap_or_else(|| value.clone());
                json!({"const": value, "title": title})
            });
            out.insert(titled.to_owned(), all.collect());
        } else {
            let all = self.0.into_iter().map(|(value, _)| value);
            out.insert("enum".to_owned(), all.collect());
        }
    }
}

/// Reads an enum, if the schema is one.
fn choices(members: &Map<String, Value>) -> Option<Result<Choices, Reason>> {
    let mut found = Vec::new();
    let alternatives = ["oneOf", "anyOf"].iter().find_map(|key| members.get(*key));
    let fits = match alternatives {
        Some(all) => {
            let all = all.as_array()?;
            let of_one = |schema: &Value| {
                let members = schema.as_object();
                members.is_some_and(|members| read_choice(members, &mut found))
            };
            all.iter().all(of_one)
        }
        None if members.contains_key("const") || members.contains_key("enum") => {
            let values = members
                .iter()
                .filter(|(key, _)| matches!(key.as_str(), "const" | "enum"));
            let values = values.map(|(key, value)| (key.clone(), value.clone()));
            read_choice(&values.collect(), &mut found)
        }
        None => return None,
    };
    Some(if fits && !found.is_empty() {
        Ok(Choices(found))
    } else {
        Err("the choices of an enum have to be strings".into())
    })
}

/// Reads one alternative: a value with its title, or several values without.
fn read_choice(members: &Map<String, Value>, found: &mut Vec<(String, Option<String>)>) -> bool {
    if let Some(value) = members.get("const") {
        let Some(value) = value.as_str() else {
            return false;
        };
        let title = ["title", "description"].into_iter();
        let mut title = title.filter_map(|key| members.get(key)?.as_str());
        found.push((value.to_owned(), title.next().map(str::to_owned)));
        return true;
    }
    let Some(values) = members.get("enum").and_then(Value::as_array) else {
        return members.get("type").is_some_and(|ty| ty == "null");
    };
    for value in values.iter().filter(|value| !value.is_null()) {
        let Some(value) = value.as_str() else {
            return false;
        };
        found.push((value.to_owned(), None));
    }
    true
}

/// Words a form as 2025-06-18 knows it: titles of choices beside them, defaults of booleans only.
/// What is not known here is left as it is.
///
/// # Errors
/// [`FormError`] names a field with several choices: that version has no such fields.
pub fn of_2025_06_18(schema: &mut Value) -> Result<(), FormError> {
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, field) in fields.into_iter().flatten() {
        let Value::Object(field) = field else {
            continue;
        };
        let ty = field.get("type").and_then(Value::as_str);
        if ty == Some("array") {
            return Err(FormError::Member {
                member: name.clone(),
                reason: "clients of 2025-06-18 know no field with several choices".into(),
            });
        }
        if ty != Some("boolean") {
            field.shift_remove("default");
        }
        let titled = field.get("oneOf").and_then(Value::as_array);
        let titled = titled.and_then(|all| {
            let pairs = all.iter().map(|choice| {
                let text = |key: &str| choice.get(key)?.as_str().map(str::to_owned);
                Some((text("const")?, text("title")?))
            });
            pairs.collect::<Option<Vec<_>>>()
        });
        if let Some(titled) = titled {
            let (values, titles): (Vec<_>, Vec<_>) = titled.into_iter().unzip();
            field.shift_remove("oneOf");
            field.insert("enum".to_owned(), Value::from(values));
            field.insert("enumNames".to_owned(), Value::from(titles));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
