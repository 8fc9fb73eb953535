//! The counters for whoever operates the process, by the facade of the crate `metrics`. Without the
//! feature `metrics` every function here is empty.

#[cfg(feature = "metrics")]
mod name {
    pub(super) const REQUESTS: &str = "roscius_mcp_requests_total";
    pub(super) const ERRORS: &str = "roscius_mcp_errors_total";
    pub(super) const SESSIONS: &str = "roscius_mcp_sessions";
    pub(super) const STREAMS: &str = "roscius_mcp_streams";
    pub(super) const CALLS: &str = "roscius_mcp_calls";
    pub(super) const TASKS: &str = "roscius_mcp_tasks";

    pub(super) const CLIENTS: &str = "roscius_mcp_clients";
    pub(super) const POOLS: &str = "roscius_mcp_pools";
    pub(super) const CHATS: &str = "roscius_chat_threads";
    pub(super) const RUNS: &str = "roscius_chat_runs";
}

/// The method of a request that no server knows: labels have to be few.
#[cfg(feature = "metrics")]
const OTHER: &str = "other";

/// What an MCP server has open that is no actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A call, or another request that a function of the application serves.
    Call,
    /// A stream of events to a client.
    Stream,
    /// A task, until it is forgotten.
    Task,
}

/// Counts a request to an MCP server. `method` is one that the server knows.
pub(crate) fn request(method: Option<&'static str>, modern: bool) {
    #[cfg(feature = "metrics")]
    {
        let era = if modern { "2026" } else { "2025" };
        metrics::counter!(name::REQUESTS, "method" => method.unwrap_or(OTHER), "era" => era)
            .increment(1);
    }
    #[cfg(not(feature = "metrics"))]
    let _ = (method, modern);
}

/// Counts an error that an MCP server answers with: its JSON-RPC code, or the status of the gate.
pub(crate) fn error(code: i64) {
    #[cfg(feature = "metrics")]
    metrics::counter!(name::ERRORS, "code" => code.to_string()).increment(1);
    #[cfg(not(feature = "metrics"))]
    let _ = code;
}

/// Counts a tool that failed: its result says so, so there is no code.
pub(crate) fn tool_error() {
    #[cfg(feature = "metrics")]
    metrics::counter!(name::ERRORS, "code" => super::TOOL_ERROR).increment(1);
}

/// Counts something as open until it is dropped.
#[derive(Debug)]
pub(crate) struct Open(#[cfg(feature = "metrics")] Kind);

impl Open {
    pub(crate) fn new(kind: Kind) -> Self {
        #[cfg(feature = "metrics")]
        {
            metrics::gauge!(kind_name(kind)).increment(1);
            Self(kind)
        }
        #[cfg(not(feature = "metrics"))]
        {
            let _ = kind;
            Self()
        }
    }
}

#[cfg(feature = "metrics")]
impl Drop for Open {
    fn drop(&mut self) {
        metrics::gauge!(kind_name(self.0)).decrement(1);
    }
}

#[cfg(feature = "metrics")]
const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Call => name::CALLS,
        Kind::Stream => name::STREAMS,
        Kind::Task => name::TASKS,
    }
}

/// Notes that there is one actor more of a kind, or one less.
pub(super) fn actors(kind: super::ActorKind, more: bool) {
    #[cfg(feature = "metrics")]
    {
        use super::ActorKind;

        let name = match kind {
            ActorKind::Client => name::CLIENTS,
            ActorKind::Pool => name::POOLS,
            ActorKind::Session => name::SESSIONS,
            ActorKind::Run => name::RUNS,
            ActorKind::Chat => name::CHATS,
        };
        let gauge = metrics::gauge!(name);
        if more {
            gauge.increment(1);
        } else {
            gauge.decrement(1);
        }
    }
    #[cfg(not(feature = "metrics"))]
    let _ = (kind, more);
}

/// Says what each counter means, to the recorder that is installed. Call it once, after that.
#[cfg(feature = "metrics")]
pub fn describe() {
    use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

    use super::duration::recording;

    describe_counter!(name::REQUESTS, "Requests to MCP servers, by method and era");
    describe_counter!(
        name::ERRORS,
        "Errors that MCP servers answered with, by code"
    );
    describe_histogram!(
        recording::REQUEST,
        Unit::Seconds,
        "Time until an MCP server has answered a request, by method and error"
    );
    describe_histogram!(
        recording::SESSION,
        Unit::Seconds,
        "Time that a 2025 session of an MCP server is open"
    );
    describe_histogram!(
        recording::TOOL,
        Unit::Seconds,
        "Time that a tool of an MCP server or a chat runs, by tool and error"
    );
    describe_gauge!(name::SESSIONS, "Open 2025 sessions of MCP servers");
    describe_gauge!(name::STREAMS, "Open streams of MCP servers");
    describe_gauge!(name::CALLS, "Running calls of MCP servers");
    describe_gauge!(name::TASKS, "Tasks of MCP servers that are kept");

    describe_gauge!(name::CLIENTS, "Connections to MCP servers");
    describe_gauge!(name::POOLS, "Pools of connections to MCP servers");
    describe_gauge!(name::CHATS, "Chat threads with an actor");
    describe_gauge!(name::RUNS, "Running chat runs");
}
