//! JSON-RPC 2.0: ids, errors and their codes. Spec: JSON-RPC 2.0 and MCP "Base protocol".

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The id of a request: a string or an integer, never null.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    /// An integer id.
    Number(i64),
    /// A string id.
    Text(Box<str>),
}

impl fmt::Display for RequestId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(id) => fmt::Display::fmt(id, out),
            Self::Text(id) => out.write_str(id),
        }
    }
}

impl From<i64> for RequestId {
    fn from(id: i64) -> Self {
        Self::Number(id)
    }
}

impl From<&str> for RequestId {
    fn from(id: &str) -> Self {
        Self::Text(id.into())
    }
}

/// Error codes of JSON-RPC and MCP.
pub mod code {
    /// The body is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The body is not one JSON-RPC message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist here.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The server failed.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// The caller has asked too often: a code of our own, outside of what JSON-RPC reserves.
    pub const RATE_LIMITED: i64 = 429;
    /// The server has no room for more now: a code of our own, outside of what JSON-RPC reserves.
    pub const OVERLOADED: i64 = 503;
    /// 2025: transport-level refusals of servers.
    pub const SERVER_ERROR: i64 = -32000;
    /// 2025: no such session.
    pub const SESSION_NOT_FOUND: i64 = -32001;
    /// 2025: no such resource.
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// 2025-11-25: a page has to be opened before the request can be served.
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
    /// 2026: headers and body disagree.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// 2026: the request does not declare a capability that it needs.
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    /// 2026: the protocol version is unknown or refused.
    pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
}

/// The `error` member of a JSON-RPC response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// Says what kind of failure it is, see [`code`].
    pub code: i64,
    /// Says it in words.
    pub message: Cow<'static, str>,
    /// Further data, free in form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// Makes an error without data.
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Adds data.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}
