//! The call as a tool sees it: ask, report, be cancelled.

mod asking;
mod builder;

use std::{
    any::{Any, TypeId},
    borrow::Cow,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Context, ToolError,
    ask::{Answers, Asker, InputError, InputResponse, Question, Sampler},
};
use crate::{
    machine::egress::Egress,
    wire::{auth::AuthInfo, ids::ToolCallId, mcp::LogLevel},
};

pub use self::builder::ToolCxBuilder;

/// Something that a running tool reports.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolNotice {
    /// How far it is.
    Progress {
        /// Grows with every report.
        progress: f64,
        /// The value of `progress` at the end.
        total: Option<f64>,
        /// What it does.
        message: Option<String>,
    },
    /// A log message.
    Log {
        /// How important it is.
        level: LogLevel,
        /// Text or data, without secrets.
        data: Value,
    },
    /// The connection of the call may end; see [`ToolCx::close_stream`].
    CloseStream,
    /// A page that a person was asked to open is done; see [`ToolCx::elicitation_complete`].
    PageDone {
        /// The id of the question.
        id: String,
    },
    /// The task of the call begins; see [`ToolCx::begin_task`].
    BeginTask,
    /// An event of the application's own; chats stream it, MCP has no place for it.
    Custom {
        /// The event's name.
        name: String,
        /// The event's data.
        value: Value,
    },
}

/// Receives what a tool reports. It must not block.
pub type NoticeSink = Arc<dyn Fn(ToolNotice) + Send + Sync>;

/// The call as a tool sees it. Cheap to clone, and `Send`.
#[derive(Clone)]
pub struct ToolCx(Arc<Inner>);

struct Inner {
    tool_call_id: Option<ToolCallId>,
    cancel: CancellationToken,
    context: Arc<Context>,
    auth: Option<Arc<AuthInfo>>,
    answers: Answers,
    input_response: Option<InputResponse>,
    input: InputMode,
    unkeyed: Unkeyed,
    sampling: Sampling,
    notices: Option<NoticeSink>,
    asked: Mutex<Asked>,
}

enum InputMode {
    Pause,
    Refuse(Cow<'static, str>),
    Ask(Arc<dyn Asker>),
}

/// Which questions may be asked without a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unkeyed {
    Any,
    OneForm,
    None,
}

enum Sampling {
    AsQuestion,
    Refuse(Cow<'static, str>),
    Local(Arc<dyn Sampler>),
}

/// What the tool has asked in this call.
#[derive(Default)]
struct Asked {
    /// Questions without an answer, in order.
    open: Vec<Question>,
    /// Questions that were asked without a key, by kind of default key.
    unkeyed: Vec<(&'static str, usize)>,
    /// The chat's one answer has been given to the first question.
    response_used: bool,
    /// The first question that the host must refuse instead of pausing.
    refused: Option<InputError>,
}

impl ToolCx {
    /// Starts the description of a call.
    #[must_use]
    pub fn builder() -> ToolCxBuilder {
        ToolCxBuilder::default()
    }

    /// Gives the id of the chat's tool call; none when an MCP client calls.
    #[must_use]
    pub fn tool_call_id(&self) -> Option<&ToolCallId> {
        self.0.tool_call_id.as_ref()
    }

    /// Gives the token that is cancelled when nobody waits for the result any more.
    #[must_use]
    pub fn cancelled(&self) -> &CancellationToken {
        &self.0.cancel
    }

    /// Gives the verified caller.
    #[must_use]
    pub fn auth(&self) -> Option<&AuthInfo> {
        self.0.auth.as_deref()
    }

    /// Gives the application's values.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// Gives the policy of where connections may go, for a tool that calls out: the one that
    /// [`McpServerBuilder::egress`](crate::server::McpServerBuilder::egress) was given, or that is
    /// in the context. Everywhere without one.
    ///
    /// ```
    /// use roscius_actors::tool::{ToolCx, ToolError};
    ///
    /// async fn fetch(cx: ToolCx, url: String) -> Result<String, ToolError> {
    ///     cx.egress().check(&url)?;
    /// #   async fn get(url: &str) -> Result<String, std::io::Error> { Ok(url.to_owned()) }
    ///     Ok(get(&url).await?)
    /// }
    /// ```
    #[must_use]
    pub fn egress(&self) -> Egress {
        let policy = self.0.context.get::<Egress>();
        policy.map_or_else(Egress::everywhere, |policy| Egress::clone(&policy))
    }

    /// Gives the chat's answer to the question that paused this call.
    #[must_use]
    pub fn input_response(&self) -> Option<&InputResponse> {
        self.0.input_response.as_ref()
    }

    /// Sends an event of the application's own to the chat.
    pub fn emit(&self, name: impl Into<String>, value: Value) {
        self.notify(|| ToolNotice::Custom {
            name: name.into(),
            value,
        });
    }

    /// Reports how far the call is. The value grows with every report. A server sends at most 64
    /// reports at once and then 20 a second, besides the one whose value is the total; the others are
    /// left out.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.notify(|| ToolNotice::Progress {
            progress,
            total,
            message: message.map(str::to_owned),
        });
    }

    /// Tells the client that the page of a URL question is done, so that it need not wait for the
    /// person to say so. Only clients of 2025-11-25 hear of it, within a session that has asked;
    /// [`McpServer::elicitation_complete`](crate::server::McpServer::elicitation_complete) tells it
    /// when the call has ended.
    pub fn elicitation_complete(&self, id: impl Into<String>) {
        self.notify(|| ToolNotice::PageDone { id: id.into() });
    }

    /// Ends the connection that the answer would come on, of a call that takes long: a client of
    /// 2025-11-25 comes back to the stream, within a session, for what it has missed. Nothing
    /// happens where the client could not.
    pub fn close_stream(&self) {
        self.notify(|| ToolNotice::CloseStream);
    }

    /// Begins the task of a tool that [begins it itself](crate::tool::Tool::begins_task): the client
    /// gets the task as the answer of its call, and what follows runs on without it. Nothing
    /// happens where the call is no task, or is one already.
    pub fn begin_task(&self) {
        self.notify(|| ToolNotice::BeginTask);
    }

    /// Sends a log message to the caller, if it wants any.
    pub fn log(&self, level: LogLevel, data: impl Into<Value>) {
        self.notify(|| ToolNotice::Log {
            level,
            data: data.into(),
        });
    }

    fn notify(&self, notice: impl FnOnce() -> ToolNotice) {
        if let Some(sink) = &self.0.notices {
            sink(notice());
        }
    }

    pub(crate) fn context_value<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        // The caller is what the host has verified, whatever the context holds.
        if TypeId::of::<T>() == TypeId::of::<AuthInfo>() {
            let auth: Arc<dyn Any + Send + Sync> = self.0.auth.clone()?;
            return auth.downcast().ok();
        }
        self.0.context.get()
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.0.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ToolCx {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ToolCx")
            .field("tool_call_id", &self.0.tool_call_id)
            .field("cancelled", &self.0.cancel.is_cancelled())
            .finish_non_exhaustive()
    }
}

impl From<ToolError> for InputError {
    fn from(error: ToolError) -> Self {
        Self::Unavailable(error.to_string().into())
    }
}
