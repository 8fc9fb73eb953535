//! Where the tasks of an MCP server are kept.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::{
    machine::task::{Task, TaskEra},
    wire::ids::{Owner, SessionId, TaskId},
};

/// Whom tasks belong to. A task of another scope is as good as unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TaskScope {
    /// The caller.
    pub owner: Owner,
    /// 2025: the session, on a server that keeps them.
    pub session: Option<SessionId>,
    /// The spec that its clients follow.
    pub era: TaskEra,
}

impl TaskScope {
    /// Tells whether the scope is that of one caller: a list of its tasks shows nothing to others.
    #[must_use]
    pub const fn is_bound(&self) -> bool {
        self.session.is_some() || !self.owner.is_anonymous()
    }
}

/// A task and whom it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Whom it belongs to.
    pub scope: TaskScope,
    /// The name of its tool, whose scopes are asked of whoever reads the result.
    pub tool: Arc<str>,
    /// The task.
    pub task: Task,
}

/// Why a task is not kept.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskStoreError {
    /// There are as many as there may be in all, or as much of them.
    #[error("too many tasks are kept: try again later")]
    Full {
        /// When there may be room, as far as anybody knows.
        retry_after: Option<Duration>,
    },
    /// There are as many of this caller as there may be of one, or as much of them.
    #[error("too many tasks of this caller are kept: try again later")]
    OwnerFull {
        /// When there may be room, as far as anybody knows.
        retry_after: Option<Duration>,
    },
    /// The store has not answered for five seconds.
    #[error("the task store does not answer")]
    TimedOut,
    /// The store's own storage has failed.
    #[error("the task store failed")]
    Failed(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

impl TaskStoreError {
    /// Tells whether there is no room for the task.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::OwnerFull { .. })
    }
}

/// A future of a [`TaskStore`], which may cross threads.
pub type TaskFuture<'a, T> = BoxFuture<'a, Result<T, TaskStoreError>>;

/// Keeps tasks until they are removed. Every key is (scope, id).
///
/// The server that runs a task writes it: once before the client hears of it, then after each
/// change, in order, and removes it when its time is over. A store of several servers may forget a
/// task by itself after [`Task::expires_at`].
pub trait TaskStore: fmt::Debug + Send + Sync + 'static {
    /// Keeps a new task.
    fn insert(&self, record: Arc<TaskRecord>) -> TaskFuture<'_, ()>;

    /// Keeps a task in the place of what was kept under its id. That stays if there is no room
    /// ([`TaskStoreError::is_full`]); a task that does not grow always fits.
    fn update(&self, record: Arc<TaskRecord>) -> TaskFuture<'_, ()>;

    /// Finds a task.
    fn get<'a>(
        &'a self,
        scope: &'a TaskScope,
        id: &'a TaskId,
    ) -> TaskFuture<'a, Option<Arc<TaskRecord>>>;

    /// Gives the tasks of a scope, the oldest first. Asked for scopes that are bound only.
    fn list<'a>(&'a self, scope: &'a TaskScope) -> TaskFuture<'a, Vec<Arc<TaskRecord>>>;

    /// Forgets a task.
    fn remove<'a>(&'a self, scope: &'a TaskScope, id: &'a TaskId) -> TaskFuture<'a, ()>;
}

impl<S: TaskStore> TaskStore for Arc<S> {
    fn insert(&self, record: Arc<TaskRecord>) -> TaskFuture<'_, ()> {
        (**self).insert(record)
    }

    fn update(&self, record: Arc<TaskRecord>) -> TaskFuture<'_, ()> {
        (**self).update(record)
    }

    fn get<'a>(
        &'a self,
        scope: &'a TaskScope,
        id: &'a TaskId,
    ) -> TaskFuture<'a, Option<Arc<TaskRecord>>> {
        (**self).get(scope, id)
    }

    fn list<'a>(&'a self, scope: &'a TaskScope) -> TaskFuture<'a, Vec<Arc<TaskRecord>>> {
        (**self).list(scope)
    }

    fn remove<'a>(&'a self, scope: &'a TaskScope, id: &'a TaskId) -> TaskFuture<'a, ()> {
        (**self).remove(scope, id)
    }
}
