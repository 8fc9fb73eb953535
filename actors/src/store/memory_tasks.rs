//! Tasks in memory.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::{self, FutureExt as _};
use indexmap::IndexMap;

use crate::{
    ports::{
        clock::{Clock, SystemClock},
        task_store::{TaskFuture, TaskRecord, TaskScope, TaskStore, TaskStoreError},
    },
    wire::ids::TaskId,
};

/// Keeps the tasks of a server in this process.
///
/// A task that has ended is kept as long as its client was told, so a store that is full refuses
/// new ones.
#[derive(Debug)]
pub struct MemoryTasks {
    clock: Arc<dyn Clock>,
    limits: MemoryTasksLimits,
    tasks: Mutex<Tasks>,
}

/// Bounds of [`MemoryTasks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryTasksLimits {
    /// Tasks that are kept. Default 4,096: what they hold lives in memory.
    pub max_tasks: usize,
    /// Tasks of one caller or session. Default 256. Callers that nobody can tell apart share
    /// `max_tasks` only.
    pub max_per_owner: usize,
}

impl Default for MemoryTasksLimits {
    fn default() -> Self {
        Self {
            max_tasks: 4_096,
            max_per_owner: 256,
        }
    }
}

#[derive(Debug, Default)]
struct Tasks {
    scopes: HashMap<TaskScope, IndexMap<TaskId, Arc<TaskRecord>>>,
    kept: usize,
}

impl Tasks {
    fn remove(&mut self, scope: &TaskScope, id: &TaskId) {
        let Some(tasks) = self.scopes.get_mut(scope) else {
            return;
        };
        if tasks.shift_remove(id).is_some() {
            self.kept -= 1;
        }
        if tasks.is_empty() {
            self.scopes.remove(scope);
        }
    }

    /// Forgets what a server has left behind.
    fn forget_expired(&mut self, now: u64) {
        for tasks in self.scopes.values_mut() {
            tasks.retain(|_, record| record.task.expires_at() > now);
        }
        self.scopes.retain(|_, tasks| !tasks.is_empty());
        self.kept = self.scopes.values().map(IndexMap::len).sum();
    }

    fn has_room(&self, scope: &TaskScope, limits: MemoryTasksLimits) -> bool {
        let own = self.scopes.get(scope).map_or(0, IndexMap::len);
        self.kept < limits.max_tasks && (!scope.is_bound() || own < limits.max_per_owner)
    }
}

impl MemoryTasks {
    /// Makes an empty store with default bounds.
    #[must_use]
    pub fn new() -> Self {
        Self::with(MemoryTasksLimits::default(), Arc::new(SystemClock))
    }

    /// Makes an empty store with bounds and a clock of its own.
    #[must_use]
    pub fn with(limits: MemoryTasksLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            limits,
            tasks: Mutex::default(),
        }
    }

    /// Counts the tasks that are kept.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.tasks().kept
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether the time of a task is not over. Its server forgets it then, unless that is gone.
    fn is_due(&self, record: &TaskRecord) -> bool {
        record.task.expires_at() > self.clock.now_ms()
    }

    fn put(&self, record: Arc<TaskRecord>) -> Result<(), TaskStoreError> {
        let mut tasks = self.tasks();
        if !tasks.has_room(&record.scope, self.limits) {
            tasks.forget_expired(self.clock.now_ms());
            if !tasks.has_room(&record.scope, self.limits) {
                return Err(TaskStoreError::Full);
            }
        }
        let own = tasks.scopes.entry(record.scope.clone()).or_default();
        if own.insert(record.task.id().clone(), record).is_none() {
            tasks.kept += 1;
        }
        Ok(())
    }

    fn replace(&self, record: Arc<TaskRecord>) {
        let mut tasks = self.tasks();
        let own = tasks.scopes.get_mut(&record.scope);
        if let Some(kept) = own.and_then(|own| own.get_mut(record.task.id())) {
            *kept = record;
        }
    }
}

impl Default for MemoryTasks {
    fn default() -> Self {
        Self::new()
    }
}

fn ready<T: Send + 'static>(value: Result<T, TaskStoreError>) -> TaskFuture<'static, T> {
    future::ready(value).boxed()
}

impl TaskStore for MemoryTasks {
    fn insert(&self, record: Arc<TaskRecord>) -> TaskFuture<'_, ()> {
        ready(self.put(record))
    }

    fn update(&self, record: Arc<TaskRecord>) -> TaskFuture<'_, ()> {
        self.replace(record);
        ready(Ok(()))
    }

    fn get<'a>(
        &'a self,
        scope: &'a TaskScope,
        id: &'a TaskId,
    ) -> TaskFuture<'a, Option<Arc<TaskRecord>>> {
        let tasks = self.tasks();
        let found = tasks.scopes.get(scope).and_then(|own| own.get(id));
        ready(Ok(found.filter(|record| self.is_due(record)).cloned()))
    }

    fn list<'a>(&'a self, scope: &'a TaskScope) -> TaskFuture<'a, Vec<Arc<TaskRecord>>> {
        let tasks = self.tasks();
        let own = tasks.scopes.get(scope);
        let own = own.into_iter().flat_map(IndexMap::values);
        let kept = own.filter(|record| self.is_due(record));
        ready(Ok(kept.cloned().collect()))
    }

    fn remove<'a>(&'a self, scope: &'a TaskScope, id: &'a TaskId) -> TaskFuture<'a, ()> {
        self.tasks().remove(scope, id);
        ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        reason = "a failed expectation is the test failing"
    )]
    use std::time::Duration;

    use super::*;
    use crate::{
        machine::task::{Task, TaskEra},
        ports::clock::ManualClock,
        wire::ids::Owner,
    };

    fn scope(owner: &str) -> TaskScope {
        let owner = match owner {
            "" => Owner::ANONYMOUS,
            key => Owner::new(key),
        };
        TaskScope {
            owner,
            session: None,
            era: TaskEra::Core,
        }
    }

    fn record(owner: &str, id: &str, now: u64) -> Arc<TaskRecord> {
        Arc::new(TaskRecord {
            scope: scope(owner),
            task: Task::new(TaskId::from(id), TaskEra::Core, now, 1_000, 100),
        })
    }

    fn now<T>(future: TaskFuture<'_, T>) -> Result<T, TaskStoreError> {
        future.now_or_never().expect("memory does not wait")
    }

    fn store(max_tasks: usize, max_per_owner: usize) -> (MemoryTasks, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at(0));
        let limits = MemoryTasksLimits {
            max_tasks,
            max_per_owner,
        };
        (MemoryTasks::with(limits, clock.clone()), clock)
    }

    #[test]
    fn a_task_is_found_in_its_scope_only() {
        let (store, _clock) = store(4, 4);
        now(store.insert(record("ada", "1", 0))).unwrap();
        let id = TaskId::from("1");
        assert!(now(store.get(&scope("ada"), &id)).unwrap().is_some());
        let other_era = TaskScope {
            era: TaskEra::Extension,
            ..scope("ada")
        };
        let session = TaskScope {
            session: Some("s".into()),
            ..scope("ada")
        };
        for foreign in [scope("bob"), scope(""), other_era, session] {
            assert_eq!(now(store.get(&foreign, &id)).unwrap(), None);
            assert!(now(store.list(&foreign)).unwrap().is_empty());
            now(store.remove(&foreign, &id)).unwrap();
        }
        assert_eq!(store.kept(), 1);
    }

    #[test]
    fn tasks_are_bounded_in_all_and_by_caller() {
        let (store, clock) = store(4, 2);
        for (owner, id) in [("ada", "1"), ("ada", "2"), ("", "3")] {
            now(store.insert(record(owner, id, 0))).unwrap();
        }
        assert!(now(store.insert(record("ada", "4", 0))).is_err());
        now(store.insert(record("", "5", 0))).unwrap();
        assert!(now(store.insert(record("bob", "6", 0))).is_err());
        let listed = now(store.list(&scope("ada"))).unwrap();
        let ids: Vec<_> = listed
            .iter()
            .map(|record| record.task.id().as_str())
            .collect();
        assert_eq!(ids, ["1", "2"]);
        now(store.remove(&scope("ada"), &TaskId::from("1"))).unwrap();
        now(store.insert(record("ada", "7", 0))).unwrap();
        clock.advance(Duration::from_secs(1));
        now(store.insert(record("bob", "8", 1_000))).unwrap();
        assert_eq!(store.kept(), 1);
    }

    #[test]
    fn a_task_that_its_server_has_left_behind_is_found_no_longer_than_its_time() {
        let (store, clock) = store(4, 4);
        now(store.insert(record("ada", "1", 0))).unwrap();
        let id = TaskId::from("1");
        clock.advance(Duration::from_millis(999));
        assert!(now(store.get(&scope("ada"), &id)).unwrap().is_some());
        assert_eq!(now(store.list(&scope("ada"))).unwrap().len(), 1);
        clock.advance(Duration::from_millis(1));
        assert!(now(store.get(&scope("ada"), &id)).unwrap().is_none());
        assert!(now(store.list(&scope("ada"))).unwrap().is_empty());
    }

    #[test]
    fn a_removed_task_does_not_come_back() {
        let store = MemoryTasks::new();
        let task = record("ada", "1", 0);
        now(store.insert(Arc::clone(&task))).unwrap();
        now(store.remove(&task.scope, task.task.id())).unwrap();
        now(store.update(task)).unwrap();
        assert_eq!(store.kept(), 0);
    }
}
