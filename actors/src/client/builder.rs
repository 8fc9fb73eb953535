//! What a connection is told before it is made.

use std::{fmt, future::IntoFuture, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::{McpClient, actor, config::Config, error::ClientError};
use crate::{ports::transport::Transport, wire::content::ToolListing};

/// A connection that is not made yet. Awaiting it connects.
#[derive(Clone)]
#[must_use = "a connection is made when this is awaited"]
pub struct Connect {
    config: Config,
}

impl Connect {
    pub(super) fn new(transport: Arc<dyn Transport>) -> Self {
        Self {
            config: Config::new(transport),
        }
    }

    /// Begins tool names with `<prefix>_`. An empty prefix is none. None unless set.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.config.prefix = Some(prefix.into());
        self
    }

    /// Begins tool names with `<prefix>_` unless a prefix was set.
    pub(crate) fn default_prefix(mut self, prefix: &str) -> Self {
        self.config.prefix.get_or_insert_with(|| prefix.to_owned());
        self
    }

    /// Names this client to the server. `roscius` unless set.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.config.name = name.into();
        self
    }

    /// Tells the server the version of this client.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.config.version = version.into();
        self
    }

    /// Shows only tools that pass. It sees the listing with the server's own name, and does not
    /// apply to [`McpClient::call_tool`]. All are shown unless set.
    pub fn tool_filter(
        mut self,
        filter: impl Fn(&ToolListing) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.config.tool_filter = Some(Arc::new(filter));
        self
    }

    /// Marks tools that a person has to agree to before each call. None unless set.
    ///
    /// Hints of a server are no proof: name the tools of servers that you do not trust.
    pub fn needs_approval(
        mut self,
        needs: impl Fn(&ToolListing) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.config.needs_approval = Some(Arc::new(needs));
        self
    }

    /// Bounds a call, from sending to its result. 60 s unless set.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.config.timeout = timeout;
        self
    }

    /// Bounds the requests that one thread has under way at once; the others wait, within their
    /// time. 256 unless set, at least 1.
    pub fn max_requests(mut self, requests: usize) -> Self {
        self.config.max_requests = requests.max(1);
        self
    }

    /// Bounds the connection with its handshake. 30 s unless set.
    pub const fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.config.connect_timeout = timeout;
        self
    }

    /// Declares capabilities beside, or instead of, `{"elicitation": {"form": {}}, "sampling": {}}`.
    ///
    /// Each member replaces the one of its name; `null` takes it away.
    pub fn capabilities(mut self, capabilities: Map<String, Value>) -> Self {
        for (name, value) in capabilities {
            if value.is_null() {
                self.config.capabilities.shift_remove(&name);
            } else {
                self.config.capabilities.insert(name, value);
            }
        }
        self
    }
}

impl fmt::Debug for Connect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Connect").field(&self.config).finish()
    }
}

impl IntoFuture for Connect {
    type Output = Result<McpClient, ClientError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let timeout = self.config.connect_timeout;
            let client = McpClient::new(self.config);
            // The handshake has its own deadline and says what it waited for; this one is behind it.
            let (limits, _guard) = client.limits(Some(timeout + timeout / 10), None);
            match client.send(actor::Connect(limits)).await {
                Ok(_) => Ok(client),
                Err(error) => {
                    client.close().await;
                    Err(error)
                }
            }
        })
    }
}
