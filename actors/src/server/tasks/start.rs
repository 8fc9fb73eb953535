//! How a call becomes a task.

use std::{sync::Arc, time::Duration};

use futures_util::future::LocalBoxFuture;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    Tasks,
    asker::TaskAsker,
    driver::{Driver, Plan as DriverPlan},
    limits::millis,
    live::{Ends, Live},
    outcome::Outcomes,
    require_extension, scope, wire,
};
use crate::{
    gauge::measured,
    handler::{Served, Serving},
    machine::{era::Era, task::Task},
    ports::{
        clock::{Clock as _, SystemClock},
        task_store::{TaskRecord, TaskStoreError},
    },
    registry::has_local_executor,
    server::{
        Entry, Handling, Inner, McpServer,
        answer::{Answer, Members, Refusal},
        busy::Busy,
        dispatch::Call,
        prepare::{NO_SESSION, Subject, base_cx, declared, prepare, wanted, with_sampling},
        running::{Escalated, Job, Running},
        stream::{Outlet, task_sink},
        trace,
    },
    session::SessionAsker,
    tool::{Asker, Tool, ToolCx},
    wire::{
        ids::TaskId,
        jsonrpc::{RpcError, code},
        mcp::envelope::Obj,
        task::TaskSupport,
        version::V2025_11_25,
    },
};

/// What becomes of a call.
pub(in crate::server) enum Plan {
    /// It is no task.
    Inline,
    /// It is refused, under a status.
    Refuse(u16, RpcError),
    /// It is a task that is kept for this long.
    Now(Duration),
    /// Its function says when the task begins.
    WhenTold(Duration),
}

#[derive(Default, Deserialize)]
struct Wish {
    /// A whole number, however it is written: 6e4 is one.
    ttl: Option<f64>,
}

/// Decides what becomes of a call.
pub(in crate::server) fn plan(server: &Inner, call: &Call<'_>, tool: &Tool) -> Plan {
    let Some(tasks) = &server.tasks else {
        return Plan::Inline;
    };
    let support = tool.task_support();
    if !call.era.is_modern() {
        return plan_core(tasks, call, support);
    }
    if support == TaskSupport::Forbidden || !tasks.extension {
        return Plan::Inline;
    }
    if let Err(error) = require_extension(call) {
        return match support {
            TaskSupport::Required => Plan::Refuse(400, error),
            _ => Plan::Inline,
        };
    }
    let ttl = tasks.limits.clamp(&call.options.owner(), None);
    // A function that runs already cannot go to another thread.
    if tool.begins_task_itself() && has_local_executor() {
        Plan::WhenTold(ttl)
    } else {
        Plan::Now(ttl)
    }
}

/// 2025: the client wants a task or does not.
fn plan_core(tasks: &Tasks, call: &Call<'_>, support: TaskSupport) -> Plan {
    let wish = call
        .params
        .task
        .filter(|_| call.era == Era::Legacy(V2025_11_25));
    let refuse = |code: i64, message: &'static str| Plan::Refuse(200, RpcError::new(code, message));
    match (support, wish) {
        (TaskSupport::Forbidden, Some(_)) => {
            refuse(code::METHOD_NOT_FOUND, "this tool does not run as a task")
        }
        (TaskSupport::Required, None) => {
            refuse(code::METHOD_NOT_FOUND, "this tool runs as a task only")
        }
        (_, None) => Plan::Inline,
        (_, Some(wish)) => match ttl(wish) {
            Some(asked) => Plan::Now(tasks.limits.clamp(&call.options.owner(), asked)),
            None => refuse(code::INVALID_PARAMS, "task: ttl has to be milliseconds"),
        },
    }
}

/// Reads the time that a client asks for; nothing if it cannot be read.
fn ttl(wish: &RawValue) -> Option<Option<u64>> {
    let Obj(wish) = serde_json::from_str::<Obj<Wish>>(wish.get()).ok()?;
    let Some(ttl) = wish.ttl else {
        return Some(None);
    };
    let is_whole = ttl >= 0.0 && ttl.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number that is not negative; more than fits is the most there is"
    )]
    is_whole.then_some(Some(ttl as u64))
}

/// A task that is about to begin.
struct New {
    live: Arc<Live>,
    ends: Ends,
}

fn make(call: &Call<'_>, tasks: &Tasks, entry: &Entry, ttl: Duration) -> New {
    let scope = scope(call);
    let task = Task::new(
        TaskId::random(),
        scope.era,
        SystemClock.now_ms(),
        millis(ttl),
        tasks.limits.poll_interval_ms(),
    );
    let (live, ends) = Live::new(Arc::new(TaskRecord {
        scope,
        tool: Arc::from(entry.tool.name()),
        task,
    }));
    New { live, ends }
}

/// Gives the answer to the call of a task.
fn created(live: &Live) -> Members {
    wire::created(&live.record().task)
}

/// Begins a task and answers with it.
pub(in crate::server) fn start(
    server: &McpServer,
    call: &Call<'_>,
    entry: &Entry,
    arguments: &str,
    ttl: Duration,
) -> Handling {
    let Some(tasks) = &server.0.tasks else {
        return call.not_found();
    };
    let New { live, ends } = make(call, tasks, entry, ttl);
    let created = created(&live);
    let cancel = CancellationToken::new();
    let cx = match context(&server.0, call, &live, &cancel) {
        Ok(cx) => cx,
        Err(error) => return call.error(&error),
    };
    let plan = DriverPlan {
        outcomes: outcomes(&live, entry, &cx),
        live,
        ends,
        ttl,
        cancel,
        session: call.session.clone(),
        audit: call.audit.clone(),
    };
    let driver = Driver::new(&server.0, tasks, plan);
    let (begun, beginning) = oneshot::channel();
    let (tool, arguments) = (entry.tool.clone(), arguments.to_owned());
    let span = trace::tool(call);
    let has_thread = tasks.spawn(move || {
        let call = measured(tool.name(), tool.call(&arguments, cx));
        let work = Box::pin(call.instrument(span));
        Box::pin(driver.run(work, begun))
    });
    if !has_thread {
        let error = RpcError::new(code::INTERNAL_ERROR, "no task can be run");
        return call.error(&error);
    }
    let answer: Serving<Answer> = Box::pin(async move {
        let answer = has_begun(beginning.await);
        Served::Done(answer.map(|()| created))
    });
    let running = Running::new(&server.0, call, Job::Request(answer));
    Handling::call(running, Outlet::Nothing)
}

fn outcomes(live: &Live, entry: &Entry, cx: &ToolCx) -> Outcomes {
    Outcomes {
        era: live.key().scope.era,
        shape: entry.output,
        name: entry.tool.name().into(),
        cx: cx.clone(),
    }
}

fn has_begun(
    begun: Result<Result<(), TaskStoreError>, oneshot::error::RecvError>,
) -> Result<(), Refusal> {
    let error = match begun {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => error,
        Err(_) => {
            return Err(RpcError::new(code::INTERNAL_ERROR, "the task has not begun").into());
        }
    };
    tracing::warn!(%error, "a task was refused");
    let refuse = |code: i64| RpcError::new(code, error.to_string());
    Err(match error {
        TaskStoreError::Full { retry_after } => {
            Busy::new(503, refuse(code::OVERLOADED), retry_after).into()
        }
        TaskStoreError::OwnerFull { retry_after } => {
            Busy::new(429, refuse(code::RATE_LIMITED), retry_after).into()
        }
        TaskStoreError::TimedOut | TaskStoreError::Failed(_) => refuse(code::INTERNAL_ERROR).into(),
    })
}

/// The context of a function that is a task from its beginning.
fn context(
    server: &Inner,
    call: &Call<'_>,
    live: &Arc<Live>,
    cancel: &CancellationToken,
) -> Result<ToolCx, RpcError> {
    let wanted = wanted(server, call)?;
    let cx = base_cx(server, call).cancel(cancel.clone()).keyed_only();
    let cx = with_sampling(server, call, cx);
    let Some(session) = &call.session else {
        if !call.era.is_modern() {
            return Ok(cx.no_input(NO_SESSION).build());
        }
        let asker = TaskAsker::new(live, Arc::new(declared(call)), None);
        asker.begun().cancel();
        return Ok(cx.ask(Arc::new(asker)).build());
    };
    let cx = cx.notices(task_sink(wanted, session, &live.key().id));
    let admits: Arc<dyn Asker> = Arc::new(SessionAsker::new(Arc::clone(session), None));
    let asker = TaskAsker::new(live, admits, Some(Arc::clone(session)));
    asker.begun().cancel();
    Ok(cx.ask(Arc::new(asker)).build())
}

/// 2026: runs a call whose function says when its task begins.
pub(in crate::server) fn start_when_told(
    server: &McpServer,
    call: &Call<'_>,
    entry: &Entry,
    subject: Subject<'_>,
    ttl: Duration,
) -> Handling {
    let Some(tasks) = &server.0.tasks else {
        return call.not_found();
    };
    let New { live, ends } = make(call, tasks, entry, ttl);
    let asker = Arc::new(TaskAsker::new(&live, Arc::new(declared(call)), None));
    let begun = asker.begun().clone();
    let subject = Subject {
        task: Some(&asker),
        ..subject
    };
    let mut prepared = match prepare(&server.0, call, &subject) {
        Ok(prepared) => prepared,
        Err(error) => return call.error(&error),
    };
    let cx = prepared.cx.clone();
    let plan = DriverPlan {
        outcomes: outcomes(&live, entry, &cx),
        live,
        ends,
        ttl,
        cancel: cx.cancelled().clone(),
        session: None,
        audit: call.audit.clone(),
    };
    let guard = prepared.guard.take();
    let call_future = measured(entry.tool.name(), entry.tool.call(subject.arguments, cx));
    let mut work = Box::pin(call_future.instrument(trace::tool(call)));
    let inner = Arc::clone(&server.0);
    let escalating: LocalBoxFuture<'static, Escalated> = Box::pin(async move {
        tokio::select! {
            biased;
            ended = &mut work => return Escalated::Ended(ended),
            () = begun.cancelled() => {}
        }
        let Some(tasks) = &inner.tasks else {
            return Escalated::Ended(work.await);
        };
        // The task goes on when its call has gone.
        if let Some(guard) = guard {
            guard.disarm();
        }
        // The client may have been asked for long before.
        plan.ends.begin(SystemClock.now_ms());
        let created = created(&plan.live);
        let driver = Driver::new(&inner, tasks, plan);
        let (begun, beginning) = oneshot::channel();
        actix_rt::spawn(driver.run(work, begun));
        Escalated::Task(has_begun(beginning.await).map(|()| created))
    });
    prepared.run(&server.0, call, Job::Escalating(escalating, entry.output))
}
