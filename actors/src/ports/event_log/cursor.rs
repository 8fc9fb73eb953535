//! A reader of a log.

use std::{
    collections::VecDeque,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::stream::{FusedStream, Stream};

use super::{
    After, Batch, BatchEnd, CloseReason, EventLog, LocalLog, LogError, LogFuture, LogKey, ReaderId,
    writer::last_words,
};
use crate::wire::ids::Offset;

/// Events fetched at once from a log of another process.
const BATCH_EVENTS: usize = 64;
/// How long one such fetch waits for news before it is asked again, so that a lapsed lease is
/// noticed.
const BATCH_WAIT: Duration = Duration::from_secs(5);

/// Reads the events of one run, each as one line of JSON with its offset.
///
/// Ends when the log is closed and read to its end, which is not at the first RUN_FINISHED: there
/// is one for each turn of the model. An error is the last item. A producer that vanished without
/// closing shows as a RUN_ERROR `producer_lost`.
pub struct EventCursor {
    source: Source,
}

enum Source {
    Local {
        log: Arc<dyn LocalLog>,
        reader: ReaderId,
    },
    Remote(Box<Remote>),
    Refused(LogError),
    Ended,
}

struct Remote {
    log: Arc<dyn EventLog>,
    key: LogKey,
    /// The last event handed out; none while the head is asked for.
    after: Option<Offset>,
    fetched: VecDeque<(Offset, Bytes)>,
    end: Option<BatchEnd>,
    fetch: Option<LogFuture<'static, (Offset, Batch)>>,
}

impl EventCursor {
    /// Attaches to a log. `starting` is for the reader that started the run: it gives the credit
    /// that the producer waits for.
    ///
    /// An unknown log shows as an error at the first poll.
    #[must_use]
    pub fn new(log: &Arc<dyn EventLog>, key: LogKey, after: After, starting: bool) -> Self {
        let source = match log.local(&key) {
            Some(local) => local
                .and_then(|log| {
                    let reader = log.attach(after, starting)?;
                    Ok(Source::Local { log, reader })
                })
                .unwrap_or_else(Source::Refused),
            None => Source::Remote(Box::new(Remote {
                log: Arc::clone(log),
                key,
                after: match after {
                    After::Start => Some(Offset::START),
                    After::Offset(offset) => Some(offset),
                    After::Now => None,
                },
                fetched: VecDeque::new(),
                end: None,
                fetch: None,
            })),
        };
        Self { source }
    }
}

impl Remote {
    fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Offset, Bytes), LogError>>> {
        loop {
            if let Some(event) = self.fetched.pop_front() {
                self.after = Some(event.0);
                return Poll::Ready(Some(Ok(event)));
            }
            match self.end.take() {
                Some(BatchEnd::Closed(reason)) => {
                    self.end = Some(BatchEnd::Closed(reason));
                    return Poll::Ready(None);
                }
                Some(BatchEnd::ProducerLost) => {
                    self.end = Some(BatchEnd::Closed(CloseReason::ProducerLost));
                    let offset = self.after.unwrap_or_default().next();
                    let line = last_words(&mut BytesMut::new(), CloseReason::ProducerLost);
                    return Poll::Ready(Some(Ok((offset, line))));
                }
                None => {}
            }
            let (log, key, after) = (&self.log, &self.key, self.after);
            let fetch = self.fetch.get_or_insert_with(|| {
                let (log, key) = (Arc::clone(log), key.clone());
                Box::pin(async move {
                    let after = match after {
                        Some(after) => after,
                        None => log.head(&key).await?.last,
                    };
                    let batch = log.read(&key, after, BATCH_EVENTS, BATCH_WAIT).await?;
                    Ok((after, batch))
                })
            });
            let fetched = ready!(fetch.as_mut().poll(cx));
            self.fetch = None;
            let (after, batch) = match fetched {
                Ok(fetched) => fetched,
                Err(error) => return Poll::Ready(Some(Err(error))),
            };
            self.after = Some(after);
            self.fetched = batch.events.into();
            self.end = batch.end;
        }
    }
}

impl Stream for EventCursor {
    type Item = Result<(Offset, Bytes), LogError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = match &mut self.source {
            Source::Local { log, reader } => ready!(log.poll_next(*reader, cx)),
            Source::Remote(remote) => ready!(remote.poll_next(cx)),
            Source::Refused(_) | Source::Ended => {
                match std::mem::replace(&mut self.source, Source::Ended) {
                    Source::Refused(error) => Some(Err(error)),
                    _ => None,
                }
            }
        };
        if !matches!(next, Some(Ok(_))) {
            self.detach();
        }
        Poll::Ready(next)
    }
}

impl FusedStream for EventCursor {
    fn is_terminated(&self) -> bool {
        matches!(self.source, Source::Ended)
    }
}

impl EventCursor {
    fn detach(&mut self) {
        if let Source::Local { log, reader } = std::mem::replace(&mut self.source, Source::Ended) {
            log.detach(reader);
        }
    }
}

impl Drop for EventCursor {
    fn drop(&mut self) {
        self.detach();
    }
}

impl fmt::Debug for EventCursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source: &dyn fmt::Debug = match &self.source {
            Source::Local { reader, .. } => reader,
            Source::Remote(remote) => &remote.key,
            Source::Refused(error) => error,
            Source::Ended => &"ended",
        };
        out.debug_tuple("EventCursor").field(source).finish()
    }
}
