//! The future of a request.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::future::LocalBoxFuture;

use super::{
    Response,
    running::Running,
    stream::{EventStream, Notices},
};
use crate::wire::http::Body;

/// The future of a request; it gives the response.
///
/// A response that needs no waiting is there at once. Dropping the future of a 2026 call cancels
/// it.
#[must_use = "a request is answered when the future is awaited"]
pub struct Handling(State);

enum State {
    Ready(Response),
    Call(Box<Running>, Option<Notices>),
    Batch(LocalBoxFuture<'static, Response>),
    Done,
}

impl Handling {
    pub(super) fn call(running: Running, notices: Option<Notices>) -> Self {
        Self(State::Call(Box::new(running), notices))
    }

    /// Waits for the response, for example because a token has to be checked first.
    pub(super) fn later(response: LocalBoxFuture<'static, Response>) -> Self {
        Self(State::Batch(response))
    }

    /// Tells whether the answer is a demand for a token, or for a better one.
    pub(super) fn is_challenge(&self) -> bool {
        matches!(&self.0, State::Ready(response) if response.www_authenticate.is_some())
    }

    /// Gives what has to go on when the client has gone: the rest of a 2025 call, for there a
    /// closed connection cancels nothing. A 2026 call is cancelled by dropping it.
    pub fn detached(self) -> Option<LocalBoxFuture<'static, ()>> {
        match self.0 {
            State::Call(running, _) => running.detached(),
            State::Ready(_) | State::Batch(_) | State::Done => None,
        }
    }

    pub(super) fn batch(responses: LocalBoxFuture<'static, Response>) -> Self {
        Self(State::Batch(responses))
    }
}

impl From<Response> for Handling {
    fn from(response: Response) -> Self {
        Self(State::Ready(response))
    }
}

impl Future for Handling {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response> {
        match std::mem::replace(&mut self.0, State::Done) {
            State::Ready(response) => Poll::Ready(response),
            State::Batch(mut responses) => {
                let polled = responses.as_mut().poll(cx);
                if polled.is_pending() {
                    self.0 = State::Batch(responses);
                }
                polled
            }
            State::Call(mut running, notices) => {
                let ended = running.poll(cx);
                let Some(mut notices) = notices else {
                    return match ended {
                        Poll::Ready((status, body)) => Poll::Ready(Response::json(status, body)),
                        Poll::Pending => {
                            self.0 = State::Call(running, None);
                            Poll::Pending
                        }
                    };
                };
                match ended {
                    Poll::Ready((status, body)) => Poll::Ready(notices.into_response(status, body)),
                    Poll::Pending => match notices.poll(cx) {
                        // The first report turns the answer into a stream; the call goes with it.
                        Poll::Ready(first) => {
                            let stream = EventStream::new(running, notices, first);
                            Poll::Ready(Response::new(200, Body::Stream(stream)))
                        }
                        Poll::Pending => {
                            self.0 = State::Call(running, Some(notices));
                            Poll::Pending
                        }
                    },
                }
            }
            // Polled after its end: there is nothing more to give.
            State::Done => Poll::Pending,
        }
    }
}

impl fmt::Debug for Handling {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Handling(..)")
    }
}
