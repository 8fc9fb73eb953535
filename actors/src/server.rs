//! The MCP server: both eras at one endpoint, without a mailbox on the way of a stateless request.
//!
//! [`McpServer::handle`] takes a framework-free request. Everything that can be decided is decided
//! while it is called; the future it gives holds nothing of the request.

mod answer;
mod audit;
mod batch;
mod builder;
mod busy;
mod caching;
mod call;
mod capability;
mod changes;
mod completion;
mod cursor;
mod dispatch;
mod drain;
mod error;
mod fault;
mod gate;
mod handling;
mod listing;
mod memory;
mod methods;
mod observation;
mod options;
mod pages;
mod prepare;
mod prompts;
mod rate;
mod reply;
mod resources;
mod rules;
mod running;
mod skills;
mod stdio;
mod stream;
mod tasks;
mod trace;

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

pub(crate) use self::capability::ClientCapabilities;
#[cfg(feature = "stdio")]
pub use self::stdio::{serve_io, serve_stdio};
use self::{
    audit::AuditHook, caching::Caching, changes::Listeners, drain::Work, fault::FaultHook,
    gate::Gate, listing::Listings, pages::Paging, prompts::Prompts, rate::Limiter,
    resources::Resources, stream::ProgressRate, tasks::Tasks,
};
pub use self::{
    audit::{Audit, AuditOutcome, RefusedBy, TaskEnding},
    builder::McpServerBuilder,
    caching::Cached,
    changes::Changes,
    error::ServerError,
    fault::ServerFault,
    handling::Handling,
    options::Options,
    rate::RateLimit,
    stream::EventStream,
    tasks::TaskLimits,
};
pub use crate::{machine::redaction::Redaction, session::SessionLimits};
use crate::{
    machine::{param_headers::ParamHeader, seal::SealKey},
    session::SessionStore,
    tool::{Context, Sampler, Tool, ToolCx},
    wire::http,
};

/// A response of the server.
pub type Response = http::Response<EventStream>;

/// What the server does with clients of the 2025 versions. See
/// [`McpServerBuilder::sessions`] for what holds unless it is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sessions {
    /// Serves each request by itself, without a session. A tool cannot ask such a client.
    #[default]
    Stateless,
    /// Refuses them and names the version that is served.
    Reject,
    /// Keeps a session for each in memory, on the thread that opened it; every thread of the
    /// process finds it. A tool can ask such a client while its call waits. Behind several
    /// processes, route by `Mcp-Session-Id`. See [`SessionLimits`].
    Memory,
}

/// How 2025 requests are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// With `application/json`, unless something is sent before the result.
    #[default]
    Json,
    /// With `text/event-stream` where the client accepts it, as other servers do.
    Sse,
}

/// An MCP server: configuration and tools, built once. Cheap to clone, `Send` and `Sync`.
#[derive(Clone)]
pub struct McpServer(Arc<Inner>);

struct Inner {
    name: String,
    /// By name, for calls; the order of the list is in the listings.
    tools: HashMap<Box<str>, Entry>,
    listings: Listings,
    resources: Option<Resources>,
    prompts: Option<Prompts>,
    skills: Option<skills::Served>,
    /// Some tool runs as a task.
    tasks: Option<Tasks>,
    /// Some function completes.
    completes: bool,
    caching: Caching,
    paging: Paging,
    context: Arc<Context>,
    /// For tools that neither ask nor report nor know the caller.
    bare_cx: ToolCx,
    sessions: Sessions,
    /// Of [`Sessions::Memory`], or for pipes where nothing else was chosen.
    memory: Option<SessionStore>,
    reply: Reply,
    changes: Option<Changes>,
    listeners: Listeners,
    sampling: Sampling,
    state_key: SealKey,
    state_ttl: Duration,
    max_body_bytes: usize,
    progress_rate: ProgressRate,
    keep_alive: Duration,
    work: Work,
    gate: Gate,
    limiter: Option<Limiter>,
    on_error: Option<FaultHook>,
    audit: Option<AuditHook>,
}

/// A tool and what is known about it since the build.
struct Entry {
    tool: Tool,
    /// Arguments that headers mirror.
    headers: Vec<ParamHeader>,
    output: OutputShape,
}

/// How results of a tool are structured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OutputShape {
    /// There is an output schema, so every value is structured content.
    declared: bool,
    /// The schema is not an object's: 2025 clients get `{"result": …}`.
    wrapped: bool,
}

/// Who answers `ToolCx::sample`.
enum Sampling {
    Nobody,
    Client,
    Local(Arc<dyn Sampler>),
}

impl McpServer {
    /// Starts a server with its name and version.
    #[expect(
        clippy::new_ret_no_self,
        reason = "a server has to be built and checked"
    )]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> McpServerBuilder {
        McpServerBuilder::new(name.into(), version.into())
    }

    /// Gives the server's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Gives the largest body that the server reads, in bytes.
    #[must_use]
    pub fn max_body_bytes(&self) -> usize {
        self.0.max_body_bytes
    }

    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.0.tools.contains_key(name)
    }

    pub(crate) fn has_prompt(&self, name: &str) -> bool {
        let prompts = self.0.prompts.as_ref();
        prompts.is_some_and(|prompts| prompts.get(name).is_some())
    }

    pub(crate) fn has_resources(&self) -> bool {
        self.0.resources.is_some()
    }

    /// Gives the tools by name, in no order.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.0.tools.values().map(|entry| &entry.tool)
    }
}

const fn assert_send_sync<T: Send + Sync>() {}
const _: () = assert_send_sync::<McpServer>();
const _: () = assert_send_sync::<Options>();

impl fmt::Debug for McpServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("McpServer")
            .field("name", &self.0.name)
            .field("tools", &self.0.tools.len())
            .field("sessions", &self.0.sessions)
            .finish_non_exhaustive()
    }
}
