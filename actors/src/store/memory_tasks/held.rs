//! What a store in memory holds, and whose it is.

use std::{collections::HashMap, sync::Arc, time::Duration};

use indexmap::IndexMap;

use super::MemoryTasksLimits;
use crate::{
    machine::task::{Task, TaskEnd},
    ports::task_store::{TaskRecord, TaskScope, TaskStoreError},
    store::size::json_bytes,
    wire::ids::{Owner, TaskId},
};

/// What a task needs besides a long result and open questions.
const TASK_BYTES: usize = 4 * 1024;
/// An end that is no longer counts as part of that, so a task can always be told to have failed.
pub(super) const SHORT_END_BYTES: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Tasks {
    pub(super) scopes: HashMap<TaskScope, IndexMap<TaskId, Kept>>,
    owners: HashMap<Owner, Held>,
    pub(super) all: Held,
}

#[derive(Debug)]
pub(super) struct Kept {
    pub(super) record: Arc<TaskRecord>,
    pub(super) bytes: usize,
}

/// What somebody's tasks take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    pub(super) tasks: usize,
    pub(super) bytes: usize,
}

/// What can be full.
#[derive(Clone, Copy, Debug)]
enum Bound {
    All,
    /// The half of one owner, or of all whom nobody can tell apart.
    Owner,
    /// The tasks of one caller or session.
    Scope,
}

impl Held {
    const fn add(&mut self, more: Self) {
        self.tasks += more.tasks;
        self.bytes += more.bytes;
    }

    const fn sub(&mut self, less: Self) {
        self.tasks -= less.tasks;
        self.bytes -= less.bytes;
    }

    const fn fits(self, more: Self, most: Self) -> bool {
        self.tasks.saturating_add(more.tasks) <= most.tasks
            && self.bytes.saturating_add(more.bytes) <= most.bytes
    }

    const fn half(self) -> Self {
        Self {
            tasks: self.tasks.div_ceil(2),
            bytes: self.bytes.div_ceil(2),
        }
    }
}

impl Tasks {
    pub(super) fn remove(&mut self, scope: &TaskScope, id: &TaskId) {
        let Some(tasks) = self.scopes.get_mut(scope) else {
            return;
        };
        let removed = tasks.shift_remove(id);
        if tasks.is_empty() {
            self.scopes.remove(scope);
        }
        if let Some(kept) = removed {
            self.release(&scope.owner, kept.held());
        }
    }

    /// Keeps a task that is new.
    pub(super) fn put(&mut self, scope: TaskScope, id: TaskId, kept: Kept) {
        self.take(&scope.owner, kept.held());
        self.scopes.entry(scope).or_default().insert(id, kept);
    }

    pub(super) fn find(&self, scope: &TaskScope, id: &TaskId) -> Option<&Kept> {
        self.scopes.get(scope)?.get(id)
    }

    /// Puts a task in the place of what is kept of it. Nothing comes back that was forgotten.
    pub(super) fn replace(&mut self, new: Kept) {
        let owner = new.record.scope.owner.clone();
        let own = self.scopes.get_mut(&new.record.scope);
        let Some(kept) = own.and_then(|own| own.get_mut(new.record.task.id())) else {
            return;
        };
        let more = new.held();
        let less = std::mem::replace(kept, new).held();
        self.take(&owner, more);
        self.release(&owner, less);
    }

    /// Forgets what a server has left behind.
    fn forget_expired(&mut self, now: u64) {
        for tasks in self.scopes.values_mut() {
            tasks.retain(|_, kept| kept.record.task.expires_at() > now);
        }
        self.scopes.retain(|_, tasks| !tasks.is_empty());
        (self.owners, self.all) = (HashMap::new(), Held::default());
        for (scope, tasks) in &self.scopes {
            let owner = self.owners.entry(scope.owner.clone()).or_default();
            for kept in tasks.values() {
                owner.add(kept.held());
                self.all.add(kept.held());
            }
        }
    }

    fn take(&mut self, owner: &Owner, more: Held) {
        self.owners.entry(owner.clone()).or_default().add(more);
        self.all.add(more);
    }

    fn release(&mut self, owner: &Owner, less: Held) {
        self.all.sub(less);
        if let Some(held) = self.owners.get_mut(owner) {
            held.sub(less);
            if held.tasks == 0 {
                self.owners.remove(owner);
            }
        }
    }

    /// Gives what has no room for more of a scope.
    fn full(&self, scope: &TaskScope, more: Held, limits: MemoryTasksLimits) -> Option<Bound> {
        let most = Held {
            tasks: limits.max_tasks,
            bytes: limits.max_bytes,
        };
        let owner = self.owners.get(&scope.owner).copied().unwrap_or_default();
        let own = self.scopes.get(scope).map_or(0, IndexMap::len);
        if scope.is_bound() && own + more.tasks > limits.max_per_owner {
            return Some(Bound::Scope);
        }
        if !owner.fits(more, most.half()) {
            return Some(Bound::Owner);
        }
        (!self.all.fits(more, most)).then_some(Bound::All)
    }

    /// Gives when the next task within a bound is forgotten; none if that is never.
    fn next_end(&self, bound: Bound, scope: &TaskScope) -> Option<u64> {
        let within = |of: &TaskScope| match bound {
            Bound::All => true,
            Bound::Owner => of.owner == scope.owner,
            Bound::Scope => of == scope,
        };
        let scopes = self.scopes.iter().filter(|(of, _)| within(of));
        let kept = scopes.flat_map(|(_, tasks)| tasks.values());
        let ends = kept.map(|kept| kept.record.task.expires_at());
        ends.min().filter(|end| *end != u64::MAX)
    }

    /// Makes room for more of a scope, of tasks whose time is over. Those that have ended are kept as
    /// long as their clients were told.
    pub(super) fn make_room(
        &mut self,
        scope: &TaskScope,
        more: Held,
        limits: MemoryTasksLimits,
        now: u64,
    ) -> Result<(), TaskStoreError> {
        if self.full(scope, more, limits).is_none() {
            return Ok(());
        }
        self.forget_expired(now);
        let Some(bound) = self.full(scope, more, limits) else {
            return Ok(());
        };
        let end = self.next_end(bound, scope);
        let retry_after = end.map(|end| Duration::from_millis(end.saturating_sub(now)));
        Err(match bound {
            Bound::All => TaskStoreError::Full { retry_after },
            Bound::Owner | Bound::Scope => TaskStoreError::OwnerFull { retry_after },
        })
    }
}

impl Kept {
    pub(super) fn new(record: Arc<TaskRecord>) -> Self {
        let bytes = size_of(&record.task);
        Self { record, bytes }
    }

    pub(super) const fn held(&self) -> Held {
        Held {
            tasks: 1,
            bytes: self.bytes,
        }
    }
}

/// Gives about what a task needs in memory.
fn size_of(task: &Task) -> usize {
    let end = match task.end() {
        Some(TaskEnd::Result { json, .. }) => json.len(),
        Some(TaskEnd::Error(error)) => json_bytes(error),
        None => 0,
    };
    let questions = task.questions();
    let open = if questions.is_empty() {
        0
    } else {
        json_bytes(questions)
    };
    TASK_BYTES + open + end.saturating_sub(SHORT_END_BYTES)
}
