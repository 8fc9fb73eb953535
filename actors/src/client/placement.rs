//! Where the actor of a client lives: one per thread that uses the client, kept by a slot.
//!
//! A thread without a local executor uses one background thread with its own actix system.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    thread::{self, ThreadId},
};

use actix::{Actor, Addr};
use actix_rt::System;
use tokio::sync::{OnceCell, oneshot};
use tokio_util::sync::CancellationToken;

use crate::registry::has_local_executor;

/// Holds one actor per thread.
pub(crate) struct Slots<A: Actor> {
    local: Mutex<HashMap<ThreadId, Addr<A>>>,
    background: OnceCell<Addr<A>>,
    /// Ends the background thread.
    gone: CancellationToken,
}

impl<A: Actor<Context = actix::Context<A>>> Slots<A> {
    pub(crate) fn new() -> Self {
        Self {
            local: Mutex::new(HashMap::new()),
            background: OnceCell::new(),
            gone: CancellationToken::new(),
        }
    }

    /// Gives the actor of this thread, made by `make` on its first use.
    ///
    /// `None` only when a background thread is needed and cannot be had.
    pub(crate) async fn here(&self, make: impl FnOnce() -> A + Send + 'static) -> Option<Addr<A>> {
        if has_local_executor() {
            return Some(self.local(make));
        }
        self.apart(make).await
    }

    /// Gives the actor of the background thread, made by `make` on its first use.
    pub(crate) async fn apart(&self, make: impl FnOnce() -> A + Send + 'static) -> Option<Addr<A>> {
        let gone = self.gone.clone();
        let started = self
            .background
            .get_or_try_init(|| in_background(gone, make));
        started.await.ok().cloned()
    }

    fn local(&self, make: impl FnOnce() -> A) -> Addr<A> {
        let mut slots = self.local.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|_, addr| addr.connected());
        let slot = slots.entry(thread::current().id());
        slot.or_insert_with(|| make().start()).clone()
    }

    /// Gives up all slots; the background thread is left running until [`Slots::end`].
    pub(crate) fn take(&self) -> Vec<Addr<A>> {
        let mut slots = self.local.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = slots.drain().map(|(_, addr)| addr).collect();
        all.extend(self.background.get().cloned());
        all
    }

    /// Ends the background thread, if there is one.
    pub(crate) fn end(&self) {
        self.gone.cancel();
    }
}

impl<A: Actor> Drop for Slots<A> {
    fn drop(&mut self) {
        self.gone.cancel();
    }
}

async fn in_background<A: Actor<Context = actix::Context<A>>>(
    gone: CancellationToken,
    make: impl FnOnce() -> A + Send + 'static,
) -> Result<Addr<A>, oneshot::error::RecvError> {
    let (started, addr) = oneshot::channel();
    let run = move || {
        System::new().block_on(async move {
            if started.send(make().start()).is_ok() {
                gone.cancelled().await;
            }
        });
    };
    let spawned = thread::Builder::new()
        .name("roscius-client".to_owned())
        .spawn(run);
    if let Err(error) = spawned {
        tracing::error!(%error, "no background thread can be had");
    }
    addr.await
}
