//! The future of a request.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_util::future::LocalBoxFuture;

use super::{
    Inner, Response,
    audit::AuditOutcome,
    drain::Left,
    observation::Observation,
    running::Running,
    stream::{EventStream, Outlet, one_event},
};
use crate::wire::http::Body;

/// The future of a request; it gives the response.
///
/// A response that needs no waiting is there at once. Dropping the future of a 2026 call cancels
/// it; a 2025 call goes on where an actix system can carry it.
#[must_use = "a request is answered when the future is awaited"]
pub struct Handling {
    state: State,
    /// A response is a stream, even if it is all that the stream carries.
    as_events: bool,
    /// Nobody has to account for it.
    unaudited: bool,
}

enum State {
    Ready(Response),
    Call(Box<Running>, Outlet),
    Later(LocalBoxFuture<'static, Response>, Option<Arc<Inner>>),
    Done,
}

impl Handling {
    const fn new(state: State) -> Self {
        Self {
            state,
            as_events: false,
            unaudited: false,
        }
    }

    pub(super) fn call(running: Running, outlet: Outlet) -> Self {
        Self::new(State::Call(Box::new(running), outlet))
    }

    /// Waits for the response, for example because a token has to be checked first.
    pub(super) fn later(response: LocalBoxFuture<'static, Response>) -> Self {
        Self::new(State::Later(response, None))
    }

    /// Waits for the response of 2025 calls, which go on when their client goes away.
    pub(super) fn lasting(
        server: &Arc<Inner>,
        response: LocalBoxFuture<'static, Response>,
    ) -> Self {
        Self::new(State::Later(response, Some(Arc::clone(server))))
    }

    /// Gives the response if it is there already.
    pub(super) const fn ready(&self) -> Option<&Response> {
        match &self.state {
            State::Ready(response) => Some(response),
            State::Call(..) | State::Later(..) | State::Done => None,
        }
    }

    /// Tells whether the answer is a demand for a token, or for a better one.
    pub(super) fn is_challenge(&self) -> bool {
        matches!(&self.state, State::Ready(response) if response.www_authenticate.is_some())
    }

    /// Gives what has to go on when the client has gone: the rest of a 2025 call, for there a
    /// closed connection cancels nothing. A 2026 call is cancelled by dropping it.
    pub fn detached(self) -> Option<LocalBoxFuture<'static, ()>> {
        match self.state {
            State::Call(running, _) => running.detached(),
            State::Later(response, Some(server)) => go_on(&server, response),
            State::Ready(_) | State::Later(_, None) | State::Done => None,
        }
    }

    /// Makes a response a stream, even if it is all that the stream carries.
    pub(super) fn into_events(mut self) -> Self {
        self.as_events = true;
        self
    }

    /// Leaves the request out of the audit.
    pub(super) const fn unaudited(mut self) -> Self {
        self.unaudited = true;
        self
    }

    /// Lets the end of the request be told.
    pub(super) fn observed(mut self, mut observation: Box<Observation>) -> Self {
        if self.unaudited {
            observation.leave_out();
        }
        self.state = match self.state {
            State::Ready(response) => {
                observation.end(AuditOutcome::of(&response));
                State::Ready(response)
            }
            State::Call(mut call, outlet) => {
                call.observe(observation);
                State::Call(call, outlet)
            }
            State::Later(response, server) => State::Later(
                Box::pin(async move {
                    let response = response.await;
                    observation.end(AuditOutcome::of(&response));
                    response
                }),
                server,
            ),
            State::Done => State::Done,
        };
        self
    }

    fn poll_response(&mut self, cx: &mut Context<'_>) -> Poll<Response> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Ready(response) => Poll::Ready(response),
            State::Later(mut response, server) => {
                let polled = response.as_mut().poll(cx);
                if polled.is_pending() {
                    self.state = State::Later(response, server);
                }
                polled
            }
            State::Call(mut call, mut outlet) => match call.poll(cx) {
                Poll::Ready(response) => Poll::Ready(outlet.into_response(response)),
                Poll::Pending => match outlet.poll_first(cx) {
                    // The first message turns the answer into a stream; the call goes with it.
                    Poll::Ready(first) => {
                        let stream = EventStream::of_call(call, outlet, first);
                        Poll::Ready(Response::new(200, Body::Stream(stream)))
                    }
                    Poll::Pending => {
                        self.state = State::Call(call, outlet);
                        Poll::Pending
                    }
                },
            },
            // Polled after its end: there is nothing more to give.
            State::Done => Poll::Pending,
        }
    }
}

/// Gives the rest of requests whose client has gone, unless too many go on already.
fn go_on(
    server: &Arc<Inner>,
    response: LocalBoxFuture<'static, Response>,
) -> Option<LocalBoxFuture<'static, ()>> {
    let left = Left::take(server)?;
    Some(Box::pin(async move {
        let response = response.await;
        drop(left);
        if let Body::Stream(mut stream) = response.body
            && let Some(rest) = stream.detached()
        {
            rest.await;
        }
    }))
}

impl From<Response> for Handling {
    fn from(response: Response) -> Self {
        Self::new(State::Ready(response))
    }
}

impl Future for Handling {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response> {
        let mut response = ready!(self.poll_response(cx));
        if self.as_events && response.status == 200 {
            response.body = match response.body {
                Body::Json(body) => Body::Events(one_event(&body)),
                other => other,
            };
        }
        Poll::Ready(response)
    }
}

impl fmt::Debug for Handling {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Handling(..)")
    }
}
