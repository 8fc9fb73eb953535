//! Describes a call before it starts.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, Mutex},
};

use tokio_util::sync::CancellationToken;

use super::{Inner, InputMode, NoticeSink, Sampling, ToolCx, Unkeyed};
use crate::{
    tool::{
        Context,
        ask::{Answers, Asker, InputResponse, Sampler},
    },
    wire::{auth::AuthInfo, ids::ToolCallId},
};

/// Describes a call for the tool that it goes to.
///
/// Without any setting: no caller, an empty context, never cancelled, questions pause the call,
/// reports go nowhere.
pub struct ToolCxBuilder(Inner);

impl Default for ToolCxBuilder {
    fn default() -> Self {
        Self(Inner {
            tool_call_id: None,
            cancel: CancellationToken::new(),
            context: Arc::default(),
            auth: None,
            answers: Answers::new(),
            input_response: None,
            input: InputMode::Pause,
            unkeyed: Unkeyed::Any,
            sampling: Sampling::AsQuestion,
            notices: None,
            asked: Mutex::default(),
        })
    }
}

impl ToolCxBuilder {
    /// Names the chat's tool call.
    #[must_use]
    pub fn tool_call_id(mut self, id: ToolCallId) -> Self {
        self.0.tool_call_id = Some(id);
        self
    }

    /// Sets the token that the host cancels when nobody waits any more.
    #[must_use]
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.0.cancel = token;
        self
    }

    /// Sets the application's values.
    #[must_use]
    pub fn context(mut self, context: Arc<Context>) -> Self {
        self.0.context = context;
        self
    }

    /// Sets the verified caller.
    #[must_use]
    pub fn auth(mut self, auth: Arc<AuthInfo>) -> Self {
        self.0.auth = Some(auth);
        self
    }

    /// Sets the answers that are known already, by key.
    #[must_use]
    pub fn answers(mut self, answers: Answers) -> Self {
        self.0.answers = answers;
        self
    }

    /// Sets the chat's answer. Without keyed answers it answers the first question as well.
    #[must_use]
    pub fn input_response(mut self, response: InputResponse) -> Self {
        self.0.input_response = Some(response);
        self
    }

    /// Lets the host decide about questions, and answer them while the call waits.
    #[must_use]
    pub fn ask(mut self, asker: Arc<dyn Asker>) -> Self {
        self.0.input = InputMode::Ask(asker);
        self
    }

    /// Refuses every question with this reason.
    #[must_use]
    pub fn no_input(mut self, why: impl Into<Cow<'static, str>>) -> Self {
        self.0.input = InputMode::Refuse(why.into());
        self
    }

    /// Refuses a second form without a key.
    #[must_use]
    pub fn one_unkeyed(mut self) -> Self {
        self.0.unkeyed = Unkeyed::OneForm;
        self
    }

    /// Refuses every question without a key.
    #[must_use]
    pub fn keyed_only(mut self) -> Self {
        self.0.unkeyed = Unkeyed::None;
        self
    }

    /// Answers sampling requests inside the process.
    #[must_use]
    pub fn sampler(mut self, sampler: Arc<dyn Sampler>) -> Self {
        self.0.sampling = Sampling::Local(sampler);
        self
    }

    /// Refuses sampling requests with this reason.
    #[must_use]
    pub fn no_sampling(mut self, why: impl Into<Cow<'static, str>>) -> Self {
        self.0.sampling = Sampling::Refuse(why.into());
        self
    }

    /// Sets where reports go.
    #[must_use]
    pub fn notices(mut self, sink: NoticeSink) -> Self {
        self.0.notices = Some(sink);
        self
    }

    /// Makes the call's context.
    #[must_use]
    pub fn build(self) -> ToolCx {
        ToolCx(Arc::new(self.0))
    }
}

impl fmt::Debug for ToolCxBuilder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ToolCxBuilder(..)")
    }
}
