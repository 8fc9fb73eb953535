//! The actor of one session: open questions, streams, idle time, end.

mod changes;
mod questions;
mod streams;

pub(super) use self::questions::{Ask, AskError, Forget};
pub(crate) use self::{
    changes::{Changed, Watch},
    questions::Answer,
    streams::{Attach, AttachError, Keep},
};

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Message};
use indexmap::IndexMap;
use serde_json::Value;
use tokio::{sync::oneshot, time::Instant};

use super::{Lane, LaneId, Session, store::Seat};
use crate::{
    gauge::{ActorKind, Alive, Ended, Timer, mailbox_delivered},
    wire::jsonrpc::RpcError,
};

/// Messages that wait for the actor. Each is handled at once, so this is full only when the thread
/// itself is.
const MAILBOX: usize = 64;

/// The outcome of a question, as the client sent it.
pub(super) type Answered = Result<Value, RpcError>;

/// One session.
pub(crate) struct SessionActor {
    session: Arc<Session>,
    /// What most sessions never have.
    open: Option<Box<Open>>,
    _seat: Seat,
    _alive: Alive,
    timer: Timer,
}

/// Questions and streams.
struct Open {
    standalone: Option<Arc<Lane>>,
    /// Streams of calls that a client may come back to, the oldest first.
    lanes: VecDeque<Arc<Lane>>,
    questions: IndexMap<i64, Question>,
    next_question: i64,
    /// URIs in normal form.
    watched: HashSet<String>,
}

struct Question {
    lane: Arc<Lane>,
    answer: oneshot::Sender<Answered>,
}

impl SessionActor {
    pub(super) fn new(session: Arc<Session>, seat: Seat) -> Self {
        Self {
            timer: Timer::session(session.version()),
            session,
            open: None,
            _seat: seat,
            _alive: Alive::new(ActorKind::Session),
        }
    }

    fn open(&mut self) -> &mut Open {
        self.open.get_or_insert_with(|| {
            Box::new(Open {
                standalone: None,
                lanes: VecDeque::new(),
                questions: IndexMap::new(),
                next_question: 0,
                watched: HashSet::new(),
            })
        })
    }

    fn is_busy(&self) -> bool {
        let streams = self.open.as_ref().is_some_and(|open| {
            let mut lanes = open.standalone.iter().chain(&open.lanes);
            !open.questions.is_empty() || lanes.any(|lane| lane.is_attached())
        });
        streams || !self.session.calls.are_none()
    }

    /// Looks whether the session has been idle for long enough, and when to look again.
    fn check_idle(&mut self, ctx: &mut Context<Self>) {
        let idle = self.session.limits.idle;
        if self.is_busy() {
            self.look_again(ctx, idle);
            return;
        }
        let left = (self.session.last_seen() + idle).saturating_duration_since(Instant::now());
        if left.is_zero() {
            tracing::debug!(session = %self.session.id(), "an idle session ends");
            ctx.stop();
        } else {
            self.look_again(ctx, left);
        }
    }

    fn look_again(&self, ctx: &mut Context<Self>, after: Duration) {
        ctx.run_later(after, Self::check_idle);
    }
}

impl Actor for SessionActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        self.look_again(ctx, self.session.limits.idle);
    }
}

impl Drop for SessionActor {
    fn drop(&mut self) {
        self.session.calls.end();
        self.timer.end(Ended::Well);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        for lane in self.standalone.iter().chain(&self.lanes) {
            lane.close();
        }
    }
}

impl Open {
    /// Keeps the stream of a call for a client that comes back.
    fn keep(&mut self, lane: &Arc<Lane>, most: usize) {
        if lane.id() == LaneId::STANDALONE || self.lanes.iter().any(|kept| kept.id() == lane.id()) {
            return;
        }
        self.lanes.push_back(Arc::clone(lane));
        while self.lanes.len() > most.max(1) {
            // One that has ended goes first; one that runs on is only not found any more.
            let oldest = self.lanes.iter().position(|lane| lane.is_closed());
            self.lanes.remove(oldest.unwrap_or(0));
        }
    }

    /// Finds the stream that carries a question: the call's own, else the standalone one.
    fn reach(&self, own: Option<Arc<Lane>>) -> Option<Arc<Lane>> {
        if let Some(lane) = own.as_ref().filter(|lane| lane.is_attached()) {
            return Some(Arc::clone(lane));
        }
        let standalone = self.standalone.as_ref();
        if let Some(lane) = standalone.filter(|lane| lane.is_attached()) {
            return Some(Arc::clone(lane));
        }
        // Nobody reads now, but the client can come back.
        own.filter(|lane| lane.is_known())
    }
}

/// Ends the session.
pub(crate) struct End;

impl Message for End {
    type Result = ();
}

impl Handler<End> for SessionActor {
    type Result = ();

    fn handle(&mut self, _: End, ctx: &mut Self::Context) {
        mailbox_delivered();
        ctx.stop();
    }
}
