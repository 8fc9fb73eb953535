//! Several MCP servers at once: connected in parallel, all or nothing, the key is the prefix.
//!
//! ```no_run
//! # async fn example() -> Result<(), roscius_actors::client::ClientError> {
//! use roscius_actors::{pool::McpPool, transport::Http};
//!
//! let pool = McpPool::builder()
//!     .server("github", Http::new("https://github.example.com/mcp"))
//!     .server("files", Http::new("http://127.0.0.1:4000/mcp"))
//!     .connect()
//!     .await?;
//! let tools = pool.tools().await?; // github_…, files_…
//! pool.close().await;
//! # let _ = tools;
//! # Ok(())
//! # }
//! ```

mod actor;
mod source;

use std::{fmt, sync::Arc};

use indexmap::IndexMap;

use self::actor::{ConnectAll, DisconnectAll, PoolActor};
use crate::{
    client::{ClientError, ClientInfo, Connect, McpClient, McpTool, Slots},
    machine::client_policy,
    ports::transport::Transport,
};

/// The servers of a pool before they are connected.
#[derive(Clone, Debug, Default)]
#[must_use = "a pool is connected by `connect`"]
pub struct PoolBuilder {
    servers: IndexMap<String, Connect>,
}

impl PoolBuilder {
    /// Adds a server. Its key is the prefix of its tools. A later server of the same key replaces
    /// the earlier one.
    pub fn server(self, key: impl Into<String>, transport: impl Transport) -> Self {
        self.client(key, McpClient::connect(transport))
    }

    /// Adds a server with options of its own: another prefix (an empty one disables it), a filter,
    /// approval.
    pub fn client(mut self, key: impl Into<String>, connect: Connect) -> Self {
        self.servers.insert(key.into(), connect);
        self
    }

    /// Connects all servers in parallel.
    ///
    /// # Errors
    /// [`ClientError::ConnectMany`] names the servers that failed; the others are closed again.
    pub async fn connect(self) -> Result<McpPool, ClientError> {
        let slots = Slots::new();
        let here = slots.here(PoolActor::new).await;
        let actor = here.ok_or(ClientError::Closed)?;
        let connected = actor.send(ConnectAll(self.servers)).await;
        let clients = connected.unwrap_or(Err(ClientError::Closed))?;
        Ok(McpPool {
            inner: Arc::new(Inner { clients, slots }),
        })
    }
}

/// A set of connected MCP servers.
///
/// A cheap clone, `Send + Sync`.
#[derive(Clone)]
pub struct McpPool {
    inner: Arc<Inner>,
}

struct Inner {
    clients: Arc<IndexMap<String, McpClient>>,
    /// Keeps the actor that connected the pool, and will close it.
    slots: Slots<PoolActor>,
}

impl McpPool {
    /// Begins a pool.
    pub fn builder() -> PoolBuilder {
        PoolBuilder::default()
    }

    /// Gives the client of a key.
    #[must_use]
    pub fn client(&self, key: &str) -> Option<&McpClient> {
        self.inner.clients.get(key)
    }

    /// Gives the clients by key, in the order in which they were added.
    pub fn clients(&self) -> impl Iterator<Item = (&str, &McpClient)> {
        self.inner
            .clients
            .iter()
            .map(|(key, client)| (key.as_str(), client))
    }

    /// Tells what each client was told. Holds no secrets.
    #[must_use]
    pub fn servers(&self) -> IndexMap<String, ClientInfo> {
        self.clients()
            .map(|(key, client)| (key.to_owned(), client.info()))
            .collect()
    }

    /// Lists the tools of all servers, in the order of the servers.
    ///
    /// # Errors
    /// [`ClientError::ListMany`] names the servers whose list cannot be had,
    /// [`ClientError::DuplicateTool`] a name that stands there twice.
    pub async fn tools(&self) -> Result<Vec<McpTool>, ClientError> {
        let by_server = self.tools_by_server().await?;
        Ok(by_server.into_iter().flat_map(|(_, tools)| tools).collect())
    }

    async fn tools_by_server(&self) -> Result<Vec<(McpClient, Vec<McpTool>)>, ClientError> {
        let lists = self.inner.clients.values().map(McpClient::tools);
        let lists = futures_util::future::join_all(lists).await;
        let mut by_server = Vec::with_capacity(lists.len());
        let mut failed = Vec::new();
        for ((key, client), list) in self.inner.clients.iter().zip(lists) {
            match list {
                Ok(tools) => by_server.push((client.clone(), tools)),
                Err(duplicate @ ClientError::DuplicateTool { .. }) => return Err(duplicate),
                Err(error) => failed.push((key.clone(), error)),
            }
        }
        if !failed.is_empty() {
            return Err(ClientError::ListMany { failed });
        }
        let names = by_server
            .iter()
            .flat_map(|(_, tools)| tools)
            .map(|tool| tool.name.as_str());
        match client_policy::first_duplicate(names) {
            Some(tool) => Err(ClientError::DuplicateTool {
                tool: tool.to_owned(),
            }),
            None => Ok(by_server),
        }
    }

    /// Closes all clients in parallel. May be called more than once.
    pub async fn close(&self) {
        let closed = self
            .inner
            .slots
            .take()
            .into_iter()
            .map(|actor| actor.send(DisconnectAll));
        futures_util::future::join_all(closed).await;
        // The thread of the actor may have ended before it got the message.
        actor::close_all(&self.inner.clients).await;
        self.inner.slots.end();
    }
}

impl fmt::Debug for McpPool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(self.inner.clients.iter()).finish()
    }
}

const _: () = {
    const fn shared_between_threads<T: Send + Sync>() {}
    shared_between_threads::<McpPool>();
};
