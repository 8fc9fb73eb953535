//! The answers of a continuation, held against what was asked.

mod approval;
mod refuse;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{
    answer::payload_issues,
    interrupt::{
        Answer, PendingCall, PendingQuestion, Subject, Wait, approval_id, client_tool_id, input_id,
    },
    schema_issue::issues,
    toolset::{ToolSpec, Toolset},
};
use crate::wire::{
    agui::{ErrorSource, InterruptCode, InterruptError, ResumeEntry, ResumeStatus},
    ids::{InterruptId, RunId, ThreadId, ToolCallId},
};

const NO_PARENT: &str =
    "Interrupt continuation requires parentRunId to identify the interrupted run.";
const INCOMPLETE: &str = "Resume entries must resolve or cancel the complete interrupt batch.";
const INVALID: &str = "One or more interrupt resolutions are invalid.";

/// A continuation as it was posted.
#[derive(Clone, Copy, Debug)]
pub struct Submission<'a> {
    /// The conversation.
    pub thread: &'a ThreadId,
    /// The run that continues.
    pub run: &'a RunId,
    /// The run that waits.
    pub parent: Option<&'a RunId>,
    /// The answers. Not empty.
    pub entries: &'a [ResumeEntry],
}

/// What was decided about one call.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It may run, with these arguments if there are any.
    Approved(Option<Value>),
    /// It may not run.
    Declined(Option<Value>),
    /// Nobody wants it any more.
    Cancelled,
    /// The browser has run it.
    Output(Value),
    /// Its questions have these answers, in their order.
    Answers(Vec<Answer>),
}

/// What was decided, by call.
pub type Decisions = HashMap<ToolCallId, Decision>;

/// One question that is open.
#[derive(Clone, Debug)]
struct Expected<'a> {
    id: InterruptId,
    call: ToolCallId,
    name: String,
    kind: Kind<'a>,
}

#[derive(Clone, Debug)]
enum Kind<'a> {
    Approval,
    Client,
    /// With the question, unless the pause is known from the history alone.
    Input(Option<&'a PendingQuestion>),
}

impl Submission<'_> {
    /// Holds the answers against the calls that a record or a seal knows to wait.
    ///
    /// # Errors
    ///
    /// Gives everything that is wrong, in the order clients expect.
    pub fn check(
        &self,
        pending: &[PendingCall],
        tools: &Toolset,
    ) -> Result<Decisions, Vec<InterruptError>> {
        self.need_parent()?;
        let mut expected = Vec::new();
        // A call whose tool is gone waits for nothing that could be answered.
        for call in pending
            .iter()
            .filter(|call| tools.get(&call.name).is_some())
        {
            let of = |id: InterruptId, kind| Expected {
                id,
                call: call.id.clone(),
                name: call.name.clone(),
                kind,
            };
            match &call.wait {
                Wait::Turn => {}
                Wait::Approval => expected.push(of(approval_id(&call.id), Kind::Approval)),
                Wait::Client => expected.push(of(client_tool_id(&call.id), Kind::Client)),
                Wait::Input(input) => {
                    for (index, question) in input.questions.iter().enumerate() {
                        expected.push(of(input_id(&call.id, index), Kind::Input(Some(question))));
                    }
                }
            }
        }
        self.resolve(&expected, tools)
    }

    /// Holds the answers against a history that is taken at its word: what waits is read from the
    /// calls without a result and from the names of the answers.
    ///
    /// # Errors
    ///
    /// As [`Submission::check`].
    pub fn check_history(
        &self,
        calls: &[(ToolCallId, String)],
        pending: impl Fn(&ToolCallId) -> bool,
        tools: &Toolset,
    ) -> Result<Decisions, Vec<InterruptError>> {
        self.need_parent()?;
        let mut expected = Vec::new();
        let subjects = self.entries.iter();
        let subjects: HashSet<_> = subjects
            .map(|entry| Subject::of(&entry.interrupt_id))
            .collect();
        for (call, name) in calls {
            let Some(tool) = tools.get(name) else {
                continue;
            };
            let named = |wanted: Subject<'_>| subjects.contains(&wanted);
            let as_client = named(Subject::Client(call.as_str()));
            let as_input = named(Subject::Input(call.as_str()));
            let open = pending(call);
            if !open && !as_client && !named(Subject::Approval(call.as_str())) {
                continue;
            }
            let of = |id: InterruptId, kind| Expected {
                id,
                call: call.clone(),
                name: name.clone(),
                kind,
            };
            if open && as_input && !tool.is_client() {
                expected.push(of(input_id(call, 0), Kind::Input(None)));
            } else if tool.needs_approval && !(tool.is_client() && as_client) {
                expected.push(of(approval_id(call), Kind::Approval));
            } else if tool.is_client() {
                expected.push(of(client_tool_id(call), Kind::Client));
            }
        }
        self.resolve(&expected, tools)
    }

    fn need_parent(&self) -> Result<(), Vec<InterruptError>> {
        match self.parent {
            Some(_) => Ok(()),
            None => Err(vec![self.batch_of_server(InterruptCode::Stale, NO_PARENT)]),
        }
    }

    fn resolve(
        &self,
        expected: &[Expected<'_>],
        tools: &Toolset,
    ) -> Result<Decisions, Vec<InterruptError>> {
        let answers_input = self.entries.iter().any(|entry| {
            expected
                .iter()
                .any(|item| item.id == entry.interrupt_id && matches!(item.kind, Kind::Input(_)))
        });
        let mut decisions = Decisions::new();
        let mut errors: Vec<InterruptError> = Vec::new();
        let mut incomplete = false;
        for item in expected {
            let mut entries = self
                .entries
                .iter()
                .filter(|entry| entry.interrupt_id == item.id);
            let Some(entry) = entries.next() else {
                // Clients answer only the questions of a batch and run the browser's tools when
                // these are asked for again.
                if matches!(item.kind, Kind::Client) && answers_input {
                    continue;
                }
                incomplete = true;
                errors.push(self.item(
                    &item.id,
                    InterruptCode::UnknownInterrupt,
                    ErrorSource::Client,
                    format!("Missing resume entry for interrupt {}.", item.id),
                ));
                continue;
            };
            if entries.next().is_some() {
                errors.push(self.item(
                    &item.id,
                    InterruptCode::Conflict,
                    ErrorSource::Client,
                    format!("Interrupt {} has duplicate resume entries.", item.id),
                ));
                continue;
            }
            match self.decide(item, entry, tools) {
                Ok(decision) => merge(&mut decisions, item, decision),
                Err(found) => errors.extend(found),
            }
        }
        for entry in self.entries {
            let id = &entry.interrupt_id;
            if expected.iter().any(|item| item.id == *id)
                || errors
                    .iter()
                    .any(|error| error.interrupt_id.as_ref() == Some(id))
            {
                continue;
            }
            incomplete = true;
            errors.push(self.item(
                id,
                InterruptCode::UnknownInterrupt,
                ErrorSource::Client,
                format!("Resume entry references unknown interrupt {id}."),
            ));
        }
        if errors.is_empty() {
            return Ok(decisions);
        }
        errors.sort_by(|one, other| one.interrupt_id.cmp(&other.interrupt_id));
        let ids: Vec<InterruptId> = expected.iter().map(|item| item.id.clone()).collect();
        if incomplete {
            errors.push(self.batch(InterruptCode::IncompleteBatch, INCOMPLETE, ids.clone()));
        }
        errors.push(self.batch(InterruptCode::ItemValidationFailed, INVALID, ids));
        Err(errors)
    }

    fn decide(
        &self,
        item: &Expected<'_>,
        entry: &ResumeEntry,
        tools: &Toolset,
    ) -> Result<Decision, Vec<InterruptError>> {
        let id = &item.id;
        if entry.status == ResumeStatus::Cancelled {
            if entry.payload.is_some() {
                return Err(vec![self.invalid(
                    id,
                    format!("Cancelled interrupt {id} must not include a payload."),
                )]);
            }
            return Ok(match item.kind {
                Kind::Input(_) => Decision::Answers(vec![Answer::Cancelled]),
                Kind::Approval | Kind::Client => Decision::Cancelled,
            });
        }
        let payload = entry.payload.as_ref();
        if let Kind::Input(question) = &item.kind {
            return self.input_answer(id, *question, payload);
        }
        let Some(tool) = tools.get(&item.name) else {
            return Err(vec![self.item(
                id,
                InterruptCode::Stale,
                ErrorSource::Server,
                format!("Tool {} is unavailable for interrupt {id}.", item.name),
            )]);
        };
        match item.kind {
            Kind::Approval => self.approval(id, tool, payload),
            _ => self.output(id, tool, payload),
        }
    }

    fn input_answer(
        &self,
        id: &InterruptId,
        question: Option<&PendingQuestion>,
        payload: Option<&Value>,
    ) -> Result<Decision, Vec<InterruptError>> {
        let payload = payload.unwrap_or(&Value::Null);
        let found = question.map_or_else(Vec::new, |question| payload_issues(question, payload));
        self.none_of(
            id,
            InterruptCode::InvalidPayload,
            &format!("Interrupt {id} payload is invalid"),
            found,
        )?;
        Ok(Decision::Answers(vec![Answer::Resolved(payload.clone())]))
    }

    fn output(
        &self,
        id: &InterruptId,
        tool: &ToolSpec,
        payload: Option<&Value>,
    ) -> Result<Decision, Vec<InterruptError>> {
        let payload = payload.unwrap_or(&Value::Null);
        if let Some(schema) = tool.output_schema.as_deref().filter(|_| tool.checked) {
            self.none_of(
                id,
                InterruptCode::InvalidToolOutput,
                &format!("Tool {} output is invalid", tool.name),
                issues(schema, payload),
            )?;
        }
        Ok(Decision::Output(payload.clone()))
    }
}

/// Several questions of one call are one decision.
fn merge(decisions: &mut Decisions, item: &Expected<'_>, decision: Decision) {
    match (decisions.get_mut(&item.call), decision) {
        (Some(Decision::Answers(known)), Decision::Answers(more)) => known.extend(more),
        (_, decision) => {
            decisions.insert(item.call.clone(), decision);
        }
    }
}
