//! One run of a chat: the actor that drives it, and the handle that others hold.

mod actor;
mod calls;
mod claim;
mod driver;
mod events;
mod toolbox;

use std::{fmt, sync::Arc};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub(crate) use actor::start_run;
pub use events::{RunEvent, RunEvents, RunUpdate};

use crate::{
    chat::OnDetach,
    machine::dialogue::FinishReason,
    ports::event_log::{After, EventCursor, EventLog, LogError, LogKey},
    wire::{
        agui::{Interrupt, Role, Row},
        ids::{Owner, RunId, ThreadId},
    },
};

/// A run, as its starter and its readers see it. Cheap to clone, and `Send`.
///
/// Dropping every handle does not stop the run.
#[derive(Clone)]
pub struct RunHandle(Arc<Shared>);

/// What the run and its handles have in common.
pub(crate) struct Shared {
    pub(crate) id: RunId,
    pub(crate) thread: ThreadId,
    pub(crate) parent: Option<RunId>,
    pub(crate) owner: Owner,
    pub(crate) key: LogKey,
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) cancel: CancellationToken,
    pub(crate) detached: CancellationToken,
    outcome: watch::Sender<Option<Outcome>>,
}

/// How a run ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The model is done, or the number of its turns is used up.
    Completed(Completed),
    /// Somebody has to answer; a new run goes on from there.
    Interrupted(Interrupted),
    /// It failed, or it could not begin.
    Failed(RunFailure),
    /// It was cancelled.
    Cancelled,
}

/// The end of a run that came to its end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Completed {
    /// Why the model stopped; `length` when the number of turns was used up.
    pub finish_reason: FinishReason,
    /// The whole conversation.
    pub messages: Arc<Vec<Row>>,
}

impl Completed {
    /// Gives the text of the last message of the model.
    #[must_use]
    pub fn text(&self) -> &str {
        let last = self
            .messages
            .iter()
            .rev()
            .find(|row| row.role() == Some(Role::Assistant));
        last.and_then(Row::content_text).unwrap_or_default()
    }
}

/// The end of a run that waits for answers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Interrupted {
    /// The questions: approvals, client tools, questions of tools.
    pub interrupts: Arc<Vec<Interrupt>>,
    /// The whole conversation.
    pub messages: Arc<Vec<Row>>,
}

/// Why a run failed, as its readers were told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunFailure {
    /// The message of RUN_ERROR.
    pub message: String,
    /// Its code.
    pub code: Option<String>,
}

impl RunFailure {
    pub(crate) fn new(message: impl Into<String>, code: Option<&str>) -> Self {
        Self {
            message: message.into(),
            code: code.map(str::to_owned),
        }
    }
}

/// A run could not be started, or not be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The chat is shutting down.
    #[error("the chat takes no new runs: it is shutting down")]
    Draining,
    /// As many runs are open as the chat allows.
    #[error("too many runs are open")]
    TooManyRuns,
    /// The events of the run cannot be kept.
    #[error("the run cannot be logged")]
    Log(#[source] LogError),
    /// The thread that runs live on is gone.
    #[error("the thread of the run is gone")]
    Closed,
}

impl RunError {
    /// Tells whether the chat is shutting down.
    #[must_use]
    pub const fn is_draining(&self) -> bool {
        matches!(self, Self::Draining)
    }

    /// Tells whether a later attempt may succeed.
    #[must_use]
    pub const fn is_overloaded(&self) -> bool {
        matches!(self, Self::TooManyRuns | Self::Log(LogError::TooManyRuns))
    }
}

impl Shared {
    pub(crate) fn new(
        owner: Owner,
        thread: ThreadId,
        id: RunId,
        parent: Option<RunId>,
        log: Arc<dyn EventLog>,
    ) -> Self {
        Self {
            key: LogKey::new(owner.clone(), id.clone()),
            owner,
            id,
            thread,
            parent,
            log,
            cancel: CancellationToken::new(),
            detached: CancellationToken::new(),
            outcome: watch::Sender::new(None),
        }
    }

    /// Says how the run ended; only the first word counts.
    pub(crate) fn end(&self, outcome: Outcome) {
        self.outcome.send_if_modified(|known| {
            if known.is_some() {
                return false;
            }
            *known = Some(outcome);
            true
        });
    }

    pub(crate) fn is_over(&self) -> bool {
        self.outcome.borrow().is_some()
    }

    /// Waits until nobody wants the run any more.
    pub(crate) async fn unwanted(&self, on_detach: OnDetach) {
        if on_detach == OnDetach::Continue {
            return self.cancel.cancelled().await;
        }
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = self.detached.cancelled() => {}
        }
    }

    pub(crate) async fn ended(&self) -> Outcome {
        let mut outcome = self.outcome.subscribe();
        let ended = outcome.wait_for(Option::is_some).await;
        // The sender lives in `self`, so the channel does not close while this waits.
        ended
            .ok()
            .and_then(|outcome| outcome.clone())
            .unwrap_or(Outcome::Cancelled)
    }
}

impl RunHandle {
    pub(crate) const fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// Names the run.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.0.id
    }

    /// Names the conversation.
    #[must_use]
    pub fn thread(&self) -> &ThreadId {
        &self.0.thread
    }

    /// Names the run that this one goes on from.
    #[must_use]
    pub fn parent(&self) -> Option<&RunId> {
        self.0.parent.as_ref()
    }

    /// Says whom the run belongs to.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.0.owner
    }

    /// Reads the events of the run. The stream ends when the run has ended and is `Send`.
    #[must_use]
    pub fn subscribe(&self, after: After) -> RunEvents {
        RunEvents::new(self.cursor(after, false))
    }

    /// Reads the events of the run as lines of JSON. `starting` is for the reader that started the
    /// run: the run does not get further ahead of it than the window it was started with.
    #[must_use]
    pub fn cursor(&self, after: After, starting: bool) -> EventCursor {
        EventCursor::new(&self.0.log, self.0.key.clone(), after, starting)
    }

    /// Waits until the run has ended, and says how.
    pub async fn outcome(&self) -> Outcome {
        self.0.ended().await
    }

    /// Tells whether the run has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.is_over()
    }

    /// Cancels the run: a tool in flight sees its token, the stream ends with RUN_ERROR `aborted`.
    pub fn cancel(&self) {
        self.0.cancel.cancel();
    }

    /// Says that the reader that started the run is gone. Unless the chat is told otherwise that
    /// cancels the run; while a continued run is still at the calls it was continued for, it does
    /// so after them.
    pub fn detach(&self) {
        self.0.detached.cancel();
    }
}

impl fmt::Debug for RunHandle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RunHandle")
            .field("id", &self.0.id)
            .field("thread", &self.0.thread)
            .field("parent", &self.0.parent)
            .field("is_over", &self.is_over())
            .finish()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Shared")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
