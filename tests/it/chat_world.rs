//! A chat of its own for each test: a script, tools that count, and a gate to hold them at.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt;
use roscius_actors::{
    chat::{Chat, ChatBuilder, ChatRun},
    machine::seal::SealKey,
    model::scripted::{Script, ScriptedModel},
    ports::event_log::After,
    run::{Outcome, RunHandle},
    tool::{Tool, ToolCx, ToolError},
    wire::agui::Row,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// Nothing here waits longer for anything.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// Runs futures on a thread that actors can live on.
pub(crate) fn on_system<T>(work: impl Future<Output = T>) -> T {
    actix::System::new().block_on(async {
        tokio::time::timeout(SOON * 3, work)
            .await
            .expect("the test has come to its end in time")
    })
}

/// Counts and holds calls.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) begun: Arc<AtomicUsize>,
    pub(crate) done: Arc<AtomicUsize>,
    open: Arc<Semaphore>,
}

impl Gate {
    /// Lets every call pass.
    pub(crate) fn open() -> Self {
        Self::with(Semaphore::MAX_PERMITS)
    }

    /// Holds calls until they are let pass.
    pub(crate) fn shut() -> Self {
        Self::with(0)
    }

    fn with(permits: usize) -> Self {
        Self {
            begun: Arc::default(),
            done: Arc::default(),
            open: Arc::new(Semaphore::new(permits)),
        }
    }

    pub(crate) fn let_pass(&self, calls: usize) {
        self.open.add_permits(calls);
    }

    pub(crate) fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    pub(crate) fn done(&self) -> usize {
        self.done.load(Ordering::SeqCst)
    }

    async fn pass(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.open.acquire().await.expect("never closed").forget();
        self.done.fetch_add(1, Ordering::SeqCst);
    }

    /// A tool that passes the gate and returns its arguments.
    pub(crate) fn tool(&self, name: &str) -> Tool {
        let gate = self.clone();
        let schema = json!({"type": "object"});
        Tool::raw(name, schema, move |arguments: Value, _: ToolCx| {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                Ok::<_, ToolError>(json!({"ran": arguments}))
            }
        })
    }

    /// A tool that asks for a city and then passes the gate.
    pub(crate) fn asking(&self, name: &str) -> Tool {
        let gate = self.clone();
        let schema = json!({"type": "object"});
        Tool::raw(name, schema, move |_: Value, cx: ToolCx| {
            let gate = gate.clone();
            async move {
                let city = cx.request_input("Which city?").await?;
                gate.pass().await;
                Ok::<_, ToolError>(json!({"city": city}))
            }
        })
    }
}

/// Waits until something is true.
pub(crate) async fn until(what: &str, is_true: impl Fn() -> bool) {
    let met = async {
        while !is_true() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(tokio::time::timeout(SOON, met).await.is_ok(), "{what}");
}

/// One call, then a text.
pub(crate) fn script(tool: &str) -> Value {
    json!({"turns": [
        {"toolCalls": [{"id": "c1", "name": tool, "arguments": {"amount": 1}}]},
        {"text": ["Done."]},
    ]})
}

pub(crate) fn builder(script: &Value) -> ChatBuilder {
    let script = Script::from_value(script).expect("a script");
    Chat::builder(ScriptedModel::from_script(script)).state_key(key())
}

pub(crate) fn key() -> SealKey {
    SealKey::from_bytes([9; 32])
}

/// A chat whose one tool needs approval and passes the gate.
pub(crate) fn approving(gate: &Gate) -> Chat {
    let tool = gate.tool("transfer").needs_approval(true);
    builder(&script("transfer"))
        .tool(tool)
        .build()
        .expect("a chat")
}

pub(crate) async fn events(run: &RunHandle) -> Vec<Value> {
    let all = run
        .subscribe(After::Start)
        .map(|(_, event)| event.value())
        .collect();
    tokio::time::timeout(SOON, all)
        .await
        .expect("the stream has ended")
}

pub(crate) fn names(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect()
}

/// Reads until an event of this name.
pub(crate) async fn read_to(run: &RunHandle, name: &str) {
    let mut events = run.subscribe(After::Start);
    let found = async {
        while let Some((_, event)) = events.next().await {
            if event.value()["type"] == name {
                return true;
            }
        }
        false
    };
    assert!(
        tokio::time::timeout(SOON, found)
            .await
            .is_ok_and(|found| found),
        "{name}"
    );
}

/// What a client shows after a run: its last snapshot, seal included.
pub(crate) fn snapshot(events: &[Value]) -> Vec<Row> {
    let last = events
        .iter()
        .rev()
        .find(|event| event["type"] == "MESSAGES_SNAPSHOT")
        .expect("a snapshot");
    serde_json::from_value(last["messages"].clone()).expect("rows")
}

pub(crate) fn error_codes(events: &[Value]) -> Vec<String> {
    let errors = &events[0]["metadata"]["tanstack"]["interruptErrors"];
    let of = |error: &Value| format!("{} {}", error["scope"], error["code"]).replace('"', "");
    errors.as_array().into_iter().flatten().map(of).collect()
}

pub(crate) fn results(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter(|event| event["type"] == "TOOL_CALL_RESULT")
        .filter_map(|event| event["content"].as_str())
        .collect()
}

pub(crate) fn is_completed(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Completed(_))
}

/// A paused run, as its client has it.
pub(crate) struct Paused {
    pub(crate) run: RunHandle,
    pub(crate) rows: Vec<Row>,
}

impl Paused {
    pub(crate) async fn of(chat: &Chat) -> Self {
        let run = chat
            .run(ChatRun::new("go").thread("t"))
            .await
            .expect("a run");
        let seen = events(&run).await;
        assert!(
            matches!(run.outcome().await, Outcome::Interrupted(_)),
            "{seen:?}"
        );
        Self {
            run,
            rows: snapshot(&seen),
        }
    }

    /// A continuation as the client posts it.
    pub(crate) fn answer(&self, question: &str, payload: Value) -> ChatRun {
        ChatRun::resume(self.run.id())
            .thread("t")
            .messages(self.rows.clone())
            .answer(question, payload)
    }

    pub(crate) fn approve(&self) -> ChatRun {
        self.answer("approval_c1", json!({"approved": true}))
    }
}
