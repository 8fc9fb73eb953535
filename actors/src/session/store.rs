//! The sessions of one server, on whatever threads they live.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use actix::Actor;
use tokio::sync::Notify;

use super::{
    Changed, Greeting, Session, SessionKey, SessionLimits, actor::SessionActor, page_done,
};
use crate::{
    background::Background,
    registry::{Registry, has_local_executor},
    wire::ids::Owner,
};

/// Why there is no new session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// There are as many as there may be.
    TooMany,
    /// No thread can be had for it.
    NoThread,
}

/// The sessions of one server.
#[derive(Debug)]
pub(crate) struct SessionStore(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limits: SessionLimits,
    sessions: Registry<SessionKey, Session>,
    open: AtomicUsize,
    none_left: Notify,
    /// For callers without a local executor.
    background: Background,
}

impl SessionStore {
    pub(crate) fn new(limits: SessionLimits) -> Self {
        Self(Arc::new(Shared {
            limits,
            sessions: Registry::new(),
            open: AtomicUsize::new(0),
            none_left: Notify::new(),
            background: Background::new("roscius-sessions"),
        }))
    }

    /// Opens a session on this thread.
    pub(crate) fn start(&self, owner: Owner, greeting: Greeting) -> Result<Arc<Session>, Full> {
        let shared = &self.0;
        let session = Arc::new(Session::new(owner, greeting, shared.limits));
        let seat = Seat::take(shared, &session)?;
        shared
            .sessions
            .insert(session.key.clone(), Arc::clone(&session));
        let own = Arc::clone(&session);
        let actor = if has_local_executor() {
            SessionActor::new(own, seat).start()
        } else {
            let arbiter = shared.background.arbiter().ok_or(Full::NoThread)?;
            SessionActor::start_in_arbiter(&arbiter, move |_| SessionActor::new(own, seat))
        };
        // The session is new, so this is its first address.
        let _ = session.actor.set(actor);
        Ok(session)
    }

    pub(crate) fn find(&self, key: &SessionKey) -> Option<Arc<Session>> {
        self.0.sessions.get(key)
    }

    /// Ends a session; it is not found any more.
    pub(crate) fn end(&self, session: &Arc<Session>) {
        self.0.sessions.remove_if_same(&session.key, session);
        session.end();
    }

    /// Tells how many there are.
    pub(crate) fn open(&self) -> usize {
        self.0.open.load(Ordering::Acquire)
    }

    /// Tells all sessions of a change.
    pub(crate) fn tell(&self, change: &Changed) {
        for session in self.0.sessions.values() {
            session.tell(change);
        }
    }

    /// Tells the session that was asked to open this page that it is done; gives whether one was.
    pub(crate) fn page_done(&self, id: &str) -> bool {
        let mut asked = self.0.sessions.values().into_iter();
        let Some(session) = asked.find(|session| session.take_page(id)) else {
            return false;
        };
        let change = Changed {
            message: page_done(id).into(),
            resource: None,
        };
        if let Some(actor) = session.actor()
            && actor.try_send(change).is_err()
        {
            tracing::debug!(session = %session.id(), "a session did not hear of its page");
        }
        true
    }

    /// Ends all sessions and waits until they are gone.
    pub(crate) async fn end_all(&self) {
        for session in self.0.sessions.values() {
            self.end(&session);
        }
        loop {
            let woken = self.0.none_left.notified();
            tokio::pin!(woken);
            woken.as_mut().enable();
            if self.open() == 0 {
                return;
            }
            woken.await;
        }
    }
}

/// The place of one session among all; it is free again when this is dropped.
pub(super) struct Seat {
    shared: Arc<Shared>,
    session: Arc<Session>,
}

impl Seat {
    fn take(shared: &Arc<Shared>, session: &Arc<Session>) -> Result<Self, Full> {
        let before = shared.open.fetch_add(1, Ordering::AcqRel);
        let seat = Self {
            shared: Arc::clone(shared),
            session: Arc::clone(session),
        };
        if before >= shared.limits.max_sessions {
            return Err(Full::TooMany);
        }
        Ok(seat)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let shared = &self.shared;
        shared
            .sessions
            .remove_if_same(&self.session.key, &self.session);
        if shared.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            shared.none_left.notify_waiters();
        }
    }
}
