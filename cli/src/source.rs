//! An MCP server that may come and go: what is missing is left out of a run, and tried again.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::LocalBoxFuture;
use roscius::{
    client::{ClientError, McpClient},
    ports::{
        tool_source::{SourceError, SourceTool, ToolSource},
        transport::Transport as _,
    },
    transport::Http,
};
use serde::Serialize;
use tokio::{sync::Mutex as AsyncMutex, time::Instant};

use crate::approve::Approve;

/// Bounds a connection with its handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Bounds how long a run waits for the list of a server that is connected and says nothing.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a run waits for the list of a server that is connected: it has shown that it can answer.
const CONNECTED_PATIENCE: Duration = Duration::from_secs(2);
/// How long a run waits for a server that failed before. It goes on without it, and what was begun
/// goes on too, so that a slow server is there for a later run.
const PATIENCE: Duration = Duration::from_millis(500);
/// A server that failed is left alone for this time, so that it costs few runs their patience.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// An MCP server by name. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Source(Arc<Inner>);

struct Inner {
    name: String,
    url: String,
    token: Option<String>,
    approve: Approve,
    client: AsyncMutex<Option<McpClient>>,
    status: Mutex<Status>,
}

#[derive(Debug, Default)]
struct Status {
    tools: Vec<String>,
    connected: bool,
    error: Option<String>,
    failed_at: Option<Instant>,
}

/// What the page shows about a server.
#[derive(Debug, Serialize)]
pub(crate) struct SourceInfo {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) tools: Vec<String>,
    pub(crate) connected: bool,
    pub(crate) error: Option<String>,
}

impl Source {
    /// Names a server. Nothing is connected yet.
    pub(crate) fn new(name: &str, url: &str, token: Option<&str>, approve: Approve) -> Self {
        Self(Arc::new(Inner {
            name: name.to_owned(),
            url: url.to_owned(),
            token: token.map(str::to_owned),
            approve,
            client: AsyncMutex::new(None),
            status: Mutex::default(),
        }))
    }

    /// Connects and lists the tools, if that has not been done.
    pub(crate) async fn refresh(&self) -> Result<(), SourceError> {
        self.listed().await.map(|_| ())
    }

    /// Tells how the server stands.
    pub(crate) fn info(&self) -> SourceInfo {
        let status = self.status();
        SourceInfo {
            name: self.0.name.clone(),
            url: Http::new(self.0.url.as_str()).describe(),
            tools: status.tools.clone(),
            connected: status.connected,
            error: status.error.clone(),
        }
    }

    async fn listed(&self) -> Result<Vec<SourceTool>, SourceError> {
        let listed = match self.connected().await {
            Ok(client) => {
                let listing = tokio::time::timeout(LIST_TIMEOUT, ToolSource::tools(&client));
                listing.await.unwrap_or_else(|_| {
                    let seconds = LIST_TIMEOUT.as_secs();
                    let message = format!("no list of tools in {seconds} s");
                    Err(SourceError::new(&self.0.name, message))
                })
            }
            Err(error) => Err(error),
        };
        let mut status = self.status();
        match &listed {
            Ok(tools) => {
                status.tools = tools.iter().map(|tool| tool.name.clone()).collect();
                status.connected = true;
                status.error = None;
                status.failed_at = None;
            }
            Err(error) => {
                status.connected = false;
                status.error = Some(error.to_string());
                status.failed_at.get_or_insert_with(Instant::now);
            }
        }
        listed
    }

    /// Gives the connection, made by the first who needs it; others wait for that one.
    async fn connected(&self) -> Result<McpClient, SourceError> {
        let mut slot = self.0.client.lock().await;
        if let Some(client) = slot.as_ref() {
            return Ok(client.clone());
        }
        if let Some(error) = self.recent_failure() {
            return Err(SourceError::new(&self.0.name, error));
        }
        match self.connect().await {
            Ok(client) => Ok(slot.insert(client).clone()),
            Err(error) => {
                self.status().failed_at = Some(Instant::now());
                Err(SourceError::new(&self.0.name, error.to_string()))
            }
        }
    }

    async fn connect(&self) -> Result<McpClient, ClientError> {
        let mut http = Http::new(self.0.url.as_str());
        if let Some(token) = &self.0.token {
            http = http.bearer(token);
        }
        let approve = self.0.approve;
        McpClient::connect(http)
            .prefix(self.0.name.as_str())
            .version(env!("CARGO_PKG_VERSION"))
            .connect_timeout(CONNECT_TIMEOUT)
            .needs_approval(move |tool| approve.asks_for(tool))
            .await
    }

    fn recent_failure(&self) -> Option<String> {
        let status = self.status();
        let recent = status.failed_at?.elapsed() < RETRY_AFTER;
        status.error.clone().filter(|_| recent)
    }

    fn patience(&self) -> Duration {
        let status = self.status();
        match status.failed_at {
            Some(_) => PATIENCE,
            None if status.connected => CONNECTED_PATIENCE,
            None => CONNECT_TIMEOUT + LIST_TIMEOUT,
        }
    }

    fn status(&self) -> MutexGuard<'_, Status> {
        self.0.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolSource for Source {
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Never fails: a run goes on with the servers that are there.
    fn tools(&self) -> LocalBoxFuture<'static, Result<Vec<SourceTool>, SourceError>> {
        let source = self.clone();
        Box::pin(async move {
            let patience = source.patience();
            let name = source.0.name.clone();
            let listing = actix_rt::spawn(async move { source.listed().await });
            match tokio::time::timeout(patience, listing).await {
                Ok(Ok(Ok(tools))) => return Ok(tools),
                Ok(Ok(Err(error))) => {
                    tracing::warn!(server = %name, %error, "an MCP server is left out of a run");
                }
                Ok(Err(_)) | Err(_) => {
                    tracing::warn!(server = %name, "an MCP server is too slow for a run");
                }
            }
            Ok(Vec::new())
        })
    }

    fn close(&self) -> LocalBoxFuture<'static, ()> {
        let source = self.clone();
        Box::pin(async move {
            let client = source.0.client.lock().await.take();
            if let Some(client) = client {
                client.close().await;
            }
        })
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Source")
            .field("name", &self.0.name)
            .finish_non_exhaustive()
    }
}
