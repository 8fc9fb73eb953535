//! A task as requests see it.

use std::{
    borrow::Cow,
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Map, Value};
use tokio::sync::{Notify, futures::Notified, mpsc, oneshot, watch};

use crate::{
    machine::redaction::cut,
    ports::task_store::{TaskRecord, TaskScope},
    tool::{InputError, Question},
    wire::ids::{Owner, TaskId},
};

/// Commands that wait for the driver of one task. Each is handled at once, so this is full only
/// when its thread is; whoever sends one waits.
const MAX_WAITING: usize = 32;

/// What finds a task: a foreign scope finds nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::server) struct TaskKey {
    pub(in crate::server) scope: TaskScope,
    pub(in crate::server) id: TaskId,
}

impl TaskKey {
    /// Gives what logs may tell of the id.
    pub(super) fn told(&self) -> Cow<'_, str> {
        told(self.id.as_str(), &self.scope.owner)
    }
}

/// Characters of an id that is a secret by which it is still known in an audit.
const TOLD_OF_SECRET: usize = 8;

/// Gives what may be told of the id of a task: that of somebody whom nobody has signed in is all
/// that keeps others from the task, so only its beginning.
pub(in crate::server) fn told<'a>(id: &'a str, owner: &Owner) -> Cow<'a, str> {
    let short = cut(id, TOLD_OF_SECRET);
    if !owner.is_anonymous() || short.len() == id.len() {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("{short}…"))
}

/// What comes of a question.
pub(super) type Answered = Result<Value, InputError>;

/// What a task is told.
pub(super) enum Command {
    /// The function asks.
    Ask {
        question: Question,
        /// Hears the key under which the question is open.
        opened: oneshot::Sender<Result<String, InputError>>,
        answer: oneshot::Sender<Answered>,
    },
    /// The function does not want the answer any more.
    Withdraw { key: String },
    /// The client of a session has answered, or nobody will.
    Settle { key: String, answer: Answered },
    /// A client answers some of the questions. One answer that does not fit refuses all.
    Answer {
        answers: Map<String, Value>,
        done: oneshot::Sender<Result<(), InputError>>,
    },
    /// A client cancels the task; hears whether it still ran.
    Cancel { done: oneshot::Sender<bool> },
}

/// A task whose driver is in this process.
pub(in crate::server) struct Live {
    key: TaskKey,
    commands: mpsc::Sender<Command>,
    seen: watch::Receiver<Arc<TaskRecord>>,
    /// Keys of questions that are on their way to the client of a session, or were answered: no key
    /// comes twice, so those stay.
    claims: Mutex<HashSet<String>>,
    released: Notify,
}

/// The driver's ends of a [`Live`].
pub(super) struct Ends {
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) seen: watch::Sender<Arc<TaskRecord>>,
}

impl Ends {
    /// Lets the time of the task count from now.
    pub(super) fn begin(&self, now: u64) {
        self.seen
            .send_modify(|record| Arc::make_mut(record).task.begin(now));
    }
}

impl Live {
    pub(super) fn new(record: Arc<TaskRecord>) -> (Arc<Self>, Ends) {
        let key = TaskKey {
            scope: record.scope.clone(),
            id: record.task.id().clone(),
        };
        let (commands, receiver) = mpsc::channel(MAX_WAITING);
        let (sender, seen) = watch::channel(record);
        let live = Self {
            key,
            commands,
            seen,
            claims: Mutex::default(),
            released: Notify::new(),
        };
        let ends = Ends {
            commands: receiver,
            seen: sender,
        };
        (Arc::new(live), ends)
    }

    pub(super) const fn key(&self) -> &TaskKey {
        &self.key
    }

    /// Gives what was written last.
    pub(super) fn record(&self) -> Arc<TaskRecord> {
        Arc::clone(&self.seen.borrow())
    }

    pub(super) fn watch(&self) -> watch::Receiver<Arc<TaskRecord>> {
        self.seen.clone()
    }

    /// Tells the driver something. Tells whether it is still there.
    pub(super) async fn tell(&self, command: Command) -> bool {
        self.commands.send(command).await.is_ok()
    }

    /// Tells the driver something without waiting.
    pub(super) fn tell_now(&self, command: Command) -> bool {
        self.commands.try_send(command).is_ok()
    }

    /// Takes a question to bring it to the client, unless somebody does already.
    pub(super) fn claim(self: &Arc<Self>, key: &str) -> Option<Claim> {
        self.claims().insert(key.to_owned()).then(|| Claim {
            live: Arc::clone(self),
            key: key.to_owned(),
            settled: false,
        })
    }

    /// Waits until a claim is given back.
    pub(super) fn released(&self) -> Notified<'_> {
        self.released.notified()
    }

    fn claims(&self) -> MutexGuard<'_, HashSet<String>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a question from being brought to the client twice.
pub(super) struct Claim {
    live: Arc<Live>,
    key: String,
    settled: bool,
}

impl Claim {
    pub(super) fn live(&self) -> &Live {
        &self.live
    }

    /// Tells the task what has come of the question. Nobody brings it to the client again, though
    /// the task may hear of it later.
    pub(super) async fn settle(mut self, answer: Answered) {
        self.settled = true;
        let key = self.key.clone();
        self.live.tell(Command::Settle { key, answer }).await;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        self.live.claims().remove(&self.key);
        self.live.released.notify_waiters();
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Live").field(&self.key).finish()
    }
}
