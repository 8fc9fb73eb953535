//! The states of a task, in both eras. Spec: MCP 2025-11-25 "Tasks", and the extension
//! `io.modelcontextprotocol/tasks` of 2026-07-28.
//!
//! `working` and `input_required` alternate as questions open and close; `completed`, `failed` and
//! `cancelled` are final.

use std::{collections::BTreeSet, sync::Arc};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::{ids::TaskId, jsonrpc::RpcError, task::TaskStatus};

/// Questions of one task that are open at once: more than a person could overlook.
pub const MAX_OPEN_QUESTIONS: usize = 64;
/// Questions of one task in all. Their keys are remembered, because none is ever used again.
pub const MAX_QUESTIONS: usize = 1_024;

/// Which of the two specs a task follows. A client of the other era does not know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskEra {
    /// The core of 2025-11-25: a result with `isError` is a failure.
    Core,
    /// The extension of 2026: such a result completes the task.
    Extension,
}

/// How the work of a task ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskEnd {
    /// With the result of the request.
    Result {
        /// The result as JSON text: an object.
        json: Arc<str>,
        /// It says that the tool failed.
        is_error: bool,
    },
    /// With the error of the request.
    Error(RpcError),
}

/// Why a task cannot ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskRefused {
    /// It has ended.
    #[error("the task has ended")]
    Ended,
    /// Too many questions are open, or were asked.
    #[error("the task asks too many questions")]
    TooMany,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    id: TaskId,
    era: TaskEra,
    status: TaskStatus,
    message: Option<String>,
    created_at: u64,
    updated_at: u64,
    ttl_ms: u64,
    poll_interval_ms: u64,
    /// Open questions by key, as `InputRequest`.
    questions: IndexMap<String, Value>,
    /// Every key that was ever used.
    asked: BTreeSet<String>,
    end: Option<TaskEnd>,
}

impl Task {
    /// Begins a task. Times are in milliseconds, `now` since 1970.
    #[must_use]
    pub fn new(id: TaskId, era: TaskEra, now: u64, ttl_ms: u64, poll_interval_ms: u64) -> Self {
        Self {
            id,
            era,
            status: TaskStatus::Working,
            message: None,
            created_at: now,
            updated_at: now,
            ttl_ms,
            poll_interval_ms,
            questions: IndexMap::new(),
            asked: BTreeSet::new(),
            end: None,
        }
    }

    /// Begins the task now, not when it was made. Nobody has heard of it yet.
    pub(crate) const fn begin(&mut self, now: u64) {
        self.created_at = now;
        self.updated_at = now;
    }

    /// Gives the id.
    #[must_use]
    pub const fn id(&self) -> &TaskId {
        &self.id
    }

    /// Gives the spec that the task follows.
    #[must_use]
    pub const fn era(&self) -> TaskEra {
        self.era
    }

    /// Gives where the task stands.
    #[must_use]
    pub const fn status(&self) -> TaskStatus {
        self.status
    }

    /// Gives what a person can read about the status.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Gives when the task was made, in milliseconds since 1970.
    #[must_use]
    pub const fn created_at(&self) -> u64 {
        self.created_at
    }

    /// Gives when the task changed last, in milliseconds since 1970.
    #[must_use]
    pub const fn updated_at(&self) -> u64 {
        self.updated_at
    }

    /// Gives how long the task is kept after it was made, in milliseconds.
    #[must_use]
    pub const fn ttl_ms(&self) -> u64 {
        self.ttl_ms
    }

    /// Gives how often a client should ask, in milliseconds.
    #[must_use]
    pub const fn poll_interval_ms(&self) -> u64 {
        self.poll_interval_ms
    }

    /// Gives when the task may be forgotten, in milliseconds since 1970.
    #[must_use]
    pub const fn expires_at(&self) -> u64 {
        self.created_at.saturating_add(self.ttl_ms)
    }

    /// Gives the questions that are open, in the order they were asked.
    #[must_use]
    pub const fn questions(&self) -> &IndexMap<String, Value> {
        &self.questions
    }

    /// Gives how the work ended; nothing of a task that runs or was cancelled.
    #[must_use]
    pub const fn end(&self) -> Option<&TaskEnd> {
        self.end.as_ref()
    }

    /// Opens a question, an `InputRequest`, and gives its key: the wanted one, or one made of it
    /// when that was used before.
    ///
    /// # Errors
    /// [`AskRefused`] when the task has ended or asks too much.
    pub fn ask(&mut self, key: &str, request: Value, now: u64) -> Result<String, AskRefused> {
        if self.status.is_terminal() {
            return Err(AskRefused::Ended);
        }
        if self.questions.len() >= MAX_OPEN_QUESTIONS || self.asked.len() >= MAX_QUESTIONS {
            return Err(AskRefused::TooMany);
        }
        let key = self.unused(key);
        self.asked.insert(key.clone());
        self.questions.insert(key.clone(), request);
        self.change(TaskStatus::InputRequired, now);
        Ok(key)
    }

    fn unused(&self, wanted: &str) -> String {
        let mut key = wanted.to_owned();
        let mut next = 2;
        while self.asked.contains(&key) {
            key = format!("{wanted}:{next}");
            next += 1;
        }
        key
    }

    /// Closes a question, because it was answered or is not asked any more. Tells whether it was
    /// open.
    pub fn close(&mut self, key: &str, now: u64) -> bool {
        if self.questions.shift_remove(key).is_none() {
            return false;
        }
        let status = if self.questions.is_empty() {
            TaskStatus::Working
        } else {
            TaskStatus::InputRequired
        };
        self.change(status, now);
        true
    }

    /// Ends the task with what came of its work. Tells whether it had not ended before.
    pub fn finish(&mut self, end: TaskEnd, message: Option<String>, now: u64) -> bool {
        let failed = match &end {
            TaskEnd::Result { is_error, .. } => *is_error && self.era == TaskEra::Core,
            TaskEnd::Error(_) => true,
        };
        let status = if failed {
            TaskStatus::Failed
        } else {
            TaskStatus::Completed
        };
        if !self.stop(status, message, now) {
            return false;
        }
        self.end = Some(end);
        true
    }

    /// Cancels the task. Tells whether it had not ended before.
    pub fn cancel(&mut self, reason: &str, now: u64) -> bool {
        self.stop(TaskStatus::Cancelled, Some(reason.to_owned()), now)
    }

    fn stop(&mut self, status: TaskStatus, message: Option<String>, now: u64) -> bool {
        if self.status.is_terminal() {
            return false;
        }
        self.questions.clear();
        self.message = message;
        self.change(status, now);
        true
    }

    fn change(&mut self, status: TaskStatus, now: u64) {
        self.status = status;
        // The clock of the machine may have been set back.
        self.updated_at = self.updated_at.max(now);
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use serde_json::json;

    use super::*;

    fn task(era: TaskEra) -> Task {
        Task::new(TaskId::from("t"), era, 1_000, 60_000, 500)
    }

    fn result(is_error: bool) -> TaskEnd {
        TaskEnd::Result {
            json: Arc::from("{}"),
            is_error,
        }
    }

    #[test]
    fn a_new_task_works_until_its_time_is_over() {
        let task = task(TaskEra::Core);
        assert_eq!(task.status(), TaskStatus::Working);
        assert_eq!((task.created_at(), task.updated_at()), (1_000, 1_000));
        assert_eq!(task.expires_at(), 61_000);
    }

    #[test]
    fn input_is_required_while_any_question_is_open() {
        let mut task = task(TaskEra::Extension);
        task.ask("a", json!(1), 2_000).unwrap();
        task.ask("b", json!(2), 2_000).unwrap();
        assert!(task.close("a", 3_000));
        assert_eq!(task.status(), TaskStatus::InputRequired);
        assert_eq!(task.questions().keys().collect::<Vec<_>>(), ["b"]);
        assert!(task.close("b", 4_000));
        assert_eq!(task.status(), TaskStatus::Working);
        assert_eq!(task.updated_at(), 4_000);
        assert!(!task.close("b", 5_000));
        assert!(!task.close("unknown", 5_000));
        assert_eq!(task.updated_at(), 4_000);
    }

    #[test]
    fn a_key_is_never_used_again() {
        let mut task = task(TaskEra::Extension);
        for expected in ["a", "a:2", "a:3"] {
            let key = task.ask("a", json!({}), 1_000).unwrap();
            assert_eq!(key, expected);
            task.close(&key, 1_000);
        }
        assert_eq!(task.ask("a:2", json!({}), 1_000).unwrap(), "a:2:2");
    }

    #[test]
    fn questions_are_bounded_at_once_and_in_all() {
        let mut open = task(TaskEra::Extension);
        for at in 0..MAX_OPEN_QUESTIONS {
            open.ask(&at.to_string(), json!({}), 0).unwrap();
        }
        assert_eq!(open.ask("more", json!({}), 0), Err(AskRefused::TooMany));
        let mut asked = task(TaskEra::Extension);
        for at in 0..MAX_QUESTIONS {
            let key = asked.ask(&at.to_string(), json!({}), 0).unwrap();
            asked.close(&key, 0);
        }
        assert_eq!(asked.ask("more", json!({}), 0), Err(AskRefused::TooMany));
    }

    #[test]
    fn an_error_of_the_tool_fails_a_task_of_2025_and_completes_one_of_2026() {
        for (era, end, status) in [
            (TaskEra::Core, result(false), TaskStatus::Completed),
            (TaskEra::Core, result(true), TaskStatus::Failed),
            (TaskEra::Extension, result(false), TaskStatus::Completed),
            (TaskEra::Extension, result(true), TaskStatus::Completed),
            (
                TaskEra::Extension,
                TaskEnd::Error(RpcError::new(-32603, "no")),
                TaskStatus::Failed,
            ),
        ] {
            let mut task = task(era);
            assert!(task.finish(end.clone(), None, 2_000));
            assert_eq!((task.status(), task.end()), (status, Some(&end)));
        }
    }

    #[test]
    fn what_has_ended_stays_as_it_is() {
        type Step = fn(&mut Task) -> bool;
        let ends: [(Step, TaskStatus); 2] = [
            (|task| task.cancel("enough", 2_000), TaskStatus::Cancelled),
            (
                |task| task.finish(result(false), None, 2_000),
                TaskStatus::Completed,
            ),
        ];
        for (end, status) in ends {
            let mut ended = task(TaskEra::Core);
            ended.ask("a", json!({}), 1_500).unwrap();
            assert!(end(&mut ended));
            assert!(ended.questions().is_empty());
            let before = ended.clone();
            assert_eq!(before.status(), status);
            assert!(!ended.cancel("again", 3_000));
            assert!(!ended.finish(result(true), None, 3_000));
            assert!(!ended.close("a", 3_000));
            assert_eq!(ended.ask("b", json!({}), 3_000), Err(AskRefused::Ended));
            assert_eq!(ended, before);
        }
    }
}
