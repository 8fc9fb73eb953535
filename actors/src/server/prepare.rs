//! What a call gets before it starts: its context, the answers of earlier rounds, who hears it.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Map, Value, value::RawValue};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    Handling, Inner, Sampling,
    capability::ClientCapabilities,
    dispatch::Call,
    running::{Job, Running},
    stream::{Notices, Outlet, Wanted, lane_sink},
    tasks::TaskAsker,
};
use crate::{
    machine::mrtr::{Binding, CallState, StateTooLarge},
    session::{Lane, Session, SessionAsker},
    tool::{Answers, Asker, QuestionKind, ToolCx, ToolCxBuilder},
    wire::{
        ids::Owner,
        jsonrpc::{RpcError, code},
        mcp::{LogLevel, envelope::is_id},
    },
};

pub(super) const NO_SESSION: &str =
    "a 2025 client can be asked only within a session, and this server keeps none";

/// A call that is ready to start.
pub(super) struct Prepared {
    pub(super) cx: ToolCx,
    asking: Option<Box<Asking>>,
    /// Cancels the call when it is dropped.
    pub(super) guard: Option<DropGuard>,
    outlet: Outlet,
    /// 2025: what ends the call when its client cancels it, and the stream of its questions.
    pub(super) lane: Option<Arc<Lane>>,
    cancel: Option<CancellationToken>,
}

impl Prepared {
    /// Runs what was started with this context.
    pub(super) fn run(self, server: &Arc<Inner>, call: &Call<'_>, job: Job) -> Handling {
        let (running, outlet) = self.begin(server, call, job);
        Handling::call(running, outlet)
    }

    /// Waits for something that goes on without this request.
    pub(super) fn wait(self, server: &Arc<Inner>, call: &Call<'_>, job: Job) -> Handling {
        let (mut running, outlet) = self.begin(server, call, job);
        running.waits = true;
        Handling::call(running, outlet)
    }

    pub(super) fn begin(self, server: &Arc<Inner>, call: &Call<'_>, job: Job) -> (Running, Outlet) {
        let mut running = Running::new(server, call, job);
        running.asking = self.asking;
        running.can_ask = true;
        running.guard = self.guard;
        if let Some(session) = &mut running.session {
            session.lane = self.lane;
            session.cancel = self.cancel;
        }
        (running, self.outlet)
    }
}

pub(super) fn base_cx(server: &Inner, call: &Call<'_>) -> ToolCxBuilder {
    let context = match &call.options.context {
        None => Arc::clone(&server.context),
        Some(own) => {
            let mut context = crate::tool::Context::clone(&server.context);
            context.extend(own);
            Arc::new(context)
        }
    };
    let cx = ToolCx::builder().context(context);
    match &call.options.auth {
        Some(auth) => cx.auth(Arc::clone(auth)),
        None => cx,
    }
}

/// Gives the context who answers `sample`.
pub(super) fn with_sampling(server: &Inner, call: &Call<'_>, cx: ToolCxBuilder) -> ToolCxBuilder {
    if let Some(session) = &call.session {
        let client_samples = session.capabilities().allow(QuestionKind::Sampling);
        return match &server.sampling {
            Sampling::Local(sampler) if !client_samples => cx.sampler(Arc::clone(sampler)),
            _ => cx,
        };
    }
    match &server.sampling {
        Sampling::Local(sampler) => cx.sampler(Arc::clone(sampler)),
        Sampling::Client if call.era.is_modern() => cx,
        Sampling::Client => cx.no_sampling(NO_SESSION),
        Sampling::Nobody => cx.no_sampling(
            "nobody answers sample here: build the server with sample or sample_from_client",
        ),
    }
}

/// What a 2026 client can be asked, and whether it can handle tasks.
pub(super) fn declared(call: &Call<'_>) -> ClientCapabilities {
    let meta = call.params.meta.as_deref();
    let declared = meta.and_then(|meta| meta.client_capabilities);
    ClientCapabilities::read(declared.map_or("{}", RawValue::get))
}

/// What a call is about: what its questions are bound to, and how it asks.
pub(super) struct Subject<'a> {
    pub(super) method: &'static str,
    pub(super) name: &'a str,
    /// JSON text.
    pub(super) arguments: &'a str,
    /// Its questions need a key.
    pub(super) keyed_only: bool,
    /// 2026: the task that the call may become.
    pub(super) task: Option<&'a Arc<TaskAsker>>,
}

impl<'a> Subject<'a> {
    /// A request that is no task and may ask one question without a key.
    pub(super) const fn new(method: &'static str, name: &'a str, arguments: &'a str) -> Self {
        Self {
            method,
            name,
            arguments,
            keyed_only: false,
            task: None,
        }
    }
}

/// Gets a call ready that may ask and report.
pub(super) fn prepare(
    server: &Arc<Inner>,
    call: &Call<'_>,
    subject: &Subject<'_>,
) -> Result<Prepared, RpcError> {
    let cancel = server.work.closing().child_token();
    let mut cx = base_cx(server, call).cancel(cancel.clone());
    if subject.keyed_only {
        cx = cx.keyed_only();
    }
    let wanted = wanted(server, call)?;
    if let Some(session) = &call.session {
        return Ok(in_session(server, call, session, cx, cancel, wanted));
    }
    let mut outlet = Outlet::Nothing;
    if let Some(task) = subject.task {
        cx = cx.notices(task.sink());
    } else if call.streams && !wanted.is_nothing() {
        let (sink, notices) = Notices::new(wanted);
        cx = cx.notices(sink);
        outlet = Outlet::Notices(notices);
    }
    cx = with_sampling(server, call, cx);
    if !call.era.is_modern() {
        return Ok(Prepared {
            cx: cx.no_input(NO_SESSION).build(),
            asking: None,
            // A 2025 client that goes away does not cancel its call.
            guard: call.options.headerless.then(|| cancel.drop_guard()),
            outlet,
            lane: None,
            cancel: None,
        });
    }
    let mut asking = Asking {
        owner: call.options.owner(),
        method: subject.method,
        name: subject.name.into(),
        arguments: subject.arguments.into(),
        state: CallState::default(),
        cx: None,
    };
    asking.resume(server, call)?;
    let answers: Answers = asking.state.answers.clone().into_iter().collect();
    let asker: Arc<dyn Asker> = match subject.task {
        Some(task) => Arc::clone(task) as Arc<dyn Asker>,
        None => Arc::new(declared(call)),
    };
    if !subject.keyed_only {
        cx = cx.one_unkeyed();
    }
    let cx = cx.answers(answers).ask(asker).build();
    asking.cx = Some(cx.clone());
    Ok(Prepared {
        cx,
        asking: Some(Box::new(asking)),
        guard: Some(cancel.drop_guard()),
        outlet,
        lane: None,
        cancel: None,
    })
}

/// Gets a call of a 2025 session ready: its answer can become a stream, which also carries its
/// questions, and a client that goes away does not cancel it.
fn in_session(
    server: &Inner,
    call: &Call<'_>,
    session: &Arc<Session>,
    mut cx: ToolCxBuilder,
    cancel: CancellationToken,
    wanted: Wanted,
) -> Prepared {
    let (lane, outlet) = own_stream(call, session);
    if let Some(lane) = &lane {
        cx = cx.notices(lane_sink(wanted, session, lane));
    }
    cx = with_sampling(server, call, cx);
    let asker = SessionAsker::new(Arc::clone(session), lane.clone());
    Prepared {
        cx: cx.ask(Arc::new(asker)).build(),
        asking: None,
        guard: None,
        outlet,
        lane,
        cancel: Some(cancel),
    }
}

/// Makes the stream that the answer to a request of a session may become.
fn own_stream(call: &Call<'_>, session: &Arc<Session>) -> (Option<Arc<Lane>>, Outlet) {
    // Nobody comes back to a pipe.
    let resumable = !call.options.headerless;
    let lane = call.streams.then(|| session.lane(resumable));
    let outlet = lane.as_ref().map_or(Outlet::Nothing, |lane| {
        Outlet::Lane(lane.attach(0, session))
    });
    (lane, outlet)
}

/// Gets a 2025 request ready that waits for a task: in a session its answer can become a stream,
/// which also carries the questions of the task.
pub(super) fn prepare_waiting(server: &Inner, call: &Call<'_>) -> Prepared {
    let (lane, outlet) = match &call.session {
        Some(session) => own_stream(call, session),
        None => (None, Outlet::Nothing),
    };
    Prepared {
        cx: server.bare_cx.clone(),
        asking: None,
        guard: None,
        outlet,
        lane,
        cancel: None,
    }
}

/// Gets a request ready that may neither ask nor report: the spec allows that to calls, reads and
/// prompts only.
pub(super) fn prepare_quiet(server: &Arc<Inner>, call: &Call<'_>, why: &'static str) -> Prepared {
    let cancel = server.work.closing().child_token();
    let cx = base_cx(server, call).cancel(cancel.clone()).no_input(why);
    let cx = match &server.sampling {
        Sampling::Local(sampler) => cx.sampler(Arc::clone(sampler)),
        Sampling::Client | Sampling::Nobody => cx.no_sampling(why),
    };
    Prepared {
        cx: cx.build(),
        asking: None,
        guard: call.era.is_modern().then(|| cancel.clone().drop_guard()),
        outlet: Outlet::Nothing,
        lane: None,
        cancel: Some(cancel),
    }
}

pub(super) fn wanted(server: &Inner, call: &Call<'_>) -> Result<Wanted, RpcError> {
    let Some(meta) = call.params.meta.as_deref() else {
        return Ok(Wanted::default());
    };
    let token = meta.progress_token.filter(|token| is_id(token.get()));
    let log = match meta.log_level.as_deref().filter(|_| call.era.is_modern()) {
        None => None,
        Some(level) => Some(
            LogLevel::parse(level)
                .ok_or_else(|| RpcError::new(code::INVALID_PARAMS, "the log level is not known"))?,
        ),
    };
    Ok(Wanted {
        progress: token.map(ToOwned::to_owned),
        log,
        rate: server.progress_rate,
    })
}

/// What a 2026 call needs to ask and to go on later.
pub(super) struct Asking {
    owner: Owner,
    method: &'static str,
    name: Box<str>,
    arguments: Box<str>,
    pub(super) state: CallState,
    pub(super) cx: Option<ToolCx>,
}

impl Asking {
    fn binding(&self) -> Binding {
        Binding::new(&self.owner, self.method, &self.name, &self.arguments)
    }

    /// Takes up what an earlier round sealed, and the answers of this one.
    fn resume(&mut self, server: &Inner, call: &Call<'_>) -> Result<(), RpcError> {
        if let Some(text) = call.params.request_state.as_deref() {
            let opened = CallState::open(&server.state_key, &self.binding(), text, now());
            self.state = opened.map_err(|error| {
                RpcError::new(code::INVALID_PARAMS, format!("requestState: {error}"))
            })?;
        }
        let Some(raw) = call.params.input_responses else {
            return Ok(());
        };
        let answers: Map<String, Value> = serde_json::from_str(raw.get())
            .map_err(|_| RpcError::new(code::INVALID_PARAMS, "inputResponses is not an object"))?;
        self.state.add(answers);
        Ok(())
    }

    pub(super) fn seal(&mut self, server: &Inner) -> Result<String, StateTooLarge> {
        self.state.round += 1;
        let expires_at = now().saturating_add(server.state_ttl.as_secs());
        self.state
            .seal(&server.state_key, &self.binding(), expires_at)
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
