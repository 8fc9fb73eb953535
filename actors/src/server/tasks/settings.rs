//! What the builder collects about tasks.

use std::sync::Arc;

use super::{TaskLimits, Tasks};
use crate::{
    ports::{clock::SystemClock, task_store::TaskStore},
    server::McpServerBuilder,
    store::memory_tasks::MemoryTasks,
    tool::Tool,
    wire::task::TaskSupport,
};

/// What the builder collects.
#[derive(Default)]
pub(in crate::server) struct TaskSettings {
    limits: TaskLimits,
    store: Option<Arc<dyn TaskStore>>,
    extension: bool,
}

impl TaskSettings {
    /// Gives the tasks of a server with these tools; nothing when none of them runs as one.
    pub(in crate::server) fn build(self, tools: &[Tool]) -> Option<Tasks> {
        let runs_as_task = |tool: &Tool| tool.task_support() != TaskSupport::Forbidden;
        if !tools.iter().any(runs_as_task) {
            return None;
        }
        let store = self.store.unwrap_or_else(|| {
            let limits = self.limits.memory();
            Arc::new(MemoryTasks::with(limits, Arc::new(SystemClock)))
        });
        Some(Tasks::new(store, self.limits, self.extension))
    }
}

/// Tools that run as tasks.
impl McpServerBuilder {
    /// Serves the extension `io.modelcontextprotocol/tasks` to the clients of 2026 that declare it:
    /// calls of a tool with [`Tool::task`] are answered with a task then. By default they run within
    /// their call. Clients of 2025-11-25 get tasks in any case, if they ask for one.
    #[must_use]
    pub fn tasks_extension(mut self, serve: bool) -> Self {
        self.tasks.extension = serve;
        self
    }

    /// Bounds the tasks.
    #[must_use]
    pub const fn task_limits(mut self, limits: TaskLimits) -> Self {
        self.tasks.limits = limits;
        self
    }

    /// Keeps tasks in a store; in memory by default. How many there may be is the store's to say.
    #[must_use]
    pub fn task_store(mut self, store: impl TaskStore) -> Self {
        self.tasks.store = Some(Arc::new(store));
        self
    }
}
