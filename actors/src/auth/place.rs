//! Where the one actor lives that all threads of a verifier share.

use std::{
    fmt,
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use actix::{Actor, Addr, Context, Handler, Message, dev::ToEnvelope};
use actix_rt::System;
use tokio_util::sync::CancellationToken;

use crate::registry::has_local_executor;

/// How long a thread of its own may take to start the actor.
const START: Duration = Duration::from_secs(1);

/// Holds the address of one actor. It is started by the first thread that needs it, and again by
/// another one when that thread has ended. Where no actix system runs, it gets a thread of its own.
pub(crate) struct Place<A: Actor> {
    make: fn() -> A,
    slot: Mutex<Option<Addr<A>>>,
    /// Ends the thread of its own.
    gone: CancellationToken,
}

impl<A: Actor<Context = Context<A>>> Place<A> {
    pub(crate) fn new(make: fn() -> A) -> Self {
        Self {
            make,
            slot: Mutex::new(None),
            gone: CancellationToken::new(),
        }
    }

    /// Asks the actor. `None` when it cannot be had.
    pub(crate) async fn ask<M>(&self, message: impl Fn() -> M) -> Option<M::Result>
    where
        A: Handler<M>,
        A::Context: ToEnvelope<A, M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        let asked = self.addr()?.send(message()).await;
        if let Ok(answer) = asked {
            return Some(answer);
        }
        // The thread of the actor has ended in between.
        self.addr()?.send(message()).await.ok()
    }

    fn addr(&self) -> Option<Addr<A>> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(addr) = slot.as_ref().filter(|addr| addr.connected()) {
            return Some(addr.clone());
        }
        let addr = if has_local_executor() {
            (self.make)().start()
        } else {
            self.in_background()?
        };
        *slot = Some(addr.clone());
        Some(addr)
    }

    fn in_background(&self) -> Option<Addr<A>> {
        let (started, start) = mpsc::sync_channel(1);
        let (make, gone) = (self.make, self.gone.clone());
        let run = move || {
            System::new().block_on(async move {
                if started.send(make().start()).is_ok() {
                    gone.cancelled().await;
                }
            });
        };
        let spawned = thread::Builder::new()
            .name("roscius-auth".to_owned())
            .spawn(run);
        if let Err(error) = spawned {
            tracing::error!(%error, "no background thread can be had");
            return None;
        }
        start.recv_timeout(START).ok()
    }
}

impl<A: Actor> Drop for Place<A> {
    fn drop(&mut self) {
        self.gone.cancel();
    }
}

impl<A: Actor> fmt::Debug for Place<A> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Place(..)")
    }
}
