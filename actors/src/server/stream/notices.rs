//! What a call reports, and where it goes.

use std::{
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use serde_json::{Map, Value, json, value::RawValue};
use tokio::sync::mpsc::{Receiver, channel};

use super::{
    frame,
    pace::{Pace, ProgressRate},
};
use crate::{
    server::tasks::related,
    session::{Changed, Lane, Session, page_done},
    tool::{NoticeSink, ToolNotice},
    wire::{ids::TaskId, mcp::LogLevel},
};

/// Reports that wait to be written. A tool that reports faster than its client reads loses the
/// newest ones; reports are hints.
const MAX_WAITING: usize = 256;

/// What a client wants to hear of a call.
#[derive(Debug, Default)]
pub(in crate::server) struct Wanted {
    /// `progressToken` as JSON text.
    pub(in crate::server) progress: Option<Box<RawValue>>,
    pub(in crate::server) log: Option<LogLevel>,
    pub(in crate::server) rate: ProgressRate,
}

impl Wanted {
    pub(in crate::server) const fn is_nothing(&self) -> bool {
        self.progress.is_none() && self.log.is_none()
    }
}

/// Words the reports of a call.
struct Wording {
    progress: Option<Box<RawValue>>,
    /// The spec wants progress to grow.
    last_progress: f64,
    pace: Pace,
    /// What the reports belong to.
    task: Option<TaskId>,
}

impl Wording {
    fn new(wanted: Wanted) -> Self {
        Self {
            progress: wanted.progress,
            last_progress: f64::NEG_INFINITY,
            pace: Pace::new(wanted.rate),
            task: None,
        }
    }

    /// Gives the message, as far as there is one.
    fn message(&mut self, notice: ToolNotice) -> Option<Vec<u8>> {
        match notice {
            ToolNotice::Progress {
                progress,
                total,
                message,
            } => {
                // JSON has no other numbers.
                if !progress.is_finite() || progress <= self.last_progress {
                    return None;
                }
                let total = total.filter(|total| total.is_finite());
                // The last step is told however many came before it.
                if !self.pace.admits() && total != Some(progress) {
                    return None;
                }
                self.last_progress = progress;
                let message = self.progress_message(progress, total, message);
                Some(self.bytes(message))
            }
            ToolNotice::Log { level, data } => Some(self.bytes(json!({
                "jsonrpc": "2.0",
                "method": "notifications/message",
                "params": {"level": level, "data": data},
            }))),
            ToolNotice::PageDone { id } => Some(page_done(&id)),
            ToolNotice::Custom { .. } | ToolNotice::CloseStream | ToolNotice::BeginTask => None,
        }
    }

    fn bytes(&self, mut message: Value) -> Vec<u8> {
        if let (Some(task), Some(params)) = (&self.task, message.get_mut("params")) {
            *params = related(params.take(), task.as_str());
        }
        message.to_string().into_bytes()
    }

    fn progress_message(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> Value {
        let mut params = Map::new();
        params.insert("progressToken".to_owned(), json!(self.progress));
        params.insert("progress".to_owned(), number(progress));
        if let Some(total) = total {
            params.insert("total".to_owned(), number(total));
        }
        if let Some(message) = message {
            params.insert("message".to_owned(), Value::from(message));
        }
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    }
}

/// Gives where a call of a session reports to: the stream that its answer then becomes.
pub(in crate::server) fn lane_sink(
    wanted: Wanted,
    session: &Arc<Session>,
    lane: &Arc<Lane>,
) -> NoticeSink {
    let (session, lane) = (Arc::clone(session), Arc::clone(lane));
    let wants_progress = wanted.progress.is_some();
    let wording = Mutex::new(Wording::new(wanted));
    Arc::new(move |notice: ToolNotice| {
        let wants = match &notice {
            ToolNotice::Progress { .. } => wants_progress,
            ToolNotice::Log { level, .. } => session.wants_log(*level),
            ToolNotice::CloseStream => {
                lane.release();
                false
            }
            ToolNotice::PageDone { id } => session.take_page(id),
            ToolNotice::Custom { .. } | ToolNotice::BeginTask => false,
        };
        if !wants {
            return;
        }
        // The lock is held over the writing, so that progress also grows on the wire.
        let mut wording = wording.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(message) = wording.message(notice) else {
            return;
        };
        if !lane.report(&message) {
            tracing::debug!("a report of a tool was dropped");
        }
    })
}

/// Gives where a task of a session reports to: the session's own stream.
pub(in crate::server) fn task_sink(
    wanted: Wanted,
    session: &Arc<Session>,
    task: &TaskId,
) -> NoticeSink {
    let session = Arc::clone(session);
    let wants_progress = wanted.progress.is_some();
    let wording = Mutex::new(Wording {
        task: Some(task.clone()),
        ..Wording::new(wanted)
    });
    Arc::new(move |notice: ToolNotice| {
        let wants = match &notice {
            ToolNotice::Progress { .. } => wants_progress,
            ToolNotice::Log { level, .. } => session.wants_log(*level),
            ToolNotice::PageDone { id } => session.take_page(id),
            ToolNotice::CloseStream | ToolNotice::Custom { .. } | ToolNotice::BeginTask => false,
        };
        if !wants {
            return;
        }
        // The lock is held over the sending, so that progress also grows on the wire.
        let mut wording = wording.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(message) = wording.message(notice) else {
            return;
        };
        session.tell(&Changed {
            message: Arc::from(message),
            resource: None,
        });
    })
}

/// The reports of a call on their way to the client.
pub(in crate::server) struct Notices {
    receiver: Receiver<ToolNotice>,
    wording: Wording,
}

impl Notices {
    /// Makes the two ends: what the tool reports to, and what is written from.
    pub(in crate::server) fn new(wanted: Wanted) -> (NoticeSink, Self) {
        let (sender, receiver) = channel(MAX_WAITING);
        let wants_progress = wanted.progress.is_some();
        let level = wanted.log;
        let sink = move |notice: ToolNotice| {
            let wants = match &notice {
                ToolNotice::Progress { .. } => wants_progress,
                ToolNotice::Log { level: at, .. } => level.is_some_and(|least| *at >= least),
                ToolNotice::Custom { .. }
                | ToolNotice::CloseStream
                | ToolNotice::BeginTask
                | ToolNotice::PageDone { .. } => false,
            };
            if wants && sender.try_send(notice).is_err() {
                tracing::debug!("a report of a tool was dropped");
            }
        };
        let notices = Self {
            receiver,
            wording: Wording::new(wanted),
        };
        (Arc::new(sink), notices)
    }

    /// Gives all reports that wait, as frames.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        let mut out = BytesMut::new();
        loop {
            match self.receiver.poll_recv(cx) {
                Poll::Ready(Some(notice)) => self.write(&mut out, notice),
                Poll::Ready(None) | Poll::Pending if out.is_empty() => return Poll::Pending,
                Poll::Ready(None) | Poll::Pending => return Poll::Ready(out.freeze()),
            }
        }
    }

    pub(super) fn drain(&mut self, out: &mut BytesMut) {
        while let Ok(notice) = self.receiver.try_recv() {
            self.write(out, notice);
        }
    }

    fn write(&mut self, out: &mut BytesMut, notice: ToolNotice) {
        if let Some(message) = self.wording.message(notice) {
            frame(out, &message);
        }
    }
}

/// Writes whole numbers without a fraction.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the value is whole and within the exact range"
)]
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        Value::from(value as i64)
    } else {
        Value::from(value)
    }
}
