//! How much a log holds, and who waits for whom.

use super::*;

#[tokio::test]
async fn the_producer_waits_for_the_reader_that_started_the_run() {
    let log = near();
    let mut options = LogOptions::default();
    options.window = Some(4);
    let mut writer = open(&log, "r", options).await;
    for number in 1..=4 {
        assert!(writer.credit().now_or_never().is_some());
        writer.append(&delta(number)).await.unwrap();
    }
    assert!(
        writer.credit().now_or_never().is_none(),
        "counted from the start before it attaches"
    );
    let mut other = reader(&log, "r", After::Start);
    ready(&mut other);
    assert!(
        writer.credit().now_or_never().is_none(),
        "another reader gives no credit"
    );
    let mut starting = EventCursor::new(&log, key("r"), After::Start, true);
    let waiting = tokio::spawn(async move {
        writer.credit().await;
        writer
    });
    tokio::task::yield_now().await;
    starting.next().await.unwrap().unwrap();
    tokio::task::yield_now().await;
    assert!(
        !waiting.is_finished(),
        "woken at half a window, not at each event"
    );
    starting.next().await.unwrap().unwrap();
    starting.next().await.unwrap().unwrap();
    let writer = timeout(Duration::from_secs(5), waiting)
        .await
        .unwrap()
        .unwrap();
    assert!(writer.credit().now_or_never().is_some());
}

#[tokio::test]
async fn a_starting_reader_that_goes_away_sets_the_producer_free() {
    let log = near();
    let mut options = LogOptions::default();
    options.window = Some(1);
    let mut writer = open(&log, "r", options).await;
    let starting = EventCursor::new(&log, key("r"), After::Start, true);
    writer.append(&delta(1)).await.unwrap();
    let waiting = tokio::spawn(async move { writer.credit().await });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    drop(starting);
    timeout(Duration::from_secs(5), waiting)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn credit_counts_bytes_too() {
    let log = near();
    let mut options = LogOptions::default();
    options.window = Some(256);
    options.max_bytes = 1000;
    let mut writer = open(&log, "r", options).await;
    let mut starting = EventCursor::new(&log, key("r"), After::Start, true);
    let big = Event::run_error(1, "x".repeat(600), None);
    writer
        .append(&Event {
            kind: EventKind::Custom {
                name: "x".repeat(600),
                value: 1.into(),
            },
            ..big
        })
        .await
        .unwrap();
    assert!(writer.credit().now_or_never().is_none());
    assert_eq!(ready(&mut starting), [1]);
    assert!(writer.credit().now_or_never().is_some());
}

#[tokio::test]
async fn a_full_log_forgets_and_the_slow_reader_is_told() {
    let log = near();
    let mut options = LogOptions::default();
    options.max_events = 10;
    let mut writer = open(&log, "r", options).await;
    let mut slow = reader(&log, "r", After::Start);
    let mut quick = reader(&log, "r", After::Start);
    for number in 1..=25 {
        writer.append(&delta(number)).await.unwrap();
        assert_eq!(ready(&mut quick), [number]);
    }
    let lagged = slow.next().await.unwrap().unwrap_err();
    let LogError::Lagged { first } = lagged else {
        panic!("{lagged}");
    };
    assert_eq!(first, Offset(16));
    assert!(slow.next().await.is_none());
    let mut again = reader(&log, "r", After::Offset(Offset(first.0 - 1)));
    assert_eq!(ready(&mut again), (16..=25).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_full_log_keeps_what_the_starting_reader_has_not_read() {
    let log = near();
    let mut options = LogOptions::default();
    options.max_events = 2;
    options.window = Some(8);
    let mut writer = open(&log, "r", options).await;
    for number in 1..=8 {
        writer.append(&delta(number)).await.unwrap();
    }
    let mut starting = EventCursor::new(&log, key("r"), After::Start, true);
    assert_eq!(ready(&mut starting), (1..=8).collect::<Vec<_>>());
    writer.append(&delta(9)).await.unwrap();
    assert_eq!(log.head(&key("r")).await.unwrap().first, Offset(8));
}

#[tokio::test]
async fn a_full_durable_log_refuses_and_still_takes_the_last_word() {
    let log = near();
    let mut options = LogOptions::default();
    options.max_events = 2;
    options.durable = true;
    let mut writer = open(&log, "r", options).await;
    writer.append(&delta(1)).await.unwrap();
    writer.append(&delta(2)).await.unwrap();
    let full = writer.append(&delta(3)).await.unwrap_err();
    assert_eq!(full.code(), "log_full");
    writer.close(CloseReason::Failed).await.unwrap();
    let events = rest(reader(&log, "r", After::Start)).await;
    assert_eq!(events.len(), 3);
    assert!(events[2].1.is_error());
}

#[tokio::test(start_paused = true)]
async fn closed_logs_are_freed_in_time_and_by_number() {
    let mut limits = MemoryLogLimits::default();
    limits.max_closed = 3;
    let memory = MemoryLog::with_limits(limits);
    let log: Arc<dyn EventLog> = Arc::new(memory.clone());
    for run in ["a", "b", "c", "d"] {
        let writer = open(&log, run, LogOptions::default()).await;
        assert_eq!(memory.open_runs(), 1);
        writer.close(CloseReason::Completed).await.unwrap();
    }
    assert_eq!((memory.open_runs(), memory.kept_runs()), (0, 3));
    let mut freed = reader(&log, "a", After::Start);
    assert!(matches!(freed.next().await, Some(Err(LogError::Unknown))));
    let kept = reader(&log, "d", After::Start);
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(memory.kept_runs(), 0);
    assert_eq!(
        rest(kept).await.len(),
        1,
        "a reader finishes what it has begun"
    );
}

#[tokio::test]
async fn open_runs_and_readers_are_bounded() {
    let mut limits = MemoryLogLimits::default();
    limits.max_open = 1;
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::with_limits(limits));
    let _writer = open(&log, "a", LogOptions::default()).await;
    let refused = LogWriter::open(&log, key("b"), LogOptions::default()).await;
    assert!(matches!(refused, Err(LogError::TooManyRuns)));
    let _readers: Vec<_> = (0..64).map(|_| reader(&log, "a", After::Start)).collect();
    let mut one_more = reader(&log, "a", After::Start);
    assert!(matches!(
        one_more.next().await,
        Some(Err(LogError::TooManyReaders))
    ));
}
