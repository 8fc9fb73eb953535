//! A message to the server, read in one pass and borrowed from its bytes.
//!
//! Derived structs would also accept positional arrays, and read `"id": null` as no id: [`Obj`]
//! and `present` take care of that at no cost. Duplicate members are refused, so that the server
//! and whatever stands before it cannot read two different messages.

use std::{borrow::Cow, fmt, marker::PhantomData, ops::Deref};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::value::RawValue;

/// A value that is written as a JSON object and in no other way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Obj<T>(pub T);

impl<T> Deref for Obj<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Obj<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OnlyMap<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyMap<T> {
            type Value = Obj<T>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Obj<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Obj)
            }
        }
        deserializer.deserialize_map(OnlyMap(PhantomData))
    }
}

/// A text, borrowed unless it holds escapes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Str<'a>(Cow<'a, str>);

impl Deref for Str<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text<'a>(PhantomData<&'a str>);
        impl<'de: 'a, 'a> Visitor<'de> for Text<'a> {
            type Value = Str<'a>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a string")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Str<'a>, E> {
                Ok(Str(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Str<'a>, E> {
                Ok(Str(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Str<'a>, E> {
                Ok(Str(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(Text(PhantomData))
    }
}

/// A request or a notification.
#[derive(Debug, Deserialize)]
pub struct Envelope<'a> {
    /// `2.0`.
    #[serde(borrow)]
    pub jsonrpc: Str<'a>,
    /// The id as it stands in the text; a notification has none.
    #[serde(borrow, default, deserialize_with = "present")]
    pub id: Option<&'a RawValue>,
    /// The method.
    #[serde(borrow)]
    pub method: Str<'a>,
    /// The parameters.
    #[serde(borrow, default)]
    pub params: Option<Obj<Params<'a>>>,
}

/// The parameters of all methods that the server knows; what a method does not use is not read.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Params<'a> {
    /// `tools/call`, `prompts/get`.
    #[serde(borrow, default)]
    pub name: Option<Str<'a>>,
    /// `tools/call`: JSON text, skipped here and read by the tool.
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
    /// Lists. An empty cursor is a cursor.
    #[serde(borrow, default)]
    pub cursor: Option<Str<'a>>,
    /// `resources/read` and others that name a resource.
    #[serde(borrow, default)]
    pub uri: Option<Str<'a>>,
    /// `completion/complete`: what is completed.
    #[serde(rename = "ref", borrow, default)]
    pub reference: Option<&'a RawValue>,
    /// `completion/complete`: the argument and its value so far.
    #[serde(borrow, default)]
    pub argument: Option<&'a RawValue>,
    /// `completion/complete`: what is settled already.
    #[serde(borrow, default)]
    pub context: Option<&'a RawValue>,
    /// `initialize`.
    #[serde(borrow, default)]
    pub protocol_version: Option<Str<'a>>,
    /// `initialize`: what the client can do.
    #[serde(borrow, default)]
    pub capabilities: Option<&'a RawValue>,
    /// 2026, `subscriptions/listen`: what the client wants to hear.
    #[serde(borrow, default)]
    pub notifications: Option<&'a RawValue>,
    /// 2025, `logging/setLevel`.
    #[serde(borrow, default)]
    pub level: Option<Str<'a>>,
    /// `notifications/cancelled`: the id of a request.
    #[serde(borrow, default)]
    pub request_id: Option<&'a RawValue>,
    /// 2025-11-25, `tools/call`: the client wants a task.
    #[serde(borrow, default)]
    pub task: Option<&'a RawValue>,
    /// `tasks/get` and others that name a task.
    #[serde(borrow, default)]
    pub task_id: Option<Str<'a>>,
    /// 2026: answers to the questions of an earlier round, or of a task.
    #[serde(borrow, default)]
    pub input_responses: Option<&'a RawValue>,
    /// 2026: what the server sealed in an earlier round.
    #[serde(borrow, default)]
    pub request_state: Option<Str<'a>>,
    /// Metadata.
    #[serde(rename = "_meta", borrow, default)]
    pub meta: Option<Obj<Meta<'a>>>,
}

/// The members of `_meta` that the server reads.
#[derive(Debug, Default, Deserialize)]
pub struct Meta<'a> {
    /// The version of this request.
    #[serde(rename = "io.modelcontextprotocol/protocolVersion", borrow, default)]
    pub protocol_version: Option<Str<'a>>,
    /// What the client can do: an object.
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities", borrow, default)]
    pub client_capabilities: Option<&'a RawValue>,
    /// Log messages that the client wants.
    #[serde(rename = "io.modelcontextprotocol/logLevel", borrow, default)]
    pub log_level: Option<Str<'a>>,
    /// Where progress is reported to: a string or an integer.
    #[serde(rename = "progressToken", borrow, default)]
    pub progress_token: Option<&'a RawValue>,
    /// The trace that the request is a part of: a string as W3C Trace Context writes it, or of no
    /// interest.
    #[serde(borrow, default)]
    pub traceparent: Option<&'a RawValue>,
}

/// Keeps `"id": null` apart from an absent id.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Tells whether a JSON text is an id: a string or an integer.
#[must_use]
pub fn is_id(raw: &str) -> bool {
    match raw.as_bytes() {
        [b'"', ..] => true,
        [b'-' | b'0'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use super::*;

    fn read(text: &str) -> Result<Obj<Envelope<'_>>, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn a_call_is_borrowed_from_its_text() {
        let text = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
        let call = read(text).unwrap();
        assert_eq!(call.id.unwrap().get(), "7");
        let params = call.params.as_ref().unwrap();
        assert_eq!(params.name.as_deref(), Some("echo"));
        assert_eq!(params.arguments.unwrap().get(), r#"{"text":"hi"}"#);
        assert!(matches!(params.name, Some(Str(Cow::Borrowed(_)))));
        let meta = params.meta.as_ref().unwrap();
        assert_eq!(meta.protocol_version.as_deref(), Some("2026-07-28"));
    }

    #[test]
    fn arrays_for_objects_and_members_given_twice_are_refused() {
        for text in [
            r#"["2.0",1,"ping",null]"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["echo",{},null,null,null,null,null]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":["2026-07-28"]}}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_null_id_is_not_an_absent_one() {
        let null = r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#;
        assert_eq!(read(null).unwrap().id.unwrap().get(), "null");
        let none = r#"{"jsonrpc":"2.0","method":"ping"}"#;
        assert!(read(none).unwrap().id.is_none());
    }

    #[test]
    fn ids_are_strings_and_integers() {
        for (raw, id) in [
            ("1", true),
            ("-5", true),
            ("\"a\"", true),
            ("1.0", false),
            ("1e3", false),
            ("null", false),
            ("true", false),
            ("{}", false),
            ("", false),
        ] {
            assert_eq!(is_id(raw), id, "{raw}");
        }
    }
}
