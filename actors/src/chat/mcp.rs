//! Sources of tools that a chat uses for its runs.

use std::{fmt, sync::Arc};

use crate::ports::tool_source::{SourceError, ToolSource};

/// What a chat does about a source that cannot list its tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDiscoveryError {
    /// The run fails with the message of the source.
    Fail,
    /// The run goes on without the source.
    Skip,
}

pub(crate) type DiscoveryHook = Arc<dyn Fn(&SourceError) -> OnDiscoveryError + Send + Sync>;

/// A source of tools, shared.
#[derive(Clone)]
pub struct Source(pub(crate) Arc<dyn ToolSource>);

impl fmt::Debug for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Source").field(&self.0.name()).finish()
    }
}

impl<S: ToolSource + Clone> From<&S> for Source {
    fn from(source: &S) -> Self {
        Self(Arc::new(source.clone()))
    }
}

impl From<Arc<dyn ToolSource>> for Source {
    fn from(source: Arc<dyn ToolSource>) -> Self {
        Self(source)
    }
}

/// MCP clients, and other sources, whose tools are listed at the start of every run.
///
/// They are closed when the run has ended, unless they are [kept alive](Mcp::keep_alive).
#[derive(Clone)]
pub struct Mcp {
    pub(crate) sources: Vec<Arc<dyn ToolSource>>,
    pub(crate) keep_alive: bool,
    pub(crate) on_discovery_error: DiscoveryHook,
}

impl Mcp {
    /// Uses these clients, pools or other sources. Their tools come after the chat's own, in this
    /// order.
    pub fn clients<S: Into<Source>>(sources: impl IntoIterator<Item = S>) -> Self {
        Self {
            sources: sources.into_iter().map(|source| source.into().0).collect(),
            keep_alive: false,
            on_discovery_error: Arc::new(|_| OnDiscoveryError::Fail),
        }
    }

    /// Adds a source.
    #[must_use]
    pub fn source(mut self, source: impl ToolSource) -> Self {
        self.sources.push(Arc::new(source));
        self
    }

    /// Leaves the sources open when a run has ended.
    #[must_use]
    pub fn keep_alive(mut self) -> Self {
        self.keep_alive = true;
        self
    }

    /// Decides about a source that cannot list its tools. By default the run fails.
    #[must_use]
    pub fn on_discovery_error(
        mut self,
        decide: impl Fn(&SourceError) -> OnDiscoveryError + Send + Sync + 'static,
    ) -> Self {
        self.on_discovery_error = Arc::new(decide);
        self
    }
}

impl fmt::Debug for Mcp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.sources.iter().map(|source| source.name()).collect();
        out.debug_struct("Mcp")
            .field("sources", &names)
            .field("keep_alive", &self.keep_alive)
            .finish_non_exhaustive()
    }
}
