//! The actor that owns one connection.

use std::{future::Future, rc::Rc, sync::Arc, time::Duration};

use actix::{Actor, ActorContext as _, Context, Handler, Message, ResponseFuture};
use tokio_util::sync::CancellationToken;

use super::{
    call::{CallParams, Reply},
    config::{Era, ServerFacts, Shared},
    connection::{Link, Ticket},
    error::ClientError,
};
use crate::{
    gauge::{ActorKind, Alive, mailbox_delivered},
    wire::content::ToolListing,
};

/// How long the calls that a close ends may take to notice it.
const LAST_CALLS_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a goodbye may take: a session to end, a process to leave or be killed.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(4);

/// Owns one connection to one server, on the thread it was made on.
pub(super) struct ClientActor {
    /// Gone once the client is closed.
    link: Option<Rc<Link>>,
    shared: Arc<Shared>,
    _alive: Alive,
}

impl ClientActor {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            link: Some(Rc::new(Link::new(Arc::clone(&shared)))),
            shared,
            _alive: Alive::new(ActorKind::Client),
        }
    }

    /// Runs work on the connection until it is done, given up, too late, or the client closes.
    fn run<T: 'static, F>(
        &self,
        limits: Limits,
        work: impl FnOnce(Rc<Link>, Rc<Ticket>) -> F,
    ) -> ResponseFuture<Result<T, ClientError>>
    where
        F: Future<Output = Result<T, ClientError>> + 'static,
    {
        mailbox_delivered();
        let Some(link) = self.link.clone() else {
            return Box::pin(std::future::ready(Err(ClientError::Closed)));
        };
        let closed = self.shared.closed.clone();
        let ticket = Rc::new(Ticket::new(None));
        let work = work(Rc::clone(&link), Rc::clone(&ticket));
        Box::pin(async move {
            let (result, reason) = tokio::select! {
                biased;
                () = closed.cancelled() => (Err(ClientError::Closed), "the client is closed"),
                () = limits.cancel.cancelled() => (Err(ClientError::Cancelled), "cancelled"),
                result = work => (result, "the client cannot answer the server"),
                () = tokio::time::sleep(limits.timeout) => {
                    let after = limits.timeout;
                    (Err(ClientError::Timeout { after }), "timeout")
                }
            };
            link.give_up(&ticket, reason);
            result
        })
    }
}

impl Actor for ClientActor {
    type Context = Context<Self>;
}

/// When a call ends although it has no answer.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    pub(super) timeout: Duration,
    pub(super) cancel: CancellationToken,
}

/// Connects, unless that has been done.
pub(super) struct Connect(pub(super) Limits);

impl Message for Connect {
    type Result = Result<Arc<ServerFacts>, ClientError>;
}

impl Handler<Connect> for ClientActor {
    type Result = ResponseFuture<Result<Arc<ServerFacts>, ClientError>>;

    fn handle(&mut self, Connect(limits): Connect, _: &mut Self::Context) -> Self::Result {
        self.run(limits, |link, _| async move { link.ready().await })
    }
}

/// Lists the tools.
pub(super) struct ListTools(pub(super) Limits);

impl Message for ListTools {
    type Result = Result<Arc<[ToolListing]>, ClientError>;
}

impl Handler<ListTools> for ClientActor {
    type Result = ResponseFuture<Result<Arc<[ToolListing]>, ClientError>>;

    fn handle(&mut self, ListTools(limits): ListTools, _: &mut Self::Context) -> Self::Result {
        self.run(limits, |link, _| async move {
            let list = link.tools().await?;
            Ok(Arc::clone(&list.listings))
        })
    }
}

/// Calls a tool, gets a prompt or reads a resource.
pub(super) struct CallMcp {
    pub(super) params: CallParams,
    pub(super) limits: Limits,
}

impl Message for CallMcp {
    type Result = Result<Reply, ClientError>;
}

impl Handler<CallMcp> for ClientActor {
    type Result = ResponseFuture<Result<Reply, ClientError>>;

    fn handle(&mut self, message: CallMcp, _: &mut Self::Context) -> Self::Result {
        let CallMcp { params, limits } = message;
        self.run(limits, |link, ticket| async move {
            link.call(&params, &ticket).await
        })
    }
}

/// Ends the session, closes the connection, stops.
pub(super) struct Disconnect;

impl Message for Disconnect {
    type Result = ();
}

impl Handler<Disconnect> for ClientActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Disconnect, context: &mut Self::Context) -> Self::Result {
        mailbox_delivered();
        let link = self.link.take();
        // The goodbye below is a task of its own and outlives the actor.
        context.stop();
        Box::pin(async move {
            let Some(link) = link else {
                return;
            };
            // Calls that have just ended tell their servers first.
            let _ = tokio::time::timeout(LAST_CALLS_TIMEOUT, link.idle()).await;
            let headers = link.legacy_headers();
            let session = {
                let state = link.state.borrow();
                let legacy = state
                    .facts
                    .as_ref()
                    .is_some_and(|facts| facts.era == Era::Legacy);
                legacy && state.session_id.is_some()
            };
            let Some(connection) = link.take_connection() else {
                return;
            };
            let goodbye = async {
                if session {
                    connection.end_session(headers).await;
                }
                connection.close().await;
            };
            if tokio::time::timeout(GOODBYE_TIMEOUT, goodbye)
                .await
                .is_err()
            {
                tracing::debug!("the server did not take the end of the session in time");
            }
        })
    }
}
