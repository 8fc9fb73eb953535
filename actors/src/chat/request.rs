//! What somebody asks of a chat.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    run::{RunError, RunHandle},
    tool::Context,
    wire::{
        agui::{ClientTool, ResumeEntry, Row, RunAgentInput},
        auth::AuthInfo,
        ids::{InterruptId, MessageId, Owner, RunId, ThreadId},
    },
};

/// Asks a chat for a run: a new one, or one that goes on from a pause.
#[derive(Clone, Debug)]
pub struct ChatRun {
    ids: Ids,
    request: Request,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    pub(crate) owner: Owner,
    pub(crate) thread: Option<ThreadId>,
    pub(crate) run: Option<RunId>,
    pub(crate) parent: Option<RunId>,
}

/// The content of a [`ChatRun`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) messages: Vec<Row>,
    pub(crate) resume: Vec<ResumeEntry>,
    pub(crate) client_tools: Vec<ClientTool>,
    pub(crate) system_prompts: Vec<String>,
    pub(crate) context: Option<Arc<Context>>,
    pub(crate) auth: Option<Arc<AuthInfo>>,
    pub(crate) window: Option<u64>,
}

impl actix::Message for ChatRun {
    type Result = Result<RunHandle, RunError>;
}

/// Messages to begin a run with: a text of the user, or rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages(pub Vec<Row>);

impl From<&str> for Messages {
    fn from(text: &str) -> Self {
        Self(vec![Row::user(&MessageId::random(), text)])
    }
}

impl From<String> for Messages {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Vec<Row>> for Messages {
    fn from(rows: Vec<Row>) -> Self {
        Self(rows)
    }
}

impl ChatRun {
    /// Asks for a new run.
    pub fn new(messages: impl Into<Messages>) -> Self {
        Self {
            ids: Ids::default(),
            request: Request {
                messages: messages.into().0,
                ..Request::default()
            },
        }
    }

    /// Asks for a run that goes on from a pause; add the answers.
    #[must_use]
    pub fn resume(paused: &RunId) -> Self {
        let mut run = Self::new(Vec::new());
        run.ids.parent = Some(paused.clone());
        run
    }

    /// Asks for what a client has posted.
    #[must_use]
    pub fn from_input(input: RunAgentInput) -> Self {
        Self {
            ids: Ids {
                owner: Owner::ANONYMOUS,
                thread: Some(input.thread_id),
                run: Some(input.run_id),
                parent: input.parent_run_id,
            },
            request: Request {
                messages: input.messages,
                resume: input.resume,
                client_tools: input.tools,
                ..Request::default()
            },
        }
    }

    /// Sets the conversation as the client has it. Of a continuation only results of the browser's
    /// tools and messages after the pause are read, as long as the pause is known here.
    #[must_use]
    pub fn messages(mut self, messages: impl Into<Messages>) -> Self {
        self.request.messages = messages.into().0;
        self
    }

    /// Answers a question of the pause.
    #[must_use]
    pub fn answer(mut self, question: impl Into<InterruptId>, payload: Value) -> Self {
        self.request
            .resume
            .push(ResumeEntry::resolved(question, payload));
        self
    }

    /// Refuses to answer a question of the pause.
    #[must_use]
    pub fn cancel(mut self, question: impl Into<InterruptId>) -> Self {
        self.request.resume.push(ResumeEntry::cancelled(question));
        self
    }

    /// Names the conversation. Without a name it is a new one, or that of the pause.
    #[must_use]
    pub fn thread(mut self, thread: impl Into<ThreadId>) -> Self {
        self.ids.thread = Some(thread.into());
        self
    }

    /// Names the run. Without a name it gets one.
    #[must_use]
    pub fn run_id(mut self, run: impl Into<RunId>) -> Self {
        self.ids.run = Some(run.into());
        self
    }

    /// Says whom the run belongs to.
    #[must_use]
    pub fn owner(mut self, owner: Owner) -> Self {
        self.ids.owner = owner;
        self
    }

    /// Says who calls, for the tools.
    #[must_use]
    pub fn auth(mut self, auth: Arc<AuthInfo>) -> Self {
        self.request.auth = Some(auth);
        self
    }

    /// Gives values to the tools, in place of the chat's own of the same type.
    #[must_use]
    pub fn context(mut self, context: Arc<Context>) -> Self {
        self.request.context = Some(context);
        self
    }

    /// Offers tools that the browser runs.
    #[must_use]
    pub fn client_tools(mut self, tools: Vec<ClientTool>) -> Self {
        self.request.client_tools = tools;
        self
    }

    /// Adds an instruction for this run.
    #[must_use]
    pub fn system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.request.system_prompts.push(prompt.into());
        self
    }

    /// Lets the run get ahead of the reader that starts it by this many events only. By default
    /// nobody waits for a reader.
    #[must_use]
    pub const fn window(mut self, events: u64) -> Self {
        self.request.window = Some(events);
        self
    }

    pub(crate) fn split(self) -> (Request, Ids) {
        (self.request, self.ids)
    }
}
