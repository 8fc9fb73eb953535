//! How a chat is put together.

use std::{collections::HashSet, sync::Arc, time::Duration};

use serde_json::{Map, Value};

use super::{
    Chat, ChatLimits, Engine, Mcp, OnDetach,
    engine::OpenRuns,
    mcp::{DiscoveryHook, OnDiscoveryError},
};
use crate::{
    machine::{
        agent::{DEFAULT_MAX_INPUT_ROUNDS, DEFAULT_MAX_ITERATIONS},
        egress::Egress,
        seal::SealKey,
    },
    ports::{
        clock::{Clock, SystemClock},
        event_log::{EventLog, LogOptions},
        model::Model,
        run_store::RunStore,
        tool_source::ToolSource,
    },
    store::{memory_log::MemoryLog, memory_runs::MemoryRuns},
    tool::{Context, Tool, ToolDefError},
};

/// How long a paused run can be answered by its seal alone: as long as its record lives.
const SEAL_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// A chat in the making.
pub struct ChatBuilder {
    model: Arc<dyn Model>,
    tools: Vec<Tool>,
    sources: Vec<Arc<dyn ToolSource>>,
    keep_alive: bool,
    on_discovery_error: DiscoveryHook,
    client_tools: bool,
    system_prompts: Vec<String>,
    model_options: Map<String, Value>,
    metadata: Option<Map<String, Value>>,
    max_tokens: Option<u64>,
    max_iterations: u32,
    max_input_rounds: u32,
    state: Option<Value>,
    trust_history: bool,
    on_detach: OnDetach,
    limits: ChatLimits,
    context: Context,
    log: Option<Arc<dyn EventLog>>,
    log_options: LogOptions,
    runs: Option<Arc<dyn RunStore>>,
    seal_key: Option<SealKey>,
    clock: Arc<dyn Clock>,
}

/// Why a chat cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatBuildError {
    /// Two tools have the same name.
    #[error("two tools are named `{0}`")]
    DuplicateTool(String),
    /// A tool cannot be offered.
    #[error(transparent)]
    Tool(#[from] ToolDefError),
}

impl ChatBuilder {
    pub(super) fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            tools: Vec::new(),
            sources: Vec::new(),
            keep_alive: false,
            on_discovery_error: Arc::new(|_| OnDiscoveryError::Fail),
            client_tools: true,
            system_prompts: Vec::new(),
            model_options: Map::new(),
            metadata: None,
            max_tokens: None,
            max_iterations: DEFAULT_MAX_ITERATIONS,
            max_input_rounds: DEFAULT_MAX_INPUT_ROUNDS,
            state: None,
            trust_history: false,
            on_detach: OnDetach::default(),
            limits: ChatLimits::default(),
            context: Context::new(),
            log: None,
            log_options: LogOptions::default(),
            runs: None,
            seal_key: None,
            clock: Arc::new(SystemClock),
        }
    }

    /// Adds a tool.
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

    /// Adds the tools of MCP clients and other sources.
    #[must_use]
    pub fn mcp(mut self, mcp: Mcp) -> Self {
        self.sources = mcp.sources;
        self.keep_alive = mcp.keep_alive;
        self.on_discovery_error = mcp.on_discovery_error;
        self
    }

    /// Says whether requests may offer tools that their browser runs. By default they may; a tool
    /// of the server takes its name away from one of the browser.
    #[must_use]
    pub const fn client_tools(mut self, allowed: bool) -> Self {
        self.client_tools = allowed;
        self
    }

    /// Adds an instruction that stands before every conversation.
    #[must_use]
    pub fn system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.system_prompts.push(prompt.into());
        self
    }

    /// Hands options to the model's provider as they are.
    #[must_use]
    pub fn model_options(mut self, options: Map<String, Value>) -> Self {
        self.model_options = options;
        self
    }

    /// Gives labels to the model's provider.
    #[must_use]
    pub fn metadata(mut self, metadata: Map<String, Value>) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// Bounds each answer of the model, in tokens.
    #[must_use]
    pub const fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Bounds the model turns of one run. Default 5. A run that uses them up ends with `length`.
    #[must_use]
    pub const fn max_iterations(mut self, turns: u32) -> Self {
        self.max_iterations = turns;
        self
    }

    /// Bounds the rounds of questions of one call. Default 10; 1 answers one round and fails the
    /// call at the next.
    #[must_use]
    pub const fn input_rounds(mut self, rounds: u32) -> Self {
        self.max_input_rounds = rounds;
        self
    }

    /// Shows this state to the client at every pause.
    #[must_use]
    pub fn state(mut self, state: Value) -> Self {
        self.state = Some(state);
        self
    }

    /// Takes posted histories at their word: pauses are neither recorded nor sealed, and calls
    /// without a result run, whoever has written them. For trusted clients only; off by default.
    #[must_use]
    pub const fn trust_history(mut self, trust: bool) -> Self {
        self.trust_history = trust;
        self
    }

    /// Says what becomes of a run whose reader goes away. By default it is cancelled.
    #[must_use]
    pub const fn on_detach(mut self, on_detach: OnDetach) -> Self {
        self.on_detach = on_detach;
        self
    }

    /// Sets the bounds.
    #[must_use]
    pub fn limits(mut self, limits: ChatLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Gives a value to the tools, by its type.
    #[must_use]
    pub fn context<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.context.insert(value);
        self
    }

    /// Says where tools may connect to; everywhere unless set. They ask by
    /// [`ToolCx::egress`](crate::tool::ToolCx::egress): what they connect with is theirs. The model
    /// and MCP servers are given a policy each.
    #[must_use]
    pub fn egress(self, egress: Egress) -> Self {
        self.context(egress)
    }

    /// Keeps events here. By default in memory.
    #[must_use]
    pub fn event_log(mut self, log: Arc<dyn EventLog>) -> Self {
        self.log = Some(log);
        self
    }

    /// Sets the bounds of each run's events.
    #[must_use]
    pub fn log_options(mut self, options: LogOptions) -> Self {
        self.log_options = options;
        self
    }

    /// Keeps paused runs here. By default in memory.
    #[must_use]
    pub fn run_store(mut self, runs: Arc<dyn RunStore>) -> Self {
        self.runs = Some(runs);
        self
    }

    /// Sets the key of the seals. Nodes that serve the same users share it, and a pause outlives a
    /// restart with it. By default it is random.
    #[must_use]
    pub fn state_key(mut self, key: SealKey) -> Self {
        self.seal_key = Some(key);
        self
    }

    /// Tells the time by this clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Builds the chat. It starts nothing: its actors are made with their first run.
    ///
    /// # Errors
    /// [`ChatBuildError`] when tools clash, have schemas that do not compile, or miss a value.
    pub fn build(self) -> Result<Chat, ChatBuildError> {
        let mut names = HashSet::new();
        for tool in &self.tools {
            if !names.insert(tool.name()) {
                return Err(ChatBuildError::DuplicateTool(tool.name().to_owned()));
            }
            tool.check(&self.context)?;
        }
        Ok(Chat::new(Engine {
            model: self.model,
            tools: self.tools,
            sources: self.sources,
            keep_alive: self.keep_alive,
            on_discovery_error: self.on_discovery_error,
            client_tools: self.client_tools,
            system_prompts: self.system_prompts,
            model_options: self.model_options,
            metadata: self.metadata,
            max_tokens: self.max_tokens,
            max_iterations: self.max_iterations,
            max_input_rounds: self.max_input_rounds,
            state: self.state,
            trust_history: self.trust_history,
            on_detach: self.on_detach,
            limits: self.limits,
            context: Arc::new(self.context),
            log: self.log.unwrap_or_else(|| Arc::new(MemoryLog::new())),
            log_options: self.log_options,
            runs: self.runs.unwrap_or_else(|| Arc::new(MemoryRuns::new())),
            seal_key: self.seal_key.unwrap_or_else(SealKey::random),
            seal_life: SEAL_LIFE,
            clock: self.clock,
            open: OpenRuns::default(),
        }))
    }
}

impl std::fmt::Debug for ChatBuilder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ChatBuilder")
            .field("model", &self.model.id())
            .field("tools", &self.tools.len())
            .finish_non_exhaustive()
    }
}
