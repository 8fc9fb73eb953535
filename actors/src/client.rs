//! Connects to MCP servers: either era, one handle, an actor per thread that uses it.
//!
//! ```no_run
//! # async fn example() -> Result<(), roscius_actors::client::ClientError> {
//! use roscius_actors::{client::McpClient, transport::Http};
//! use serde_json::json;
//!
//! let weather = McpClient::connect(Http::new("https://weather.example.com/mcp").bearer("token"))
//!     .prefix("weather")
//!     .await?;
//! let result = weather.call_tool("get_weather", json!({"city": "Oslo"})).await?;
//! weather.close().await;
//! # let _ = result;
//! # Ok(())
//! # }
//! ```

mod actor;
mod builder;
mod call;
mod config;
mod connection;
mod direct;
mod error;
mod handshake;
mod pending;
mod placement;
mod source;
mod tool_list;
mod typed;

use std::{fmt, sync::Arc, time::Duration};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub use builder::Connect;
pub use config::{Era, ServerFacts};
pub use direct::DirectClient;
pub use error::{ClientError, ConnectReason, InputKind, InputRequired};
pub use pending::{Call, FromReply, Parsed, Pending, ToolCall};
pub use typed::TypedClient;

pub(crate) use {placement::Slots, source::source_error};

use self::{
    actor::{ClientActor, Disconnect, Limits, ListTools},
    config::{Config, Shared},
};
use crate::{machine::client_policy, ports::transport::Transport, wire::content::ToolListing};

/// A connection to one MCP server.
///
/// A cheap clone, `Send + Sync`. Each thread that uses it has an actor of its own, made on first
/// use; a thread without an actix system shares one background thread. Dropping a call cancels it.
#[derive(Clone)]
pub struct McpClient {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    slots: Slots<ClientActor>,
    /// What the client is called in errors: its prefix, else where the server is.
    label: String,
}

/// A tool of a server as a chat uses it: filtered, and named with the prefix.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpTool {
    /// The name the model uses, prefix included.
    pub name: String,
    /// A person has to agree before each call.
    pub needs_approval: bool,
    /// The listing of the server, with its own name of the tool.
    pub listing: ToolListing,
}

/// What a client was told when it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientInfo {
    /// Where the server is, without secrets.
    pub server: String,
    /// What tool names begin with.
    pub prefix: Option<String>,
    /// The client's own name.
    pub name: String,
    /// The client's own version.
    pub version: String,
    /// A filter decides which tools are seen.
    pub has_tool_filter: bool,
    /// A predicate decides which tools need approval.
    pub has_approval: bool,
}

impl McpClient {
    /// Begins a connection; awaiting the builder connects at once.
    pub fn connect(transport: impl Transport) -> Connect {
        Connect::new(Arc::new(transport))
    }

    pub(crate) fn new(config: Config) -> Self {
        let label = match config.prefix() {
            Some(prefix) => prefix.to_owned(),
            None => config.transport.describe(),
        };
        Self {
            inner: Arc::new(Inner {
                shared: Arc::new(Shared::new(config)),
                slots: Slots::new(),
                label,
            }),
        }
    }

    /// Lists the tools a chat may use: filtered, and with the prefix in their names.
    ///
    /// The list is remembered by the connection, for as long as the server says, or until the
    /// server tells that it changed.
    ///
    /// # Errors
    /// [`ClientError::DuplicateTool`] when two tools have one name, else what the server or the
    /// connection brings.
    pub async fn tools(&self) -> Result<Vec<McpTool>, ClientError> {
        let listings = self.list_tools().await?;
        let config = &self.inner.shared.config;
        let usable = |listing: &&ToolListing| {
            !client_policy::requires_task(listing) && config.shows(listing)
        };
        let tools: Vec<McpTool> = listings
            .iter()
            .filter(usable)
            .map(|listing| McpTool {
                name: client_policy::prefixed(config.prefix(), &listing.name),
                needs_approval: config.asks_for(listing),
                listing: listing.clone(),
            })
            .collect();
        let names = tools.iter().map(|tool| tool.name.as_str());
        match client_policy::first_duplicate(names) {
            Some(name) => Err(ClientError::DuplicateTool {
                tool: name.to_owned(),
            }),
            None => Ok(tools),
        }
    }

    /// Lists all tools as the server names them, without filter and prefix.
    ///
    /// Tools whose `x-mcp-header` is invalid are left out on HTTP, as the protocol demands.
    ///
    /// # Errors
    /// What the server or the connection brings.
    pub async fn list_tools(&self) -> Result<Arc<[ToolListing]>, ClientError> {
        let (limits, _guard) = self.limits(None, None);
        self.send(ListTools(limits)).await
    }

    /// Calls a tool by the server's own name, whatever the filter says.
    ///
    /// Awaiting gives the raw result. Dropping the future cancels the call: in 2026 by closing its
    /// connection, in 2025 by `notifications/cancelled`.
    pub fn call_tool(&self, tool: impl Into<String>, arguments: Value) -> ToolCall {
        TypedClient::call_tool(self, tool, arguments)
    }

    /// Tells how the server wants to be used.
    #[must_use]
    pub fn instructions(&self) -> Option<String> {
        self.inner.shared.facts()?.instructions.clone()
    }

    /// Tells the server's capabilities; empty for a server that declares none.
    #[must_use]
    pub fn capabilities(&self) -> Map<String, Value> {
        let facts = self.inner.shared.facts();
        facts.map_or_else(Map::new, |facts| facts.capabilities.clone())
    }

    /// Tells what the server says about itself, and the negotiated version.
    #[must_use]
    pub fn server(&self) -> Option<Arc<ServerFacts>> {
        self.inner.shared.facts()
    }

    /// Tells what this client was told when it was made. Holds no secrets.
    #[must_use]
    pub fn info(&self) -> ClientInfo {
        let config = &self.inner.shared.config;
        ClientInfo {
            server: config.transport.describe(),
            prefix: config.prefix().map(str::to_owned),
            name: config.name.clone(),
            version: config.version.clone(),
            has_tool_filter: config.tool_filter.is_some(),
            has_approval: config.needs_approval.is_some(),
        }
    }

    /// Closes the connection on every thread. May be called more than once.
    ///
    /// Calls under way, and later ones, end with [`ClientError::Closed`]. A 2025 session is ended
    /// at its server, for at most two seconds.
    pub async fn close(&self) {
        self.inner.shared.closed.cancel();
        let goodbyes = self.inner.slots.take().into_iter().map(|addr| async move {
            // A thread that has ended has closed its connection.
            let _ = addr.send(Disconnect).await;
        });
        futures_util::future::join_all(goodbyes).await;
        self.inner.slots.end();
    }

    /// Tells whether [`McpClient::close`] was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.shared.closed.is_cancelled()
    }

    pub(crate) fn label(&self) -> &str {
        &self.inner.label
    }

    /// The limits of one call, and a guard that cancels it when dropped.
    fn limits(
        &self,
        timeout: Option<Duration>,
        cancel: Option<&CancellationToken>,
    ) -> (Limits, tokio_util::sync::DropGuard) {
        let cancel = cancel.map_or_else(CancellationToken::new, CancellationToken::child_token);
        let limits = Limits {
            timeout: timeout.unwrap_or(self.inner.shared.config.timeout),
            cancel: cancel.clone(),
        };
        (limits, cancel.drop_guard())
    }

    /// Hands a message to the actor of this thread.
    async fn send<M, T>(&self, message: M) -> Result<T, ClientError>
    where
        M: actix::Message<Result = Result<T, ClientError>> + Send + 'static,
        T: Send + 'static,
        ClientActor: actix::Handler<M>,
    {
        if self.is_closed() {
            return Err(ClientError::Closed);
        }
        let shared = Arc::clone(&self.inner.shared);
        let single = shared.config.transport.is_single();
        let make = move || ClientActor::new(shared);
        let actor = match single {
            true => self.inner.slots.apart(make).await,
            false => self.inner.slots.here(make).await,
        };
        let Some(actor) = actor else {
            return Err(ClientError::Closed);
        };
        // The mailbox closes when the client does, or when the thread of the actor ends.
        actor
            .send(message)
            .await
            .unwrap_or(Err(ClientError::Closed))
    }
}

impl fmt::Debug for McpClient {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("McpClient")
            .field("config", &self.inner.shared.config)
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

const _: () = {
    const fn shared_between_threads<T: Send + Sync>() {}
    shared_between_threads::<McpClient>();
    shared_between_threads::<ClientError>();
};
