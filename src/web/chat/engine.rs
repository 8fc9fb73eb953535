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
        ids::{Owner, RunId},
    },
};
use tokio::sync::oneshot;

use super::{Refused, Runs, StartRun, Started};

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
            if let Err(Ok(unwanted)) = tell.send(chat.run(asked).await) {
                RunHandle::detach(&unwanted);
            }
        });
        async move {
            let handle = told
                .await
                .unwrap_or(Err(RunError::Closed))
                .map_err(refuse)?;
            Ok(Started {
                events: handle.cursor(After::Start, true),
                detach: Box::new(move || handle.detach()),
            })
        }
        .boxed_local()
    }

    fn cancel(&self, owner: &Owner, run: &RunId) -> bool {
        Chat::cancel(self, owner, run)
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
