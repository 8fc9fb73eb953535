//! Tasks: calls that go on without their request. The core of 2025-11-25, and the extension
//! `io.modelcontextprotocol/tasks` of 2026, on one mechanism.
//!
//! Each task is driven by a future of its own, which alone changes its [`Task`] and writes it to the
//! store. Requests speak to it through a [`Live`], and read what it has written last.
//!
//! [`Task`]: crate::machine::task::Task

mod asker;
mod deliver;
mod driver;
mod limits;
mod live;
mod methods;
mod outcome;
mod seat;
mod settings;
mod start;
mod store;
mod trail;
mod wire;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::LocalBoxFuture;
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub use self::limits::TaskLimits;
pub(super) use self::{
    asker::TaskAsker,
    deliver::related,
    live::{TaskKey as Key, told},
    methods::{cancel, get, list, result, update},
    settings::TaskSettings,
    start::{Plan, plan, start, start_when_told},
    wire::{detailed, settings},
};
use self::{
    live::{Live, TaskKey},
    store::Store,
};
use super::{Inner, McpServer, dispatch::Call, prepare::declared};
use crate::{
    background::Background,
    machine::{era::Era, task::TaskEra},
    ports::task_store::{TaskScope, TaskStore},
    registry::{Registry, has_local_executor},
    wire::{
        ids::TaskId,
        jsonrpc::{RpcError, code},
        task::EXTENSION,
    },
};

/// The tasks of one server.
pub(super) struct Tasks {
    store: Store,
    limits: TaskLimits,
    /// The extension of 2026 is served.
    extension: bool,
    live: Registry<TaskKey, Live>,
    open: AtomicUsize,
    none_left: Notify,
    /// Cancelled when the server ends: tasks are not kept any longer.
    ending: CancellationToken,
    /// For requests that no local executor carries.
    background: Background,
}

impl Tasks {
    pub(super) fn new(store: Arc<dyn TaskStore>, limits: TaskLimits, extension: bool) -> Self {
        Self {
            store: Store::new(store),
            limits,
            extension,
            live: Registry::new(),
            open: AtomicUsize::new(0),
            none_left: Notify::new(),
            ending: CancellationToken::new(),
            background: Background::new("roscius-tasks"),
        }
    }

    pub(super) const fn extension(&self) -> bool {
        self.extension
    }

    /// Runs a future that cannot leave its thread: on this one if it can carry it. Tells whether
    /// there was a thread for it.
    fn spawn<F>(&self, make: F) -> bool
    where
        F: FnOnce() -> LocalBoxFuture<'static, ()> + Send + 'static,
    {
        if has_local_executor() {
            actix_rt::spawn(make());
            return true;
        }
        let Some(arbiter) = self.background.arbiter() else {
            return false;
        };
        arbiter.spawn_fn(move || {
            actix_rt::spawn(make());
        })
    }

    /// Ends all tasks and waits until they are gone, within a deadline.
    pub(super) async fn end(&self, deadline: Duration) {
        self.ending.cancel();
        let gone = async {
            loop {
                let woken = self.none_left.notified();
                tokio::pin!(woken);
                woken.as_mut().enable();
                if self.open.load(Ordering::Acquire) == 0 {
                    return;
                }
                woken.await;
            }
        };
        if tokio::time::timeout(deadline, gone).await.is_err() {
            tracing::warn!("a thread was blocked and its tasks are left behind");
        }
    }
}

impl McpServer {
    /// Tells how many tasks are kept: those that run, and those that have ended and are not
    /// forgotten yet.
    #[must_use]
    pub fn open_tasks(&self) -> usize {
        let tasks = self.0.tasks.as_ref();
        tasks.map_or(0, |tasks| tasks.open.load(Ordering::Acquire))
    }
}

/// Gives whom the tasks of a request belong to.
pub(super) fn scope(call: &Call<'_>) -> TaskScope {
    TaskScope {
        owner: call.options.owner(),
        session: call.session.as_ref().map(|session| session.id()),
        era: match call.era {
            Era::Modern => TaskEra::Extension,
            Era::Legacy(_) | Era::Unknown => TaskEra::Core,
        },
    }
}

/// Gives the keys of those tasks whose results a request may read.
pub(super) fn reachable(server: &Inner, call: &Call<'_>, ids: &[String]) -> Vec<TaskKey> {
    let Some(tasks) = server.tasks.as_ref().filter(|tasks| tasks.extension) else {
        return Vec::new();
    };
    let scope = scope(call);
    let keys = ids.iter().map(|id| TaskKey {
        scope: scope.clone(),
        id: TaskId::from(id.as_str()),
    });
    let readable = |key: &TaskKey| {
        let live = tasks.live.get(key);
        live.is_some_and(|live| server.has_scopes(&live.record().tool, &call.options))
    };
    keys.filter(readable).collect()
}

/// Refuses a client of 2026 that has not declared the extension.
pub(super) fn require_extension(call: &Call<'_>) -> Result<(), RpcError> {
    if declared(call).tasks() {
        return Ok(());
    }
    let message = format!("the client does not declare the extension {EXTENSION}");
    let required = json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}});
    Err(RpcError::new(code::MISSING_CLIENT_CAPABILITY, message).with_data(required))
}

impl fmt::Debug for Tasks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Tasks")
            .field("open", &self.open)
            .field("extension", &self.extension)
            .finish_non_exhaustive()
    }
}
