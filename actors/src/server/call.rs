//! `tools/call`: arguments, rounds of questions, the running call and its answer.

use std::{
    fmt,
    future::Future as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, json, value::RawValue};
use tokio_util::sync::{DropGuard, WaitForCancellationFutureOwned};

use super::{
    Entry, Handling, Inner, McpServer, OutputShape, Sampling,
    capability::ClientCapabilities,
    dispatch::Call,
    drain::InFlight,
    reply::{self, ResultWriter},
    stream::{Notices, Wanted},
};
use crate::{
    machine::{
        era::Era,
        headers::check_params,
        mrtr::{Binding, CallState, MAX_ROUNDS},
    },
    tool::{Answers, InputError, Question, ToolCx, ToolCxBuilder, ToolError, ToolOutcome},
    wire::{
        ids::Owner,
        jsonrpc::{RpcError, code},
        mcp::{LogLevel, envelope::is_id},
    },
};

const METHOD: &str = "tools/call";

/// Starts a call.
pub(super) fn tools_call(server: &McpServer, call: Call<'_>) -> Handling {
    let invalid = |message: String| RpcError::new(code::INVALID_PARAMS, message);
    let Some(name) = call.params.name.as_deref() else {
        return call.error(&invalid("name is required".to_owned()));
    };
    let Some(entry) = server.0.tools.get(name) else {
        return call.error(&invalid(format!("Tool {name} not found")));
    };
    if let Some(response) = server.step_up(entry, &call.options) {
        return response.into();
    }
    let arguments = call.params.arguments.map_or("{}", RawValue::get);
    if call.era.is_modern() && !entry.headers.is_empty() {
        let value: Value = serde_json::from_str(arguments).unwrap_or_default();
        if let Err(error) = check_params(&entry.headers, call.head.others, &value) {
            return call.error_status(400, &error);
        }
    }
    if !entry.tool.uses_cx() {
        let cx = plain_cx(&server.0, entry, &call);
        let running = entry.tool.call(arguments, cx);
        return Handling::call(Running::new(&server.0, &call, entry.output, running), None);
    }
    match started(&server.0, entry, &call, name, arguments) {
        Ok((running, notices)) => Handling::call(running, notices),
        Err(error) => call.error(&error),
    }
}

/// The context of a tool that neither asks nor reports.
fn plain_cx(server: &Inner, entry: &Entry, call: &Call<'_>) -> ToolCx {
    if !entry.tool.uses_context() || (call.options.auth.is_none() && call.options.context.is_none())
    {
        return server.bare_cx.clone();
    }
    base_cx(server, call).build()
}

fn base_cx(server: &Inner, call: &Call<'_>) -> ToolCxBuilder {
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

/// Starts a call that may ask and report.
fn started(
    server: &Arc<Inner>,
    entry: &Entry,
    call: &Call<'_>,
    name: &str,
    arguments: &str,
) -> Result<(Running, Option<Notices>), RpcError> {
    let cancel = server.work.closing().child_token();
    let mut cx = base_cx(server, call).cancel(cancel.clone());
    let wanted = wanted(call)?;
    let notices = (call.streams && !wanted.is_nothing()).then(|| Notices::new(wanted));
    let notices = match notices {
        None => None,
        Some((sink, notices)) => {
            cx = cx.notices(sink);
            Some(notices)
        }
    };
    cx = match &server.sampling {
        Sampling::Local(sampler) => cx.sampler(Arc::clone(sampler)),
        Sampling::Client if call.era.is_modern() => cx,
        Sampling::Client => cx.no_sampling(
            "a 2025 client can be asked only within a session, and this server keeps none",
        ),
        Sampling::Nobody => cx.no_sampling(
            "nobody answers sample here: build the server with sample or sample_from_client",
        ),
    };
    if !call.era.is_modern() {
        let cx = cx.no_input(
            "a 2025 client can be asked only within a session, and this server keeps none",
        );
        let running = entry.tool.call(arguments, cx.build());
        // A 2025 client that goes away does not cancel its call.
        return Ok((Running::new(server, call, entry.output, running), notices));
    }
    let declared = call
        .params
        .meta
        .as_deref()
        .and_then(|meta| meta.client_capabilities);
    let capabilities = ClientCapabilities::read(declared.map_or("{}", RawValue::get));
    let owner = call.options.auth.as_ref().map(|auth| auth.owner());
    let mut asking = Asking {
        owner: owner.unwrap_or_default(),
        name: name.into(),
        arguments: arguments.into(),
        state: CallState::default(),
        cx: None,
    };
    asking.resume(server, call)?;
    let answers: Answers = asking.state.answers.clone().into_iter().collect();
    let cx = cx
        .answers(answers)
        .ask(Arc::new(capabilities))
        .one_unkeyed()
        .build();
    let running = entry.tool.call(arguments, cx.clone());
    asking.cx = Some(cx);
    let mut running = Running::new(server, call, entry.output, running);
    running.asking = Some(Box::new(asking));
    running.guard = Some(cancel.drop_guard());
    Ok((running, notices))
}

fn wanted(call: &Call<'_>) -> Result<Wanted, RpcError> {
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
    })
}

/// What a 2026 call needs to ask and to go on later.
struct Asking {
    owner: Owner,
    name: Box<str>,
    arguments: Box<str>,
    state: CallState,
    cx: Option<ToolCx>,
}

impl Asking {
    fn binding(&self) -> Binding {
        let arguments: Value = serde_json::from_str(&self.arguments).unwrap_or_default();
        Binding::new(&self.owner, METHOD, &self.name, &arguments)
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

    fn seal(&mut self, server: &Inner) -> String {
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

/// A call that runs. Dropping it cancels a 2026 call.
pub(super) struct Running {
    work: InFlight,
    id: Box<str>,
    era: Era,
    shape: OutputShape,
    call: LocalBoxFuture<'static, ToolOutcome>,
    asking: Option<Box<Asking>>,
    /// Armed when the call has to wait for the first time.
    closing: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    guard: Option<DropGuard>,
}

impl Running {
    fn new(
        server: &Arc<Inner>,
        request: &Call<'_>,
        shape: OutputShape,
        call: LocalBoxFuture<'static, ToolOutcome>,
    ) -> Self {
        Self {
            work: InFlight::new(server),
            id: request.id.into(),
            era: request.era,
            shape,
            call,
            asking: None,
            closing: None,
            guard: None,
        }
    }

    pub(super) fn keep_alive(&self) -> Duration {
        self.work.server().keep_alive
    }

    /// Gives status and response when the call has ended, or has to end with the server.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<(u16, Bytes)> {
        if let Poll::Ready(outcome) = self.call.as_mut().poll(cx) {
            return Poll::Ready(self.end(outcome));
        }
        let closing = self.closing.get_or_insert_with(|| {
            let token = self.work.server().work.closing().clone();
            Box::pin(token.cancelled_owned())
        });
        if closing.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        let error = RpcError::new(code::INTERNAL_ERROR, "the server is shutting down");
        Poll::Ready((200, self.error(&error)))
    }

    fn error(&self, error: &RpcError) -> Bytes {
        reply::error(Some(&self.id), self.era.is_modern(), error)
    }

    fn end(&mut self, outcome: ToolOutcome) -> (u16, Bytes) {
        let asking = self.asking.take();
        match outcome {
            ToolOutcome::Done(output) => (200, self.writer().output(output)),
            ToolOutcome::Failed(error) => self.failed(&error, asking.as_deref()),
            ToolOutcome::NeedsInput(questions) => match asking {
                Some(asking) => self.ask(&questions, *asking),
                None => (
                    200,
                    self.writer()
                        .failure("the tool asks where nobody can be asked"),
                ),
            },
        }
    }

    fn writer(&self) -> ResultWriter<'_> {
        ResultWriter {
            listings: &self.work.server().listings,
            era: self.era,
            shape: self.shape,
            id: &self.id,
        }
    }

    fn failed(&self, error: &ToolError, asking: Option<&Asking>) -> (u16, Bytes) {
        if error.is_panic() {
            tracing::error!(id = &*self.id, "a tool panicked");
        }
        let refused = asking.and_then(|asking| asking.cx.as_ref()?.refused());
        match refused {
            Some(error @ InputError::MissingCapability { .. }) => {
                (400, self.error(&missing(&error)))
            }
            Some(error @ InputError::Invalid { .. }) => (
                200,
                self.error(&RpcError::new(code::INVALID_PARAMS, error.to_string())),
            ),
            _ => (200, self.writer().failure(error.message())),
        }
    }

    fn ask(&self, questions: &[Question], mut asking: Asking) -> (u16, Bytes) {
        if asking.state.round >= MAX_ROUNDS {
            let message = format!("the tool asked in more than {MAX_ROUNDS} rounds");
            return (200, self.writer().failure(&message));
        }
        let state = asking.seal(self.work.server());
        (200, self.writer().input_required(questions, &state))
    }
}

fn missing(error: &InputError) -> RpcError {
    let required = match error {
        InputError::MissingCapability { required, .. } => required.clone(),
        _ => Value::Null,
    };
    RpcError::new(code::MISSING_CLIENT_CAPABILITY, error.to_string())
        .with_data(json!({"requiredCapabilities": required}))
}

impl fmt::Debug for Running {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Running")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
