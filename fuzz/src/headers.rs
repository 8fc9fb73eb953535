//! Values survive as headers, and what the client mirrors is what the server accepts.
//! Lines of an input: a header, a value of the body, the arguments of a call.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use roscius_actors::{
    machine::{
        era::{self, Era},
        headers::{check_encoded, check_params, check_plain},
        param_headers::{ParamHeader, annotated, mirrored},
    },
    wire::{header_value, jsonrpc::code, version},
};
use serde_json::{Value, json};

const NAME: &str = "mcp-name";

/// Checks one input.
pub fn check(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        survives(text);
    }
    let [header, value, arguments] = super::lines(data);
    versions(header, std::str::from_utf8(value).ok());
    if let Ok(value) = std::str::from_utf8(value) {
        compared(header, value);
    }
    if let Ok(header) = std::str::from_utf8(header) {
        decoded_strictly(header);
    }
    if let Ok(arguments) = serde_json::from_slice(arguments) {
        mirrors(&arguments);
        // An invalid annotation is refused, whatever it is.
        if let Ok(found) = annotated(&arguments) {
            let names: Vec<&String> = found.iter().map(|header| &header.name).collect();
            assert!(names.iter().all(|name| is_token(name)), "{names:?}");
        }
    }
}

fn is_token(name: &str) -> bool {
    !name.is_empty() && !name.contains(|sign: char| !sign.is_ascii_graphic() || sign == ':')
}

fn survives(text: &str) {
    let header = header_value::encode(text);
    let sendable = |byte: u8| matches!(byte, b' '..=b'~' | b'\t');
    assert!(header.bytes().all(sendable), "{header:?}");
    assert_eq!(header.trim_matches([' ', '\t']), &*header);
    assert_eq!(header_value::decode(&header).as_deref(), Some(text));
    assert_eq!(check_encoded(NAME, Some(header.as_bytes()), text), Ok(()));
}

fn decoded_strictly(header: &str) {
    let between = |text: &'static str, end: &'static str| {
        header
            .strip_prefix(text)
            .and_then(|rest| rest.strip_suffix(end))
    };
    let decoded = header_value::decode(header);
    match (between("=?base64?", "?="), decoded) {
        (None, decoded) => assert_eq!(decoded.as_deref(), Some(header)),
        // One value has one encoding: else two readers could see two values.
        (Some(inner), Some(decoded)) => assert_eq!(STANDARD.encode(&*decoded), inner),
        (Some(_), None) => {}
    }
}

fn compared(header: &[u8], value: &str) {
    let plain = check_plain(NAME, Some(header), value);
    let encoded = check_encoded(NAME, Some(header), value);
    for refused in [&plain, &encoded]
        .into_iter()
        .filter_map(|it| it.as_ref().err())
    {
        assert_eq!(refused.code, code::HEADER_MISMATCH);
        assert!(refused.to_string().len() < 400, "{refused}");
    }
    if plain.is_ok() {
        assert_eq!(header, value.as_bytes());
    }
    if encoded.is_ok() {
        let header = std::str::from_utf8(header).expect("a header that was accepted is ASCII");
        assert_eq!(header_value::decode(header).as_deref(), Some(value));
    }
    for missing in [
        check_plain(NAME, None, value),
        check_encoded(NAME, None, value),
    ] {
        assert_eq!(
            missing.map_err(|error| error.code),
            Err(code::HEADER_MISMATCH)
        );
    }
}

fn versions(header: &[u8], meta: Option<&str>) {
    for meta in [meta, None] {
        match era::choose(Some(header), meta) {
            Era::Legacy(known) => {
                assert_eq!(known.as_bytes(), header);
                assert!(meta.is_none_or(|meta| !version::is_modern(meta)));
            }
            Era::Modern => {
                let dated = std::str::from_utf8(header).is_ok_and(version::is_modern);
                assert!(dated || meta.is_some());
            }
            Era::Unknown => assert_eq!(meta, None),
        }
    }
    assert_eq!(era::choose(None, meta).is_modern(), meta.is_some());
}

fn mirrors(arguments: &Value) {
    let schema = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "deep": {"type": "object", "properties": {"on": {"type": "boolean", "x-mcp-header": "On"}}}
    }});
    let annotated = annotated(&schema).expect("a sound schema");
    let sent = mirrored(&annotated, arguments);
    let fits = |header: &ParamHeader| {
        let mut value = Some(arguments);
        for name in &header.path {
            value = value.and_then(|value| value.get(name));
        }
        match value {
            None | Some(Value::Null | Value::Array(_) | Value::Object(_)) => true,
            // Beyond this not every peer reads the same integer, so the client sends none.
            Some(Value::Number(_)) => sent.iter().any(|(name, _)| *name == header.name),
            Some(Value::String(_) | Value::Bool(_)) => true,
        }
    };
    let headers: Vec<(String, String)> = sent
        .iter()
        .map(|(name, value)| (format!("mcp-param-{name}"), value.clone()))
        .collect();
    let as_read: Vec<(&str, &str)> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    if annotated.iter().all(fits) {
        assert_eq!(check_params(&annotated, &as_read, arguments), Ok(()));
    }
    for at in 0..as_read.len() {
        let mut fewer = as_read.clone();
        fewer.remove(at);
        let checked = check_params(&annotated, &fewer, arguments);
        assert_eq!(
            checked.map_err(|error| error.code),
            Err(code::HEADER_MISMATCH)
        );
    }
}
