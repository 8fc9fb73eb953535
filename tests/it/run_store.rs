//! The store of paused runs: one resume wins, owners are apart, what is old or too much is gone.

use std::{sync::Arc, time::Duration};

use roscius_actors::{
    ports::{
        clock::ManualClock,
        run_store::{Claim, ResumedBy, RunRecord, RunState, RunStore},
    },
    store::memory_runs::{MemoryRuns, MemoryRunsLimits},
    wire::{
        agui::Row,
        ids::{MessageId, Owner, RunId, ThreadId},
    },
};

const HOUR: Duration = Duration::from_secs(3600);

fn record(owner: &Owner, run: &str) -> RunRecord {
    RunRecord {
        owner: owner.clone(),
        thread_id: ThreadId::from("t"),
        run_id: RunId::from(run),
        parent: None,
        rows: vec![Row::user(&MessageId::from("m"), "x".repeat(100))],
        pending: Vec::new(),
        state: RunState::Interrupted,
        created_at: 1,
    }
}

fn by(child: &str, digest: &str) -> ResumedBy {
    ResumedBy {
        child: RunId::from(child),
        digest: digest.to_owned(),
    }
}

fn world(limits: MemoryRunsLimits) -> (Arc<ManualClock>, MemoryRuns) {
    let clock = Arc::new(ManualClock::at(1_000));
    let runs = MemoryRuns::with(limits, clock.clone());
    (clock, runs)
}

async fn resume(runs: &MemoryRuns, run: &str, claim: ResumedBy, instead_of: Option<&str>) -> Claim {
    let instead_of = instead_of.map(RunId::from);
    runs.resume(
        &Owner::ANONYMOUS,
        &RunId::from(run),
        claim,
        instead_of.as_ref(),
    )
    .await
    .unwrap()
}

#[tokio::test]
async fn one_resume_wins_and_the_other_learns_whose_it_is() {
    let (_clock, runs) = world(MemoryRunsLimits::default());
    assert!(runs.insert(record(&Owner::ANONYMOUS, "r")).await.unwrap());
    assert!(matches!(
        resume(&runs, "r", by("a", "1"), None).await,
        Claim::Taken(_)
    ));
    assert_eq!(
        resume(&runs, "r", by("b", "2"), None).await,
        Claim::Held(by("a", "1"))
    );
    let kept = runs
        .get(&Owner::ANONYMOUS, &RunId::from("r"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(kept.resumed, Some(by("a", "1")));
}

#[tokio::test]
async fn a_retry_takes_over_from_the_child_that_it_names_and_from_no_other() {
    let (_clock, runs) = world(MemoryRunsLimits::default());
    runs.insert(record(&Owner::ANONYMOUS, "r")).await.unwrap();
    resume(&runs, "r", by("a", "1"), None).await;
    assert!(matches!(
        resume(&runs, "r", by("b", "1"), Some("a")).await,
        Claim::Taken(_)
    ));
    assert_eq!(
        resume(&runs, "r", by("c", "1"), Some("a")).await,
        Claim::Held(by("b", "1")),
        "two retries of one child: the second is told of the first"
    );
    assert_eq!(runs.marks(), 1);
}

#[tokio::test]
async fn a_foreign_owner_finds_nothing() {
    let (_clock, runs) = world(MemoryRunsLimits::default());
    let (ada, ben) = (Owner::new("ada"), Owner::new("ben"));
    runs.insert(record(&ada, "r")).await.unwrap();
    let run = RunId::from("r");
    assert_eq!(runs.get(&ben, &run).await.unwrap(), None);
    assert_eq!(
        runs.resume(&ben, &run, by("a", "1"), None).await.unwrap(),
        Claim::Unknown
    );
    assert!(
        runs.insert(record(&ben, "r")).await.unwrap(),
        "the same id is free for another owner"
    );
}

#[tokio::test]
async fn a_recorded_run_is_not_recorded_again_but_updated() {
    let (_clock, runs) = world(MemoryRunsLimits::default());
    runs.insert(record(&Owner::ANONYMOUS, "r")).await.unwrap();
    resume(&runs, "r", by("a", "1"), None).await;
    assert!(!runs.insert(record(&Owner::ANONYMOUS, "r")).await.unwrap());
    let mut changed = record(&Owner::ANONYMOUS, "r");
    changed.state = RunState::Completed;
    runs.update(changed.clone()).await.unwrap();
    let kept = runs
        .get(&Owner::ANONYMOUS, &changed.run_id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(kept.record.unwrap().state, RunState::Completed);
    assert_eq!(kept.resumed, Some(by("a", "1")), "the mark stays");
}

#[tokio::test]
async fn open_pauses_live_a_day_and_marks_a_week() {
    let (clock, runs) = world(MemoryRunsLimits::default());
    runs.insert(record(&Owner::ANONYMOUS, "open"))
        .await
        .unwrap();
    runs.insert(record(&Owner::ANONYMOUS, "taken"))
        .await
        .unwrap();
    resume(&runs, "taken", by("a", "1"), None).await;
    clock.advance(23 * HOUR);
    assert_eq!((runs.records(), runs.marks()), (2, 1));
    clock.advance(HOUR);
    assert_eq!((runs.records(), runs.marks()), (0, 1));
    assert_eq!(
        resume(&runs, "open", by("b", "1"), None).await,
        Claim::Unknown
    );
    assert_eq!(
        resume(&runs, "taken", by("b", "2"), None).await,
        Claim::Held(by("a", "1"))
    );
    clock.advance(6 * 24 * HOUR);
    assert_eq!(runs.marks(), 0);
    assert_eq!(
        resume(&runs, "taken", by("b", "2"), None).await,
        Claim::Unknown
    );
}

#[tokio::test]
async fn what_is_too_much_goes_oldest_first() {
    let mut limits = MemoryRunsLimits::default();
    limits.max_records = 2;
    let (_clock, runs) = world(limits);
    for run in ["a", "b", "c"] {
        runs.insert(record(&Owner::ANONYMOUS, run)).await.unwrap();
    }
    assert_eq!(runs.records(), 2);
    assert_eq!(resume(&runs, "a", by("x", "1"), None).await, Claim::Unknown);
    assert!(matches!(
        resume(&runs, "c", by("x", "1"), None).await,
        Claim::Taken(_)
    ));

    let mut limits = MemoryRunsLimits::default();
    limits.max_record_bytes = 400;
    let (_clock, runs) = world(limits);
    for run in ["a", "b", "c", "d"] {
        runs.insert(record(&Owner::ANONYMOUS, run)).await.unwrap();
    }
    assert!(runs.records() < 4 && runs.records() > 0);

    let mut limits = MemoryRunsLimits::default();
    limits.max_marks = 1;
    let (clock, runs) = world(limits);
    for run in ["a", "b"] {
        runs.insert(record(&Owner::ANONYMOUS, run)).await.unwrap();
    }
    resume(&runs, "a", by("x", "1"), None).await;
    let b = RunId::from("b");
    let refused = runs.resume(&Owner::ANONYMOUS, &b, by("x", "1"), None).await;
    assert!(
        refused.unwrap_err().0.to_string().contains("max_marks"),
        "a young mark is not given up: its pause could be resumed twice"
    );
    assert_eq!(
        resume(&runs, "a", by("y", "2"), None).await,
        Claim::Held(by("x", "1"))
    );
    assert!(
        matches!(
            resume(&runs, "a", by("y", "1"), Some("x")).await,
            Claim::Taken(_)
        ),
        "a retry needs no room"
    );
    clock.advance(24 * HOUR);
    runs.insert(record(&Owner::ANONYMOUS, "b")).await.unwrap();
    assert!(matches!(
        resume(&runs, "b", by("x", "1"), None).await,
        Claim::Taken(_)
    ));
    assert_eq!(
        (runs.records(), runs.marks()),
        (1, 1),
        "a record goes with its mark"
    );
}

#[tokio::test]
async fn a_record_survives_being_written_down() {
    let kept = record(&Owner::new("ada"), "r");
    let text = serde_json::to_string(&kept).unwrap();
    assert_eq!(serde_json::from_str::<RunRecord>(&text).unwrap(), kept);
}
