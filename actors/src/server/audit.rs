//! Who called what, for whoever has to account for it.

use std::{
    fmt,
    net::IpAddr,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{Inner, McpServerBuilder, Options, Response, methods::Subject, tasks::told};
use crate::{
    gauge::{CANCELLED, Ended, REFUSED, TOOL_ERROR},
    machine::redaction::{Redaction, cut},
    wire::{auth::AuthInfo, jsonrpc::code, mcp::envelope::Params, uri_template::MAX_URI_BYTES},
};

/// The most that is told of a name: the longest URI that is served.
const MAX_NAME_BYTES: usize = MAX_URI_BYTES;
/// The most that is told of the id of a request.
const MAX_ID_BYTES: usize = 256;

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditOutcome {
    /// It has a result.
    Done,
    /// The tool failed: its result says so.
    ToolError,
    /// It goes on as a task, and was answered with that. The end of the task is told by itself.
    Task,
    /// The task that it had become has ended.
    TaskEnded(TaskEnding),
    /// The client was asked something first; its next request goes on from there.
    InputRequired,
    /// It was answered with a JSON-RPC error of this code.
    Error(i64),
    /// Its client cancelled it or has gone, or its session has ended, before there was an answer.
    Cancelled,
    /// It was refused before it ran.
    Refused(RefusedBy),
}

/// How a task has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskEnding {
    /// With a result.
    Completed,
    /// The tool failed, or the server: with a result that says so, or with a JSON-RPC error.
    Failed,
    /// It was cancelled: by its client, or because its session or the server has ended.
    Cancelled,
    /// Its time was over while its function still ran.
    Expired,
}

/// What refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusedBy {
    /// The token is missing or bad, or lacks what every request needs.
    Gate,
    /// The token lacks a scope of the tool.
    Scope,
    /// The caller asks too often, or has as many tasks as one caller may.
    Rate,
    /// The server keeps as many tasks as it can.
    Room,
}

impl AuditOutcome {
    /// Says it as spans and histograms do.
    pub(super) const fn ended(self) -> Ended {
        match self {
            Self::Done | Self::Task | Self::TaskEnded(_) | Self::InputRequired => Ended::Well,
            Self::Error(code) => Ended::Code(code),
            Self::ToolError => Ended::Otherwise(TOOL_ERROR),
            Self::Cancelled => Ended::Otherwise(CANCELLED),
            Self::Refused(_) => Ended::Otherwise(REFUSED),
        }
    }

    /// Reads what became of a request from its response.
    pub(super) fn of(response: &Response) -> Self {
        let code = response.error_code.map(i64::from);
        match (code, &response.www_authenticate) {
            (Some(code::RATE_LIMITED), _) => Self::Refused(RefusedBy::Rate),
            (Some(code::OVERLOADED), _) => Self::Refused(RefusedBy::Room),
            (Some(code), _) => Self::Error(code),
            (None, Some(_)) => Self::Refused(RefusedBy::Scope),
            (None, None) => Self::Done,
        }
    }
}

/// One request and what became of it, without secrets.
///
/// What the client has written (name, id, arguments) is told as it came, up to a bound, and may say
/// anything: quote it in a log of lines.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Audit<'a> {
    /// The client of the verified caller; none if nobody is known.
    pub client_id: Option<&'a str>,
    /// The user of the verified caller.
    pub subject: Option<&'a str>,
    /// The address that the request came from, as far as the host tells: [`Options::peer`].
    pub peer: Option<IpAddr>,
    /// The method. Empty if the gate refused the request, for then nothing of it was read.
    pub method: &'a str,
    /// The tool, prompt, URI or task that the request names; empty if it names none. Of the id of a
    /// task only the beginning if nobody has signed in, for whoever knows all of it has the task.
    pub name: &'a str,
    /// The id of the request as JSON text.
    pub id: &'a str,
    /// The task that the request has become: its id, or the beginning of it if nobody has signed in.
    pub task: Option<&'a str>,
    /// What may be told of the arguments; see [`McpServerBuilder::audit_arguments`].
    pub arguments: &'a Value,
    /// What became of the request.
    pub outcome: AuditOutcome,
    /// How long it took until then; how long the task took, of one that has ended.
    pub took: Duration,
}

/// What the application does with it.
type Hook = Box<dyn Fn(&Audit<'_>) + Send + Sync>;

/// Who hears of requests, and how much.
pub(super) struct AuditHook {
    hook: Hook,
    redaction: Redaction,
}

/// What the builder collects.
#[derive(Default)]
pub(super) struct AuditSettings {
    hook: Option<Hook>,
    redaction: Redaction,
}

impl AuditSettings {
    pub(super) fn build(self) -> Option<AuditHook> {
        let redaction = self.redaction;
        self.hook.map(|hook| AuditHook { hook, redaction })
    }
}

/// An audit trail.
impl McpServerBuilder {
    /// Calls a function once for each request that names a tool, a prompt or a resource, when it
    /// has been answered or can be answered no more: `tools/call`, `prompts/get`, `resources/read`,
    /// subscriptions, completions, skills, and what changes a task or reads its result, by whatever way
    /// they came. Once more for each call that has become a task, when that has ended. Also once for
    /// each request that the gate refuses, of which nothing else is known.
    ///
    /// A call that asks its client in 2026 is several requests. The function runs on the thread of
    /// the request and must not block. If it panics, the panic ends there.
    ///
    /// ```
    /// use roscius_actors::server::McpServer;
    ///
    /// let server = McpServer::new("notes", "1.0.0")
    ///     .audit(|audit| {
    ///         tracing::info!(
    ///             client = audit.client_id, user = audit.subject, method = audit.method,
    ///             name = ?audit.name, arguments = %audit.arguments, outcome = ?audit.outcome,
    ///             took = ?audit.took, "audit",
    ///         );
    ///     })
    ///     .build()?;
    /// # Ok::<(), roscius_actors::server::ServerError>(())
    /// ```
    #[must_use]
    pub fn audit(mut self, hook: impl Fn(&Audit<'_>) + Send + Sync + 'static) -> Self {
        self.audit.hook = Some(Box::new(hook));
        self
    }

    /// Says what an audit tells of arguments: by default the names and types of their members, no
    /// value.
    ///
    /// ```
    /// use roscius_actors::server::{McpServer, Redaction};
    ///
    /// let server = McpServer::new("notes", "1.0.0")
    ///     .audit(|audit| tracing::info!(?audit))
    ///     .audit_arguments(Redaction::values().hide(["/card/number"]))
    ///     .build()?;
    /// # Ok::<(), roscius_actors::server::ServerError>(())
    /// ```
    #[must_use]
    pub fn audit_arguments(mut self, redaction: Redaction) -> Self {
        self.audit.redaction = redaction;
        self
    }
}

/// What is known of a request when it comes.
pub(super) struct AuditRecord {
    caller: Option<Arc<AuthInfo>>,
    peer: Option<IpAddr>,
    method: &'static str,
    name: String,
    id: String,
    arguments: Value,
    /// The task that it has become.
    task: OnceLock<String>,
}

impl AuditRecord {
    /// Notes a request; nothing unless somebody wants to hear of it.
    pub(super) fn new(
        server: &Inner,
        (method, subject): (&'static str, Subject),
        (id, params): (&str, &Params<'_>),
        options: &Options,
    ) -> Option<Self> {
        let hook = server.audit.as_ref()?;
        let name = match subject {
            Subject::Nothing => return None,
            Subject::Name => params.name.as_deref().unwrap_or_default().to_owned(),
            Subject::Uri => params.uri.as_deref().unwrap_or_default().to_owned(),
            Subject::Reference => referred(params.reference),
            Subject::Task => {
                let id = params.task_id.as_deref().unwrap_or_default();
                told(id, &options.owner()).into_owned()
            }
        };
        let tool = server.tools.get(&*name);
        let tool = tool.filter(|_| method == "tools/call");
        let schema = tool.map(|entry| &**entry.tool.input_schema());
        let arguments = params.arguments.or(params.argument);
        let arguments = arguments.map_or("{}", RawValue::get);
        Some(Self {
            caller: options.auth.clone(),
            peer: options.peer,
            method,
            name: cut(&name, MAX_NAME_BYTES).to_owned(),
            id: cut(id, MAX_ID_BYTES).to_owned(),
            arguments: hook.redaction.tell(arguments, schema),
            task: OnceLock::new(),
        })
    }

    /// Notes the task that the request has become.
    pub(super) fn set_task(&self, id: &str) {
        // A call becomes one task.
        let _ = self.task.set(id.to_owned());
    }

    pub(super) fn tell(&self, server: &Inner, outcome: AuditOutcome, took: Duration) {
        let caller = self.caller.as_deref();
        server.tell_audit(&Audit {
            client_id: caller.map(|caller| &*caller.client_id),
            subject: caller.and_then(|caller| caller.subject.as_deref()),
            peer: self.peer,
            method: self.method,
            name: &self.name,
            id: &self.id,
            task: self.task.get().map(String::as_str),
            arguments: &self.arguments,
            outcome,
            took,
        });
    }
}

/// Gives the prompt or the resource that is completed.
fn referred(reference: Option<&RawValue>) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Reference {
        name: Option<String>,
        uri: Option<String>,
    }
    let read = reference.and_then(|raw| serde_json::from_str::<Reference>(raw.get()).ok());
    let reference = read.unwrap_or_default();
    reference.name.or(reference.uri).unwrap_or_default()
}

impl Inner {
    /// Tells of a request that the gate refused; the caller is known if only a scope is missing.
    pub(super) fn audit_gate(&self, caller: Option<&AuthInfo>, peer: Option<IpAddr>) {
        if self.audit.is_none() {
            return;
        }
        self.tell_audit(&Audit {
            client_id: caller.map(|caller| &*caller.client_id),
            subject: caller.and_then(|caller| caller.subject.as_deref()),
            peer,
            method: "",
            name: "",
            id: "",
            task: None,
            arguments: &Value::Null,
            outcome: AuditOutcome::Refused(RefusedBy::Gate),
            took: Duration::ZERO,
        });
    }

    fn tell_audit(&self, audit: &Audit<'_>) {
        let Some(AuditHook { hook, .. }) = &self.audit else {
            return;
        };
        if std::panic::catch_unwind(AssertUnwindSafe(|| hook(audit))).is_err() {
            tracing::error!("the audit hook panicked");
        }
    }
}

impl fmt::Debug for AuditHook {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("AuditHook")
            .field("redaction", &self.redaction)
            .finish_non_exhaustive()
    }
}
