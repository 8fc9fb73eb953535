//! What the server asks the client of a session, and what that answers.

use std::sync::Arc;

use actix::{Handler, Message};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::{Answered, Question, SessionActor};
use crate::{gauge::mailbox_delivered, session::Lane, wire::jsonrpc::RequestId};

/// Questions of one session that wait at once. A person answers one after the other.
const MAX_QUESTIONS: usize = 64;

/// Sends a request to the client.
pub(in crate::session) struct Ask {
    pub(in crate::session) method: &'static str,
    pub(in crate::session) params: Value,
    /// The stream of the call that asks.
    pub(in crate::session) lane: Option<Arc<Lane>>,
    pub(in crate::session) answer: oneshot::Sender<Answered>,
}

/// Why a question was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum AskError {
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
pub(in crate::session) struct Forget {
    pub(in crate::session) id: i64,
    pub(in crate::session) reason: &'static str,
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
