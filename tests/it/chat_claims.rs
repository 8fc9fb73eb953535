//! Who holds a pause when answers come late, twice, or after an attempt that failed.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use roscius_actors::{
    chat::{Chat, ChatRun},
    ports::{
        clock::SystemClock,
        run_store::{
            Claim, ResumedBy, RunRecord, RunState, RunStore, StoreError, StoreFuture, StoredRun,
        },
    },
    run::Outcome,
    store::memory_runs::{MemoryRuns, MemoryRunsLimits},
    wire::ids::{Owner, RunId},
};
use serde_json::json;

use crate::chat_world::{
    Gate, Paused, builder, error_codes, events, is_completed, on_system, results, until,
};

/// Keeps runs in memory, and fails to put one down when it is told to.
#[derive(Debug)]
struct Failing {
    runs: MemoryRuns,
    /// Updates that still succeed.
    left: AtomicUsize,
}

impl Failing {
    fn new() -> Arc<Self> {
        let runs = MemoryRuns::with(MemoryRunsLimits::default(), Arc::new(SystemClock));
        let left = AtomicUsize::new(usize::MAX);
        Arc::new(Self { runs, left })
    }

    fn fail_after(&self, updates: usize) {
        self.left.store(updates, Ordering::SeqCst);
    }
}

impl RunStore for Failing {
    fn insert(&self, record: RunRecord) -> StoreFuture<'_, bool> {
        self.runs.insert(record)
    }

    fn update(&self, record: RunRecord) -> StoreFuture<'_, ()> {
        let left = self.left.fetch_sub(1, Ordering::SeqCst);
        if left > 0 {
            return self.runs.update(record);
        }
        self.fail_after(0);
        let full = StoreError(Arc::new(std::io::Error::other("full")));
        Box::pin(std::future::ready(Err(full)))
    }

    fn get<'a>(&'a self, owner: &'a Owner, run: &'a RunId) -> StoreFuture<'a, Option<StoredRun>> {
        self.runs.get(owner, run)
    }

    fn resume<'a>(
        &'a self,
        owner: &'a Owner,
        run: &'a RunId,
        by: ResumedBy,
        instead_of: Option<&'a RunId>,
    ) -> StoreFuture<'a, Claim> {
        self.runs.resume(owner, run, by, instead_of)
    }
}

/// A chat that pauses for the approval of `c1` and then for that of `c2`.
fn twice_approving(gate: &Gate, store: Arc<dyn RunStore>) -> Chat {
    let script = json!({"turns": [
        {"toolCalls": [{"id": "c1", "name": "transfer", "arguments": {"amount": 1}}]},
        {"toolCalls": [{"id": "c2", "name": "transfer", "arguments": {"amount": 2}}]},
        {"text": ["Done."]},
    ]});
    let tool = gate.tool("transfer").needs_approval(true);
    builder(&script)
        .tool(tool)
        .run_store(store)
        .build()
        .unwrap()
}

fn approve_next(run: &RunId) -> ChatRun {
    ChatRun::resume(run).answer("approval_c2", json!({"approved": true}))
}

#[test]
fn late_answers_of_a_pause_that_has_gone_on_run_nothing_again() {
    on_system(async {
        let gate = Gate::open();
        let chat = twice_approving(&gate, Failing::new());
        let paused = Paused::of(&chat).await;
        let first = chat.run(paused.approve()).await.unwrap();
        assert!(matches!(first.outcome().await, Outcome::Interrupted(_)));
        let second = chat.run(approve_next(first.id())).await.unwrap();
        assert!(is_completed(&second.outcome().await));
        assert_eq!(gate.begun(), 2);
        for answer in [true, true, false] {
            let late = paused.answer("approval_c1", json!({"approved": answer}));
            let seen = events(&chat.run(late).await.unwrap()).await;
            assert_eq!(error_codes(&seen), ["batch conflict"], "{seen:?}");
        }
        assert_eq!(gate.begun(), 2);
    });
}

#[test]
fn a_retry_that_cannot_be_put_down_forgets_nothing() {
    on_system(async {
        // Both what it inherits and where it begins may fail.
        for succeed in [0, 1] {
            let gate = Gate::open();
            let store = Failing::new();
            let chat = twice_approving(&gate, Arc::clone(&store) as Arc<dyn RunStore>);
            let paused = Paused::of(&chat).await;
            let first = chat.run(paused.approve()).await.unwrap();
            assert!(matches!(first.outcome().await, Outcome::Interrupted(_)));
            store.fail_after(succeed);
            let broken = chat.run(paused.approve()).await.unwrap();
            assert!(matches!(broken.outcome().await, Outcome::Failed(_)));
            store.fail_after(usize::MAX);
            for answer in [true, false] {
                let late = paused.answer("approval_c1", json!({"approved": answer}));
                let late = chat.run(late).await.unwrap();
                let ended = late.outcome().await;
                assert!(!is_completed(&ended), "{succeed} {ended:?}");
            }
            assert_eq!(gate.begun(), 1, "{succeed}");
        }
    });
}

#[test]
fn equal_answers_that_come_together_after_another_pause_are_not_refused() {
    on_system(async {
        let gate = Gate::open();
        let chat = twice_approving(&gate, Failing::new());
        let paused = Paused::of(&chat).await;
        let first = chat.run(paused.approve()).await.unwrap();
        assert!(matches!(first.outcome().await, Outcome::Interrupted(_)));
        let both = [
            chat.run(paused.approve()).await.unwrap(),
            chat.run(paused.approve()).await.unwrap(),
        ];
        for run in &both {
            let ended = run.outcome().await;
            assert!(matches!(ended, Outcome::Interrupted(_)), "{ended:?}");
        }
        assert_eq!(gate.begun(), 1);
    });
}

/// A slow call and one that waits for approval, in one turn, and a store.
struct Side {
    slow: Gate,
    gate: Gate,
    store: Arc<Failing>,
}

impl Side {
    fn new() -> Self {
        Self {
            slow: Gate::shut(),
            gate: Gate::open(),
            store: Failing::new(),
        }
    }

    fn chat(&self, approved: &str) -> Chat {
        let script = json!({"turns": [
            {"toolCalls": [
                {"id": "c0", "name": "slow", "arguments": {}},
                {"id": "c1", "name": approved, "arguments": {"id": 3}},
            ]},
            {"text": ["Done."]},
        ]});
        builder(&script)
            .tool(self.slow.tool("slow"))
            .tool(self.gate.tool("transfer").needs_approval(true))
            .tool(
                roscius_actors::tool::Tool::client("locate", json!({"type": "object"}))
                    .needs_approval(true),
            )
            .run_store(Arc::clone(&self.store) as Arc<dyn RunStore>)
            .build()
            .unwrap()
    }

    /// Answers, and fails before the approved call has begun.
    async fn fails(&self, chat: &Chat, answer: ChatRun) {
        let run = chat.run(answer).await.unwrap();
        until("the slow call has begun", || self.slow.begun() == 1).await;
        self.store.fail_after(0);
        self.slow.let_pass(1);
        assert!(matches!(run.outcome().await, Outcome::Failed(_)));
        self.store.fail_after(usize::MAX);
        assert_eq!(self.gate.begun(), 0);
    }
}

#[test]
fn arguments_that_were_edited_for_an_attempt_that_failed_are_forgotten() {
    on_system(async {
        let side = Side::new();
        let chat = side.chat("transfer");
        let paused = Paused::of(&chat).await;
        let edited = json!({"approved": true, "editedArgs": {"id": 4}});
        side.fails(&chat, paused.answer("approval_c1", edited))
            .await;
        let seen = events(&chat.run(paused.approve()).await.unwrap()).await;
        let ran: Vec<&str> = results(&seen);
        assert!(ran.contains(&r#"{"ran":{"id":3}}"#), "{ran:?}");
        assert_eq!(side.gate.begun(), 1);
    });
}

#[test]
fn a_denial_counts_after_an_approval_for_the_browser_that_failed() {
    on_system(async {
        let side = Side::new();
        let chat = side.chat("locate");
        let paused = Paused::of(&chat).await;
        side.fails(&chat, paused.approve()).await;
        let deny = paused.answer("approval_c1", json!({"approved": false}));
        let run = chat.run(deny).await.unwrap();
        let seen = events(&run).await;
        assert!(is_completed(&run.outcome().await), "{seen:?}");
        let told = results(&seen).concat();
        assert!(told.contains("declined"), "{told}");
    });
}

#[test]
fn a_pause_that_was_moved_is_put_down_at_once() {
    on_system(async {
        let gate = Gate::open();
        let store = Failing::new();
        let chat = twice_approving(&gate, Arc::clone(&store) as Arc<dyn RunStore>);
        let paused = Paused::of(&chat).await;
        store.fail_after(1);
        let moved = ChatRun::new(paused.rows.clone()).thread("t");
        let moved = chat.run(moved).await.unwrap();
        assert!(matches!(moved.outcome().await, Outcome::Failed(_)));
        let stored = store.get(moved.owner(), moved.id()).await.unwrap();
        let record = stored.and_then(|stored| stored.record).unwrap();
        assert_eq!(record.state, RunState::Running);
        assert_eq!(record.pending.len(), 1);
    });
}
