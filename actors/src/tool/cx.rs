//! The call as a tool sees it: ask, report, be cancelled.

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
    answer::{accept, from_response, sampled_text},
    ask::{
        Answers, Asker, InputError, InputResponse, Question, QuestionKind, SampleRequest, Sampler,
    },
};
use crate::wire::{auth::AuthInfo, ids::ToolCallId, mcp::LogLevel};

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
    one_unkeyed: bool,
    sampling: Sampling,
    notices: Option<NoticeSink>,
    asked: Mutex<Asked>,
}

enum InputMode {
    Pause,
    Refuse(Cow<'static, str>),
    Ask(Arc<dyn Asker>),
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

    /// Gives the chat's answer to the question that paused this call.
    #[must_use]
    pub fn input_response(&self) -> Option<&InputResponse> {
        self.0.input_response.as_ref()
    }

    /// Asks a person for one text.
    ///
    /// Where a call can only pause, the tool runs from its top when the answer has come: what must
    /// run once belongs after this line. A second question needs a key: [`ToolCx::request_form`].
    ///
    /// # Errors
    /// [`InputError`]; return it (with `?`) and the call pauses, or fails if nobody can answer.
    pub async fn request_input(&self, message: impl Into<String>) -> Result<String, InputError> {
        let mut answer = self.ask(Question::text(message)).await?;
        let mut content = answer
            .get_mut("content")
            .map(Value::take)
            .unwrap_or_default();
        match content.get_mut("value").map(Value::take) {
            Some(Value::String(text)) => Ok(text),
            Some(value) => Ok(value.to_string()),
            None => Ok(content.to_string()),
        }
    }

    /// Asks a person to fill in a form and gives its fields. The key tells the questions of one
    /// call apart.
    ///
    /// # Errors
    /// As [`ToolCx::request_input`].
    pub async fn request_form(
        &self,
        key: impl Into<String>,
        message: impl Into<String>,
        schema: Value,
    ) -> Result<Value, InputError> {
        let mut answer = self.ask(Question::form(message, schema).key(key)).await?;
        Ok(answer
            .get_mut("content")
            .map(Value::take)
            .unwrap_or_default())
    }

    /// Asks a model: the server's own sampler if it has one, else the client's model.
    ///
    /// # Errors
    /// As [`ToolCx::request_input`].
    pub async fn sample(&self, request: impl Into<SampleRequest>) -> Result<String, InputError> {
        let request = request.into();
        match &self.0.sampling {
            Sampling::Local(sampler) => {
                let answer = sampler.sample(request, self.0.cancel.clone());
                return answer
                    .await
                    .map_err(|error| InputError::Unavailable(error.to_string().into()));
            }
            Sampling::Refuse(why) => return Err(InputError::Unavailable(why.clone())),
            Sampling::AsQuestion => {}
        }
        let answer = self.ask(Question::sampling(request)).await?;
        sampled_text(&answer).ok_or(InputError::Unavailable(Cow::Borrowed(
            "the model's answer has no text",
        )))
    }

    /// Asks a question and gives the raw answer, as MCP defines it for the kind.
    ///
    /// # Errors
    /// As [`ToolCx::request_input`].
    pub async fn ask(&self, question: Question) -> Result<Value, InputError> {
        let (question, key) = self.keyed(question)?;
        if let Some(answer) = self.answer_to(&question, &key) {
            return self.note(accept(&question, &key, answer?));
        }
        let asker = match &self.0.input {
            InputMode::Refuse(why) => return Err(InputError::Unavailable(why.clone())),
            InputMode::Pause => return self.pause(question, &key),
            InputMode::Ask(asker) => asker,
        };
        self.note(asker.admit(&question))?;
        let Some(waiting) = asker.ask(&question) else {
            return self.pause(question, &key);
        };
        let answer = tokio::select! {
            answer = waiting => answer?,
            () = self.0.cancel.cancelled() => return Err(InputError::Cancelled),
        };
        accept(&question, &key, answer)
    }

    /// Tells whether a question of this kind could be answered now.
    #[must_use]
    pub fn can_ask(&self, kind: QuestionKind) -> bool {
        match (&self.0.sampling, kind) {
            (Sampling::Local(_), QuestionKind::Sampling) => return true,
            (Sampling::Refuse(_), QuestionKind::Sampling) => return false,
            _ => {}
        }
        match &self.0.input {
            InputMode::Pause => true,
            InputMode::Refuse(_) => false,
            InputMode::Ask(asker) => asker.admit(&Question::of_kind(kind)).is_ok(),
        }
    }

    /// Sends an event of the application's own to the chat.
    pub fn emit(&self, name: impl Into<String>, value: Value) {
        self.notify(|| ToolNotice::Custom {
            name: name.into(),
            value,
        });
    }

    /// Reports how far the call is. The value grows with every report.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.notify(|| ToolNotice::Progress {
            progress,
            total,
            message: message.map(str::to_owned),
        });
    }

    /// Ends the connection that the answer would come on, of a call that takes long: a client of
    /// 2025-11-25 comes back to the stream, within a session, for what it has missed. Nothing
    /// happens where the client could not.
    pub fn close_stream(&self) {
        self.notify(|| ToolNotice::CloseStream);
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

    /// Gives the questions that are open now. Each has a key.
    #[must_use]
    pub fn open_questions(&self) -> Vec<Question> {
        self.asked().open.clone()
    }

    /// Gives the first question that the host has to refuse: the client cannot answer it, or its
    /// answer does not fit.
    #[must_use]
    pub fn refused(&self) -> Option<InputError> {
        self.asked().refused.clone()
    }

    pub(crate) fn take_open(&self, last: Option<Question>) -> Vec<Question> {
        let mut open = std::mem::take(&mut self.asked().open);
        if let Some(question) = last {
            let key = question
                .key
                .clone()
                .unwrap_or_else(|| question.default_key().to_owned());
            if open.iter().all(|other| other.key.as_ref() != Some(&key)) {
                open.push(question.key(key));
            }
        }
        open
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.0.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keyed(&self, question: Question) -> Result<(Question, String), InputError> {
        if let Some(key) = question.key.clone() {
            return Ok((question, key));
        }
        let default = question.default_key();
        let mut asked = self.asked();
        let nth = match asked.unkeyed.iter_mut().find(|(key, _)| *key == default) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                asked.unkeyed.push((default, 1));
                1
            }
        };
        drop(asked);
        if nth > 1 && self.0.one_unkeyed && question.kind == QuestionKind::Form {
            return Err(InputError::Unavailable(Cow::Borrowed(
                "a call can ask one question without a key: give each a key with request_form",
            )));
        }
        let key = if nth == 1 {
            default.to_owned()
        } else {
            format!("{default}:{nth}")
        };
        Ok((question.key(key.clone()), key))
    }

    fn answer_to(&self, question: &Question, key: &str) -> Option<Result<Value, InputError>> {
        if let Some(answer) = self.0.answers.get(key) {
            return Some(Ok(answer.clone()));
        }
        let response = self.0.input_response.as_ref()?;
        if !self.0.answers.is_empty() || std::mem::replace(&mut self.asked().response_used, true) {
            return None;
        }
        Some(from_response(question, response).ok_or(InputError::NotAccepted))
    }

    fn pause(&self, question: Question, key: &str) -> Result<Value, InputError> {
        let mut asked = self.asked();
        if asked
            .open
            .iter()
            .all(|open| open.key.as_deref() != Some(key))
        {
            asked.open.push(question);
        }
        Err(InputError::Paused)
    }

    fn note<T>(&self, answer: Result<T, InputError>) -> Result<T, InputError> {
        if let Err(error @ (InputError::MissingCapability { .. } | InputError::Invalid { .. })) =
            &answer
        {
            self.asked().refused.get_or_insert_with(|| error.clone());
        }
        answer
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
