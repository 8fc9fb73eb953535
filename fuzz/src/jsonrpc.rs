//! A body is read as what JSON says it is, or refused with a reason that is true.

use roscius_actors::{
    machine::message::{Broken, Read, read, read_text},
    wire::{
        jsonrpc::code,
        mcp::envelope::{Envelope, is_id},
    },
};
use serde_json::{Value, value::RawValue};

/// Elements of one array that are looked at; servers take no more.
const MAX_ELEMENTS: usize = 50;

/// Checks one body.
pub fn check(body: &[u8]) {
    match std::str::from_utf8(body) {
        Ok(text) => check_text(text),
        Err(_) => {
            let Read::Broken(broken) = read(body) else {
                panic!("a body that is not UTF-8 was read");
            };
            assert_eq!(broken.error.code, code::PARSE_ERROR);
        }
    }
}

fn check_text(text: &str) {
    let value: Option<Value> = serde_json::from_str(text).ok();
    match read_text(text) {
        Read::Message(message) => message_is(&message, value.as_ref()),
        Read::Repaired {
            text: repaired,
            error,
        } => {
            assert_eq!(error.code, code::INVALID_PARAMS);
            let original = value.expect("only JSON is repaired");
            let Read::Message(message) = read_text(&repaired) else {
                panic!("what was repaired is no message: {repaired}");
            };
            assert_eq!(original["method"], *message.method);
            assert_eq!(
                original.get("id").cloned(),
                message.id.map(|id| parsed(id.get()))
            );
        }
        Read::Response(response) => {
            assert_eq!(value, Some(Value::Object(response.clone())));
            assert_eq!(response["jsonrpc"], "2.0");
            assert!(response.contains_key("result") || response.contains_key("error"));
            assert!(!response.contains_key("method"));
        }
        Read::Array(array) => {
            assert!(array.trim_ascii_start().starts_with('['));
            assert!(value.is_none_or(|value| value.is_array()));
            let elements: Vec<&RawValue> = serde_json::from_str(array).unwrap_or_default();
            for element in elements.into_iter().take(MAX_ELEMENTS) {
                if !element.get().starts_with('[') {
                    check_text(element.get());
                }
            }
        }
        Read::Broken(broken) => is_broken(&broken, value.as_ref()),
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("a part of JSON is JSON")
}

/// Compares with what a reader that knows nothing of MCP finds. Some numbers and escapes of the
/// arguments are beyond that reader; then there is nothing to compare.
fn message_is(message: &Envelope<'_>, value: Option<&Value>) {
    assert_eq!(&*message.jsonrpc, "2.0");
    assert!(message.id.is_none_or(|id| is_id(id.get())));
    let Some(value) = value else {
        return;
    };
    assert_eq!(value["jsonrpc"], "2.0");
    assert_eq!(value["method"], *message.method);
    assert_eq!(
        value.get("id").cloned(),
        message.id.map(|id| parsed(id.get()))
    );
    let Some(params) = &message.params else {
        assert!(value.get("params").is_none_or(Value::is_null));
        return;
    };
    let given = &value["params"];
    assert!(given.is_object());
    let texts = [
        ("name", &params.name),
        ("cursor", &params.cursor),
        ("uri", &params.uri),
        ("protocolVersion", &params.protocol_version),
        ("level", &params.level),
        ("requestState", &params.request_state),
    ];
    for (name, text) in texts {
        assert_eq!(given[name].as_str(), text.as_deref(), "{name}");
    }
    let raws = [
        ("arguments", params.arguments),
        ("ref", params.reference),
        ("argument", params.argument),
        ("context", params.context),
        ("capabilities", params.capabilities),
        ("notifications", params.notifications),
        ("requestId", params.request_id),
        ("inputResponses", params.input_responses),
    ];
    for (name, raw) in raws {
        let raw = raw.map_or(Value::Null, |raw| parsed(raw.get()));
        assert_eq!(given[name], raw, "{name}");
    }
    // What was read is read again from any other writing of the same value.
    let again = value.to_string();
    let same_id = message
        .id
        .is_none_or(|id| is_id(&parsed(id.get()).to_string()));
    if same_id {
        let Read::Message(again) = read_text(&again) else {
            panic!("written anew it is no message: {again}");
        };
        assert_eq!(*again.method, *message.method);
    }
}

fn is_broken(broken: &Broken, value: Option<&Value>) {
    match broken.error.code {
        code::PARSE_ERROR => assert_eq!(value, None, "JSON was called none"),
        code::INVALID_REQUEST => {
            let value = value.expect("what is not JSON is no invalid request");
            if let Some(id) = &broken.id {
                assert!(is_id(id));
                assert_eq!(value["id"], parsed(id));
            }
        }
        other => panic!("{other} is no code of a body that is no message"),
    }
}
