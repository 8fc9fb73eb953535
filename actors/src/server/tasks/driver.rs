//! The future of a task: runs the function, answers to requests, forgets the task in the end.

mod questions;

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use futures_util::future::LocalBoxFuture;
use serde_json::json;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    Tasks,
    live::{Answered, Command, Ends, Live},
    outcome::Outcomes,
    seat::Seat,
    trail::Trail,
    wire,
};
use crate::{
    gauge,
    machine::task::{TaskEnd, TaskEra},
    ports::{
        clock::{Clock as _, SystemClock},
        task_store::{TaskRecord, TaskStoreError},
    },
    server::{
        Inner,
        audit::{AuditRecord, TaskEnding},
        drain::InFlight,
    },
    session::{CallGuard, Changed, Session},
    tool::{Question, ToolOutcome},
    wire::task::STATUS_NOTIFICATION,
};

const SHUTTING_DOWN: &str = "the server is shutting down";
const NOT_KEPT: &str = "the task is not kept any longer";
/// Why a task is cancelled that its client does not want.
pub(super) const BY_CLIENT: &str = "the client has cancelled the task";
/// What comes of a result or a question that the store has no room for.
const NO_ROOM: &str = "the server keeps too much of its tasks: try again later";

/// The function of a task.
pub(super) type Work = LocalBoxFuture<'static, ToolOutcome>;

/// Hears whether the task has begun.
pub(super) type Begun = oneshot::Sender<Result<(), TaskStoreError>>;

/// What a driver is made of.
pub(super) struct Plan {
    pub(super) live: Arc<Live>,
    pub(super) ends: Ends,
    pub(super) ttl: Duration,
    /// Cancels the function.
    pub(super) cancel: CancellationToken,
    pub(super) outcomes: Outcomes,
    pub(super) session: Option<Arc<Session>>,
    pub(super) audit: Option<Arc<AuditRecord>>,
}

/// Drives one task.
pub(super) struct Driver {
    server: Arc<Inner>,
    seat: Seat,
    ends: Ends,
    record: TaskRecord,
    expires: Instant,
    cancel: CancellationToken,
    /// However the task goes, what its function has left on other threads hears of it.
    _gone: DropGuard,
    outcomes: Outcomes,
    open: HashMap<String, Open>,
    in_session: Option<InSession>,
    /// Cancelled when the task is not kept any longer.
    ending: CancellationToken,
    /// The task counts as a call while its function runs.
    working: Option<InFlight>,
    audit: Option<Arc<AuditRecord>>,
    /// Of a task that has begun.
    trail: Option<Trail>,
}

/// A question that is open.
struct Open {
    question: Question,
    answer: oneshot::Sender<Answered>,
}

struct InSession {
    session: Arc<Session>,
    _end: CallGuard,
    working: Option<CallGuard>,
}

/// What happens next to a task whose function runs.
enum Step {
    Done(ToolOutcome),
    Told(Command),
    Stop(&'static str),
    Expired,
}

impl Driver {
    /// Counts the task from now on.
    pub(super) fn new(server: &Arc<Inner>, tasks: &Tasks, plan: Plan) -> Self {
        let ending = tasks.ending.child_token();
        let in_session = plan.session.map(|session| InSession {
            _end: session.on_end(ending.clone()),
            working: Some(session.work(plan.cancel.clone())),
            session,
        });
        Self {
            server: Arc::clone(server),
            seat: Seat::take(server, tasks, &plan.live),
            record: TaskRecord::clone(&plan.live.record()),
            ends: plan.ends,
            expires: later(plan.ttl),
            _gone: plan.cancel.clone().drop_guard(),
            cancel: plan.cancel,
            outcomes: plan.outcomes,
            open: HashMap::new(),
            in_session,
            ending,
            working: Some(InFlight::new(server)),
            audit: plan.audit,
            trail: None,
        }
    }

    /// Runs the task until it is forgotten.
    pub(super) async fn run(mut self, work: Work, begun: Begun) {
        let server = Arc::clone(&self.server);
        let Some(tasks) = &server.tasks else {
            return;
        };
        let record = Arc::new(self.record.clone());
        let kept = tasks.store.insert(record).await;
        let is_kept = kept.is_ok();
        if is_kept {
            let live = &self.seat.live;
            tasks.live.insert(live.key().clone(), Arc::clone(live));
            if let Some(audit) = &self.audit {
                audit.set_task(&live.key().told());
            }
        }
        // Without a client that knows its id the task would be of no use.
        if begun.send(kept).is_ok() && is_kept {
            let audit = self.audit.take();
            self.trail = audit.map(|audit| Trail::begin(&server, audit));
            self.work(tasks, work).await;
            self.keep(tasks).await;
        }
        let key = self.seat.live.key();
        if is_kept && let Err(error) = tasks.store.remove(&key.scope, &key.id).await {
            tracing::error!(%error, id = %key.told(), "a task could not be forgotten");
        }
    }

    /// Lets the function run to its end, or to that of the task.
    async fn work(&mut self, tasks: &Tasks, mut work: Work) {
        let server = Arc::clone(&self.server);
        let ending = self.ending.clone();
        let step = loop {
            let step = tokio::select! {
                biased;
                () = ending.cancelled() => Step::Stop(NOT_KEPT),
                () = server.work.closing().cancelled() => Step::Stop(SHUTTING_DOWN),
                () = sleep_until(self.expires) => Step::Expired,
                command = self.ends.commands.recv() => command.map_or(Step::Stop(NOT_KEPT), Step::Told),
                outcome = &mut work => Step::Done(outcome),
            };
            match step {
                Step::Told(Command::Cancel { done }) => {
                    self.cancel(BY_CLIENT, TaskEnding::Cancelled, tasks).await;
                    // Nobody waits for the answer if its request has ended.
                    let _ = done.send(true);
                    break Step::Stop(BY_CLIENT);
                }
                Step::Told(command) => {
                    self.handle(command, tasks).await;
                    self.close_given_up(tasks).await;
                }
                last => break last,
            }
        };
        match step {
            Step::Done(outcome) => {
                self.finish(outcome, tasks).await;
            }
            Step::Stop(reason) => self.cancel(reason, TaskEnding::Cancelled, tasks).await,
            Step::Expired | Step::Told(_) => {
                self.cancel(NOT_KEPT, TaskEnding::Expired, tasks).await;
            }
        }
        drop(work);
        self.cancel.cancel();
        self.open.clear();
        self.working = None;
        if let Some(in_session) = &mut self.in_session {
            in_session.working = None;
        }
    }

    /// Keeps the task until its time is over.
    async fn keep(&mut self, tasks: &Tasks) {
        let ending = self.ending.clone();
        loop {
            let command = tokio::select! {
                biased;
                () = ending.cancelled() => return,
                () = sleep_until(self.expires) => return,
                command = self.ends.commands.recv() => command,
            };
            match command {
                Some(command) => self.handle(command, tasks).await,
                None => return,
            }
        }
    }

    /// Ends the task with what came of its function; with a failure if there is no room for that.
    async fn finish(&mut self, outcome: ToolOutcome, tasks: &Tasks) {
        let most = tasks.limits.result_bytes();
        let (mut end, message) = self.outcomes.write(&self.server, most, outcome);
        let working = self.record.task.clone();
        if !self.record.task.finish(end.clone(), message, now()) {
            return;
        }
        if !self.write_down(tasks).await {
            let (failure, message) = self.outcomes.failed(&self.server, NO_ROOM);
            end = failure;
            self.record.task = working;
            self.record.task.finish(end.clone(), message, now());
            self.write_down(tasks).await;
        }
        count(&end);
        self.tell();
        self.account(ending(&end));
    }

    async fn cancel(&mut self, reason: &str, ending: TaskEnding, tasks: &Tasks) {
        self.cancel.cancel();
        if self.record.task.cancel(reason, now()) {
            self.publish(tasks).await;
            self.account(ending);
        }
    }

    fn account(&mut self, ending: TaskEnding) {
        if let Some(trail) = &mut self.trail {
            trail.tell(ending);
        }
    }

    /// Writes the task down, then tells everybody.
    async fn publish(&mut self, tasks: &Tasks) {
        self.write_down(tasks).await;
        self.tell();
    }

    /// Writes the task down. Tells whether there is room for it: another fault of the store keeps
    /// nobody from hearing of the task.
    async fn write_down(&self, tasks: &Tasks) -> bool {
        let record = Arc::new(self.record.clone());
        let Err(error) = tasks.store.update(record).await else {
            return true;
        };
        tracing::error!(%error, id = %self.seat.live.key().told(), "a task could not be written down");
        !error.is_full()
    }

    /// Tells everybody how the task stands.
    fn tell(&self) {
        let record = Arc::new(self.record.clone());
        self.ends.seen.send_replace(Arc::clone(&record));
        match record.task.era() {
            TaskEra::Extension => self
                .server
                .listeners
                .tell_task(self.seat.live.key(), &record.task),
            TaskEra::Core => {
                if let Some(InSession { session, .. }) = &self.in_session {
                    let params = wire::fields(&record.task);
                    let message =
                        json!({"jsonrpc": "2.0", "method": STATUS_NOTIFICATION, "params": params});
                    session.tell(&Changed {
                        message: Arc::from(message.to_string().into_bytes()),
                        resource: None,
                    });
                }
            }
        }
    }
}

/// Says what an audit tells of an end. It knows no eras: a tool that failed has failed.
const fn ending(end: &TaskEnd) -> TaskEnding {
    match end {
        TaskEnd::Result {
            is_error: false, ..
        } => TaskEnding::Completed,
        TaskEnd::Result { is_error: true, .. } | TaskEnd::Error(_) => TaskEnding::Failed,
    }
}

/// Counts an end that is an error, as that of a call.
fn count(end: &TaskEnd) {
    match end {
        TaskEnd::Result { is_error: true, .. } => gauge::tool_error(),
        TaskEnd::Result { .. } => {}
        TaskEnd::Error(error) => gauge::error(error.code),
    }
}

fn now() -> u64 {
    SystemClock.now_ms()
}

/// Gives when a time is over that begins now; one that no clock can tell is as good as endless.
fn later(time: Duration) -> Instant {
    const ENDLESS: Duration = Duration::from_hours(24 * 365 * 30);
    let now = Instant::now();
    now.checked_add(time).unwrap_or_else(|| now + ENDLESS)
}

impl fmt::Debug for Driver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Driver")
            .field("task", &self.record.task)
            .finish_non_exhaustive()
    }
}
