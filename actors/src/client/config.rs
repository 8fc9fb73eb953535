//! What an MCP client is told once: its name, its policy, its bounds.

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    machine::negotiate::Discovered,
    ports::transport::Transport,
    wire::{content::ToolListing, version},
};

/// How long a call waits for its result.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// How many requests a connection has under way at once; the others wait, within their time. Each
/// of them may hold a socket, and servers bound those too.
pub(crate) const MAX_REQUESTS: usize = 256;
/// How long a connection may take, with the probe and the handshake of an older server.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Decides about a tool by its listing, with the server's own name.
pub(crate) type ToolPredicate = Arc<dyn Fn(&ToolListing) -> bool + Send + Sync>;

/// The configuration of a client; the same on every thread.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) prefix: Option<String>,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) capabilities: Map<String, Value>,
    pub(crate) tool_filter: Option<ToolPredicate>,
    pub(crate) needs_approval: Option<ToolPredicate>,
    pub(crate) max_requests: usize,
    pub(crate) timeout: Duration,
    pub(crate) connect_timeout: Duration,
}

impl Config {
    pub(crate) fn new(transport: Arc<dyn Transport>) -> Self {
        let mut capabilities = Map::new();
        capabilities.insert("elicitation".to_owned(), json!({"form": {}}));
        capabilities.insert("sampling".to_owned(), json!({}));
        Self {
            transport,
            prefix: None,
            name: "roscius".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            capabilities,
            tool_filter: None,
            needs_approval: None,
            max_requests: MAX_REQUESTS,
            timeout: REQUEST_TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
        }
    }

    /// The prefix that names get; an empty one is none.
    pub(crate) fn prefix(&self) -> Option<&str> {
        self.prefix.as_deref().filter(|prefix| !prefix.is_empty())
    }

    pub(crate) fn client_info(&self) -> Value {
        json!({"name": self.name, "version": self.version})
    }

    pub(crate) fn shows(&self, listing: &ToolListing) -> bool {
        self.tool_filter
            .as_ref()
            .is_none_or(|filter| filter(listing))
    }

    pub(crate) fn asks_for(&self, listing: &ToolListing) -> bool {
        self.needs_approval
            .as_ref()
            .is_some_and(|asks| asks(listing))
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Config")
            .field("transport", &self.transport)
            .field("prefix", &self.prefix)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// The era that a server was found to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Era {
    /// 2026-07-28 and later: each request stands alone.
    Modern,
    /// Up to 2025-11-25: a handshake, perhaps a session.
    Legacy,
}

/// What a connected server says about itself.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServerFacts {
    /// The era it speaks.
    pub era: Era,
    /// The negotiated protocol version.
    pub version: &'static str,
    /// Its capabilities.
    pub capabilities: Map<String, Value>,
    /// How it wants to be used.
    pub instructions: Option<String>,
    /// Its name and version, for display only.
    pub server_info: Option<Value>,
}

impl ServerFacts {
    pub(crate) fn modern(version: &'static str, discovered: Discovered) -> Self {
        Self {
            era: Era::Modern,
            version,
            capabilities: discovered.capabilities,
            instructions: discovered.instructions,
            server_info: discovered.server_info,
        }
    }

    /// Knows a version of the legacy era by the text a server sent.
    pub(crate) fn legacy_version(text: &str) -> Option<&'static str> {
        version::LEGACY.into_iter().find(|version| *version == text)
    }
}

/// What the actors of one client, each on its thread, have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    /// Fires when the client is closed: pending calls end, new ones are refused.
    pub(crate) closed: CancellationToken,
    facts: RwLock<Option<Arc<ServerFacts>>>,
}

impl Shared {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            closed: CancellationToken::new(),
            facts: RwLock::new(None),
        }
    }

    /// The verdict about the server, found by whichever thread connected last.
    pub(crate) fn facts(&self) -> Option<Arc<ServerFacts>> {
        self.facts
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn set_facts(&self, facts: ServerFacts) -> Arc<ServerFacts> {
        let facts = Arc::new(facts);
        *self.facts.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&facts));
        facts
    }
}
