//! MCP 2026-07-28: names and values of the wire that both sides use.

pub mod envelope;

use serde::{Deserialize, Serialize};

/// How important a log message is, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Details for a developer.
    Debug,
    /// What happened.
    Info,
    /// Normal and worth a look.
    Notice,
    /// May go wrong.
    Warning,
    /// Went wrong.
    Error,
    /// A part is down.
    Critical,
    /// Act now.
    Alert,
    /// Everything is down.
    Emergency,
}

impl LogLevel {
    /// Gives the level as it stands on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// Reads a level of the wire.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_value(serde_json::Value::from(text)).ok()
    }
}

/// Keys of `_meta` that the spec reserves.
pub mod meta_key {
    /// The version of this request.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// What the client can do, in this request.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// Who the client is.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// Log messages that the client wants on this request's stream.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// The request that a notification of a listening client belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// Who the server is.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
}
