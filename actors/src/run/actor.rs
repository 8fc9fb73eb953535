//! The actor of one run.

use std::{panic::AssertUnwindSafe, sync::Arc};

use actix::{Actor, ActorContext, ActorFutureExt, AsyncContext, Context, fut};
use futures_util::FutureExt;
use tokio::time::sleep;
use tracing::Instrument;
use uuid::Uuid;

use super::{Outcome, RunError, RunFailure, RunHandle, Shared, driver::drive};
use crate::{
    chat::{ChatRun, Engine, Request},
    gauge::{ActorKind, Alive},
    ports::event_log::{CloseReason, Lease, LogError, LogWriter},
    wire::{
        agui::Event,
        ids::{RunId, ThreadId},
    },
};

/// Drives one run and stops with its outcome.
pub(crate) struct RunActor {
    engine: Arc<Engine>,
    shared: Arc<Shared>,
    work: Option<(Request, LogWriter)>,
    _alive: Alive,
}

impl Actor for RunActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let Some((request, writer)) = self.work.take() else {
            ctx.stop();
            return;
        };
        if let Some(lease) = writer.lease() {
            ctx.spawn(fut::wrap_future(keep(lease)));
        }
        let driver = drive(
            Arc::clone(&self.engine),
            Arc::clone(&self.shared),
            request,
            writer,
        );
        let span = tracing::info_span!(
            "chat.run",
            run = %self.shared.id,
            thread = %self.shared.thread,
            parent = self.shared.parent.as_ref().map(tracing::field::display),
        );
        let driver = driver.instrument(span);
        // A panic drops the writer, which ends the stream with RUN_ERROR.
        let driver = AssertUnwindSafe(driver).catch_unwind();
        ctx.spawn(
            fut::wrap_future::<_, Self>(driver).map(|ended, actor, ctx| {
                let outcome = ended.unwrap_or_else(|_| {
                    tracing::error!(run = %actor.shared.id, "a run panicked");
                    Outcome::Failed(RunFailure::new("the run failed", Some("panic")))
                });
                actor.shared.end(outcome);
                ctx.stop();
            }),
        );
    }
}

/// Keeps the lease of a run's log for as long as its actor lives.
async fn keep(lease: Lease) {
    loop {
        sleep(lease.every()).await;
        if let Err(error) = lease.renew().await {
            tracing::warn!(%error, "the lease of a run was not renewed");
        }
    }
}

impl Drop for RunActor {
    fn drop(&mut self) {
        // After an outcome this says nothing; without one the thread of the run has stopped.
        self.shared.end(Outcome::Failed(RunFailure::new(
            "producer lost",
            Some("producer_lost"),
        )));
        self.engine.forget(&self.shared);
    }
}

/// Opens the log of a run and starts its actor on this thread.
pub(crate) async fn start_run(engine: Arc<Engine>, run: ChatRun) -> Result<RunHandle, RunError> {
    let (mut request, ids) = run.split();
    let id = ids.run.unwrap_or_else(RunId::random);
    let owner = ids.owner;
    let mut thread = ids.thread;
    if let (None, Some(parent)) = (&thread, &ids.parent) {
        let stored = engine.runs.get(&owner, parent).await.ok().flatten();
        thread = stored
            .and_then(|stored| stored.record)
            .map(|record| record.thread_id.clone());
    }
    let thread = thread.unwrap_or_else(ThreadId::random);
    let shared = Arc::new(Shared::new(
        owner,
        thread,
        id,
        ids.parent,
        Arc::clone(&engine.log),
    ));
    let recorded = engine.runs.get(&shared.owner, &shared.id).await;
    if recorded.is_ok_and(|stored| stored.is_some()) {
        return refuse(&engine, &shared, &request).await;
    }
    if !engine.admit(&shared)? {
        return refuse(&engine, &shared, &request).await;
    }
    let mut options = engine.log_options.clone();
    options.window = request.window.take();
    // Whoever waits for the run, a drain say, hears of its end, whatever happens before its start.
    let mut actor = RunActor {
        engine: Arc::clone(&engine),
        shared: Arc::clone(&shared),
        work: None,
        _alive: Alive::new(ActorKind::Run),
    };
    match LogWriter::open(&engine.log, shared.key.clone(), options).await {
        Ok(writer) => actor.work = Some((request, writer)),
        Err(error) => {
            shared.end(Outcome::Failed(RunFailure::new(
                error.to_string(),
                Some(error.code()),
            )));
            drop(actor);
            if error.is_exists() {
                return refuse(&engine, &shared, &request).await;
            }
            return Err(RunError::Log(error));
        }
    }
    actor.start();
    Ok(RunHandle::new(shared))
}

/// Answers a run whose id is taken: one RUN_ERROR, in a log of its own.
async fn refuse(
    engine: &Arc<Engine>,
    taken: &Shared,
    request: &Request,
) -> Result<RunHandle, RunError> {
    let mut shared = Shared::new(
        taken.owner.clone(),
        taken.thread.clone(),
        taken.id.clone(),
        taken.parent.clone(),
        Arc::clone(&engine.log),
    );
    shared.key.run_id = RunId::from(format!("{}#{}", taken.id, Uuid::new_v4()));
    let options = engine.log_options.clone();
    let mut writer = LogWriter::open(&engine.log, shared.key.clone(), options)
        .await
        .map_err(RunError::Log)?;
    let failure = RunFailure::new(LogError::Exists.to_string(), Some(LogError::Exists.code()));
    let now = engine.clock.now_ms();
    let mut event = Event::run_error(now, &failure.message, failure.code.as_deref());
    if !request.resume.is_empty() {
        let submission = crate::machine::resume::Submission {
            thread: &shared.thread,
            run: &shared.id,
            parent: shared.parent.as_ref(),
            entries: &request.resume,
        };
        event = Event::refused(now, &shared.thread, &shared.id, &submission.conflict());
    }
    writer.append(&event).await.map_err(RunError::Log)?;
    writer
        .close(CloseReason::Failed)
        .await
        .map_err(RunError::Log)?;
    shared.end(Outcome::Failed(failure));
    Ok(RunHandle::new(Arc::new(shared)))
}
