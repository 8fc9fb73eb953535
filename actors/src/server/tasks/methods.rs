//! The methods of tasks.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::{
    Tasks,
    deliver::until_over,
    driver::BY_CLIENT,
    live::{Command, Live, TaskKey},
    require_extension, scope, wire,
};
use crate::{
    handler::{Served, Serving},
    machine::{
        era::Era,
        task::{Task, TaskEnd, TaskEra},
    },
    ports::{
        clock::{Clock as _, SystemClock},
        task_store::{TaskRecord, TaskStoreError},
    },
    server::{
        Handling, Inner, McpServer, Options, Response,
        answer::{Answer, Members, Refusal, ResultKind},
        dispatch::Call,
        pages::{Item, ListKind},
        prepare::prepare_waiting,
        running::{Job, Running},
        stream::Outlet,
    },
    wire::{
        cache::CacheHint,
        ids::TaskId,
        jsonrpc::{RpcError, code},
        task::TaskStatus,
        version::V2025_11_25,
    },
};

const LIST: ListKind = ListKind {
    method: "tasks/list",
    member: "tasks",
};

fn invalid(message: &'static str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, message)
}

fn unknown() -> RpcError {
    invalid("Task not found")
}

fn failed(error: &TaskStoreError) -> RpcError {
    tracing::error!(%error, "tasks cannot be reached");
    RpcError::new(code::INTERNAL_ERROR, error.to_string())
}

/// Why a request cannot reach its task.
enum Refused {
    NoSuchMethod,
    Error(u16, RpcError),
    Denied(Box<Response>),
}

impl Refused {
    fn answer(self, call: &Call<'_>) -> Handling {
        match self {
            Self::NoSuchMethod => call.not_found(),
            Self::Error(status, error) => call.error_status(status, &error),
            Self::Denied(response) => (*response).into(),
        }
    }
}

/// Gives the tasks that a request can reach.
fn reach<'a>(server: &'a McpServer, call: &Call<'_>) -> Result<&'a Tasks, Refused> {
    let tasks = server.0.tasks.as_ref().ok_or(Refused::NoSuchMethod)?;
    if call.era.is_modern() {
        if !tasks.extension {
            return Err(Refused::NoSuchMethod);
        }
        require_extension(call).map_err(|error| Refused::Error(400, error))?;
    } else if call.era != Era::Legacy(V2025_11_25) {
        return Err(Refused::NoSuchMethod);
    }
    Ok(tasks)
}

/// What a request names.
struct Named {
    server: Arc<Inner>,
    key: TaskKey,
    /// Who reads its result, or has a part in it, and needs the scopes of its tool.
    reader: Option<Options>,
    /// Its driver, if that is in this process.
    live: Option<Arc<Live>>,
}

fn named(server: &McpServer, call: &Call<'_>) -> Result<Named, Refused> {
    let tasks = reach(server, call)?;
    let id = call.params.task_id.as_deref().filter(|id| !id.is_empty());
    let Some(id) = id else {
        return Err(Refused::Error(200, invalid("taskId is required")));
    };
    let key = TaskKey {
        scope: scope(call),
        id: TaskId::from(id),
    };
    Ok(Named {
        live: tasks.live.get(&key),
        server: Arc::clone(&server.0),
        key,
        reader: None,
    })
}

/// Finds the task whose result a request reads, or of which it becomes a part.
fn readable(server: &McpServer, call: &Call<'_>) -> Result<Named, Refused> {
    let mut named = named(server, call)?;
    named.reader = Some(call.options.clone());
    if let Some(live) = &named.live {
        match named.check_scopes(&live.record()) {
            Ok(()) => {}
            Err(Refusal::Denied(response)) => return Err(Refused::Denied(response)),
            Err(_) => return Err(Refused::Error(200, unknown())),
        }
    }
    Ok(named)
}

impl Named {
    /// Gives what the store has of a task that no driver of this process has.
    async fn stored(&self) -> Result<Arc<TaskRecord>, Refusal> {
        let tasks = self.server.tasks.as_ref().ok_or_else(unknown)?;
        let found = tasks.store.get(&self.key.scope, &self.key.id).await;
        let record = found.map_err(|error| failed(&error))?;
        let record = record.ok_or_else(unknown)?;
        self.check_scopes(&record)?;
        Ok(record)
    }

    /// Looks at the scopes of the tool. The token that began the task had them; this one may be
    /// another of the same caller.
    fn check_scopes(&self, record: &TaskRecord) -> Result<(), Refusal> {
        let Some(reader) = &self.reader else {
            return Ok(());
        };
        let entry = self.server.tools.get(&*record.tool).ok_or_else(unknown)?;
        match self.server.step_up(entry, reader) {
            Some(response) => Err(Refusal::Denied(Box::new(response))),
            None => Ok(()),
        }
    }

    async fn now(&self) -> Result<Arc<TaskRecord>, Refusal> {
        match &self.live {
            Some(live) => Ok(live.record()),
            None => self.stored().await,
        }
    }

    /// Cancels the task. Tells whether it had not ended before.
    async fn cancel(&self) -> Result<bool, Refusal> {
        if let Some(live) = &self.live {
            let (done, cancelled) = oneshot::channel();
            live.tell(Command::Cancel { done }).await;
            return Ok(cancelled.await.map_err(|_| unknown())?);
        }
        // Its driver has gone with its process or its thread.
        let record = self.stored().await?;
        let mut lost = TaskRecord::clone(&record);
        let now = SystemClock.now_ms();
        if !lost.task.cancel(BY_CLIENT, now) {
            return Ok(false);
        }
        if let Some(tasks) = &self.server.tasks {
            let written = tasks.store.update(Arc::new(lost)).await;
            written.map_err(|error| failed(&error))?;
        }
        Ok(true)
    }
}

/// Runs a request that may have to wait.
fn run<F>(server: &McpServer, call: &Call<'_>, answer: F) -> Handling
where
    F: Future<Output = Answer> + 'static,
{
    let job: Serving<Answer> = Box::pin(async move { Served::Done(answer.await) });
    let running = Running::new(&server.0, call, Job::Request(job));
    Handling::call(running, Outlet::Nothing)
}

/// Serves `tasks/get`.
pub(in crate::server) fn get(server: &McpServer, call: Call<'_>) -> Handling {
    let named = match readable(server, &call) {
        Ok(named) => named,
        Err(refused) => return refused.answer(&call),
    };
    if let Some(live) = &named.live {
        return call.members(&server.0, standing(&live.record().task));
    }
    run(server, &call, async move {
        Ok(standing(&named.stored().await?.task))
    })
}

/// Says how a task stands, and in 2026 what has come of it.
fn standing(task: &Task) -> Members {
    let mut members = wire::found(task);
    if task.era() == TaskEra::Core || task.end().is_none() {
        members.kind = ResultKind::Poll;
    }
    members
}

/// Serves `tasks/cancel`.
pub(in crate::server) fn cancel(server: &McpServer, call: Call<'_>) -> Handling {
    let named = match named(server, &call) {
        Ok(named) => named,
        Err(refused) => return refused.answer(&call),
    };
    let modern = call.era.is_modern();
    run(server, &call, async move {
        let cancelled = named.cancel().await?;
        if modern {
            return Ok(Members::default());
        }
        if !cancelled {
            return Err(invalid("the task has ended").into());
        }
        Ok(wire::found(&named.now().await?.task))
    })
}

/// 2026: serves `tasks/update`.
pub(in crate::server) fn update(server: &McpServer, call: Call<'_>) -> Handling {
    let named = match readable(server, &call) {
        Ok(named) => named,
        Err(refused) => return refused.answer(&call),
    };
    let raw = call.params.input_responses.map_or("null", |raw| raw.get());
    let Ok(answers) = serde_json::from_str::<Map<String, Value>>(raw) else {
        return call.error(&invalid("inputResponses is not an object"));
    };
    run(server, &call, async move {
        let Some(live) = &named.live else {
            // Nobody is there to hear an answer, but the task is known.
            named.stored().await?;
            return Ok(Members::default());
        };
        let (done, taken) = oneshot::channel();
        live.tell(Command::Answer { answers, done }).await;
        match taken.await {
            Ok(Ok(())) => Ok(Members::default()),
            Ok(Err(wrong)) => Err(RpcError::new(code::INVALID_PARAMS, wrong.to_string()).into()),
            Err(_) => Err(unknown().into()),
        }
    })
}

/// 2025: serves `tasks/result`, which waits until the task has ended.
pub(in crate::server) fn result(server: &McpServer, call: Call<'_>) -> Handling {
    let named = match readable(server, &call) {
        Ok(named) => named,
        Err(refused) => return refused.answer(&call),
    };
    let prepared = prepare_waiting(&server.0, &call);
    let client = call.session.clone().zip(prepared.lane.clone());
    let job: Serving<Answer> = Box::pin(async move {
        let record = match named.live.clone() {
            Some(live) => until_over(live, client)
                .await
                .ok_or_else(|| unknown().into()),
            None => named.stored().await,
        };
        Served::Done(match record {
            Ok(record) => payload(&record.task),
            Err(refusal) => Err(refusal),
        })
    });
    prepared.wait(&server.0, &call, Job::Request(job))
}

/// Gives what the call would have given.
fn payload(task: &Task) -> Answer {
    match (task.end(), task.status()) {
        (Some(TaskEnd::Result { json, .. }), _) => Ok(wire::payload(task, json)),
        (Some(TaskEnd::Error(error)), _) => Err(error.clone().into()),
        (None, TaskStatus::Cancelled) => {
            let why = task
                .message()
                .unwrap_or("the task was cancelled")
                .to_owned();
            Err(RpcError::new(code::SERVER_ERROR, why).into())
        }
        (None, _) => {
            let why = "the process that ran the task is gone";
            Err(RpcError::new(code::INTERNAL_ERROR, why).into())
        }
    }
}

/// 2025: serves `tasks/list`.
pub(in crate::server) fn list(server: &McpServer, call: Call<'_>) -> Handling {
    if let Err(refused) = reach(server, &call) {
        return refused.answer(&call);
    }
    let scope = scope(&call);
    if !scope.is_bound() {
        return call.not_found();
    }
    let cursor = call.params.cursor.as_deref().map(str::to_owned);
    let options = call.options.clone();
    let inner = Arc::clone(&server.0);
    run(server, &call, async move {
        let tasks = inner.tasks.as_ref().ok_or_else(unknown)?;
        let listed = tasks.store.list(&scope).await;
        let listed = listed.map_err(|error| failed(&error))?;
        let item = |record: &Arc<TaskRecord>| {
            let task = &record.task;
            let mut fields = wire::fields(task);
            if !inner.has_scopes(&record.tool, &options) {
                // It can be the text of a failure.
                fields.remove("statusMessage");
            }
            Item::new(task.id().as_str(), &fields)
        };
        let items: Vec<Item> = listed.iter().map(item).collect();
        let items: Vec<&Item> = items.iter().collect();
        let page = inner
            .paging
            .cut(LIST, &items, cursor.as_deref(), CacheHint::NONE);
        Ok(page?)
    })
}
