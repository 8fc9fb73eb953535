//! What is written to a server and read from it, message by message.

use bytes::Bytes;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value, value::RawValue};

use crate::{
    client::error::ClientError,
    wire::jsonrpc::{RequestId, RpcError},
};

/// What was said in a reply.
pub(in crate::client) enum Message {
    Result(Box<RawValue>),
    Error(RpcError),
    /// Nothing that answers the request.
    Unrecognised,
}

#[derive(Deserialize)]
pub(super) struct Incoming<'a> {
    #[serde(default)]
    id: Option<RequestId>,
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<RpcError>,
}

/// Tells whether a text is the beginning of a JSON text and no more. The HTTP client takes a
/// connection that is cut between two chunks for the end of the body. A blank line is no beginning:
/// servers send one with a status that says everything.
pub(super) fn is_cut(text: &[u8]) -> bool {
    let blank = text.trim_ascii().is_empty();
    !blank && serde_json::from_slice::<IgnoredAny>(text).is_err_and(|error| error.is_eof())
}

/// One incoming message, sorted.
pub(super) enum Step {
    Answer(Message),
    Asked { method: String, id: RequestId },
    Notified { method: String },
    Skip,
}

pub(super) fn sort(incoming: Incoming<'_>, id: &RequestId) -> Step {
    match incoming {
        Incoming {
            method: Some(method),
            id: Some(id),
            ..
        } => Step::Asked { method, id },
        Incoming {
            method: Some(method),
            ..
        } => Step::Notified { method },
        // An error whose request could not be read has no id; it can only be ours.
        Incoming {
            id: other,
            error: Some(error),
            ..
        } if other.as_ref().is_none_or(|other| other == id) => Step::Answer(Message::Error(error)),
        Incoming {
            id: Some(other),
            result: Some(result),
            ..
        } if other == *id => Step::Answer(Message::Result(result.to_owned())),
        _ => Step::Skip,
    }
}

/// Writes a request.
pub(in crate::client) fn encode(
    id: &RequestId,
    method: &str,
    params: &Map<String, Value>,
) -> Result<Bytes, ClientError> {
    #[derive(serde::Serialize)]
    struct Message<'a> {
        jsonrpc: &'static str,
        id: &'a RequestId,
        method: &'a str,
        params: &'a Map<String, Value>,
    }
    let message = Message {
        jsonrpc: "2.0",
        id,
        method,
        params,
    };
    let bytes = serde_json::to_vec(&message);
    bytes
        .map(Bytes::from)
        .map_err(|error| ClientError::protocol(format!("the request cannot be written: {error}")))
}
