//! The agent loop without IO: it is told what the model and the tools did, and says what to do
//! next and which events to show.
//!
//! Calls without a result come first, then model turns, each followed by its calls, until the
//! model is done, somebody has to answer, or the number of turns is used up.

mod call;
mod events;
mod phase;
mod setup;
mod transcript;
mod turn;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use call::PhaseCall;
pub use call::{CallAnswers, ToolEnd, ToolStart, mcp_question};
pub use events::{Events, iso_time};
use events::{RunIds, TurnEnd, run_finished};
use phase::Phase;
pub use setup::{Checkpoint, Earlier, OpenCalls, Setup, Step};
use transcript::Transcript;
use turn::{Heard, Turn};

use super::{
    dialogue::{FinishReason, ModelError, ModelEvent},
    interrupt::{PendingCall, Progress, Wait, batch},
    result_text::{NOT_OURS, ResultText},
    resume::Decision,
    rows::{RowCall, model_messages, open_calls},
    toolset::Toolset,
};
use crate::wire::{
    agui::{Event, EventKind, Interrupt, Outcome, Role, Row},
    ids::ToolCallId,
};

/// Model turns of one run, unless the chat says otherwise.
pub const DEFAULT_MAX_ITERATIONS: u32 = 5;
/// Rounds of questions of one call, unless the chat says otherwise.
pub const DEFAULT_MAX_INPUT_ROUNDS: u32 = 10;

/// The agent loop of one run.
#[derive(Debug)]
pub struct Agent {
    ids: RunIds,
    model: String,
    transcript: Transcript,
    tools: Toolset,
    used_calls: HashSet<ToolCallId>,
    turn: Option<Turn>,
    phase: Phase,
    held_end: Option<TurnEnd>,
    at_start: bool,
    iterations: u32,
    max_iterations: u32,
    max_input_rounds: u32,
    state: Option<Value>,
    earlier: Option<Earlier>,
}

impl Agent {
    /// Prepares a run.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let phase = opening(&setup);
        let mut transcript = Transcript::new(setup.rows);
        let approved = phase.calls.iter().filter(|call| {
            let decision = setup.decisions.get(&call.call.id);
            matches!(decision, Some(Decision::Approved(_))) && call.waits_for_client()
        });
        transcript.add_placeholders(approved.map(|call| &call.call.id));
        let used_calls = super::rows::calls(transcript.rows())
            .into_iter()
            .map(|known| known.call.id)
            .collect();
        Self {
            ids: RunIds {
                thread: setup.thread,
                run: setup.run,
                parent: setup.parent,
            },
            model: setup.model,
            transcript,
            tools: setup.tools,
            used_calls,
            turn: None,
            phase,
            held_end: None,
            at_start: true,
            iterations: 0,
            max_iterations: setup.max_iterations.max(1),
            max_input_rounds: setup.max_input_rounds.max(1),
            state: setup.state,
            earlier: setup.earlier,
        }
    }

    /// Starts the run.
    pub fn begin(&mut self, out: &mut Events) -> Step {
        let earlier = self.earlier.take().unwrap_or_default();
        let only_pauses = !self.phase.pending().is_empty()
            && !self.phase.will_run()
            && !self.phase.has_news()
            && earlier.results.is_empty();
        let started = EventKind::RunStarted {
            thread_id: self.ids.thread.clone(),
            run_id: self.ids.run.clone(),
            parent_run_id: self.ids.parent.clone(),
            input: None,
        };
        if only_pauses {
            out.plain(started);
        } else {
            out.of_model(&self.model, started);
        }
        self.transcript.repeat_results(&earlier.results, out);
        if earlier.snapshot {
            self.transcript.snapshot(&self.ids.run, None, out);
        }
        if earlier.completed {
            return self.complete(FinishReason::Stop, None, out);
        }
        if self.phase.is_empty() {
            return self.call_model();
        }
        self.next_call(out)
    }

    /// Takes a piece of the model's turn.
    pub fn model_said(&mut self, event: ModelEvent, out: &mut Events) -> Step {
        let turn = self.turn.get_or_insert_with(Turn::new);
        match turn.hear(event, &self.model, &mut self.used_calls, out) {
            Heard::More => Step::Listen,
            Heard::Model(model) => {
                self.model = model;
                Step::Listen
            }
            Heard::Failed { message, code } => Step::Failed { message, code },
            Heard::End(end) => self.end_turn(*end, out),
        }
    }

    /// Takes the end of a model stream that did not say that its turn was complete.
    pub fn model_ended(&mut self, out: &mut Events) -> Step {
        let turn = self.turn.get_or_insert_with(Turn::new);
        let end = turn.cut(&self.model, out);
        self.end_turn(end, out)
    }

    /// Takes a model stream that broke. Open messages stay open.
    pub fn model_broke(&mut self, error: ModelError, out: &mut Events) -> Step {
        let (message, code) = if error.aborted {
            ("Request aborted".to_owned(), Some("aborted".to_owned()))
        } else if error.message.is_empty() {
            ("Unknown error occurred".to_owned(), error.code)
        } else {
            (error.message, error.code)
        };
        out.push(Event::run_error(out.now_ms(), &message, code.as_deref()));
        Step::Failed { message, code }
    }

    /// Takes an event that the running tool sends of its own accord.
    pub fn tool_said(&mut self, name: String, value: Value, out: &mut Events) {
        let Some(call) = self.phase.running() else {
            return;
        };
        let mut members = match value {
            Value::Object(members) => members,
            Value::Null => serde_json::Map::new(),
            other => [("value".to_owned(), other)].into_iter().collect(),
        };
        members.insert("toolCallId".to_owned(), call.call.id.as_str().into());
        out.plain(EventKind::Custom {
            name,
            value: Value::Object(members),
        });
    }

    /// Takes the end of the running call.
    pub fn tool_ended(&mut self, end: ToolEnd, out: &mut Events) -> Step {
        match self.phase.end(end, &self.tools, self.max_input_rounds) {
            Some(again) => Step::RunTool(again),
            None => self.next_call(out),
        }
    }

    /// Announces a pause that has been put away. Gives the questions.
    pub fn announce(&mut self, seal: Option<&str>, out: &mut Events) -> Vec<Interrupt> {
        let pending = self.phase.pending();
        let interrupts = batch(&pending, &self.ids.run, |name| self.tools.get(name));
        let sealed = seal.map(|seal| (seal, pending.as_slice()));
        self.transcript.snapshot(&self.ids.run, sealed, out);
        if let Some(snapshot) = self.state.clone() {
            out.plain(EventKind::StateSnapshot { snapshot });
        }
        let end = self.held_end.take().unwrap_or(TurnEnd {
            reason: FinishReason::ToolCalls,
            usage: None,
        });
        let outcome = Outcome::Interrupt {
            interrupts: interrupts.clone(),
        };
        let now = out.now_ms();
        out.push(run_finished(
            &self.ids,
            &self.model,
            &end,
            Some(outcome),
            now,
        ));
        interrupts
    }

    /// Gives what has come of the run so far.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        let mut rows = self.transcript.rows().to_vec();
        rows.extend(
            self.phase.calls.iter().filter_map(|call| {
                Some(Transcript::result_row(&call.call.id, call.result.as_ref()?))
            }),
        );
        Checkpoint {
            rows,
            pending: self.phase.pending(),
            partial: self.turn.as_ref().is_some_and(Turn::is_shown),
        }
    }

    /// Tells whether the run is still at the calls that it was started for.
    #[must_use]
    pub const fn is_at_start(&self) -> bool {
        self.at_start
    }

    /// Gives the messages as they stand.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        self.transcript.rows()
    }

    fn call_model(&mut self) -> Step {
        self.at_start = false;
        self.turn = Some(Turn::new());
        Step::CallModel {
            messages: model_messages(self.transcript.rows()),
            tools: self.tools.model_tools(),
        }
    }

    fn end_turn(&mut self, end: TurnEnd, out: &mut Events) -> Step {
        let turn = self.turn.take().unwrap_or_else(Turn::new);
        self.transcript.extend(turn.rows(out.now_ms()));
        let calls: Vec<_> = turn
            .calls()
            .into_iter()
            .filter(|call| !call.name.is_empty())
            .collect();
        let goes_on = end.reason == FinishReason::ToolCalls && !self.tools.is_empty();
        if !goes_on || calls.is_empty() {
            return self.complete(end.reason, end.usage, out);
        }
        self.held_end = Some(end);
        let calls = calls
            .into_iter()
            .map(|call| {
                let pending = PendingCall {
                    id: call.id,
                    name: call.name,
                    arguments: call.arguments,
                    wait: Wait::Turn,
                    progress: Progress::Waiting,
                };
                PhaseCall::new(pending, Some(turn.message().clone()), None, &self.tools)
            })
            .collect();
        self.phase = Phase::new(calls);
        self.next_call(out)
    }

    fn next_call(&mut self, out: &mut Events) -> Step {
        if let Some(start) = self.phase.next() {
            return Step::RunTool(start);
        }
        let pending = self.phase.pending();
        if pending.is_empty()
            && let Some(end) = self.held_end.take()
        {
            let now = out.now_ms();
            out.push(run_finished(&self.ids, &self.model, &end, None, now));
        }
        self.tell_results(out);
        if !pending.is_empty() {
            return Step::Pause {
                rows: self.transcript.rows().to_vec(),
                pending,
            };
        }
        self.phase = Phase::default();
        if !self.at_start {
            self.iterations += 1;
        }
        if self.iterations >= self.max_iterations {
            return self.complete(FinishReason::Length, None, out);
        }
        self.call_model()
    }

    fn tell_results(&mut self, out: &mut Events) {
        let results = self.phase.calls.iter();
        let results = results.filter_map(|call| Some((&call.call.id, call.result.as_ref()?)));
        self.transcript.add_results(results);
        for call in &mut self.phase.calls {
            let Some(result) = &call.result else {
                continue;
            };
            call.told = true;
            if call.silent {
                continue;
            }
            let owner = call
                .message
                .clone()
                .unwrap_or_else(|| call.call.id.as_str().into());
            let kind = EventKind::ToolCallResult {
                message_id: owner,
                tool_call_id: call.call.id.clone(),
                content: result.content.clone(),
                role: Some(Role::Tool),
            };
            let mut event = Event::new(out.now_ms(), kind);
            if result.is_error {
                event = event.tanstack("state", "output-error");
            }
            out.push(event);
        }
    }

    fn complete(
        &mut self,
        reason: FinishReason,
        usage: Option<super::dialogue::Usage>,
        out: &mut Events,
    ) -> Step {
        let end = TurnEnd {
            reason: reason.clone(),
            usage,
        };
        let now = out.now_ms();
        out.push(run_finished(&self.ids, &self.model, &end, None, now));
        Step::Completed(reason)
    }
}

/// Plans the calls of the history that have no result.
fn opening(setup: &Setup) -> Phase {
    let call_of = |open: &RowCall| PendingCall {
        id: open.call.id.clone(),
        name: open.call.name.clone(),
        arguments: open.call.arguments.clone(),
        wait: Wait::Turn,
        progress: Progress::Waiting,
    };
    let known: HashMap<&ToolCallId, &PendingCall> = match &setup.open {
        OpenCalls::Trusted => HashMap::new(),
        OpenCalls::Known(known) => known.iter().map(|call| (&call.id, call)).collect(),
    };
    let calls = open_calls(&setup.rows)
        .into_iter()
        .map(|open| {
            let known = match &setup.open {
                OpenCalls::Trusted => Some(call_of(&open)),
                OpenCalls::Known(_) => known.get(&open.call.id).copied().cloned(),
            };
            let Some(known) = known else {
                let mut call =
                    PhaseCall::new(call_of(&open), open.message, None, &Toolset::default());
                call.settle(ResultText::error(NOT_OURS));
                return call;
            };
            let decision = setup.decisions.get(&known.id).cloned();
            let mut call = PhaseCall::new(known, open.message, decision, &setup.tools);
            if let Some(content) = setup.posted.get(&call.call.id) {
                call.accept_posted(content);
            }
            call
        })
        .collect();
    Phase::new(calls)
}

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
