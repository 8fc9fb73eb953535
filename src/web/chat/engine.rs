//! The endpoint on a real chat.

use std::sync::Arc;

use actix_web::rt;
use futures_util::{FutureExt, future::LocalBoxFuture};
use roscius_actors::{
    chat::{Chat, ChatRun},
    ports::{
        clock::{Clock, SystemClock},
        event_log::{After, STARTER_WINDOW},
    },
    run::{RunError, RunHandle},
    wire::{
        agui::Event,
        ids::{Owner, RunId, ThreadId},
    },
};
use tokio::sync::oneshot;

use super::{Refused, Runs, StartRun, Started};

/// A run on its way to its client. When the client goes before it is taken, the run is told, also
/// when that happens after it was sent.
struct Unclaimed(Option<RunHandle>);

impl Unclaimed {
    fn claim(mut self) -> Option<RunHandle> {
        self.0.take()
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.detach();
        }
    }
}

impl Runs for Chat {
    fn start(&self, run: StartRun) -> LocalBoxFuture<'static, Result<Started, Refused>> {
        let mut asked = ChatRun::from_input(run.input)
            .owner(run.caller.owner)
            .context(Arc::new(run.caller.context))
            .window(STARTER_WINDOW);
        if let Some(auth) = run.caller.auth {
            asked = asked.auth(auth);
        }
        let chat = self.clone();
        let (tell, told) = oneshot::channel();
        // The client may go while the run begins: a run that nobody waits for any more is told.
        rt::spawn(async move {
            let started = chat.run(asked).await;
            // What is not taken is dropped, and that tells the run.
            let _ = tell.send(started.map(|handle| Unclaimed(Some(handle))));
        });
        async move {
            let handle = told
                .await
                .unwrap_or(Err(RunError::Closed))
                .and_then(|unclaimed| unclaimed.claim().ok_or(RunError::Closed))
                .map_err(refuse)?;
            Ok(Started {
                events: handle.cursor(After::Start, true),
                detach: Box::new(move || handle.detach()),
            })
        }
        .boxed_local()
    }

    fn cancel(&self, owner: &Owner, run: &RunId, thread: Option<&ThreadId>) -> bool {
        // Everybody is the anonymous owner, so that the id of a run alone says too little.
        let found = self
            .find(owner, run)
            .filter(|run| !owner.is_anonymous() || thread == Some(run.thread()));
        if let Some(run) = &found {
            run.cancel();
        }
        found.is_some()
    }

    fn is_draining(&self) -> bool {
        Chat::is_draining(self)
    }
}

fn refuse(error: RunError) -> Refused {
    if error.is_draining() {
        return Refused::Unavailable("the server is going down");
    }
    if error.is_overloaded() {
        return Refused::Unavailable("too many runs are open");
    }
    let event = Event::run_error(SystemClock.now_ms(), error.to_string(), None);
    Refused::Failed(Box::new(event))
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use futures_util::{StreamExt, stream};
    use roscius_actors::{
        machine::run_input::{RunInputLimits, parse_run_input},
        ports::model::{Model, ModelRequest, ModelStream},
    };
    use tokio::task::yield_now;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::web::chat::Caller;

    /// Says nothing.
    struct Silent;

    impl Model for Silent {
        fn id(&self) -> &'static str {
            "silent"
        }

        fn stream(&self, _: ModelRequest, _: CancellationToken) -> ModelStream {
            stream::pending().boxed_local()
        }
    }

    #[actix_web::test]
    async fn a_run_that_was_sent_and_never_taken_is_told() {
        let chat = Chat::builder(Silent).build().unwrap();
        let body = br#"{"threadId":"t","runId":"r","state":{},"messages":[],"tools":[],"context":[],"forwardedProps":{}}"#;
        let input = parse_run_input(body, &RunInputLimits::default()).unwrap();
        let caller = Caller::default();
        let start = Runs::start(&chat, StartRun { input, caller });
        // The run begins and is sent, but whoever waits for it is not polled any more.
        for _ in 0..1_000 {
            yield_now().await;
        }
        assert_eq!(chat.open_runs(), 1);
        drop(start);
        for _ in 0..1_000 {
            yield_now().await;
        }
        assert_eq!(chat.open_runs(), 0, "the run waits for a reader for ever");
    }
}
