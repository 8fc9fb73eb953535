//! The event log: order, re-attach, several readers, bounds, credit, leases and last words.

mod bounds;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt, Stream, StreamExt, task::noop_waker_ref};
use proptest::prelude::*;
use roscius_actors::{
    chat::{Chat, ChatRun},
    model::{Script, ScriptedModel},
    ports::event_log::{
        After, Batch, CloseReason, EventCursor, EventLog, Head, LogError, LogFuture, LogKey,
        LogOptions, LogWriter,
    },
    store::memory_log::{MemoryLog, MemoryLogLimits},
    tool::{Tool, ToolCx, ToolError},
    wire::{
        agui::{Event, EventKind},
        ids::{MessageId, Offset, Owner, RunId},
    },
};
use serde_json::{Value, json};
use tokio::time::timeout;

/// A memory log that is reached as a log of another process would be.
#[derive(Clone, Debug, Default)]
struct Distant(MemoryLog);

impl EventLog for Distant {
    fn open<'a>(&'a self, key: &'a LogKey, options: &'a LogOptions) -> LogFuture<'a, ()> {
        self.0.open(key, options)
    }
    fn append<'a>(&'a self, key: &'a LogKey, line: Bytes) -> LogFuture<'a, Offset> {
        self.0.append(key, line)
    }
    fn close<'a>(
        &'a self,
        key: &'a LogKey,
        last: Option<Bytes>,
        reason: CloseReason,
    ) -> LogFuture<'a, ()> {
        self.0.close(key, last, reason)
    }
    /// It cannot close without waiting, so the lease has to run out.
    fn abandon(&self, _key: &LogKey, _last: Bytes) {}
    fn renew<'a>(&'a self, key: &'a LogKey) -> LogFuture<'a, ()> {
        self.0.renew(key)
    }
    fn read<'a>(
        &'a self,
        key: &'a LogKey,
        after: Offset,
        max: usize,
        wait: Duration,
    ) -> LogFuture<'a, Batch> {
        self.0.read(key, after, max, wait)
    }
    fn head<'a>(&'a self, key: &'a LogKey) -> LogFuture<'a, Head> {
        self.0.head(key)
    }
}

fn near() -> Arc<dyn EventLog> {
    Arc::new(MemoryLog::new())
}

fn distant() -> Arc<dyn EventLog> {
    Arc::new(Distant::default())
}

fn key(run: &str) -> LogKey {
    LogKey::new(Owner::ANONYMOUS, RunId::from(run))
}

fn delta(number: u64) -> Event {
    Event::new(
        1,
        EventKind::TextMessageContent {
            message_id: MessageId::from("m"),
            delta: number.to_string(),
        },
    )
}

fn finished() -> Event {
    Event::new(
        1,
        EventKind::RunFinished {
            thread_id: "t".into(),
            run_id: "r".into(),
            result: None,
            outcome: None,
            usage: None,
        },
    )
}

async fn open(log: &Arc<dyn EventLog>, run: &str, options: LogOptions) -> LogWriter {
    LogWriter::open(log, key(run), options).await.unwrap()
}

fn reader(log: &Arc<dyn EventLog>, run: &str, after: After) -> EventCursor {
    EventCursor::new(log, key(run), after, false)
}

/// What a reader gets without waiting.
fn ready(cursor: &mut EventCursor) -> Vec<u64> {
    let mut cx = Context::from_waker(noop_waker_ref());
    let mut offsets = Vec::new();
    while let Poll::Ready(Some(Ok((offset, _)))) =
        std::pin::Pin::new(&mut *cursor).poll_next(&mut cx)
    {
        offsets.push(offset.0);
    }
    offsets
}

async fn rest(cursor: EventCursor) -> Vec<(u64, Event)> {
    let read = cursor.map(|item| {
        let (offset, line) = item.unwrap();
        (offset.0, serde_json::from_slice(&line).unwrap())
    });
    timeout(Duration::from_secs(60), read.collect())
        .await
        .expect("the stream ends")
}

fn error_code(event: &Event) -> Option<&str> {
    match &event.kind {
        EventKind::RunError { code, .. } => code.as_deref(),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn every_reader_gets_every_event_once_and_in_order() {
    for log in [near(), distant()] {
        let mut writer = open(&log, "r", LogOptions::default()).await;
        let early = reader(&log, "r", After::Start);
        for number in 1..=200 {
            assert_eq!(writer.append(&delta(number)).await.unwrap(), Offset(number));
        }
        let late = reader(&log, "r", After::Start);
        let middle = reader(&log, "r", After::Offset(Offset(150)));
        let now = reader(&log, "r", After::Now);
        let reading = tokio::spawn(async move {
            let offsets = |events: Vec<(u64, Event)>| {
                events.into_iter().map(|event| event.0).collect::<Vec<_>>()
            };
            (
                offsets(rest(early).await),
                offsets(rest(late).await),
                offsets(rest(middle).await),
                rest(now).await.len(),
            )
        });
        // Both kinds of log have then seen where "now" is.
        tokio::task::yield_now().await;
        for number in 201..=300 {
            writer.append(&delta(number)).await.unwrap();
        }
        writer.append(&finished()).await.unwrap();
        writer.close(CloseReason::Completed).await.unwrap();
        let (early, late, middle, now) = reading.await.unwrap();
        assert_eq!(early, (1..=301).collect::<Vec<_>>());
        assert_eq!(late, early);
        assert_eq!(middle, (151..=301).collect::<Vec<_>>());
        assert!(now >= 101 || log.local(&key("r")).is_none());
    }
}

#[tokio::test]
async fn a_finished_turn_does_not_end_the_stream_but_the_close_does() {
    let log = near();
    let mut writer = open(&log, "r", LogOptions::default()).await;
    let mut cursor = reader(&log, "r", After::Start);
    writer.append(&finished()).await.unwrap();
    assert_eq!(ready(&mut cursor), [1]);
    assert!(cursor.next().now_or_never().is_none(), "the run goes on");
    writer.append(&delta(2)).await.unwrap();
    writer.append(&finished()).await.unwrap();
    writer.close(CloseReason::Completed).await.unwrap();
    assert_eq!(ready(&mut cursor), [2, 3]);
    assert!(matches!(cursor.next().now_or_never(), Some(None)));
}

#[tokio::test]
async fn a_waiting_reader_is_woken_by_an_append_and_by_the_close() {
    let log = near();
    let mut writer = open(&log, "r", LogOptions::default()).await;
    let reading = tokio::spawn(rest(reader(&log, "r", After::Start)));
    tokio::task::yield_now().await;
    writer.append(&delta(1)).await.unwrap();
    tokio::task::yield_now().await;
    writer.append(&finished()).await.unwrap();
    tokio::task::yield_now().await;
    assert!(!reading.is_finished());
    writer.close(CloseReason::Completed).await.unwrap();
    assert_eq!(reading.await.unwrap().len(), 2);
}

#[tokio::test]
async fn nothing_follows_a_run_error() {
    let log = near();
    let mut writer = open(&log, "r", LogOptions::default()).await;
    writer
        .append(&Event::run_error(1, "no", None))
        .await
        .unwrap();
    let refused = writer.append(&delta(2)).await;
    assert!(matches!(refused, Err(LogError::Closed)));
    writer.close(CloseReason::Failed).await.unwrap();
    assert_eq!(rest(reader(&log, "r", After::Start)).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_is_dropped_says_producer_lost() {
    for log in [near(), distant()] {
        let mut writer = open(&log, "r", LogOptions::default()).await;
        writer.append(&finished()).await.unwrap();
        let cursor = reader(&log, "r", After::Start);
        drop(writer);
        let events = rest(cursor).await;
        assert_eq!(events.len(), 2);
        assert_eq!(events[1].0, 2);
        assert_eq!(error_code(&events[1].1), Some("producer_lost"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_renewed_lease_keeps_a_silent_producer_alive() {
    let log = distant();
    let writer = open(&log, "r", LogOptions::default()).await;
    let lease = writer.lease().unwrap();
    assert_eq!(lease.every(), Duration::from_secs(10));
    let reading = tokio::spawn(rest(reader(&log, "r", After::Start)));
    // 50 seconds are more than a lease and less than the patience of `rest`.
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_secs(25)).await;
        lease.renew().await.unwrap();
    }
    assert!(!reading.is_finished());
    writer.close(CloseReason::Cancelled).await.unwrap();
    let events = reading.await.unwrap();
    assert_eq!(error_code(&events[0].1), Some("aborted"));
}

#[test]
fn a_run_whose_tool_is_silent_for_longer_than_a_lease_keeps_its_log() {
    let slow = Tool::raw(
        "slow",
        json!({"type": "object"}),
        |_: Value, _: ToolCx| async {
            tokio::time::sleep(Duration::from_millis(400)).await;
            Ok::<_, ToolError>("done")
        },
    );
    let script = json!({"turns": [{"toolCalls": [{"id": "c", "name": "slow", "arguments": {}}]}]});
    let mut options = LogOptions::default();
    options.lease = Duration::from_millis(100);
    let chat = Chat::builder(ScriptedModel::from_script(
        Script::from_value(&script).unwrap(),
    ))
    .tool(slow)
    .event_log(distant())
    .log_options(options)
    .build()
    .unwrap();
    let events = actix::System::new().block_on(async {
        let run = chat.run(ChatRun::new("hi")).await.unwrap();
        rest(run.cursor(After::Start, false)).await
    });
    let (_, last) = events.last().unwrap();
    assert_eq!(last.kind.name(), "RUN_FINISHED", "{last:?}");
}

#[tokio::test]
async fn a_close_without_a_terminal_event_adds_one() {
    for (reason, code) in [
        (CloseReason::Completed, "incomplete"),
        (CloseReason::Cancelled, "aborted"),
    ] {
        let log = near();
        let mut writer = open(&log, "r", LogOptions::default()).await;
        writer.append(&delta(1)).await.unwrap();
        writer.close(reason).await.unwrap();
        let events = rest(reader(&log, "r", After::Start)).await;
        assert_eq!(error_code(&events[1].1), Some(code));
    }
}

#[tokio::test]
async fn a_second_close_changes_nothing() {
    let log = near();
    let writer = open(&log, "r", LogOptions::default()).await;
    writer.close(CloseReason::Failed).await.unwrap();
    let before = log.head(&key("r")).await.unwrap();
    log.close(
        &key("r"),
        Some(Bytes::from_static(b"{}")),
        CloseReason::Completed,
    )
    .await
    .unwrap();
    assert_eq!(log.head(&key("r")).await.unwrap(), before);
}

#[tokio::test]
async fn a_taken_id_is_refused_but_not_to_another_owner() {
    let log = near();
    let _writer = open(&log, "r", LogOptions::default()).await;
    let again = LogWriter::open(&log, key("r"), LogOptions::default()).await;
    assert!(again.unwrap_err().is_exists());
    let other = LogKey::new(Owner::new("ada"), RunId::from("r"));
    assert!(
        LogWriter::open(&log, other.clone(), LogOptions::default())
            .await
            .is_ok()
    );
    let mut foreign = reader(&log, "x", After::Start);
    assert!(matches!(foreign.next().await, Some(Err(LogError::Unknown))));
    assert!(foreign.next().await.is_none());
}

#[derive(Clone, Debug)]
enum Step {
    Append,
    Attach { after: u64 },
    Read { reader: usize, count: usize },
    Detach { reader: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Append),
        1 => (0_u64..40).prop_map(|after| Step::Attach { after }),
        4 => (0_usize..4, 1_usize..6).prop_map(|(reader, count)| Step::Read { reader, count }),
        1 => (0_usize..4).prop_map(|reader| Step::Detach { reader }),
    ]
}

proptest! {
    #[test]
    fn readers_see_a_gapless_sequence_or_are_told(steps in prop::collection::vec(step(), 1..200)) {
        let log = near();
        let mut options = LogOptions::default();
        options.max_events = 16;
        let mut writer = open(&log, "r", options).now_or_never().unwrap();
        let mut head = 0_u64;
        // Each reader with the offset of the last event it has read.
        let mut readers: VecDeque<(EventCursor, u64)> = VecDeque::new();
        let mut told = BTreeMap::new();
        for step in steps {
            match step {
                Step::Append => {
                    head += 1;
                    let offset = writer.append(&delta(head)).now_or_never().unwrap().unwrap();
                    prop_assert_eq!(offset.0, head);
                }
                Step::Attach { after } if readers.len() < 4 => {
                    let cursor = reader(&log, "r", After::Offset(Offset(after)));
                    readers.push_back((cursor, after.min(head)));
                }
                Step::Read { reader, count } => {
                    let Some((cursor, position)) = readers.get_mut(reader) else { continue };
                    for _ in 0..count {
                        let oldest = head.saturating_sub(16);
                        match cursor.next().now_or_never() {
                            None => prop_assert_eq!(*position, head),
                            Some(Some(Ok((offset, line)))) => {
                                *position += 1;
                                prop_assert_eq!(offset.0, *position);
                                let event: Event = serde_json::from_slice(&line).unwrap();
                                prop_assert_eq!(event, delta(offset.0));
                            }
                            Some(Some(Err(LogError::Lagged { first }))) => {
                                prop_assert!(*position < oldest);
                                prop_assert_eq!(first.0, oldest + 1);
                                told.insert(reader, first.0);
                                break;
                            }
                            Some(None) => {
                                prop_assert!(told.contains_key(&reader));
                                break;
                            }
                            Some(Some(Err(error))) => prop_assert!(false, "{error}"),
                        }
                    }
                }
                Step::Detach { reader } => {
                    if reader < readers.len() {
                        readers.remove(reader);
                        told.clear();
                        // Places have moved, so who has been told is known only by lagging again.
                        readers.retain(|(_, position)| *position >= head.saturating_sub(16));
                    }
                }
                Step::Attach { .. } => {}
            }
        }
    }
}
