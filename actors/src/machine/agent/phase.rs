//! The calls of one turn: which run, which wait, and what came of them.

use super::call::{PhaseCall, ToolEnd, ToolStart};
use crate::machine::{
    interrupt::{PendingCall, Progress},
    result_text::ResultText,
    run_input::MAX_ANSWERS,
    toolset::Toolset,
};

/// Questions of one call in one round: more than a person can be asked at once. All calls of a turn
/// together have the bound of what a continuation answers.
const MAX_QUESTIONS: usize = 32;

/// The calls of one turn.
#[derive(Debug, Default)]
pub(super) struct Phase {
    pub(super) calls: Vec<PhaseCall>,
    running: Option<usize>,
}

impl Phase {
    pub(super) const fn new(calls: Vec<PhaseCall>) -> Self {
        Self {
            calls,
            running: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Tells whether a call will run before the turn is over.
    pub(super) fn will_run(&self) -> bool {
        !self.is_gated() && self.calls.iter().any(PhaseCall::runs)
    }

    /// Tells whether the calls have to wait for a person's decision on one of them.
    fn is_gated(&self) -> bool {
        self.calls.iter().any(PhaseCall::waits_for_decision)
    }

    /// Tells whether a result is there that the client does not have.
    pub(super) fn has_news(&self) -> bool {
        self.calls
            .iter()
            .any(|call| call.result.is_some() && !call.silent)
    }

    /// Gives the next call to run, one after the other in the order of the turn.
    pub(super) fn next(&mut self) -> Option<ToolStart> {
        if self.is_gated() {
            return None;
        }
        let index = self
            .calls
            .iter()
            .position(|call| call.runs() && call.call.progress == Progress::Waiting)?;
        self.running = Some(index);
        self.calls.get_mut(index)?.start()
    }

    /// Gives the call that is running.
    pub(super) fn running(&self) -> Option<&PhaseCall> {
        self.calls.get(self.running?)
    }

    /// Takes the end of the running call. Gives its next start when it has to run again.
    pub(super) fn end(
        &mut self,
        end: ToolEnd,
        tools: &Toolset,
        max_rounds: u32,
    ) -> Option<ToolStart> {
        let index = self.running?;
        let open: usize = self.calls.iter().map(PhaseCall::open_questions).sum();
        let call = self.calls.get_mut(index)?;
        let tool = tools.get(&call.call.name);
        match end {
            ToolEnd::Done(value) => call.finish(&value, tool),
            ToolEnd::Failed(message) => call.settle(ResultText::error(&message)),
            ToolEnd::InvalidArguments(message) => {
                call.settle(ResultText::bad_input(&call.call.name, &[message]));
            }
            ToolEnd::InvalidOutput(message) => call.settle(ResultText::bad_output(&[message])),
            ToolEnd::NeedsInput { questions, .. } if questions.len() > MAX_QUESTIONS => {
                let message = format!(
                    "the tool asked {} questions at once; at most {MAX_QUESTIONS} can be answered",
                    questions.len()
                );
                call.settle(ResultText::error(&message));
            }
            ToolEnd::NeedsInput { questions, .. } if open + questions.len() > MAX_ANSWERS => {
                let message = format!(
                    "the calls of this turn ask more than {MAX_ANSWERS} questions at once, which could not be answered together"
                );
                call.settle(ResultText::error(&message));
            }
            ToolEnd::NeedsInput {
                questions,
                request_state,
            } if !questions.is_empty() => {
                if let Some(again) = call.ask(questions, request_state, max_rounds) {
                    return Some(again);
                }
                call.call.progress = Progress::Waiting;
            }
            ToolEnd::NeedsInput { .. } => {
                call.settle(ResultText::error("the tool paused without a question"));
            }
        }
        self.running = None;
        None
    }

    /// Gives the calls without a result.
    pub(super) fn pending(&self) -> Vec<PendingCall> {
        self.calls
            .iter()
            .filter(|call| call.result.is_none())
            .map(|call| call.call.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests;
