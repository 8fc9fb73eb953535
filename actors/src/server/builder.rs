//! Describes a server and checks it before it serves anything.

use std::{collections::HashMap, fmt, future::Future, sync::Arc, time::Duration};

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{
    Cached, Entry, Inner, McpServer, OutputShape, Reply, Sampling, ServerError, Sessions,
    audit::AuditSettings,
    caching::Caching,
    changes::{Changes, Listeners},
    drain::Work,
    fault::FaultHook,
    gate::GateSettings,
    listing::{Listings, Offer, Profile},
    pages::Paging,
    prompts::Prompts,
    rate::{Limiter, RateLimit},
    resources::Resources,
    skills::Served,
    tasks::{TaskSettings, Tasks},
};
use crate::{
    machine::{param_headers::annotated, schema::is_object, seal::SealKey},
    prompt::Prompt,
    resource::Resource,
    session::{SessionLimits, SessionStore},
    skill::Skills,
    tool::{Context, IntoToolError, SampleRequest, Sampler, Tool, ToolCx, ToolError},
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
/// The longest name that the spec recommends.
const MAX_NAME_BYTES: usize = 128;

/// Describes a server.
///
/// Without any setting: no tools, resources or prompts, no instructions, 2025 clients are served without sessions,
/// nobody answers `sample`, the key of `requestState` is random per process.
pub struct McpServerBuilder {
    profile: Profile,
    tools: Vec<Tool>,
    resources: Vec<Resource>,
    prompts: Vec<Prompt>,
    skills: Option<Skills>,
    caching: Caching,
    page_size: usize,
    context: Context,
    sessions: Sessions,
    session_limits: SessionLimits,
    reply: Reply,
    changes: Option<Changes>,
    sampling: Sampling,
    state_key: Option<SealKey>,
    state_ttl: Duration,
    max_body_bytes: usize,
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
            sessions: Sessions::default(),
            session_limits: SessionLimits::default(),
            reply: Reply::default(),
            changes: None,
            sampling: Sampling::Nobody,
            state_key: None,
            state_ttl: STATE_TTL,
            max_body_bytes: MAX_BODY_BYTES,
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

    /// Promises that the host gives a value of this type with every request, by
    /// [`Options::context`](super::Options::context), so that a tool may need it.
    #[must_use]
    pub fn request_context<T: Send + Sync + 'static>(mut self) -> Self {
        self.context.promise::<T>();
        self
    }

    /// Says what happens to clients of the 2025 versions.
    #[must_use]
    pub fn sessions(mut self, sessions: Sessions) -> Self {
        self.sessions = sessions;
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

    /// Sets how often a silent stream says that it lives; 15 s by default.
    #[must_use]
    pub const fn keep_alive(mut self, period: Duration) -> Self {
        self.keep_alive = period;
        self
    }

    /// Builds the server.
    ///
    /// # Errors
    /// [`ServerError`] for names and URIs that are taken or not allowed, schemas and templates that
    /// cannot be read, and values that a function needs and nobody gives.
    pub fn build(self) -> Result<McpServer, ServerError> {
        let mut entries = HashMap::with_capacity(self.tools.len());
        for tool in &self.tools {
            let entry = entry(tool, &self.context)?;
            if entries.insert(Box::from(tool.name()), entry).is_some() {
                return Err(ServerError::DuplicateTool(tool.name().to_owned()));
            }
        }
        let state_key = self.state_key.unwrap_or_else(SealKey::random);
        let paging = Paging {
            size: self.page_size,
            key: state_key.clone(),
        };
        let (caching, context) = (self.caching, self.context);
        let tail = self.profile.meta_tail();
        let skills = self.skills.filter(|skills| !skills.list().is_empty());
        let manifests = skills.as_ref().map(Skills::listings).unwrap_or_default();
        let resources = Resources::new(
            &self.resources,
            &manifests,
            &context,
            &paging,
            &caching,
            &tail,
        )?;
        let prompts = Prompts::new(&self.prompts, &context, &paging, &caching, &tail)?;
        let completes = self.resources.iter().any(Resource::completes)
            || self.prompts.iter().any(Prompt::completes);
        let tasks = self.tasks.build(&self.tools);
        let offer = Offer {
            tools: &self.tools,
            resources: resources.is_some(),
            prompts: prompts.is_some(),
            completions: completes,
            skills: skills.is_some(),
            tasks: tasks.as_ref().map(Tasks::extension),
            logging: self.tools.iter().any(Tool::uses_cx)
                || self.resources.iter().any(Resource::uses_cx)
                || self.prompts.iter().any(Prompt::uses_cx),
            changes: self.changes.is_some(),
            paging: &paging,
            caching: &caching,
        };
        let listings = Listings::new(&self.profile, &offer, self.sessions);
        let context = Arc::new(context);
        let name = self.profile.info.get("name").and_then(Value::as_str);
        let server = Arc::new(Inner {
            name: name.unwrap_or_default().to_owned(),
            listings,
            resources,
            prompts,
            skills: skills.map(|skills| Served::new(skills, &paging, &caching, &tail)),
            tasks,
            completes,
            caching,
            paging,
            tools: entries,
            bare_cx: ToolCx::builder().context(Arc::clone(&context)).build(),
            context,
            memory: (self.sessions == Sessions::Memory)
                .then(|| SessionStore::new(self.session_limits)),
            sessions: self.sessions,
            reply: self.reply,
            changes: self.changes,
            listeners: Listeners::default(),
            sampling: self.sampling,
            state_key,
            state_ttl: self.state_ttl,
            max_body_bytes: self.max_body_bytes,
            keep_alive: self.keep_alive,
            work: Work::default(),
            gate: self.gate.build()?,
            limiter: self.rate_limit.map(Limiter::new),
            on_error: self.on_error,
            audit: self.audit.build(),
        });
        if let Some(changes) = &server.changes {
            changes.add(&server);
        }
        Ok(McpServer(server))
    }
}

fn entry(tool: &Tool, context: &Context) -> Result<Entry, ServerError> {
    let name = || tool.name().to_owned();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if !(1..=MAX_NAME_BYTES).contains(&tool.name().len()) || !tool.name().bytes().all(allowed) {
        return Err(ServerError::ToolName(name()));
    }
    if tool.is_client() {
        return Err(ServerError::ClientTool(name()));
    }
    tool.check(context)?;
    let headers = annotated(tool.input_schema()).map_err(|source| ServerError::ParamHeader {
        tool: name(),
        source,
    })?;
    let schema = tool.result_schema();
    Ok(Entry {
        tool: tool.clone(),
        headers,
        output: OutputShape {
            declared: schema.is_some(),
            wrapped: schema.is_some_and(|schema| !is_object(schema)),
        },
    })
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
