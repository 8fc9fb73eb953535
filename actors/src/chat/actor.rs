//! The actor of a chat on one thread.

use std::sync::Arc;

use actix::{Actor, ActorContext, Context, Handler, Message, Recipient, ResponseFuture};
use futures_util::StreamExt;

use super::{ChatRun, Engine};
use crate::{
    gauge::{ActorKind, Alive, mailbox_delivered},
    ports::event_log::After,
    run::{RunError, RunHandle, RunUpdate, start_run},
};

/// Requests that wait for their turn on this thread. Each is started at once, so this is full only
/// when the thread itself is.
const MAILBOX: usize = 256;

/// Starts the runs of one thread.
#[derive(Debug)]
pub(crate) struct ChatActor {
    engine: Arc<Engine>,
    _alive: Alive,
}

impl ChatActor {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            _alive: Alive::new(ActorKind::Chat),
        }
    }
}

impl Actor for ChatActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<ChatRun> for ChatActor {
    type Result = ResponseFuture<Result<RunHandle, RunError>>;

    fn handle(&mut self, run: ChatRun, _: &mut Self::Context) -> Self::Result {
        mailbox_delivered();
        Box::pin(start_run(Arc::clone(&self.engine), run))
    }
}

/// Sends the events of a run to another actor.
pub(crate) struct Pump {
    pub(crate) run: RunHandle,
    pub(crate) after: After,
    pub(crate) to: Recipient<RunUpdate>,
}

impl Message for Pump {
    type Result = ();
}

impl Handler<Pump> for ChatActor {
    type Result = ();

    fn handle(&mut self, pump: Pump, _: &mut Self::Context) {
        mailbox_delivered();
        let Pump { run, after, to } = pump;
        let mut events = run.subscribe(after);
        actix_rt::spawn(async move {
            while let Some((offset, event)) = events.next().await {
                let update = RunUpdate::Event {
                    run: run.id().clone(),
                    offset,
                    event,
                };
                if to.send(update).await.is_err() {
                    return;
                }
            }
            let update = RunUpdate::Ended {
                run: run.id().clone(),
                outcome: run.outcome().await,
            };
            if to.send(update).await.is_err() {
                tracing::debug!(run = %run.id(), "a subscriber was gone before the run");
            }
        });
    }
}

/// Stops the actor.
pub(crate) struct Stop;

impl Message for Stop {
    type Result = ();
}

impl Handler<Stop> for ChatActor {
    type Result = ();

    fn handle(&mut self, _: Stop, ctx: &mut Self::Context) {
        mailbox_delivered();
        ctx.stop();
    }
}
