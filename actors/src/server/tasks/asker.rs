//! Questions of a task.

use std::{fmt, sync::Arc};

use futures_util::future::LocalBoxFuture;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    deliver::bring,
    live::{Command, Live},
};
use crate::{
    session::Session,
    tool::{Asker, InputError, NoticeSink, Question, ToolNotice},
};

/// Opens the questions of a task and waits for their answers; before the task has begun, the call
/// pauses.
pub(in crate::server) struct TaskAsker {
    live: Arc<Live>,
    /// Decides whether a question may be asked at all.
    admits: Arc<dyn Asker>,
    /// 2025: who answers.
    session: Option<Arc<Session>>,
    /// Cancelled when the task begins.
    begun: CancellationToken,
}

impl TaskAsker {
    pub(super) fn new(
        live: &Arc<Live>,
        admits: Arc<dyn Asker>,
        session: Option<Arc<Session>>,
    ) -> Self {
        Self {
            live: Arc::clone(live),
            admits,
            session,
            begun: CancellationToken::new(),
        }
    }

    pub(super) fn begun(&self) -> &CancellationToken {
        &self.begun
    }

    /// Hears when the function begins its task. A task has neither progress nor logs in 2026.
    pub(in crate::server) fn sink(&self) -> NoticeSink {
        let begun = self.begun.clone();
        Arc::new(move |notice: ToolNotice| {
            if matches!(notice, ToolNotice::BeginTask) {
                begun.cancel();
            }
        })
    }
}

impl Asker for TaskAsker {
    fn admit(&self, question: &Question) -> Result<(), InputError> {
        self.admits.admit(question)
    }

    fn ask(
        &self,
        question: &Question,
    ) -> Option<LocalBoxFuture<'static, Result<Value, InputError>>> {
        if !self.begun.is_cancelled() {
            return None;
        }
        let (live, session) = (Arc::clone(&self.live), self.session.clone());
        let question = question.clone();
        Some(Box::pin(async move { ask(live, session, question).await }))
    }
}

async fn ask(
    live: Arc<Live>,
    session: Option<Arc<Session>>,
    mut question: Question,
) -> Result<Value, InputError> {
    if let Some(session) = &session {
        question.request = session.params_of(&question)?;
    }
    let (answer, answered) = oneshot::channel();
    let (opened, open) = oneshot::channel();
    let (kind, params) = (question.kind, question.request.clone());
    let ask = Command::Ask {
        question,
        opened,
        answer,
    };
    live.tell(ask).await;
    let key = open.await.map_err(|_| InputError::Cancelled)??;
    let mut open = OpenQuestion {
        live: &live,
        key: Some(key.clone()),
    };
    let on_its_way = async {
        if let Some(session) = session {
            bring(session, &live, &key, kind, params).await;
        }
        std::future::pending::<()>().await;
    };
    let answer = tokio::select! {
        answer = answered => answer.map_err(|_| InputError::Cancelled),
        () = on_its_way => Err(InputError::Cancelled),
    };
    open.key = None;
    answer?
}

/// Closes a question whose function does not wait for it any more.
struct OpenQuestion<'a> {
    live: &'a Live,
    key: Option<String>,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else {
            return;
        };
        if !self.live.tell_now(Command::Withdraw { key }) {
            tracing::debug!("a question outlives its function");
        }
    }
}

impl fmt::Debug for TaskAsker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TaskAsker")
            .field("live", &self.live)
            .finish_non_exhaustive()
    }
}
