//! The actor of one session: open questions, streams, idle time, end.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Message};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use tokio::{sync::oneshot, time::Instant};

use super::{Lane, LaneId, Reader, Session, lane::EventId, store::Seat};
use crate::{
    gauge::{ActorKind, Alive, Ended, Timer, mailbox_delivered},
    wire::jsonrpc::{RequestId, RpcError},
};

/// Messages that wait for the actor. Each is handled at once, so this is full only when the thread
/// itself is.
const MAILBOX: usize = 64;
/// Questions of one session that wait at once. A person answers one after the other.
const MAX_QUESTIONS: usize = 64;

/// Resources that one session subscribes to.
const MAX_WATCHED: usize = 1_000;

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

/// Opens a stream of the session for a GET.
#[derive(Debug)]
pub(crate) struct Attach {
    /// `Last-Event-ID`.
    pub(crate) after: Option<Vec<u8>>,
}

/// Why a stream cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttachError {
    /// There is one.
    Conflict,
    /// The event is not known, or not any more.
    Unknown,
}

impl Message for Attach {
    type Result = Result<Reader, AttachError>;
}

impl Handler<Attach> for SessionActor {
    type Result = Result<Reader, AttachError>;

    fn handle(&mut self, attach: Attach, _: &mut Self::Context) -> Self::Result {
        mailbox_delivered();
        let session = Arc::clone(&self.session);
        let after = match &attach.after {
            None => None,
            Some(text) => Some(EventId::read(text).ok_or(AttachError::Unknown)?),
        };
        let open = self.open();
        if let Some(event) = after.filter(|event| event.lane != LaneId::STANDALONE) {
            let mut lanes = open.lanes.iter();
            let lane = lanes.find(|lane| lane.id() == event.lane);
            let lane = lane.ok_or(AttachError::Unknown)?;
            return Ok(lane.attach(event.seq, &session));
        }
        let lane = open.standalone.get_or_insert_with(|| {
            let lane = Lane::new(LaneId::STANDALONE, &session.limits, session.primes());
            Arc::new(lane)
        });
        let reader = match after {
            // It is the same client, whose old connection is not known to be gone yet.
            Some(event) => lane.attach(event.seq, &session),
            None if lane.is_attached() => return Err(AttachError::Conflict),
            None => lane.attach_unread(&session),
        };
        session.note_stream();
        Ok(reader)
    }
}

/// Keeps the stream of a call.
pub(crate) struct Keep(pub(crate) Arc<Lane>);

impl Message for Keep {
    type Result = ();
}

impl Handler<Keep> for SessionActor {
    type Result = ();

    fn handle(&mut self, Keep(lane): Keep, _: &mut Self::Context) {
        mailbox_delivered();
        let most = self.session.limits.replay_streams;
        self.open().keep(&lane, most);
    }
}

/// Sends a request to the client.
pub(super) struct Ask {
    pub(super) method: &'static str,
    pub(super) params: Value,
    /// The stream of the call that asks.
    pub(super) lane: Option<Arc<Lane>>,
    pub(super) answer: oneshot::Sender<Answered>,
}

/// Why a question was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AskError {
    /// No stream leads to the client.
    NoStream,
    /// Too many questions wait, or too much is unread.
    TooMany,
}

impl Message for Ask {
    type Result = Result<i64, AskError>;
}

impl Handler<Ask> for SessionActor {
    type Result = Result<i64, AskError>;

    fn handle(&mut self, ask: Ask, _: &mut Self::Context) -> Self::Result {
        mailbox_delivered();
        let most = self.session.limits.replay_streams;
        let open = self.open();
        if open.questions.len() >= MAX_QUESTIONS {
            return Err(AskError::TooMany);
        }
        let lane = open.reach(ask.lane).ok_or(AskError::NoStream)?;
        // A question that was given up leaves its text behind.
        if lane.is_full() {
            return Err(AskError::TooMany);
        }
        open.keep(&lane, most);
        let id = open.next_question;
        open.next_question += 1;
        let answer = ask.answer;
        let question = Question {
            lane: Arc::clone(&lane),
            answer,
        };
        open.questions.insert(id, question);
        let mut request = Map::new();
        request.insert("jsonrpc".to_owned(), Value::from("2.0"));
        request.insert("id".to_owned(), Value::from(id));
        request.insert("method".to_owned(), Value::from(ask.method));
        if !ask.params.is_null() {
            request.insert("params".to_owned(), ask.params);
        }
        lane.push(Value::Object(request).to_string().as_bytes());
        Ok(id)
    }
}

/// Gives up a question.
pub(super) struct Forget {
    pub(super) id: i64,
    pub(super) reason: &'static str,
}

impl Message for Forget {
    type Result = ();
}

impl Handler<Forget> for SessionActor {
    type Result = ();

    fn handle(&mut self, forget: Forget, _: &mut Self::Context) {
        mailbox_delivered();
        let Some(question) = self.open().questions.shift_remove(&forget.id) else {
            return;
        };
        let params = json!({"requestId": forget.id, "reason": forget.reason});
        let message =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        question.lane.report(message.to_string().as_bytes());
    }
}

/// Subscribes to a resource, or ends that; gives whether there was room.
pub(crate) struct Watch {
    /// Its URI in normal form.
    pub(crate) resource: String,
    pub(crate) on: bool,
}

impl Message for Watch {
    type Result = bool;
}

impl Handler<Watch> for SessionActor {
    type Result = bool;

    fn handle(&mut self, watch: Watch, _: &mut Self::Context) -> bool {
        mailbox_delivered();
        let watched = &mut self.open().watched;
        if !watch.on {
            watched.remove(&watch.resource);
            return true;
        }
        if watched.len() >= MAX_WATCHED && !watched.contains(&watch.resource) {
            return false;
        }
        watched.insert(watch.resource);
        true
    }
}

/// Something has changed.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    /// The notification.
    pub(crate) message: Arc<[u8]>,
    /// The URI of a resource in normal form, if only those hear of it who have subscribed.
    pub(crate) resource: Option<Arc<str>>,
}

impl Message for Changed {
    type Result = ();
}

impl Handler<Changed> for SessionActor {
    type Result = ();

    fn handle(&mut self, changed: Changed, _: &mut Self::Context) {
        mailbox_delivered();
        // Without a stream of its own the session has no way for it, and no wish.
        let Some(open) = &self.open else {
            return;
        };
        let hears = |uri: Arc<str>| open.watched.contains(&*uri);
        if let Some(lane) = &open.standalone
            && changed.resource.is_none_or(hears)
            && !lane.report(&changed.message)
        {
            tracing::debug!("a notification was dropped");
        }
    }
}

/// What the client answers to a request of the server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) id: RequestId,
    pub(crate) outcome: Answered,
}

impl Message for Answer {
    type Result = ();
}

impl Handler<Answer> for SessionActor {
    type Result = ();

    fn handle(&mut self, answer: Answer, _: &mut Self::Context) {
        mailbox_delivered();
        let RequestId::Number(id) = answer.id else {
            return;
        };
        let Some(question) = self.open().questions.shift_remove(&id) else {
            tracing::debug!(id, "an answer to no open question");
            return;
        };
        if question.answer.send(answer.outcome).is_err() {
            tracing::debug!(id, "an answer came too late");
        }
    }
}
