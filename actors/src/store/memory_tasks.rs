//! Tasks in memory.

mod held;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{self, FutureExt as _};
use indexmap::IndexMap;

use self::held::{Held, Kept, Tasks};
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
/// new ones. One owner, or all callers together that nobody can tell apart, can have half of it: there
/// is room left for others.
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
    /// Tasks of one caller or session. Default 256. Callers that nobody can tell apart share their
    /// half of `max_tasks` only.
    pub max_per_owner: usize,
    /// Bytes of all that is kept: results and open questions, and 4 KiB for each task. Default
    /// 256 MiB.
    pub max_bytes: usize,
}

impl Default for MemoryTasksLimits {
    fn default() -> Self {
        Self {
            max_tasks: 4_096,
            max_per_owner: 256,
            max_bytes: 256 * 1024 * 1024,
        }
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
        self.tasks().all.tasks
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
        let (scope, id) = (record.scope.clone(), record.task.id().clone());
        let kept = Kept::new(record);
        tasks.remove(&scope, &id);
        tasks.make_room(&scope, kept.held(), self.limits, self.clock.now_ms())?;
        tasks.put(scope, id, kept);
        Ok(())
    }

    fn replace(&self, record: Arc<TaskRecord>) -> Result<(), TaskStoreError> {
        let mut tasks = self.tasks();
        let new = Kept::new(record);
        let (scope, id) = (&new.record.scope, new.record.task.id());
        let Some(old) = tasks.find(scope, id).map(|kept| kept.bytes) else {
            return Ok(());
        };
        if new.bytes > old {
            let more = Held {
                tasks: 0,
                bytes: new.bytes - old,
            };
            tasks.make_room(scope, more, self.limits, self.clock.now_ms())?;
        }
        tasks.replace(new);
        Ok(())
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
        ready(self.replace(record))
    }

    fn get<'a>(
        &'a self,
        scope: &'a TaskScope,
        id: &'a TaskId,
    ) -> TaskFuture<'a, Option<Arc<TaskRecord>>> {
        let tasks = self.tasks();
        let found = tasks.find(scope, id).map(|kept| &kept.record);
        ready(Ok(found.filter(|record| self.is_due(record)).cloned()))
    }

    fn list<'a>(&'a self, scope: &'a TaskScope) -> TaskFuture<'a, Vec<Arc<TaskRecord>>> {
        let tasks = self.tasks();
        let own = tasks.scopes.get(scope);
        let own = own.into_iter().flat_map(IndexMap::values);
        let records = own.map(|kept| &kept.record);
        let due = records.filter(|record| self.is_due(record));
        ready(Ok(due.cloned().collect()))
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
        clippy::panic,
        reason = "a failed expectation is the test failing"
    )]
    use std::time::Duration;

    use super::held::SHORT_END_BYTES;
    use super::*;
    use crate::{
        machine::task::{Task, TaskEnd, TaskEra},
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
            tool: Arc::from("tool"),
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
            ..MemoryTasksLimits::default()
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
    fn a_full_store_tells_what_is_full_and_when_the_next_task_is_forgotten() {
        let (store, clock) = store(4, 1);
        let wait = |error: Result<(), TaskStoreError>| match error.expect_err("no room") {
            TaskStoreError::Full { retry_after } => (false, retry_after),
            TaskStoreError::OwnerFull { retry_after } => (true, retry_after),
            other => panic!("{other}"),
        };
        let millis = |millis: u64| Some(Duration::from_millis(millis));
        now(store.insert(record("ada", "1", 500))).unwrap();
        now(store.insert(record("", "2", 0))).unwrap();
        clock.advance(Duration::from_millis(100));
        let of_one = now(store.insert(record("ada", "3", 100)));
        assert_eq!(wait(of_one), (true, millis(1_400)));
        now(store.insert(record("", "4", 100))).unwrap();
        let of_nobody = now(store.insert(record("", "5", 100)));
        assert_eq!(wait(of_nobody), (true, millis(900)));
        now(store.insert(record("bob", "6", 100))).unwrap();
        let in_all = now(store.insert(record("cleo", "7", 100)));
        assert_eq!(wait(in_all), (false, millis(900)));
        let (store, _clock) = self::store(0, 1);
        let never = now(store.insert(record("ada", "1", 0)));
        assert_eq!(wait(never), (true, None));
    }

    #[test]
    fn an_owner_can_fill_no_more_than_half_of_a_store() {
        let (store, _clock) = store(8, 8);
        for owner in ["", "ada"] {
            for id in 0..4 {
                now(store.insert(record(owner, &id.to_string(), 0))).unwrap();
            }
            let session = TaskScope {
                session: Some("s".into()),
                ..scope(owner)
            };
            let more = Arc::new(TaskRecord {
                scope: session,
                ..TaskRecord::clone(&record(owner, "4", 0))
            });
            assert!(now(store.insert(more)).is_err(), "{owner}");
            now(store.remove(&scope(owner), &TaskId::from("0"))).unwrap();
        }
        now(store.insert(record("bob", "1", 0))).unwrap();
        assert_eq!(store.kept(), 7);
    }

    fn ended(record: &TaskRecord, bytes: usize) -> Arc<TaskRecord> {
        let mut ended = record.clone();
        let end = TaskEnd::Result {
            json: "x".repeat(bytes).into(),
            is_error: false,
        };
        assert!(ended.task.finish(end, None, 0));
        Arc::new(ended)
    }

    #[test]
    fn what_is_kept_is_bounded_in_bytes() {
        let clock = Arc::new(ManualClock::at(0));
        let limits = MemoryTasksLimits {
            max_bytes: 200_000,
            ..MemoryTasksLimits::default()
        };
        let store = MemoryTasks::with(limits, clock.clone());
        let tasks = ["1", "2", "3"].map(|id| record("ada", id, 0));
        for task in &tasks {
            now(store.insert(Arc::clone(task))).unwrap();
        }
        let [one, two, three] = &tasks;
        now(store.update(ended(one, 80_000))).unwrap();
        // Half of it is full.
        let refused = now(store.update(ended(two, 80_000)));
        let half = matches!(refused, Err(TaskStoreError::OwnerFull { .. }));
        assert!(half, "{refused:?}");
        let kept = now(store.get(&two.scope, two.task.id())).unwrap();
        assert!(kept.unwrap().task.end().is_none());
        now(store.update(ended(two, SHORT_END_BYTES))).unwrap();
        let bob = record("bob", "1", 0);
        now(store.insert(Arc::clone(&bob))).unwrap();
        now(store.update(ended(&bob, 80_000))).unwrap();
        now(store.remove(&one.scope, one.task.id())).unwrap();
        now(store.update(ended(three, 80_000))).unwrap();
        assert!(now(store.insert(record("cleo", "1", 0))).is_ok());
        clock.advance(Duration::from_secs(1));
        let late = record("ada", "4", 1_000);
        now(store.insert(Arc::clone(&late))).unwrap();
        now(store.update(ended(&late, 90_000))).unwrap();
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
