//! What all runs of a chat have in common.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use dashmap::{DashMap, mapref::entry::Entry};
use futures_util::future::join_all;
use serde_json::{Map, Value};

use super::mcp::DiscoveryHook;
use crate::{
    machine::seal::SealKey,
    ports::{
        clock::Clock,
        event_log::{EventLog, LogKey, LogOptions},
        model::Model,
        run_store::RunStore,
        tool_source::ToolSource,
    },
    run::{Outcome, RunError, Shared},
    tool::{Context, Tool},
    wire::ids::{Owner, RunId},
};

/// How long cancelled runs get to say their last words, beyond the deadline of a drain.
const LAST_WORDS: Duration = Duration::from_secs(6);

/// What becomes of a run when the reader that started it goes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnDetach {
    /// It is cancelled.
    #[default]
    Cancel,
    /// It goes on, and can be attached to again.
    Continue,
}

/// Bounds of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChatLimits {
    /// Runs that are open at once. Default 4,096: each needs about 20 KB beside its events.
    pub max_open_runs: usize,
    /// Tools that a request may offer for its browser. Default 128: models lose their way in more.
    pub max_client_tools: usize,
    /// Bytes of their schemas. Default 256 KiB: they go to the model with every turn.
    pub max_client_tool_bytes: usize,
}

impl Default for ChatLimits {
    fn default() -> Self {
        Self {
            max_open_runs: 4096,
            max_client_tools: 128,
            max_client_tool_bytes: 256 * 1024,
        }
    }
}

/// The configuration, the stores and the open runs of a chat.
pub(crate) struct Engine {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) sources: Vec<Arc<dyn ToolSource>>,
    pub(crate) keep_alive: bool,
    pub(crate) on_discovery_error: DiscoveryHook,
    pub(crate) client_tools: bool,
    pub(crate) system_prompts: Vec<String>,
    pub(crate) model_options: Map<String, Value>,
    pub(crate) metadata: Option<Map<String, Value>>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) max_iterations: u32,
    pub(crate) max_input_rounds: u32,
    pub(crate) state: Option<Value>,
    pub(crate) trust_history: bool,
    pub(crate) on_detach: OnDetach,
    pub(crate) limits: ChatLimits,
    pub(crate) context: Arc<Context>,
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) log_options: LogOptions,
    pub(crate) runs: Arc<dyn RunStore>,
    pub(crate) seal_key: SealKey,
    pub(crate) seal_life: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) open: OpenRuns,
}

/// The runs that have not ended.
#[derive(Debug, Default)]
pub(crate) struct OpenRuns {
    runs: DashMap<LogKey, Arc<Shared>>,
    count: AtomicUsize,
    draining: AtomicBool,
}

impl Engine {
    /// Finds a run that has not ended.
    pub(crate) fn live(&self, owner: &Owner, run: &RunId) -> Option<Arc<Shared>> {
        let key = LogKey::new(owner.clone(), run.clone());
        let found = self.open.runs.get(&key)?;
        let found = Arc::clone(found.value());
        (!found.is_over()).then_some(found)
    }

    /// Adds a run. Tells whether its id was free.
    pub(crate) fn admit(&self, run: &Arc<Shared>) -> Result<bool, RunError> {
        if self.is_draining() {
            return Err(RunError::Draining);
        }
        if self.open.count.load(Ordering::Relaxed) >= self.limits.max_open_runs {
            return Err(RunError::TooManyRuns);
        }
        match self.open.runs.entry(run.key.clone()) {
            Entry::Occupied(_) => return Ok(false),
            Entry::Vacant(free) => {
                free.insert(Arc::clone(run));
                self.open.count.fetch_add(1, Ordering::Relaxed);
            }
        }
        // A drain that began meanwhile may have looked before the run was there.
        if self.is_draining() {
            self.forget(run);
            run.end(Outcome::Cancelled);
            return Err(RunError::Draining);
        }
        Ok(true)
    }

    /// Removes a run, and no other one that has come to its id.
    pub(crate) fn forget(&self, run: &Arc<Shared>) {
        let removed = self
            .open
            .runs
            .remove_if(&run.key, |_, known| Arc::ptr_eq(known, run));
        if removed.is_some() {
            self.open.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn open_runs(&self) -> usize {
        self.open.count.load(Ordering::Relaxed)
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.open.draining.load(Ordering::SeqCst)
    }

    pub(crate) async fn drain(&self, deadline: Duration) {
        self.open.draining.store(true, Ordering::SeqCst);
        // Clones come out, so that no lock is held while anything waits.
        let open: Vec<Arc<Shared>> = self
            .open
            .runs
            .iter()
            .map(|entry| Arc::clone(entry.value()))
            .collect();
        let all_ended = || join_all(open.iter().map(|run| run.ended()));
        if tokio::time::timeout(deadline, all_ended()).await.is_ok() {
            return;
        }
        for run in &open {
            run.cancel.cancel();
        }
        if tokio::time::timeout(LAST_WORDS, all_ended()).await.is_err() {
            tracing::warn!("runs were still open after the drain");
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<&str> = self.tools.iter().map(Tool::name).collect();
        let sources: Vec<&str> = self.sources.iter().map(|source| source.name()).collect();
        out.debug_struct("Engine")
            .field("model", &self.model.id())
            .field("tools", &tools)
            .field("sources", &sources)
            .field("open_runs", &self.open_runs())
            .finish_non_exhaustive()
    }
}
