//! Questions of a tool to the client of its session, while its call waits.

use std::{borrow::Cow, sync::Arc};

use futures_util::future::LocalBoxFuture;
use serde_json::Value;
use tokio::sync::oneshot;

use super::{
    Lane, Session,
    actor::{Ask, AskError, Forget},
};
use crate::{
    machine::form,
    tool::{Asker, InputError, Question, QuestionKind},
    wire::{jsonrpc::RpcError, version::V2025_11_25},
};

/// The code with which 2025 clients say that their user refused.
const USER_REFUSED: i64 = -1;

/// Asks the client of a session.
#[derive(Debug)]
pub(crate) struct SessionAsker {
    session: Arc<Session>,
    /// The stream of the call.
    lane: Option<Arc<Lane>>,
}

impl SessionAsker {
    pub(crate) const fn new(session: Arc<Session>, lane: Option<Arc<Lane>>) -> Self {
        Self { session, lane }
    }
}

impl Asker for SessionAsker {
    fn admit(&self, question: &Question) -> Result<(), InputError> {
        self.session.capabilities().admit(question)
    }

    fn ask(
        &self,
        question: &Question,
    ) -> Option<LocalBoxFuture<'static, Result<Value, InputError>>> {
        let params = match self.session.params_of(question) {
            Ok(params) => params,
            Err(error) => return Some(Box::pin(std::future::ready(Err(error)))),
        };
        let session = Arc::clone(&self.session);
        let asked = ask_client(session, self.lane.clone(), question.kind, params);
        Some(Box::pin(async move { Ok(asked.await?) }))
    }
}

impl Session {
    /// Words questions that are all pages to open, as 2025-11-25 knows them.
    pub(crate) fn pages_of(&self, questions: &[Question]) -> Option<Vec<Value>> {
        let page = |question: &Question| match question.kind {
            QuestionKind::Url => self.params_of(question).ok(),
            QuestionKind::Form | QuestionKind::Sampling | QuestionKind::Roots => None,
        };
        questions.iter().map(page).collect()
    }

    /// Words a question as the version of the session knows it.
    pub(crate) fn params_of(&self, question: &Question) -> Result<Value, InputError> {
        let mut params = question.request.clone();
        match question.kind {
            QuestionKind::Form if self.version() != V2025_11_25 => {
                if let Some(schema) = params.get_mut("requestedSchema") {
                    form::of_2025_06_18(schema)?;
                }
            }
            QuestionKind::Url => {
                if let Value::Object(members) = &mut params {
                    let id = self.add_page(question);
                    members.insert("elicitationId".to_owned(), Value::from(id));
                }
            }
            QuestionKind::Form | QuestionKind::Sampling | QuestionKind::Roots => {}
        }
        Ok(params)
    }
}

/// Why a question has no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// No stream leads to the client now.
    NoStream,
    Other(InputError),
}

impl From<InputError> for Unanswered {
    fn from(error: InputError) -> Self {
        Self::Other(error)
    }
}

impl From<Unanswered> for InputError {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::NoStream => unavailable(
                "the client reads no stream that a question could be sent on: it has to accept text/event-stream or open the GET stream of its session",
            ),
            Unanswered::Other(error) => error,
        }
    }
}

/// Asks the client of a session, on the given stream or on the one of the session. `params` are
/// those of [`Session::params_of`].
pub(crate) async fn ask_client(
    session: Arc<Session>,
    lane: Option<Arc<Lane>>,
    kind: QuestionKind,
    params: Value,
) -> Result<Value, Unanswered> {
    let (answer, answered) = oneshot::channel();
    let ask = Ask {
        method: kind.method(),
        params,
        lane,
        answer,
    };
    wait(session, ask, answered, kind).await
}

async fn wait(
    session: Arc<Session>,
    ask: Ask,
    answered: oneshot::Receiver<Result<Value, RpcError>>,
    kind: QuestionKind,
) -> Result<Value, Unanswered> {
    let ended = || unavailable("the session has ended");
    let actor = session.actor().ok_or_else(ended)?;
    let id = match actor.send(ask).await {
        Err(_) => return Err(ended().into()),
        Ok(Err(AskError::NoStream)) => return Err(Unanswered::NoStream),
        Ok(Err(AskError::TooMany)) => {
            return Err(unavailable("too many questions of this session wait").into());
        }
        Ok(Ok(id)) => id,
    };
    let mut open = OpenQuestion {
        session: &session,
        id: Some(id),
        reason: "the call was cancelled",
    };
    let Ok(answer) = tokio::time::timeout(session.limits.answer_within, answered).await else {
        open.reason = "the answer did not come in time";
        return Err(unavailable("the client did not answer in time").into());
    };
    open.id = None;
    match answer {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) if error.code == USER_REFUSED && kind == QuestionKind::Sampling => {
            Err(InputError::NotAccepted.into())
        }
        Ok(Err(error)) => Err(InputError::Unavailable(Cow::Owned(format!(
            "the client refused the question: {error}"
        )))
        .into()),
        Err(_) => Err(ended().into()),
    }
}

const fn unavailable(why: &'static str) -> InputError {
    InputError::Unavailable(Cow::Borrowed(why))
}

/// Tells the client when its answer is not wanted any more.
struct OpenQuestion<'a> {
    session: &'a Session,
    id: Option<i64>,
    reason: &'static str,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let (Some(id), Some(actor)) = (self.id, self.session.actor()) else {
            return;
        };
        let reason = self.reason;
        if actor.try_send(Forget { id, reason }).is_err() {
            tracing::debug!(id, "a question outlives its call");
        }
    }
}
