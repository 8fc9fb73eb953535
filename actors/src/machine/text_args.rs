//! Reads a map of texts into a type: arguments of prompts and variables of URI templates.
//!
//! MCP carries both as texts only. Numbers, booleans and enums of the type are read from them.

use serde::{
    Deserializer, Serialize,
    de::{DeserializeOwned, Error as _, IntoDeserializer, Visitor, value::MapDeserializer},
    forward_to_deserialize_any,
};
use serde_json::{Map, Value};

use super::schema::is_object;
use crate::wire::{prompt::PromptArgument, uri_template::Variables};

/// Why texts do not fit a type.
pub type TextError = serde::de::value::Error;

/// Reads texts into a type.
///
/// # Errors
/// [`TextError`] with what is missing or does not fit.
pub fn read<T: DeserializeOwned>(texts: &Variables) -> Result<T, TextError> {
    let pairs = texts
        .iter()
        .map(|(name, text)| (name.as_str(), Text { name, text }));
    T::deserialize(MapDeserializer::new(pairs))
}

/// Writes a type as the texts that [`read`] reads it from. What is null is left out.
///
/// # Errors
/// [`TextError`] when it is no object, or holds something that is no text, number or boolean.
pub fn write<T: Serialize + ?Sized>(value: &T) -> Result<Variables, TextError> {
    let members = match serde_json::to_value(value).map_err(TextError::custom)? {
        Value::Object(members) => members,
        Value::Null => Map::new(),
        _ => return Err(TextError::custom("an object of texts is expected")),
    };
    let mut texts = Variables::with_capacity(members.len());
    for (name, value) in members {
        let text = match value {
            Value::Null => continue,
            Value::String(text) => text,
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Array(_) | Value::Object(_) => {
                return Err(TextError::custom(format_args!("`{name}` is no text")));
            }
        };
        texts.insert(name, text);
    }
    Ok(texts)
}

struct Text<'a> {
    name: &'a str,
    text: &'a str,
}

impl Text<'_> {
    fn parse<T: std::str::FromStr>(&self, kind: &str) -> Result<T, TextError> {
        self.text
            .parse()
            .map_err(|_| TextError::custom(format_args!("`{}` is not {kind}", self.name)))
    }
}

impl<'de> IntoDeserializer<'de, TextError> for Text<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $kind:literal;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TextError> {
            visitor.$visit(self.parse($kind)?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Text<'de> {
    type Error = TextError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TextError> {
        visitor.visit_borrowed_str(self.text)
    }

    numbers! {
        deserialize_bool visit_bool "true or false";
        deserialize_i8 visit_i8 "a whole number";
        deserialize_i16 visit_i16 "a whole number";
        deserialize_i32 visit_i32 "a whole number";
        deserialize_i64 visit_i64 "a whole number";
        deserialize_i128 visit_i128 "a whole number";
        deserialize_u8 visit_u8 "a whole number";
        deserialize_u16 visit_u16 "a whole number";
        deserialize_u32 visit_u32 "a whole number";
        deserialize_u64 visit_u64 "a whole number";
        deserialize_u128 visit_u128 "a whole number";
        deserialize_f32 visit_f32 "a number";
        deserialize_f64 visit_f64 "a number";
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TextError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, TextError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TextError> {
        let text: serde::de::value::BorrowedStrDeserializer<'de, TextError> =
            serde::de::value::BorrowedStrDeserializer::new(self.text);
        text.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// Gives the arguments that the schema of a type describes, in its order.
#[must_use]
pub fn arguments_of(schema: &Value) -> Vec<PromptArgument> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return Vec::new();
    };
    let text =
        |schema: &Value, name: &str| schema.get(name).and_then(Value::as_str).map(str::to_owned);
    properties
        .iter()
        .map(|(name, schema)| PromptArgument {
            name: name.clone(),
            title: text(schema, "title"),
            description: text(schema, "description"),
            required: required.contains(&name.as_str()).then_some(true),
        })
        .collect()
}

/// Tells whether a map of texts can be read into the type of a schema: an object whose members
/// are neither objects nor arrays.
#[must_use]
pub fn is_flat(schema: &Value) -> bool {
    if !is_object(schema) {
        return false;
    }
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return true;
    };
    properties.values().all(|property| {
        let property = resolve(schema, property);
        !matches!(
            property.get("type").and_then(Value::as_str),
            Some("object" | "array")
        )
    })
}

fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema.get("$ref").and_then(Value::as_str);
    target
        .and_then(|target| root.pointer(target.strip_prefix('#')?))
        .unwrap_or(schema)
}

/// Gives the texts as the JSON object that the schema describes, for its validator.
#[must_use]
pub fn to_json(schema: &Value, texts: &Variables) -> Value {
    let properties = schema.get("properties");
    let mut object = Map::new();
    for (name, text) in texts {
        let property = properties.and_then(|all| all.get(name));
        let property = property.map(|property| resolve(schema, property));
        object.insert(name.clone(), value(property, text));
    }
    Value::Object(object)
}

fn value(schema: Option<&Value>, text: &str) -> Value {
    let is = |kind: &str| {
        schema
            .and_then(|schema| schema.get("type"))
            .is_some_and(|types| {
                types.as_str() == Some(kind)
                    || types
                        .as_array()
                        .is_some_and(|types| types.iter().any(|one| one.as_str() == Some(kind)))
            })
    };
    let parsed = || serde_json::from_str::<Value>(text).ok();
    let typed = if is("integer") || is("number") {
        parsed().filter(Value::is_number)
    } else if is("boolean") {
        parsed().filter(Value::is_boolean)
    } else {
        None
    };
    typed.unwrap_or_else(|| Value::from(text))
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::machine::schema::of_input;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Style {
        Short,
        Long,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Id(u32);

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Wanted {
        /// What it is written in.
        language: String,
        id: Option<Id>,
        share: Option<f64>,
        #[serde(default)]
        loud: bool,
        style: Option<Style>,
    }

    fn texts(pairs: &[(&str, &str)]) -> Variables {
        let owned = |(name, text): &(&str, &str)| (String::from(*name), String::from(*text));
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn texts_become_the_types_of_the_fields() {
        let all = texts(&[
            ("language", "Rust"),
            ("id", "7"),
            ("share", "0.5"),
            ("loud", "true"),
            ("style", "long"),
            ("unknown", "x"),
        ]);
        let read_back: Wanted = read(&all).unwrap();
        assert_eq!(
            read_back,
            Wanted {
                language: "Rust".to_owned(),
                id: Some(Id(7)),
                share: Some(0.5),
                loud: true,
                style: Some(Style::Long),
            }
        );
        let least: Wanted = read(&texts(&[("language", "42")])).unwrap();
        assert_eq!((least.language.as_str(), least.id), ("42", None));
    }

    #[test]
    fn a_type_becomes_the_texts_it_is_read_from() {
        let written = write(
            &json!({"language": "Rust", "id": 7, "share": 0.5, "loud": true, "style": "long", "none": null}),
        );
        let expected = [
            ("language", "Rust"),
            ("id", "7"),
            ("share", "0.5"),
            ("loud", "true"),
            ("style", "long"),
        ];
        assert_eq!(written, Ok(texts(&expected)));
        assert_eq!(write(&()), Ok(Variables::new()));
        let error = |value: Value| write(&value).unwrap_err().to_string();
        assert_eq!(error(json!({"deep": {"a": 1}})), "`deep` is no text");
        assert_eq!(error(json!([1])), "an object of texts is expected");
    }

    #[test]
    fn what_does_not_fit_names_the_argument() {
        let error = |pairs: &[(&str, &str)]| read::<Wanted>(&texts(pairs)).unwrap_err().to_string();
        assert_eq!(error(&[]), "missing field `language`");
        assert_eq!(
            error(&[("language", "x"), ("id", "-1")]),
            "`id` is not a whole number"
        );
        assert_eq!(
            error(&[("language", "x"), ("loud", "yes")]),
            "`loud` is not true or false"
        );
        assert!(error(&[("language", "x"), ("style", "mid")]).contains("`mid`"));
    }

    #[test]
    fn the_schema_gives_the_arguments() {
        let schema = of_input::<Wanted>().schema;
        assert!(is_flat(&schema));
        let arguments = arguments_of(&schema);
        let names: Vec<(&str, Option<bool>)> = arguments
            .iter()
            .map(|argument| (argument.name.as_str(), argument.required))
            .collect();
        assert_eq!(
            names,
            [
                ("language", Some(true)),
                ("id", None),
                ("share", None),
                ("loud", None),
                ("style", None)
            ]
        );
        let first = arguments.first().unwrap();
        assert_eq!(first.description.as_deref(), Some("What it is written in."));
        assert!(!is_flat(
            &json!({"type":"object","properties":{"a":{"type":"array"}}})
        ));
        assert!(!is_flat(&json!({"type":"string"})));
    }

    #[test]
    fn the_validator_sees_typed_values() {
        let schema = json!({"type":"object","properties":{
            "n":{"type":["integer","null"]},"b":{"type":"boolean"},"s":{"type":"string"}}});
        let all = texts(&[("n", "5"), ("b", "true"), ("s", "5"), ("other", "1")]);
        assert_eq!(
            to_json(&schema, &all),
            json!({"n":5,"b":true,"s":"5","other":"1"})
        );
        assert_eq!(to_json(&schema, &texts(&[("n", "x")])), json!({"n":"x"}));
    }
}
