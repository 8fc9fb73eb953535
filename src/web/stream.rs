//! The events of a run as the body of a response.

use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use actix_web::body::{BodySize, MessageBody};
use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use roscius_actors::{
    ports::{
        clock::{Clock, SystemClock},
        event_log::{EventCursor, LogError},
    },
    wire::agui::Event,
};
use tokio::time::{Instant, Sleep, sleep};

/// Frames are cut from blocks of this size: about 16 deltas share one allocation.
const ARENA_BYTES: usize = 2048;

/// How often a silent stream says that it is alive. Default of the chat endpoint: every 15
/// seconds, below the idle bounds of usual proxies.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How events are framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Framing {
    /// Server-sent events: `data: <json>` and an empty line. Content type `text/event-stream`.
    #[default]
    Sse,
    /// One JSON a line. Content type `application/x-ndjson`.
    NdJson,
}

impl Framing {
    /// Gives the content type of such a body.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Sse => "text/event-stream",
            Self::NdJson => "application/x-ndjson",
        }
    }

    const fn around(self) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::Sse => (b"data: ", b"\n\n"),
            Self::NdJson => (b"", b"\n"),
        }
    }

    /// Frames one event that stands alone.
    pub(super) fn frame(self, line: &[u8]) -> Bytes {
        let (before, after) = self.around();
        Bytes::from([before, line, after].concat())
    }

    /// A frame that says nothing.
    const fn comment(self) -> &'static [u8] {
        match self {
            Self::Sse => b": keep-alive\n\n",
            Self::NdJson => b"\n",
        }
    }
}

/// A response body that hands out the events of a run, one a poll.
///
/// It ends when the log of the run is closed and read to its end. A reader that cannot go on gets
/// a RUN_ERROR as its last event. When the body is dropped before that, because the client has
/// gone, it calls what [`on_detach`](Self::on_detach) was given.
pub struct EventBody {
    cursor: EventCursor,
    framing: Framing,
    arena: BytesMut,
    keep_alive: Option<KeepAlive>,
    ended: bool,
    on_detach: Option<Box<dyn FnOnce()>>,
}

struct KeepAlive {
    every: Duration,
    sleep: Pin<Box<Sleep>>,
    /// Whether an event went out since the last tick. Only the tick clears it, so that an event
    /// costs no look at a clock.
    wrote: bool,
}

impl EventBody {
    /// Makes a body of what a reader reads.
    #[must_use]
    pub fn new(cursor: EventCursor, framing: Framing) -> Self {
        Self {
            cursor,
            framing,
            arena: BytesMut::new(),
            keep_alive: None,
            ended: false,
            on_detach: None,
        }
    }

    /// Sends a comment whenever nothing was sent for that long, or up to twice as long.
    #[must_use]
    pub fn keep_alive(mut self, every: Duration) -> Self {
        self.keep_alive = Some(KeepAlive {
            every,
            sleep: Box::pin(sleep(every)),
            wrote: false,
        });
        self
    }

    /// Says what to do when the client goes away before the end.
    #[must_use]
    pub fn on_detach(mut self, act: impl FnOnce() + 'static) -> Self {
        self.on_detach = Some(Box::new(act));
        self
    }

    fn frame(&mut self, line: &[u8]) -> Bytes {
        let (before, after) = self.framing.around();
        let size = before.len() + line.len() + after.len();
        if self.arena.capacity() < size {
            self.arena = BytesMut::with_capacity(size.max(ARENA_BYTES));
        }
        self.arena.extend_from_slice(before);
        self.arena.extend_from_slice(line);
        self.arena.extend_from_slice(after);
        self.arena.split().freeze()
    }

    fn end(&mut self) {
        self.ended = true;
        self.on_detach = None;
        self.keep_alive = None;
    }

    /// The last event of a reader that cannot go on. The run may well go on without it.
    fn failure(&mut self, error: &LogError) -> Bytes {
        let event = Event::run_error(SystemClock.now_ms(), error.to_string(), Some(error.code()));
        let mut line = BytesMut::new();
        match event.encode(&mut line) {
            Ok(()) => self.frame(&line),
            Err(_) => self.frame(br#"{"type":"RUN_ERROR","message":"the event log failed"}"#),
        }
    }
}

impl KeepAlive {
    /// Ready when a comment is due.
    fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.sleep.as_mut().poll(cx).is_ready() {
            self.sleep.as_mut().reset(Instant::now() + self.every);
            if !std::mem::take(&mut self.wrote) {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }
}

impl MessageBody for EventBody {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Infallible>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        match Pin::new(&mut self.cursor).poll_next(cx) {
            Poll::Ready(Some(Ok((_, line)))) => {
                if let Some(keep_alive) = &mut self.keep_alive {
                    keep_alive.wrote = true;
                }
                let frame = self.frame(&line);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                let frame = self.failure(&error);
                // What happens to the run is decided as for a client that has gone.
                self.detach();
                self.end();
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(None) => {
                self.end();
                Poll::Ready(None)
            }
            Poll::Pending => {
                let Some(keep_alive) = &mut self.keep_alive else {
                    return Poll::Pending;
                };
                keep_alive
                    .poll_tick(cx)
                    .map(|()| Some(Ok(Bytes::from_static(self.framing.comment()))))
            }
        }
    }
}

impl EventBody {
    fn detach(&mut self) {
        if let Some(act) = self.on_detach.take() {
            act();
        }
    }
}

impl Drop for EventBody {
    fn drop(&mut self) {
        self.detach();
    }
}

impl fmt::Debug for EventBody {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("EventBody")
            .field("cursor", &self.cursor)
            .field("framing", &self.framing)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use std::{cell::Cell, future::poll_fn, rc::Rc, sync::Arc};

    use futures_util::FutureExt;
    use roscius_actors::{
        ports::event_log::{After, CloseReason, EventLog, LogKey, LogOptions, LogWriter},
        store::memory_log::MemoryLog,
        wire::{
            agui::EventKind,
            ids::{Owner, RunId},
        },
    };

    use super::*;

    struct World {
        log: Arc<dyn EventLog>,
        key: LogKey,
    }

    async fn world() -> (World, LogWriter) {
        let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
        let key = LogKey::new(Owner::ANONYMOUS, RunId::from("r"));
        let writer = LogWriter::open(&log, key.clone(), LogOptions::default()).await;
        (World { log, key }, writer.unwrap())
    }

    impl World {
        fn body(&self, framing: Framing) -> EventBody {
            let cursor = EventCursor::new(&self.log, self.key.clone(), After::Start, true);
            EventBody::new(cursor, framing)
        }
    }

    fn custom(name: &str) -> Event {
        Event::new(
            1,
            EventKind::Custom {
                name: name.to_owned(),
                value: 1.into(),
            },
        )
    }

    async fn chunk(body: &mut EventBody) -> Option<String> {
        let chunk = poll_fn(|cx| Pin::new(&mut *body).poll_next(cx)).await?;
        Some(String::from_utf8(chunk.unwrap().to_vec()).unwrap())
    }

    #[tokio::test]
    async fn an_event_is_a_frame() {
        for (framing, before, after) in [
            (Framing::Sse, "data: ", "\n\n"),
            (Framing::NdJson, "", "\n"),
        ] {
            let (world, mut writer) = world().await;
            let mut body = world.body(framing);
            writer.append(&custom("a\nb")).await.unwrap();
            writer
                .append(&Event::run_error(1, "no", None))
                .await
                .unwrap();
            writer.close(CloseReason::Failed).await.unwrap();
            let first = chunk(&mut body).await.unwrap();
            let json = first
                .strip_prefix(before)
                .unwrap()
                .strip_suffix(after)
                .unwrap();
            assert_eq!(serde_json::from_str::<Event>(json).unwrap(), custom("a\nb"));
            assert!(!json.contains('\n'));
            assert!(chunk(&mut body).await.unwrap().contains("RUN_ERROR"));
            assert_eq!(chunk(&mut body).await, None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_says_that_it_is_alive_and_a_busy_one_does_not() {
        let (world, mut writer) = world().await;
        let mut body = world.body(Framing::Sse).keep_alive(KEEP_ALIVE);
        let start = Instant::now();
        assert_eq!(chunk(&mut body).await.unwrap(), ": keep-alive\n\n");
        assert_eq!(start.elapsed(), KEEP_ALIVE);
        writer.append(&custom("a")).await.unwrap();
        assert!(chunk(&mut body).await.unwrap().starts_with("data: "));
        assert_eq!(chunk(&mut body).await.unwrap(), ": keep-alive\n\n");
        assert_eq!(
            start.elapsed(),
            KEEP_ALIVE * 3,
            "the event counted as a sign of life"
        );
    }

    #[tokio::test]
    async fn a_body_that_is_dropped_early_tells_and_one_that_has_ended_does_not() {
        let (world, writer) = world().await;
        let told = Rc::new(Cell::new(0));
        let tell = || {
            let told = Rc::clone(&told);
            move || told.set(told.get() + 1)
        };
        let early = world.body(Framing::Sse).on_detach(tell());
        drop(early);
        assert_eq!(told.get(), 1);
        let mut late = world.body(Framing::Sse).on_detach(tell());
        writer.close(CloseReason::Cancelled).await.unwrap();
        while chunk(&mut late).await.is_some() {}
        drop(late);
        assert_eq!(told.get(), 1);
    }

    #[tokio::test]
    async fn a_reader_that_cannot_go_on_ends_with_a_run_error() {
        let (world, _writer) = world().await;
        let unknown = LogKey::new(Owner::ANONYMOUS, RunId::from("x"));
        let cursor = EventCursor::new(&world.log, unknown, After::Start, false);
        let mut body = EventBody::new(cursor, Framing::Sse);
        let only = chunk(&mut body).await.unwrap();
        assert!(
            only.contains(r#""type":"RUN_ERROR""#) && only.contains("unknown_run"),
            "{only}"
        );
        assert_eq!(chunk(&mut body).now_or_never(), Some(None));
    }
}
