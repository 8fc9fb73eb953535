//! Where the one actor lives that all threads of a verifier share.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use actix::{Actor, Addr, Context, Handler, Message, dev::ToEnvelope};
use actix_rt::System;

/// Holds the address of one actor. It is started by the first thread that needs it, and again by
/// another one when that thread has ended.
pub(crate) struct Place<A: Actor>(Mutex<Option<Addr<A>>>);

impl<A: Actor<Context = Context<A>>> Place<A> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Asks the actor. `None` when it cannot be had, as on threads without an actix system.
    pub(crate) async fn ask<M>(
        &self,
        make: impl Fn() -> A,
        message: impl Fn() -> M,
    ) -> Option<M::Result>
    where
        A: Handler<M>,
        A::Context: ToEnvelope<A, M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        let asked = self.here(&make)?.send(message()).await;
        if let Ok(answer) = asked {
            return Some(answer);
        }
        // The thread of the actor has ended in between.
        self.here(&make)?.send(message()).await.ok()
    }

    fn here(&self, make: impl Fn() -> A) -> Option<Addr<A>> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(addr) = place.as_ref().filter(|addr| addr.connected()) {
            return Some(addr.clone());
        }
        System::try_current()?;
        tokio::runtime::Handle::try_current().ok()?;
        let addr = make().start();
        *place = Some(addr.clone());
        Some(addr)
    }
}

impl<A: Actor> fmt::Debug for Place<A> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Place(..)")
    }
}
