//! Reads the body of a POST: one message, or the reason why it is none.
//!
//! The typed pass takes every well-formed message. Only one that fails it is read again as a value,
//! to tell a broken text from a wrong shape and to find the id of the answer.

use serde_json::{Map, Value};

use crate::wire::{
    jsonrpc::{RpcError, code},
    mcp::envelope::{Envelope, Obj, is_id},
};

/// What a body holds.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it lives on the stack for one request, where a box would cost more"
)]
pub enum Read<'a> {
    /// A request or a notification.
    Message(Envelope<'a>),
    /// A request or notification with a member of the wrong type in `params`: the text without
    /// that member, so that all earlier checks can be made, and the error that comes after them.
    Repaired {
        /// The text without what is wrong.
        text: String,
        /// What is wrong.
        error: RpcError,
    },
    /// The client's answer to a request of the server (2025): an object with `result` or `error`.
    Response(Map<String, Value>),
    /// A JSON array: a batch where there are any.
    Array(&'a str),
    /// Nothing that can be answered with a result.
    Broken(Broken),
}

/// A body that is no message.
#[derive(Debug)]
pub struct Broken {
    /// The id as JSON text, if it can be read.
    pub id: Option<String>,
    /// -32700 or -32600.
    pub error: RpcError,
}

/// Reads a body.
#[must_use]
pub fn read(body: &[u8]) -> Read<'_> {
    // serde_json checks raw values of a byte slice again and again; once is enough.
    let Ok(text) = std::str::from_utf8(body) else {
        return broken(None, code::PARSE_ERROR, "the body is not UTF-8");
    };
    read_text(text)
}

/// Reads the text of a body, or of one element of a batch.
#[must_use]
pub fn read_text(text: &str) -> Read<'_> {
    if text.trim_ascii_start().starts_with('[') {
        return Read::Array(text);
    }
    match serde_json::from_str::<Obj<Envelope<'_>>>(text) {
        Ok(Obj(message)) if is_sound(&message) => Read::Message(message),
        Ok(_) => explain(text, "the message is not JSON-RPC 2.0"),
        Err(error) => explain(text, &error.to_string()),
    }
}

fn is_sound(message: &Envelope<'_>) -> bool {
    &*message.jsonrpc == "2.0" && message.id.is_none_or(|id| is_id(id.get()))
}

fn broken(id: Option<String>, code: i64, message: impl Into<String>) -> Read<'static> {
    let error = RpcError::new(code, message.into());
    Read::Broken(Broken { id, error })
}

fn explain(text: &str, reason: &str) -> Read<'static> {
    let value = match serde_json::from_str::<Value>(text) {
        Ok(value) => value,
        Err(error) => {
            return broken(
                None,
                code::PARSE_ERROR,
                format!("the body is not JSON: {error}"),
            );
        }
    };
    let Value::Object(mut message) = value else {
        return broken(
            None,
            code::INVALID_REQUEST,
            "the body is not a JSON-RPC message",
        );
    };
    // Which of two members is meant, the id included, is anybody's guess.
    let twice = ["jsonrpc", "id", "method", "params"]
        .map(|name| format!("duplicate field `{name}`"))
        .iter()
        .any(|twice| reason.starts_with(twice));
    if twice {
        return broken(None, code::INVALID_REQUEST, reason);
    }
    let id = message.get("id").map(Value::to_string);
    let id_is_sound = id.as_deref().is_none_or(is_id);
    let id = id.filter(|_| id_is_sound);
    let invalid = |reason: &str| broken(id.clone(), code::INVALID_REQUEST, reason);
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("`jsonrpc` is not \"2.0\"");
    }
    if !message.contains_key("method")
        && (message.contains_key("result") || message.contains_key("error"))
    {
        return Read::Response(message);
    }
    if !id_is_sound {
        return invalid("the id is neither a string nor an integer");
    }
    if !message.get("method").is_some_and(Value::is_string) {
        return invalid("`method` is not a string");
    }
    let mut wrong = None;
    match message.get_mut("params") {
        None | Some(Value::Null) => {}
        Some(Value::Object(params)) => wrong = repair(params),
        Some(_) => return invalid("`params` is not an object"),
    }
    let wrong = wrong.unwrap_or_else(|| reason.to_owned());
    Read::Repaired {
        text: Value::Object(message).to_string(),
        error: RpcError::new(code::INVALID_PARAMS, format!("invalid params: {wrong}")),
    }
}

/// Takes out the members whose type the typed pass refuses and names the first of them.
fn repair(params: &mut serde_json::Map<String, Value>) -> Option<String> {
    const TEXTS: [&str; 7] = [
        "name",
        "uri",
        "cursor",
        "protocolVersion",
        "requestState",
        "level",
        "taskId",
    ];
    let mut wrong = None;
    for name in TEXTS {
        if params
            .get(name)
            .is_some_and(|value| !value.is_string() && !value.is_null())
        {
            params.shift_remove(name);
            wrong.get_or_insert(format!("/{name} is not a string"));
        }
    }
    match params.get_mut("_meta") {
        Some(Value::Object(meta)) => {
            use crate::wire::mcp::meta_key::{LOG_LEVEL, PROTOCOL_VERSION};
            for name in [PROTOCOL_VERSION, LOG_LEVEL] {
                if meta
                    .get(name)
                    .is_some_and(|value| !value.is_string() && !value.is_null())
                {
                    meta.shift_remove(name);
                    wrong.get_or_insert(format!("_meta: {name} is not a string"));
                }
            }
        }
        None | Some(Value::Null) => {}
        Some(_) => {
            params.shift_remove("_meta");
            wrong.get_or_insert("/_meta is not an object".to_owned());
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "a failed expectation is the test failing")]
    use super::*;

    #[test]
    fn what_is_no_message_says_why_and_keeps_a_readable_id() {
        for (body, code, id) in [
            ("", code::PARSE_ERROR, None),
            ("{", code::PARSE_ERROR, None),
            ("5", code::INVALID_REQUEST, None),
            (
                r#"{"id":1,"method":"ping"}"#,
                code::INVALID_REQUEST,
                Some("1"),
            ),
            (
                r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#,
                code::INVALID_REQUEST,
                Some("\"a\""),
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
                code::INVALID_REQUEST,
                None,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
                code::INVALID_REQUEST,
                None,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1}"#,
                code::INVALID_REQUEST,
                Some("1"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
                code::INVALID_REQUEST,
                Some("1"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}"#,
                code::INVALID_REQUEST,
                Some("1"),
            ),
        ] {
            let Read::Broken(broken) = read(body.as_bytes()) else {
                panic!("{body} was read")
            };
            assert_eq!(broken.error.code, code, "{body}");
            assert_eq!(broken.id.as_deref(), id, "{body}");
        }
        assert!(matches!(read(b"\xff\xfe"), Read::Broken(_)));
    }

    #[test]
    fn a_member_that_stands_twice_makes_no_message() {
        for body in [
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}"#,
        ] {
            let Read::Broken(broken) = read(body.as_bytes()) else {
                panic!("{body} was read")
            };
            assert_eq!(
                (broken.error.code, broken.id),
                (code::INVALID_REQUEST, None)
            );
        }
    }

    #[test]
    fn wrong_types_inside_params_are_kept_for_later() {
        for body in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":[1]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"a","cursor":"b"}}"#,
        ] {
            let Read::Repaired { text, error } = read(body.as_bytes()) else {
                panic!("{body}")
            };
            assert_eq!(error.code, code::INVALID_PARAMS);
            assert!(matches!(read_text(&text), Read::Message(_)), "{text}");
        }
    }

    #[test]
    fn responses_and_arrays_are_told_apart() {
        assert!(matches!(
            read(br#"{"jsonrpc":"2.0","id":0,"result":{}}"#),
            Read::Response(_)
        ));
        assert!(matches!(
            read(br#"{"jsonrpc":"2.0","id":0,"error":{}}"#),
            Read::Response(_)
        ));
        assert!(matches!(read(b" [1]"), Read::Array(_)));
    }
}
