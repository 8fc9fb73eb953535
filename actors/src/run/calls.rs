//! One call of a tool, carried out.

use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::toolbox::Executor;
use crate::{
    gauge::measured,
    machine::{
        agent::{CallAnswers, ToolEnd, ToolStart, mcp_question},
        answer::mcp_result,
        interrupt::{Answer, InputKind, PendingQuestion},
        tool_value::tool_value,
    },
    ports::tool_source::{ExecOutcome, InputRequest, McpAnswers, ToolInvocation},
    tool::{
        Answers, Context, InputResponse, Question, QuestionKind, Tool, ToolCx, ToolNotice,
        ToolOutcome, ToolOutput,
    },
    wire::auth::AuthInfo,
};

/// Notices of a running tool that may wait to be shown; further ones are dropped, because a tool
/// must not block.
pub(super) const NOTICE_BUFFER: usize = 1024;

/// What every call of a run is told.
#[derive(Clone)]
pub(super) struct CallScope {
    pub(super) context: Arc<Context>,
    pub(super) auth: Option<Arc<AuthInfo>>,
}

/// Begins a call.
pub(super) fn start(
    executor: Executor,
    start: ToolStart,
    scope: &CallScope,
    cancel: CancellationToken,
    notices: mpsc::Sender<ToolNotice>,
) -> LocalBoxFuture<'static, ToolEnd> {
    match executor {
        Executor::Own(tool) => own(&tool, start, scope, cancel, notices),
        Executor::Foreign(tool) => {
            let mut call = ToolInvocation::new(start.id, start.arguments, cancel);
            if let Some(answers) = start.answers.as_ref().and_then(mcp_answers) {
                call = call.with_answers(answers);
            }
            let running = tool.executor.execute(call);
            Box::pin(async move { foreign_end(running.await) })
        }
    }
}

fn own(
    tool: &Tool,
    start: ToolStart,
    scope: &CallScope,
    cancel: CancellationToken,
    notices: mpsc::Sender<ToolNotice>,
) -> LocalBoxFuture<'static, ToolEnd> {
    let mut cx = ToolCx::builder()
        .tool_call_id(start.id)
        .cancel(cancel)
        .context(Arc::clone(&scope.context))
        .notices(Arc::new(move |notice| {
            if notices.try_send(notice).is_err() {
                tracing::warn!("a notice of a tool was dropped: too many are waiting");
            }
        }));
    if let Some(auth) = &scope.auth {
        cx = cx.auth(Arc::clone(auth));
    }
    if let Some(answers) = start.answers {
        if let Some(response) = response(&answers) {
            cx = cx.input_response(response);
        }
        cx = cx.answers(own_answers(&answers));
    }
    let running = tool.call(&start.arguments.to_string(), cx.build());
    let running = measured(tool.name(), running);
    let promised = tool.result_schema().is_some();
    let name = tool.name().to_owned();
    Box::pin(async move { own_end(&name, promised, running.await) })
}

/// Gives all answers by key, as MCP words them.
fn own_answers(answers: &CallAnswers) -> Answers {
    answers
        .earlier
        .iter()
        .chain(&answers.round)
        .filter_map(|answered| {
            let question = answered.question.as_ref()?;
            let key = question.key.clone()?;
            Some((key, mcp_result(question, &answered.answer)?))
        })
        .collect()
}

/// Gives the answer of this round as it was posted, for a tool that reads it itself.
fn response(answers: &CallAnswers) -> Option<InputResponse> {
    let answered = answers.round.first()?;
    Some(match &answered.answer {
        Answer::Resolved(payload) => InputResponse::Resolved(payload.clone()),
        Answer::Cancelled => InputResponse::Cancelled,
    })
}

/// Gives the answers of this round for an MCP server. None when what it asked is not known: it
/// will ask again.
fn mcp_answers(answers: &CallAnswers) -> Option<McpAnswers> {
    let mut given = McpAnswers {
        request_state: answers.request_state.clone(),
        responses: indexmap::IndexMap::new(),
        questions: indexmap::IndexMap::new(),
    };
    for answered in &answers.round {
        let question = answered.question.as_ref()?;
        let key = question.key.clone()?;
        let result = mcp_result(question, &answered.answer)?;
        given.responses.insert(key.clone(), result);
        let request = InputRequest {
            method: question.kind.method().to_owned(),
            params: question.request.clone(),
        };
        given.questions.insert(key, request);
    }
    Some(given)
}

fn foreign_end(outcome: ExecOutcome) -> ToolEnd {
    match outcome {
        ExecOutcome::Done(value) => ToolEnd::Done(value),
        ExecOutcome::Failed(message) => ToolEnd::Failed(message),
        ExecOutcome::NeedsInput {
            questions,
            request_state,
        } => {
            let mut pending = Vec::with_capacity(questions.len());
            for (key, asked) in &questions {
                let Some(question) = mcp_question(key, &asked.method, &asked.params) else {
                    return ToolEnd::Failed(format!(
                        "The MCP server asked for unsupported input: {}",
                        asked.method
                    ));
                };
                pending.push(question);
            }
            ToolEnd::NeedsInput {
                questions: pending,
                request_state,
            }
        }
    }
}

fn own_end(name: &str, promised: bool, outcome: ToolOutcome) -> ToolEnd {
    match outcome {
        ToolOutcome::Done(ToolOutput::Result(result)) => match tool_value(name, result, promised) {
            Ok(value) => ToolEnd::Done(value),
            Err(message) => ToolEnd::Failed(message),
        },
        ToolOutcome::Done(output) => ToolEnd::Done(output.to_value()),
        ToolOutcome::Failed(error) if error.is_invalid_arguments() => {
            ToolEnd::InvalidArguments(error.message().to_owned())
        }
        ToolOutcome::Failed(error) if error.is_invalid_output() => {
            ToolEnd::InvalidOutput(error.message().to_owned())
        }
        ToolOutcome::Failed(error) => ToolEnd::Failed(error.message().to_owned()),
        ToolOutcome::NeedsInput(questions) => ToolEnd::NeedsInput {
            questions: questions.into_iter().map(pending_question).collect(),
            request_state: None,
        },
    }
}

fn pending_question(question: Question) -> PendingQuestion {
    PendingQuestion {
        key: question.key,
        kind: match question.kind {
            QuestionKind::Form => InputKind::Form,
            QuestionKind::Url => InputKind::Url,
            QuestionKind::Sampling => InputKind::Sampling,
            QuestionKind::Roots => InputKind::Roots,
        },
        request: question.request,
        reason: question.reason,
    }
}

/// Words a notice as an event of the chat. Log messages are for logs.
pub(super) fn shown(notice: ToolNotice) -> Option<(String, Value)> {
    match notice {
        ToolNotice::Custom { name, value } => Some((name, value)),
        ToolNotice::Progress {
            progress,
            total,
            message,
        } => Some((
            "tool-progress".to_owned(),
            serde_json::json!({"progress": progress, "total": total, "message": message}),
        )),
        ToolNotice::Log { .. }
        | ToolNotice::CloseStream
        | ToolNotice::PageDone { .. }
        | ToolNotice::BeginTask => None,
    }
}
