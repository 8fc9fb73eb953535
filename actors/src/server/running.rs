//! A call that runs, and its answer.

mod end;

use std::{
    fmt,
    future::{Future as _, poll_fn},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFutureOwned};

use self::end::End;
use super::{
    Inner, OutputShape, Response, answer::Answer, audit::AuditOutcome, dispatch::Call,
    drain::InFlight, observation::Observation, prepare::Asking, stream::json_of, trace,
};
use crate::{
    gauge,
    handler::{Served, Serving},
    machine::era::Era,
    session::{CallGuard, Lane, Session},
    tool::{InputError, ToolCx, ToolOutcome},
    wire::jsonrpc::{RpcError, code},
};

/// What runs.
pub(super) enum Job {
    Tool(LocalBoxFuture<'static, ToolOutcome>, OutputShape),
    /// A tool call that may become a task.
    Escalating(LocalBoxFuture<'static, Escalated>, OutputShape),
    Request(Serving<Answer>),
}

/// What came of a call that may become a task.
pub(super) enum Escalated {
    /// It has ended before.
    Ended(ToolOutcome),
    /// The task has begun.
    Task(Answer),
}

/// A call that runs. Dropping it cancels a 2026 call.
pub(super) struct Running {
    work: InFlight,
    id: Box<str>,
    /// For the error hook, if there is one.
    name: Option<Box<str>>,
    era: Era,
    job: Job,
    pub(super) asking: Option<Box<Asking>>,
    /// The function has a context that decides about its questions.
    pub(super) can_ask: bool,
    /// Armed when the call has to wait for the first time.
    closing: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    pub(super) guard: Option<DropGuard>,
    span: tracing::Span,
    observation: Option<Box<Observation>>,
    pub(super) session: Option<InSession>,
    /// It only waits for something that goes on without it.
    pub(super) waits: bool,
}

/// What a call has of its 2025 session.
pub(super) struct InSession {
    session: Arc<Session>,
    /// The stream that the answer may become.
    pub(super) lane: Option<Arc<Lane>>,
    /// Cancels the call; made when it has to wait, unless its function knows one.
    pub(super) cancel: Option<CancellationToken>,
    waiting: Option<(CallGuard, Pin<Box<WaitForCancellationFutureOwned>>)>,
}

impl InSession {
    /// Notes that the call waits, so that it can be cancelled.
    fn wait(&mut self, id: &str) {
        let cancel = self.cancel.get_or_insert_default().clone();
        let cancelled = Box::pin(cancel.clone().cancelled_owned());
        self.waiting = Some((self.session.enter(id, cancel), cancelled));
    }

    fn poll_cancelled(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((_, cancelled)) = &mut self.waiting else {
            return false;
        };
        cancelled.as_mut().poll(cx).is_ready()
    }
}

impl Drop for InSession {
    fn drop(&mut self) {
        if let Some(lane) = &self.lane {
            lane.close();
        }
    }
}

impl Running {
    pub(super) fn new(server: &Arc<Inner>, request: &Call<'_>, job: Job) -> Self {
        let span = match job {
            Job::Tool(..) | Job::Escalating(..) => trace::tool(request),
            Job::Request(_) => request.span.clone(),
        };
        Self {
            span,
            work: InFlight::new(server),
            id: request.id.into(),
            name: server
                .on_error
                .as_ref()
                .map(|_| request.params.name.as_deref().unwrap_or_default().into()),
            era: request.era,
            job,
            asking: None,
            can_ask: false,
            closing: None,
            guard: None,
            observation: None,
            waits: false,
            session: request.session.as_ref().map(|session| InSession {
                session: Arc::clone(session),
                lane: None,
                cancel: None,
                waiting: None,
            }),
        }
    }

    /// Gives the rest of a call that its client has left, if it goes on: a 2025 client that goes
    /// away has not cancelled anything.
    pub(super) fn detached(mut self: Box<Self>) -> Option<LocalBoxFuture<'static, ()>> {
        let comes_back = self.session.is_some() || !self.waits;
        if self.era.is_modern() || !comes_back {
            return None;
        }
        let left = self.work.leave(self.waits)?;
        Some(Box::pin(async move {
            let response = poll_fn(|cx| self.poll(cx)).await;
            let lane = self.session.as_ref().and_then(|call| call.lane.as_ref());
            if let Some(lane) = lane {
                // Its client can still come back to the stream.
                lane.end(json_of(&response));
            }
            drop(left);
        }))
    }

    /// Lets the end of the call be told.
    pub(super) fn observe(&mut self, observation: Box<Observation>) {
        self.observation = Some(observation);
    }

    pub(super) fn keep_alive(&self) -> Duration {
        self.work.server().keep_alive
    }

    /// Gives the response when the call has ended, or has to end with the server. A call that its
    /// client has cancelled ends with 202 and nothing.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Response> {
        let End(response, outcome) = ready!(self.poll_end(cx));
        trace::end(&self.span, outcome);
        match outcome {
            AuditOutcome::Error(code) => gauge::error(code),
            AuditOutcome::ToolError => gauge::tool_error(),
            _ => {}
        }
        if let Some(observation) = self.observation.take() {
            observation.end(outcome);
        }
        Poll::Ready(response)
    }

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        // A function that hears of its own end would still answer.
        if self.poll_cancelled(cx) {
            return Poll::Ready(self.cancelled());
        }
        match &mut self.job {
            Job::Tool(call, shape) => {
                let shape = *shape;
                let polled = self.span.in_scope(|| call.as_mut().poll(cx));
                if let Poll::Ready(outcome) = polled {
                    return Poll::Ready(self.end(outcome, shape));
                }
            }
            Job::Escalating(call, shape) => {
                let shape = *shape;
                match self.span.in_scope(|| call.as_mut().poll(cx)) {
                    Poll::Ready(Escalated::Ended(outcome)) => {
                        return Poll::Ready(self.end(outcome, shape));
                    }
                    Poll::Ready(Escalated::Task(answer)) => {
                        return Poll::Ready(self.end_request(Served::Done(answer)));
                    }
                    Poll::Pending => {}
                }
            }
            Job::Request(request) => {
                let polled = self.span.in_scope(|| request.as_mut().poll(cx));
                if let Poll::Ready(served) = polled {
                    return Poll::Ready(self.end_request(served));
                }
            }
        }
        let closing = self.closing.get_or_insert_with(|| {
            if let Some(session) = &mut self.session {
                session.wait(&self.id);
            }
            let token = self.work.server().work.closing().clone();
            Box::pin(token.cancelled_owned())
        });
        if closing.as_mut().poll(cx).is_ready() {
            let error = RpcError::new(code::INTERNAL_ERROR, "the server is shutting down");
            return Poll::Ready(self.refuse(200, &error));
        }
        // Now that the call waits, somebody has to wake it.
        if self.poll_cancelled(cx) {
            return Poll::Ready(self.cancelled());
        }
        Poll::Pending
    }

    fn poll_cancelled(&mut self, cx: &mut Context<'_>) -> bool {
        // The end of the server cancels every call as well, and that client waits for an answer.
        if self.work.server().work.closing().is_cancelled() {
            return false;
        }
        let session = self.session.as_mut();
        session.is_some_and(|call| call.poll_cancelled(cx))
    }

    fn cancelled(&self) -> End {
        let ended = |call: &InSession| call.session.is_ended();
        if self.session.as_ref().is_some_and(ended) {
            let error = RpcError::new(code::SESSION_NOT_FOUND, "the session has ended");
            return End::new(404, self.error(&error), AuditOutcome::Cancelled);
        }
        End(Response::empty(202), AuditOutcome::Cancelled)
    }
}

/// Gives the error of a call that asked what this client cannot answer, or got an answer that does
/// not fit.
pub(super) fn refused(cx: &ToolCx) -> Option<RpcError> {
    match cx.refused()? {
        error @ InputError::MissingCapability { .. } => Some(missing(&error)),
        error @ InputError::Invalid { .. } => {
            Some(RpcError::new(code::INVALID_PARAMS, error.to_string()))
        }
        _ => None,
    }
}

fn missing(error: &InputError) -> RpcError {
    let required = match error {
        InputError::MissingCapability { required, .. } => required.clone(),
        _ => Value::Null,
    };
    RpcError::new(code::MISSING_CLIENT_CAPABILITY, error.to_string())
        .with_data(json!({"requiredCapabilities": required}))
}

impl fmt::Debug for Running {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Running")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
