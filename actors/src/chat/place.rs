//! On which thread the runs of a chat live.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread::{self, ThreadId},
    time::Duration,
};

use actix::{Actor, Addr, System};
use futures_util::future::join_all;

use super::{
    Engine,
    actor::{ChatActor, Stop},
};
use crate::{registry::has_local_executor, run::RunError};

/// How long the threads may take to stop their actors: each has only to come round once.
const STOP_WAIT: Duration = Duration::from_secs(1);

/// The actors of a chat, one for each thread that has started a run.
pub(super) struct Places {
    engine: Arc<Engine>,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    threads: HashMap<ThreadId, Addr<ChatActor>>,
    background: Option<Background>,
}

/// A thread of the chat's own, for callers without a local executor.
struct Background {
    actor: Addr<ChatActor>,
    system: System,
}

impl Drop for Background {
    fn drop(&mut self) {
        self.system.stop();
    }
}

impl Places {
    pub(super) fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            taken: Mutex::default(),
        }
    }

    /// Gives the actor of this thread, and makes it if this is the first run here, unless the chat
    /// is shutting down: nobody would stop it any more.
    pub(super) fn actor(&self) -> Result<Addr<ChatActor>, RunError> {
        let mut taken = self.taken();
        if !has_local_executor() {
            return background(&mut taken, &self.engine);
        }
        // Threads come and go; actors of those that are gone are not kept.
        taken.threads.retain(|_, actor| actor.connected());
        match taken.threads.entry(thread::current().id()) {
            Entry::Occupied(here) => Ok(here.get().clone()),
            Entry::Vacant(_) if self.engine.is_draining() => Err(RunError::Draining),
            Entry::Vacant(free) => {
                let here = ChatActor::new(Arc::clone(&self.engine)).start();
                Ok(free.insert(here).clone())
            }
        }
    }

    /// Stops the actors. One whose thread does not come round is left behind.
    pub(super) async fn stop(&self) {
        let (threads, background) = {
            let mut taken = self.taken();
            (std::mem::take(&mut taken.threads), taken.background.take())
        };
        // An actor whose thread has ended is as good as stopped.
        let stopped = join_all(threads.values().map(|actor| actor.send(Stop)));
        if tokio::time::timeout(STOP_WAIT, stopped).await.is_err() {
            tracing::warn!("a thread was blocked and its chat actor is left behind");
        }
        drop(background);
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn background(taken: &mut Taken, engine: &Arc<Engine>) -> Result<Addr<ChatActor>, RunError> {
    if let Some(background) = &taken.background
        && background.actor.connected()
    {
        return Ok(background.actor.clone());
    }
    if engine.is_draining() {
        return Err(RunError::Draining);
    }
    let (tell, told) = mpsc::sync_channel(1);
    let engine = Arc::clone(engine);
    let started = thread::Builder::new()
        .name("roscius-chat".to_owned())
        .spawn(move || {
            let runner = System::new();
            runner.block_on(async {
                let actor = ChatActor::new(engine).start();
                // Nobody listens only if the caller has panicked.
                let _ = tell.send((actor, System::current()));
            });
            if let Err(error) = runner.run() {
                tracing::error!(%error, "the background thread of a chat has failed");
            }
        });
    if started.is_err() {
        return Err(RunError::Closed);
    }
    let (actor, system) = told.recv().map_err(|_| RunError::Closed)?;
    let given = actor.clone();
    taken.background = Some(Background { actor, system });
    Ok(given)
}

impl fmt::Debug for Places {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Places").finish_non_exhaustive()
    }
}
