//! How a call ends.

use bytes::Bytes;
use serde_json::json;

use super::{Running, refused};
use crate::{
    handler::Served,
    machine::mrtr::MAX_ROUNDS,
    server::{
        OutputShape, Response,
        answer::{Answer, Refusal, ResultKind},
        audit::AuditOutcome,
        busy::Busy,
        reply::{self, ResultWriter},
    },
    tool::{Question, ToolError, ToolOutcome},
    wire::jsonrpc::{RpcError, code},
};

/// The end of a call: its response, and what became of it.
pub(super) struct End(pub(super) Response, pub(super) AuditOutcome);

impl End {
    pub(super) fn new(status: u16, body: Bytes, outcome: AuditOutcome) -> Self {
        Self(Response::json(status, body), outcome)
    }

    fn done(body: Bytes) -> Self {
        Self::new(200, body, AuditOutcome::Done)
    }

    fn failed(body: Bytes) -> Self {
        Self::new(200, body, AuditOutcome::ToolError)
    }
}

impl Running {
    pub(super) fn refuse(&self, status: u16, error: &RpcError) -> End {
        End::new(status, self.error(error), AuditOutcome::Error(error.code))
    }

    /// A refusal that time cures, of which whoever operates the server hears.
    fn busy(&self, busy: &Busy) -> End {
        let response = busy.response(Some(&self.id), self.era.is_modern());
        self.work.server().report_refusal(Some(&response));
        let outcome = AuditOutcome::of(&response);
        End(response, outcome)
    }

    pub(super) fn error(&self, error: &RpcError) -> Bytes {
        reply::error(Some(&self.id), self.era.is_modern(), error)
    }

    pub(super) fn end(&mut self, outcome: ToolOutcome, shape: OutputShape) -> End {
        match outcome {
            ToolOutcome::Done(output) if output.is_failure() => {
                End::failed(self.writer(shape).output(output))
            }
            ToolOutcome::Done(output) => End::done(self.writer(shape).output(output)),
            ToolOutcome::Failed(error) => match self.refusal(&error) {
                Some(refusal) => refusal,
                None => End::failed(self.writer(shape).failure(error.message())),
            },
            ToolOutcome::NeedsInput(questions) => match self.ask(&questions) {
                Ok(asked) => asked,
                Err(why) => End::failed(self.writer(shape).failure(&why)),
            },
        }
    }

    /// A request that is not a tool call has no result that could say that it failed.
    pub(super) fn end_request(&mut self, served: Served<Answer>) -> End {
        let internal = |message: String| RpcError::new(code::INTERNAL_ERROR, message);
        let error = match served {
            Served::Done(Ok(members)) if members.kind == ResultKind::Task => {
                let task = self.plain_writer().members(members);
                return End::new(200, task, AuditOutcome::Task);
            }
            Served::Done(Ok(members)) => {
                if members.kind == ResultKind::Poll
                    && let Some(observation) = &mut self.observation
                {
                    observation.leave_out();
                }
                return End::done(self.plain_writer().members(members));
            }
            Served::Done(Err(Refusal::Error(error))) => error,
            Served::Done(Err(Refusal::Busy(busy))) => return self.busy(&busy),
            Served::Done(Err(Refusal::Denied(response))) => {
                let outcome = AuditOutcome::of(&response);
                return End(*response, outcome);
            }
            Served::Failed(error) => match self.refusal(&error) {
                Some(refusal) => return refusal,
                None if error.is_panic() => internal("the request failed".to_owned()),
                None => internal(error.message().to_owned()),
            },
            Served::NeedsInput(questions) => match self.ask(&questions) {
                Ok(asked) => return asked,
                Err(why) => internal(why),
            },
        };
        self.refuse(200, &error)
    }

    fn writer(&self, shape: OutputShape) -> ResultWriter<'_> {
        ResultWriter {
            listings: &self.work.server().listings,
            era: self.era,
            shape,
            id: Some(&self.id),
        }
    }

    fn plain_writer(&self) -> ResultWriter<'_> {
        self.writer(OutputShape::default())
    }

    /// Gives the error of a call that asked what this client cannot answer, or got an answer that
    /// does not fit.
    fn refusal(&self, error: &ToolError) -> Option<End> {
        let name = self.name.as_deref().unwrap_or_default();
        self.work.server().report_failure(name, error);
        if error.is_internal() {
            let error = RpcError::new(code::INTERNAL_ERROR, error.message().to_owned());
            return Some(self.refuse(200, &error));
        }
        let error = refused(self.asking.as_ref()?.cx.as_ref()?)?;
        let missing = error.code == code::MISSING_CLIENT_CAPABILITY;
        Some(self.refuse(if missing { 400 } else { 200 }, &error))
    }

    fn ask(&mut self, questions: &[Question]) -> Result<End, String> {
        if !self.can_ask {
            return Err("a function that asks needs a ToolCx parameter".to_owned());
        }
        let Some(mut asking) = self.asking.take() else {
            return self.pages(questions).ok_or_else(|| {
                "a 2025 client has to be asked while its call runs, with ask or request_form"
                    .to_owned()
            });
        };
        if asking.state.round >= MAX_ROUNDS {
            return Err(format!(
                "questions were asked in more than {MAX_ROUNDS} rounds"
            ));
        }
        // What is asked again gets a new answer.
        for key in questions
            .iter()
            .filter_map(|question| question.key.as_deref())
        {
            asking.state.answers.remove(key);
        }
        let state = asking
            .seal(self.work.server())
            .map_err(|error| error.to_string())?;
        let asked = self.plain_writer().input_required(questions, &state);
        Ok(End::new(200, asked, AuditOutcome::InputRequired))
    }

    /// Gives the error that asks a client of 2025-11-25 to open pages before it calls again. The
    /// questions have been admitted, so it knows them.
    fn pages(&self, questions: &[Question]) -> Option<End> {
        let pages = self.session.as_ref()?.session.pages_of(questions)?;
        let message = "a page has to be opened first";
        let error = RpcError::new(code::URL_ELICITATION_REQUIRED, message)
            .with_data(json!({"elicitations": pages}));
        Some(End::new(
            200,
            self.error(&error),
            AuditOutcome::InputRequired,
        ))
    }
}
