//! Another actor sends a run to a chat and hears its events by its own `Recipient`.
//!
//! It knows nothing of chats but two addresses: one that takes [`ChatRun`], and its own.
//!
//! ```sh
//! cargo run --example actor_subscriber
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;

use actix::{Actor, ActorContext, ActorFutureExt, Context, Handler, ResponseActFuture, WrapFuture};
use roscius::{model::Script, prelude::*, run::RunUpdate};
use serde_json::json;

/// Writes down what a chat says, for example into a room or a database.
struct Scribe {
    chat: Chat,
    text: String,
    done: Option<tokio::sync::oneshot::Sender<String>>,
}

impl Actor for Scribe {
    type Context = Context<Self>;
}

/// Asks the scribe to put a question to the chat.
struct Ask(&'static str);

impl actix::Message for Ask {
    type Result = Result<(), roscius::run::RunError>;
}

impl Handler<Ask> for Scribe {
    type Result = ResponseActFuture<Self, Result<(), roscius::run::RunError>>;

    fn handle(&mut self, Ask(question): Ask, ctx: &mut Self::Context) -> Self::Result {
        let chat = self.chat.clone();
        let me = actix::AsyncContext::address(ctx).recipient();
        let asking = async move {
            let run = chat
                .recipient()?
                .send(ChatRun::new(question))
                .await
                .map_err(|_| roscius::run::RunError::Closed)??;
            println!("started {}", run.id());
            // Each event is sent after the one before has been handled.
            chat.subscribe(&run, After::Start, me).await
        };
        Box::pin(asking.into_actor(self).map(|started, _, _| started))
    }
}

impl Handler<RunUpdate> for Scribe {
    type Result = ();

    fn handle(&mut self, update: RunUpdate, ctx: &mut Self::Context) {
        match update {
            RunUpdate::Event { offset, event, .. } => {
                println!("  {offset:>2} {}", event.name());
                self.text.extend(event.text("delta"));
            }
            RunUpdate::Ended { run, .. } => {
                println!("ended {run}");
                if let Some(done) = self.done.take() {
                    // Nobody listens only if `main` has gone, and then it does not matter.
                    let _ = done.send(std::mem::take(&mut self.text));
                }
                ctx.stop();
            }
            _ => {}
        }
    }
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let script = json!({"turns": [{"text": ["All the ", "world's ", "a stage."]}]});
    let chat = Chat::builder(ScriptedModel::from_script(Script::from_value(&script)?)).build()?;
    let (done, heard) = tokio::sync::oneshot::channel();
    let scribe = Scribe {
        chat,
        text: String::new(),
        done: Some(done),
    }
    .start();
    scribe.send(Ask("Quote something")).await??;
    println!("written down: {}", heard.await?);
    Ok(())
}
