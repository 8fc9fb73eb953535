//! Describes a server.

mod build;

use std::{fmt, future::Future, sync::Arc, time::Duration};

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{
    Cached, Reply, Sampling, Sessions, audit::AuditSettings, caching::Caching, changes::Changes,
    fault::FaultHook, gate::GateSettings, listing::Profile, rate::RateLimit, stream::ProgressRate,
    tasks::TaskSettings,
};
use crate::{
    machine::{egress::Egress, seal::SealKey},
    prompt::Prompt,
    resource::Resource,
    session::SessionLimits,
    skill::Skills,
    tool::{Context, IntoToolError, SampleRequest, Sampler, Tool, ToolError},
    wire::cache::CacheHint,
};

/// The largest body by default: a call with a few megabytes of base64 fits.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
/// How long a question stays answerable by default.
const STATE_TTL: Duration = Duration::from_hours(1);
/// How often a silent stream says that it lives, by default. Proxies give up after 30 to 60 s.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Items on one page of a list by default: most servers have one page, which the many clients that
/// read no second one see whole.
const PAGE_SIZE: usize = 1000;

/// Describes a server.
///
/// Without any setting: no tools, resources or prompts, no instructions, 2025 clients are served without sessions
/// over HTTP and with one on a pipe, nobody answers `sample`, the key of `requestState` is random per process.
pub struct McpServerBuilder {
    profile: Profile,
    tools: Vec<Tool>,
    resources: Vec<Resource>,
    prompts: Vec<Prompt>,
    skills: Option<Skills>,
    caching: Caching,
    page_size: usize,
    context: Context,
    sessions: Option<Sessions>,
    session_limits: SessionLimits,
    reply: Reply,
    changes: Option<Changes>,
    sampling: Sampling,
    state_key: Option<SealKey>,
    state_ttl: Duration,
    max_body_bytes: usize,
    progress_rate: ProgressRate,
    keep_alive: Duration,
    pub(super) tasks: TaskSettings,
    pub(super) gate: GateSettings,
    pub(super) rate_limit: Option<RateLimit>,
    pub(super) on_error: Option<FaultHook>,
    pub(super) audit: AuditSettings,
}

impl McpServerBuilder {
    pub(super) fn new(name: String, version: String) -> Self {
        let mut info = Map::new();
        info.insert("name".to_owned(), Value::from(name));
        info.insert("version".to_owned(), Value::from(version));
        Self {
            profile: Profile {
                info,
                instructions: None,
            },
            tools: Vec::new(),
            resources: Vec::new(),
            prompts: Vec::new(),
            skills: None,
            caching: Caching::default(),
            page_size: PAGE_SIZE,
            context: Context::new(),
            sessions: None,
            session_limits: SessionLimits::default(),
            reply: Reply::default(),
            changes: None,
            sampling: Sampling::Nobody,
            state_key: None,
            state_ttl: STATE_TTL,
            max_body_bytes: MAX_BODY_BYTES,
            progress_rate: ProgressRate::default(),
            keep_alive: KEEP_ALIVE,
            tasks: TaskSettings::default(),
            gate: GateSettings::default(),
            rate_limit: None,
            on_error: None,
            audit: AuditSettings::default(),
        }
    }

    /// Names the server for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        let title = Value::from(title.into());
        self.profile.info.insert("title".to_owned(), title);
        self
    }

    /// Tells clients how to use the server.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.profile.instructions = Some(text.into());
        self
    }

    /// Adds a tool; the order is the order of the list.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Adds a resource, or the resources of a template; the order is the order of the list.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    /// Adds resources.
    #[must_use]
    pub fn resources(mut self, resources: impl IntoIterator<Item = Resource>) -> Self {
        self.resources.extend(resources);
        self
    }

    /// Adds a prompt; the order is the order of the list.
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Adds prompts.
    #[must_use]
    pub fn prompts(mut self, prompts: impl IntoIterator<Item = Prompt>) -> Self {
        self.prompts.extend(prompts);
        self
    }

    /// Serves skills: the extension `io.modelcontextprotocol/skills`.
    #[must_use]
    pub fn skills(mut self, skills: Skills) -> Self {
        self.skills = Some(skills);
        self
    }

    /// Sets how many items one page of a list holds, at least 1; 1000 by default.
    #[must_use]
    pub fn page_size(mut self, items: usize) -> Self {
        self.page_size = items.max(1);
        self
    }

    /// Says how long 2026 clients may keep a result; by default they may keep nothing.
    #[must_use]
    pub fn cache(mut self, result: Cached, hint: CacheHint) -> Self {
        self.caching.set(result, hint);
        self
    }

    /// Adds a value that tools, resources and prompts reach as `Ctx<T>`.
    #[must_use]
    pub fn context<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.context.insert(value);
        self
    }

    /// Says where tools may connect to; everywhere unless set. They ask by
    /// [`ToolCx::egress`](crate::tool::ToolCx::egress), and functions of resources and prompts by
    /// `Ctx<Egress>`: what they connect with is theirs. Verifiers and clients of the server are
    /// given a policy each.
    #[must_use]
    pub fn egress(self, egress: Egress) -> Self {
        self.context(egress)
    }

    /// Promises that the host gives a value of this type with every request, by
    /// [`Options::context`](super::Options::context), so that a tool may need it.
    #[must_use]
    pub fn request_context<T: Send + Sync + 'static>(mut self) -> Self {
        self.context.promise::<T>();
        self
    }

    /// Says what happens to clients of the 2025 versions. Unless it is said, HTTP serves them without
    /// sessions ([`Sessions::Stateless`]), and a pipe, which has one client, keeps a session for it
    /// ([`Sessions::Memory`]).
    #[must_use]
    pub fn sessions(mut self, sessions: Sessions) -> Self {
        self.sessions = Some(sessions);
        self
    }

    /// Bounds the sessions of [`Sessions::Memory`].
    #[must_use]
    pub const fn session_limits(mut self, limits: SessionLimits) -> Self {
        self.session_limits = limits;
        self
    }

    /// Lets clients hear of changes by this handle. Lists that may change are announced then, and
    /// resources can be subscribed to.
    #[must_use]
    pub fn changes(mut self, changes: &Changes) -> Self {
        self.changes = Some(changes.clone());
        self
    }

    /// Says how 2025 requests are answered.
    #[must_use]
    pub const fn reply(mut self, reply: Reply) -> Self {
        self.reply = reply;
        self
    }

    /// Answers `ToolCx::sample` inside the process.
    #[must_use]
    pub fn sample<F, Fut, E>(mut self, sampler: F) -> Self
    where
        F: Fn(SampleRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, E>> + 'static,
        E: IntoToolError,
    {
        self.sampling = Sampling::Local(Arc::new(FnSampler(sampler)));
        self
    }

    /// Answers `ToolCx::sample` by asking the client's model, in 2026.
    #[must_use]
    pub fn sample_from_client(mut self, ask: bool) -> Self {
        self.sampling = if ask {
            Sampling::Client
        } else {
            Sampling::Nobody
        };
        self
    }

    /// Sets the key that seals `requestState`. Nodes that serve the same clients share it.
    #[must_use]
    pub fn state_key(mut self, key: SealKey) -> Self {
        self.state_key = Some(key);
        self
    }

    /// Sets how long a question stays answerable; an hour by default.
    #[must_use]
    pub const fn state_ttl(mut self, ttl: Duration) -> Self {
        self.state_ttl = ttl;
        self
    }

    /// Sets the largest body that is read; 4 MiB by default.
    #[must_use]
    pub const fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body_bytes = bytes;
        self
    }

    /// Sets how many reports of progress a call may send at once and how many a second after those,
    /// each at least 1; 64 and 20 by default. The report that a call is whole always goes out. Spec:
    /// MCP "Progress", which wants the rate limited.
    #[must_use]
    pub fn progress_rate(mut self, at_once: u32, per_second: u32) -> Self {
        self.progress_rate = ProgressRate::new(at_once, per_second);
        self
    }

    /// Sets how often a silent stream says that it lives; 15 s by default.
    #[must_use]
    pub const fn keep_alive(mut self, period: Duration) -> Self {
        self.keep_alive = period;
        self
    }
}

struct FnSampler<F>(F);

impl<F, Fut, E> Sampler for FnSampler<F>
where
    F: Fn(SampleRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, E>> + 'static,
    E: IntoToolError,
{
    fn sample(
        &self,
        request: SampleRequest,
        cancel: CancellationToken,
    ) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let answer = (self.0)(request);
        Box::pin(async move {
            tokio::select! {
                answer = answer => answer.map_err(IntoToolError::into_tool_error),
                () = cancel.cancelled() => Err(ToolError::new("the call was cancelled")),
            }
        })
    }
}

impl fmt::Debug for McpServerBuilder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("McpServerBuilder")
            .field("info", &self.profile.info)
            .field("tools", &self.tools.len())
            .finish_non_exhaustive()
    }
}
