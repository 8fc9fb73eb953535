//! A chat: a model with its tools, and the runs that it plays.

mod actor;
mod builder;
mod engine;
mod mcp;
mod place;
mod request;

use std::{fmt, sync::Arc, time::Duration};

use actix::Recipient;

pub use builder::{ChatBuildError, ChatBuilder};
pub(crate) use engine::Engine;
pub use engine::{ChatLimits, OnDetach};
pub use mcp::{Mcp, OnDiscoveryError, Source};
pub(crate) use request::Request;
pub use request::{ChatRun, Messages};

use self::place::Places;
use crate::{
    ports::{
        event_log::{After, EventCursor, LogKey},
        model::Model,
    },
    run::{RunError, RunHandle, RunUpdate},
    wire::ids::{Owner, RunId},
};

/// A chat. Cheap to clone, and `Send + Sync`: one value serves every thread of a server.
///
/// A run lives on the thread whose request starts it. Where no local executor runs, the chat uses
/// one background thread of its own.
#[derive(Clone)]
pub struct Chat(Arc<Inner>);

struct Inner {
    engine: Arc<Engine>,
    places: Places,
}

impl Chat {
    /// Describes a chat with a model.
    pub fn builder(model: impl Model) -> ChatBuilder {
        ChatBuilder::new(Arc::new(model))
    }

    /// Describes a chat with a model that is shared with others.
    pub fn with_model(model: Arc<dyn Model>) -> ChatBuilder {
        ChatBuilder::new(model)
    }

    fn new(engine: Engine) -> Self {
        let engine = Arc::new(engine);
        Self(Arc::new(Inner {
            places: Places::new(Arc::clone(&engine)),
            engine,
        }))
    }

    /// Starts a run.
    ///
    /// What is wrong with the run itself, for example answers that do not fit, is told in its
    /// stream and its outcome.
    ///
    /// # Errors
    /// [`RunError`] when no run can be started now.
    pub async fn run(&self, run: ChatRun) -> Result<RunHandle, RunError> {
        let actor = self.0.places.actor()?;
        actor.send(run).await.map_err(|_| RunError::Closed)?
    }

    /// Gives an address that takes runs, for actors that do not know of chats.
    ///
    /// # Errors
    /// [`RunError`] when the thread that runs live on is gone.
    pub fn recipient(&self) -> Result<Recipient<ChatRun>, RunError> {
        Ok(self.0.places.actor()?.recipient())
    }

    /// Finds a run that has not ended.
    #[must_use]
    pub fn find(&self, owner: &Owner, run: &RunId) -> Option<RunHandle> {
        self.0.engine.live(owner, run).map(RunHandle::new)
    }

    /// Cancels a run. Tells whether there was one to cancel.
    pub fn cancel(&self, owner: &Owner, run: &RunId) -> bool {
        let found = self.find(owner, run);
        if let Some(run) = &found {
            run.cancel();
        }
        found.is_some()
    }

    /// Reads the events of a run that is live, or was a moment ago. An unknown run, and one of
    /// another owner, is an error at the first poll.
    #[must_use]
    pub fn attach(&self, owner: &Owner, run: &RunId, after: After) -> EventCursor {
        let key = LogKey::new(owner.clone(), run.clone());
        EventCursor::new(&self.0.engine.log, key, after, false)
    }

    /// Sends the events of a run to another actor, each after the one before has been taken, and
    /// then how it ended.
    ///
    /// # Errors
    /// [`RunError::Closed`] when the thread that would send them is gone.
    pub async fn subscribe(
        &self,
        run: &RunHandle,
        after: After,
        to: Recipient<RunUpdate>,
    ) -> Result<(), RunError> {
        let pump = actor::Pump {
            run: run.clone(),
            after,
            to,
        };
        let actor = self.0.places.actor()?;
        actor.send(pump).await.map_err(|_| RunError::Closed)
    }

    /// Gives the model.
    #[must_use]
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.0.engine.model
    }

    /// Says what becomes of a run whose reader goes away.
    #[must_use]
    pub fn on_detach(&self) -> OnDetach {
        self.0.engine.on_detach
    }

    /// Counts the runs that have not ended.
    #[must_use]
    pub fn open_runs(&self) -> usize {
        self.0.engine.open_runs()
    }

    /// Tells whether the chat is shutting down.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.engine.is_draining()
    }

    /// Shuts the chat down: takes no new runs, gives the open ones until the deadline, and cancels the
    /// rest. Every stream ends with a terminal event. Sources that are kept alive stay open: whoever
    /// has connected them closes them.
    pub async fn drain(&self, deadline: Duration) {
        self.0.engine.drain(deadline).await;
        self.0.places.stop().await;
    }
}

impl fmt::Debug for Chat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Chat")
            .field("engine", &self.0.engine)
            .finish_non_exhaustive()
    }
}

/// What crosses threads is asserted here, so that a change that breaks it does not compile.
const _: () = {
    const fn crosses_threads<T: Send + Sync>() {}
    const fn is_sent<T: Send>() {}
    crosses_threads::<Chat>();
    crosses_threads::<RunHandle>();
    crosses_threads::<crate::run::Outcome>();
    is_sent::<ChatRun>();
    is_sent::<crate::run::RunEvents>();
    is_sent::<RunUpdate>();
};
