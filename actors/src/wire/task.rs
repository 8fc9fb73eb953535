//! Tasks: states and names of the wire. Spec: MCP 2025-11-25 "Tasks", and the extension
//! `io.modelcontextprotocol/tasks` of 2026-07-28.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The extension of 2026, in `capabilities.extensions` of both sides.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// 2025: the key of `_meta` that says which task a message belongs to.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// 2025: says that a task has changed.
pub const STATUS_NOTIFICATION: &str = "notifications/tasks/status";
/// 2026: says that a task has changed, to those who listen to it.
pub const NOTIFICATION: &str = "notifications/tasks";

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It runs.
    Working,
    /// It waits for the answer to a question.
    InputRequired,
    /// It has a result.
    Completed,
    /// It ended without one; in 2025 also with a result that is an error of the tool.
    Failed,
    /// It was ended from outside.
    Cancelled,
}

impl TaskStatus {
    /// Gives the status as it stands on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Tells whether the task has ended; it stays as it is then.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// What clients may do with a tool and tasks, as 2025-11-25 lists it in `execution.taskSupport`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskSupport {
    /// It never runs as a task.
    #[default]
    Forbidden,
    /// It runs as a task for those who can handle tasks, else within its call.
    Optional,
    /// It runs as a task only.
    Required,
}

impl TaskSupport {
    /// Gives the word of the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Optional => "optional",
            Self::Required => "required",
        }
    }
}
