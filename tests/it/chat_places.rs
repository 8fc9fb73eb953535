//! Runs that begin where nothing can live any more, or that never begin.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use roscius_actors::{
    chat::ChatRun,
    ports::event_log::{
        Batch, CloseReason, EventLog, Head, LogError, LogFuture, LogKey, LogOptions,
    },
    run::Outcome,
    store::memory_log::MemoryLog,
    wire::ids::Offset,
};
use tokio::{sync::Notify, time::Instant};

use crate::chat_world::{Gate, SOON, builder, on_system, script, until};

#[test]
fn a_thread_whose_system_has_ended_starts_runs_elsewhere() {
    let gate = Gate::open();
    let chat = builder(&script("act"))
        .tool(gate.tool("act"))
        .build()
        .unwrap();
    let started = std::thread::spawn(move || {
        actix::System::new().block_on(async {});
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let outside = futures_util::FutureExt::now_or_never(chat.run(ChatRun::new("go")));
        assert!(outside.is_none_or(|run| run.is_ok()));
        runtime.block_on(async {
            let run = chat.run(ChatRun::new("go")).await.unwrap();
            tokio::time::timeout(SOON, run.outcome()).await
        })
    });
    let outcome = started.join().unwrap().unwrap();
    assert!(matches!(outcome, Outcome::Completed(_)), "{outcome:?}");
}

/// A log that cannot be opened, and takes its time to say so.
#[derive(Debug, Default)]
struct Broken {
    inner: MemoryLog,
    asked: Notify,
    answer: Notify,
}

impl EventLog for Broken {
    fn open<'a>(&'a self, _: &'a LogKey, _: &'a LogOptions) -> LogFuture<'a, ()> {
        Box::pin(async {
            self.asked.notify_one();
            self.answer.notified().await;
            Err(LogError::Closed)
        })
    }
    fn append<'a>(&'a self, key: &'a LogKey, line: Bytes) -> LogFuture<'a, Offset> {
        self.inner.append(key, line)
    }
    fn close<'a>(
        &'a self,
        key: &'a LogKey,
        last: Option<Bytes>,
        reason: CloseReason,
    ) -> LogFuture<'a, ()> {
        self.inner.close(key, last, reason)
    }
    fn abandon(&self, key: &LogKey, last: Bytes) {
        self.inner.abandon(key, last);
    }
    fn renew<'a>(&'a self, key: &'a LogKey) -> LogFuture<'a, ()> {
        self.inner.renew(key)
    }
    fn read<'a>(
        &'a self,
        key: &'a LogKey,
        after: Offset,
        max: usize,
        wait: Duration,
    ) -> LogFuture<'a, Batch> {
        self.inner.read(key, after, max, wait)
    }
    fn head<'a>(&'a self, key: &'a LogKey) -> LogFuture<'a, Head> {
        self.inner.head(key)
    }
}

#[test]
fn a_drain_does_not_wait_for_a_run_whose_log_cannot_be_opened() {
    let log = Arc::new(Broken::default());
    let gate = Gate::open();
    let chat = builder(&script("act"))
        .tool(gate.tool("act"))
        .event_log(log.clone())
        .build()
        .unwrap();
    on_system(async {
        let (starting, starter) = (chat.clone(), chat.clone());
        let run = actix::spawn(async move { starting.run(ChatRun::new("go")).await.is_err() });
        log.asked.notified().await;
        until("the run is admitted", || starter.open_runs() == 1).await;
        let begun = Instant::now();
        let drained = actix::spawn(async move { starter.drain(SOON).await });
        tokio::task::yield_now().await;
        log.answer.notify_one();
        drained.await.unwrap();
        assert!(begun.elapsed() < SOON / 2, "{:?}", begun.elapsed());
        assert!(run.await.unwrap(), "the caller hears of it");
        assert_eq!(chat.open_runs(), 0);
    });
}
