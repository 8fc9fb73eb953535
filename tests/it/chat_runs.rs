//! The life of a run: where it lives, who may follow it, and how it ends.

mod tools;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use actix::{Actor, Context, Handler};
use futures_util::{StreamExt, future::LocalBoxFuture, stream};
use roscius_actors::{
    chat::{Chat, ChatRun, Mcp, OnDetach, OnDiscoveryError},
    ports::{
        event_log::After,
        model::{Model, ModelEvent, ModelRequest, ModelStream},
        tool_source::{SourceError, SourceTool, ToolSource},
    },
    run::{Outcome, RunUpdate},
    tool::{Tool, ToolCx, ToolError},
    wire::{agui::ClientTool, ids::Owner},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::chat_world::{
    Gate, approving, builder, events, is_completed, names, on_system, read_to, results, script,
    until,
};

/// Says one thing and then nothing until it is told to stop.
struct Endless {
    stopped: CancellationToken,
}

impl Model for Endless {
    fn id(&self) -> &'static str {
        "endless"
    }

    fn stream(&self, _: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let first = stream::iter([Ok(ModelEvent::TextDelta("a".to_owned()))]);
        let stopped = self.stopped.clone().drop_guard();
        let rest = stream::once(async move {
            let _stopped = stopped;
            cancel.cancelled().await;
            Ok(ModelEvent::TextEnd)
        });
        first.chain(rest).boxed_local()
    }
}

/// Panics when it is asked.
struct Panicking;

impl Model for Panicking {
    fn id(&self) -> &'static str {
        "panicking"
    }

    fn stream(&self, _: ModelRequest, _: CancellationToken) -> ModelStream {
        stream::once(async { panic!("a model that panics") }).boxed_local()
    }
}

fn endless() -> (Chat, CancellationToken) {
    let stopped = CancellationToken::new();
    let model = Endless {
        stopped: stopped.clone(),
    };
    (Chat::builder(model).build().unwrap(), stopped)
}

#[test]
fn cancel_ends_the_stream_and_the_model_with_it() {
    on_system(async {
        let (chat, stopped) = endless();
        let run = chat
            .run(ChatRun::new("go").run_id("r").thread("t"))
            .await
            .unwrap();
        read_to(&run, "TEXT_MESSAGE_CONTENT").await;
        assert!(!chat.cancel(&Owner::new("eve"), run.id()));
        assert!(chat.cancel(&Owner::ANONYMOUS, run.id()));
        assert!(matches!(run.outcome().await, Outcome::Cancelled));
        let seen = events(&run).await;
        assert_eq!(names(&seen).last(), Some(&"RUN_ERROR"));
        assert_eq!(seen.last().unwrap()["code"], "aborted");
        assert!(stopped.is_cancelled());
        until("the run is forgotten", || chat.open_runs() == 0).await;
        assert!(!chat.cancel(&Owner::ANONYMOUS, run.id()));
    });
}

#[test]
fn a_tool_in_flight_sees_the_token_of_a_cancelled_run() {
    on_system(async {
        let seen = Arc::new(Mutex::new(false));
        let noticed = Arc::clone(&seen);
        let tool = Tool::raw(
            "wait",
            json!({"type": "object"}),
            move |_: Value, cx: ToolCx| {
                let noticed = Arc::clone(&noticed);
                async move {
                    cx.cancelled().cancelled().await;
                    *noticed.lock().unwrap() = true;
                    Ok::<_, ToolError>("never told")
                }
            },
        );
        let chat = builder(&script("wait")).tool(tool).build().unwrap();
        let run = chat.run(ChatRun::new("go")).await.unwrap();
        read_to(&run, "TOOL_CALL_END").await;
        run.cancel();
        assert!(matches!(run.outcome().await, Outcome::Cancelled));
        assert!(*seen.lock().unwrap());
        assert_eq!(results(&events(&run).await), Vec::<&str>::new());
    });
}

#[test]
fn a_reader_that_leaves_cancels_the_run_unless_it_may_go_on() {
    on_system(async {
        let (chat, _) = endless();
        let run = chat.run(ChatRun::new("go")).await.unwrap();
        run.detach();
        assert!(matches!(run.outcome().await, Outcome::Cancelled));

        let gate = Gate::shut();
        let chat = builder(&script("work"))
            .tool(gate.tool("work"))
            .on_detach(OnDetach::Continue)
            .build()
            .unwrap();
        let run = chat.run(ChatRun::new("go")).await.unwrap();
        until("the tool has begun", || gate.begun() == 1).await;
        run.detach();
        gate.let_pass(1);
        assert!(is_completed(&run.outcome().await));
    });
}

#[test]
fn a_panic_ends_the_stream_with_an_error_and_harms_no_other_run() {
    on_system(async {
        let chat = Chat::builder(Panicking).build().unwrap();
        let run = chat.run(ChatRun::new("go")).await.unwrap();
        let Outcome::Failed(failure) = run.outcome().await else {
            panic!("a run that panicked has failed");
        };
        assert_eq!(failure.code.as_deref(), Some("panic"));
        let seen = events(&run).await;
        assert_eq!(names(&seen), ["RUN_STARTED", "RUN_ERROR"]);
        let next = chat.run(ChatRun::new("go")).await.unwrap();
        assert!(matches!(next.outcome().await, Outcome::Failed(_)));
        until("both are forgotten", || chat.open_runs() == 0).await;
    });
}

#[test]
fn a_tool_that_panics_fails_its_call_alone() {
    on_system(async {
        let tool = Tool::raw(
            "boom",
            json!({"type": "object"}),
            |_: Value, _: ToolCx| async {
                if true {
                    panic!("a tool that panics");
                }
                Ok::<_, ToolError>("")
            },
        );
        let chat = builder(&script("boom")).tool(tool).build().unwrap();
        let run = chat.run(ChatRun::new("go")).await.unwrap();
        assert_eq!(results(&events(&run).await), [r#"{"error":"tool failed"}"#]);
        assert!(is_completed(&run.outcome().await));
    });
}

#[test]
fn a_drain_refuses_new_runs_waits_for_open_ones_and_cancels_the_rest() {
    on_system(async {
        let gate = Gate::shut();
        let chat = builder(&script("work"))
            .tool(gate.tool("work"))
            .build()
            .unwrap();
        let run = chat.run(ChatRun::new("go")).await.unwrap();
        until("the tool has begun", || gate.begun() == 1).await;
        let draining = tokio::spawn({
            let chat = chat.clone();
            async move { chat.drain(Duration::from_secs(5)).await }
        });
        until("the drain has begun", || chat.is_draining()).await;
        let refused = chat.run(ChatRun::new("late")).await;
        assert!(refused.is_err_and(|error| error.is_draining()));
        gate.let_pass(1);
        assert!(is_completed(&run.outcome().await));
        draining.await.unwrap();

        let (chat, _) = endless();
        let run = chat.run(ChatRun::new("go")).await.unwrap();
        chat.drain(Duration::from_millis(20)).await;
        assert!(matches!(run.outcome().await, Outcome::Cancelled));
        assert_eq!(names(&events(&run).await).last(), Some(&"RUN_ERROR"));
    });
}

#[test]
fn a_chat_that_was_drained_makes_no_actor_to_say_so() {
    let chat = builder(&json!({"turns": []})).build().unwrap();
    on_system(chat.drain(Duration::from_secs(1)));
    let is_draining = || chat.recipient().is_err_and(|error| error.is_draining());
    assert!(is_draining(), "on a thread of the chat");
    assert!(on_system(async { is_draining() }), "on this thread");
}

#[test]
fn a_drain_does_not_wait_for_a_thread_that_is_blocked() {
    let chat = builder(&json!({"turns": [{"text": ["Hello."]}]}))
        .build()
        .unwrap();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let (tell, blocked) = std::sync::mpsc::channel();
    let busy = std::thread::spawn({
        let chat = chat.clone();
        move || {
            on_system(async {
                let run = chat.run(ChatRun::new("go")).await.unwrap();
                assert!(is_completed(&run.outcome().await));
                tell.send(()).unwrap();
                held.recv().unwrap();
            });
        }
    });
    blocked.recv().unwrap();
    on_system(chat.drain(Duration::from_secs(1)));
    release.send(()).unwrap();
    busy.join().unwrap();
}

#[test]
fn without_a_local_executor_runs_live_on_a_thread_of_the_chat() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let chat = builder(&json!({"turns": [{"text": ["Hello."]}]}))
            .build()
            .unwrap();
        let run = chat.run(ChatRun::new("go")).await.unwrap();
        let Outcome::Completed(completed) = run.outcome().await else {
            panic!("{:?}", events(&run).await);
        };
        assert_eq!(completed.text(), "Hello.");
        chat.drain(Duration::from_secs(1)).await;
    });
}

#[derive(Default)]
struct Listener {
    heard: Vec<String>,
    tell: Option<tokio::sync::oneshot::Sender<Vec<String>>>,
}

impl Actor for Listener {
    type Context = Context<Self>;
}

impl Handler<RunUpdate> for Listener {
    type Result = ();

    fn handle(&mut self, update: RunUpdate, _: &mut Self::Context) {
        match update {
            RunUpdate::Event { event, .. } => {
                let name = event.value()["type"].as_str().unwrap().to_owned();
                self.heard.push(name);
            }
            RunUpdate::Ended { .. } => {
                if let Some(tell) = self.tell.take() {
                    tell.send(std::mem::take(&mut self.heard)).unwrap();
                }
            }
            _ => {}
        }
    }
}

#[test]
fn another_actor_starts_a_run_and_hears_it_to_its_end() {
    on_system(async {
        let chat = builder(&json!({"turns": [{"text": ["Hello."]}]}))
            .build()
            .unwrap();
        let ask = chat.recipient().unwrap();
        let run = ask.send(ChatRun::new("go")).await.unwrap().unwrap();
        let (tell, told) = tokio::sync::oneshot::channel();
        let listener = Listener {
            tell: Some(tell),
            ..Listener::default()
        }
        .start();
        chat.subscribe(&run, After::Start, listener.recipient())
            .await
            .unwrap();
        assert_eq!(
            told.await.unwrap(),
            [
                "RUN_STARTED",
                "TEXT_MESSAGE_START",
                "TEXT_MESSAGE_CONTENT",
                "TEXT_MESSAGE_END",
                "RUN_FINISHED",
            ]
        );
    });
}

#[test]
fn a_run_does_not_get_further_ahead_of_its_starter_than_its_window() {
    on_system(async {
        let text: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let chat = builder(&json!({"turns": [{"text": text}]}))
            .build()
            .unwrap();
        let run = chat.run(ChatRun::new("go").window(8)).await.unwrap();
        let mut starter = run.cursor(After::Start, true);
        for _ in 0..3 {
            starter.next().await.unwrap().unwrap();
        }
        // As far as it gets without being read: the window, and what one step of the loop says.
        tokio::time::pause();
        tokio::time::sleep(Duration::from_secs(1)).await;
        tokio::time::resume();
        let mut others = run.subscribe(After::Start);
        let mut ahead = 0;
        while let Some(Some(_)) = futures_util::FutureExt::now_or_never(others.next()) {
            ahead += 1;
        }
        assert!((8..=16).contains(&ahead), "{ahead} events");
        assert!(!run.is_over());
        let rest = starter.collect::<Vec<_>>().await;
        assert_eq!(rest.len(), 104 - 3);
        assert!(is_completed(&run.outcome().await));
    });
}

#[test]
fn a_tool_that_reports_does_not_get_ahead_of_a_starter_that_does_not_read() {
    on_system(async {
        let said = Arc::new(Mutex::new(false));
        let all_said = Arc::clone(&said);
        let tool = Tool::raw(
            "report",
            json!({"type": "object"}),
            move |_: Value, cx: ToolCx| {
                let all_said = Arc::clone(&all_said);
                async move {
                    for n in 0..3_000 {
                        cx.emit("n", json!(n));
                        tokio::task::yield_now().await;
                    }
                    *all_said.lock().unwrap() = true;
                    Ok::<_, ToolError>("done")
                }
            },
        );
        let chat = builder(&script("report")).tool(tool).build().unwrap();
        let run = chat.run(ChatRun::new("go").window(8)).await.unwrap();
        let starter = run.cursor(After::Start, true);
        until("all is said", || *said.lock().unwrap()).await;
        let mut others = run.subscribe(After::Start);
        let mut ahead = 0;
        while let Some(Some(_)) = futures_util::FutureExt::now_or_never(others.next()) {
            ahead += 1;
        }
        assert!((8..=16).contains(&ahead), "{ahead} events");
        assert!(!run.is_over());
        run.cancel();
        assert!(matches!(run.outcome().await, Outcome::Cancelled));
        drop(starter);
    });
}
