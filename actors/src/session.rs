//! 2025 sessions of an MCP server.
//!
//! What every request of a session reads stands in a [`Session`] beside the address of its actor,
//! so an ordinary call needs no mailbox. Questions, streams and the end go to the [`SessionActor`].

mod actor;
mod ask;
mod calls;
mod lane;
mod limits;
mod store;

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering},
    },
};

use actix::Addr;
use serde_json::json;
use tokio::{sync::Notify, time::Instant};
use uuid::Uuid;

pub use self::limits::SessionLimits;
pub(crate) use self::{
    actor::{Answer, Attach, AttachError, Changed, Keep, Watch},
    ask::{SessionAsker, Unanswered, ask_client},
    calls::CallGuard,
    lane::{Lane, LaneId, Reader},
    store::{Full, SessionStore},
};
use self::{
    actor::{End, SessionActor},
    calls::Calls,
};
use crate::{
    server::ClientCapabilities,
    tool::Question,
    wire::{
        ids::{Owner, SessionId},
        mcp::LogLevel,
        version::V2025_11_25,
    },
};

/// What finds a session: a foreign owner finds nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey {
    owner: Owner,
    id: Uuid,
}

impl SessionKey {
    /// Reads the id as the server has written it; anything else names no session.
    pub(crate) fn read(owner: Owner, id: &[u8]) -> Option<Self> {
        if id.len() != uuid::fmt::Hyphenated::LENGTH {
            return None;
        }
        let id = Uuid::try_parse_ascii(id).ok()?;
        Some(Self { owner, id })
    }
}

/// What a client has said in `initialize`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Greeting {
    pub(crate) version: &'static str,
    pub(crate) capabilities: ClientCapabilities,
}

/// What requests of one session share.
pub(crate) struct Session {
    key: SessionKey,
    greeting: Greeting,
    limits: SessionLimits,
    /// When the clock of `last_seen` began.
    born: Instant,
    /// Milliseconds since `born`.
    last_seen: AtomicU64,
    initialized: AtomicBool,
    /// The level of `logging/setLevel`, plus one; 0 as long as the client wants no logs.
    log_level: AtomicU8,
    lanes: AtomicU32,
    calls: Calls,
    /// The ids of the pages that its client was asked to open, the oldest first.
    pages: Mutex<Vec<Box<str>>>,
    /// How often a stream of its own was opened.
    streams_opened: AtomicU32,
    stream_opened: Notify,
    actor: OnceLock<Addr<SessionActor>>,
}

impl Session {
    fn new(owner: Owner, greeting: Greeting, limits: SessionLimits) -> Self {
        Self {
            key: SessionKey {
                owner,
                id: Uuid::new_v4(),
            },
            greeting,
            limits,
            born: Instant::now(),
            last_seen: AtomicU64::new(0),
            initialized: AtomicBool::new(false),
            log_level: AtomicU8::new(0),
            lanes: AtomicU32::new(0),
            calls: Calls::default(),
            pages: Mutex::default(),
            streams_opened: AtomicU32::new(0),
            stream_opened: Notify::new(),
            actor: OnceLock::new(),
        }
    }

    /// Gives the id as it stands on the wire.
    pub(crate) fn id(&self) -> SessionId {
        SessionId::from(self.key.id.to_string())
    }

    pub(crate) const fn version(&self) -> &'static str {
        self.greeting.version
    }

    pub(crate) const fn capabilities(&self) -> ClientCapabilities {
        self.greeting.capabilities
    }

    /// Streams begin with an event without data. Clients of earlier versions read that as JSON.
    pub(crate) fn primes(&self) -> bool {
        self.greeting.version == V2025_11_25
    }

    /// Says that the client is there now.
    pub(crate) fn touch(&self) {
        let now = self.born.elapsed().as_millis();
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        self.last_seen.store(now, Ordering::Relaxed);
    }

    fn last_seen(&self) -> Instant {
        let after = self.last_seen.load(Ordering::Relaxed);
        self.born + std::time::Duration::from_millis(after)
    }

    pub(crate) fn set_initialized(&self) {
        self.initialized.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.log_level.store(level as u8 + 1, Ordering::Relaxed);
    }

    pub(crate) fn wants_log(&self, level: LogLevel) -> bool {
        let least = self.log_level.load(Ordering::Relaxed);
        least > 0 && level as u8 + 1 >= least
    }

    /// Notes that the client was asked to open a page; gives the page's id.
    pub(crate) fn add_page(&self, question: &Question) -> String {
        let id = question.elicitation_id.clone();
        let id = id.unwrap_or_else(|| Uuid::new_v4().to_string());
        let mut pages = self.pages();
        pages.retain(|known| **known != *id);
        if pages.len() >= MAX_PAGES {
            pages.remove(0);
        }
        pages.push(id.as_str().into());
        id
    }

    /// Forgets a page that is done; gives whether the client was asked to open it.
    pub(crate) fn take_page(&self, id: &str) -> bool {
        let mut pages = self.pages();
        let before = pages.len();
        pages.retain(|known| **known != *id);
        pages.len() < before
    }

    fn pages(&self) -> MutexGuard<'_, Vec<Box<str>>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the stream that a call may need. One that cannot be resumed ends with its answer.
    pub(crate) fn lane(&self, resumable: bool) -> Arc<Lane> {
        let id = self.lanes.fetch_add(1, Ordering::Relaxed) + 1;
        let primes = resumable && self.primes();
        Arc::new(Lane::new(LaneId(id), &self.limits, primes))
    }

    /// Tells how often a stream of the session's own was opened.
    pub(crate) fn streams_opened(&self) -> u32 {
        self.streams_opened.load(Ordering::Acquire)
    }

    fn note_stream(&self) {
        self.streams_opened.fetch_add(1, Ordering::AcqRel);
        self.stream_opened.notify_waiters();
    }

    /// Waits until a stream of the session's own is opened, if none was since it was told that there
    /// had been this many.
    pub(crate) async fn stream_opened_after(&self, seen: u32) {
        loop {
            let opened = self.stream_opened.notified();
            tokio::pin!(opened);
            opened.as_mut().enable();
            if self.streams_opened() != seen {
                return;
            }
            opened.await;
        }
    }

    /// Gives the address of the actor. None only before it was started.
    pub(crate) fn actor(&self) -> Option<&Addr<SessionActor>> {
        self.actor.get()
    }

    /// Sends a notification on the session's own stream, if there is one.
    pub(crate) fn tell(&self, change: &Changed) {
        let Some(actor) = self.actor() else {
            return;
        };
        if actor.try_send(change.clone()).is_err() {
            tracing::debug!(session = %self.id(), "a session did not hear of a change");
        }
    }

    /// Notes that a call waits, until the guard is dropped.
    pub(crate) fn enter(self: &Arc<Self>, id: &str, cancel: CallCancel) -> CallGuard {
        CallGuard::new(self, id, cancel, true)
    }

    /// Notes that work of the session runs without a request that could be cancelled, until the
    /// guard is dropped. The token is cancelled when the session ends.
    pub(crate) fn work(self: &Arc<Self>, cancel: CallCancel) -> CallGuard {
        CallGuard::new(self, NO_REQUEST, cancel, true)
    }

    /// Cancels the token when the session ends, until the guard is dropped. That alone keeps no
    /// session.
    pub(crate) fn on_end(self: &Arc<Self>, cancel: CallCancel) -> CallGuard {
        CallGuard::new(self, NO_REQUEST, cancel, false)
    }

    /// Cancels the calls with this id, which is JSON text.
    pub(crate) fn cancel(&self, id: &str) {
        self.calls.cancel(id);
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.calls.is_ended()
    }

    /// Ends the session: its calls now, its actor as soon as that hears of it.
    pub(crate) fn end(&self) {
        self.calls.end();
        let Some(actor) = self.actor() else {
            return;
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "an idempotent control signal that must not be lost"
        )]
        actor.do_send(End);
    }
}

/// Pages of one session whose end can be told. A person opens one after the other.
const MAX_PAGES: usize = 64;

/// Words that a page is done, as 2025-11-25 knows it.
pub(crate) fn page_done(id: &str) -> Vec<u8> {
    let params = json!({"elicitationId": id});
    let message = json!({
        "jsonrpc": "2.0",
        "method": "notifications/elicitation/complete",
        "params": params,
    });
    message.to_string().into_bytes()
}

/// No id of a request is an empty text.
const NO_REQUEST: &str = "";

/// Cancels one call.
pub(crate) type CallCancel = tokio_util::sync::CancellationToken;

impl fmt::Debug for Session {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Session")
            .field("id", &self.key.id)
            .field("greeting", &self.greeting)
            .field("initialized", &self.initialized)
            .finish_non_exhaustive()
    }
}
