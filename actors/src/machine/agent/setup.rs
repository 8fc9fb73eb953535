//! What goes into the agent loop, and what comes out.

use std::collections::HashMap;

use serde_json::Value;

use super::ToolStart;
use crate::{
    machine::{
        dialogue::{FinishReason, ModelMessage, ModelTool},
        interrupt::PendingCall,
        resume::Decisions,
        toolset::Toolset,
    },
    wire::{
        agui::Row,
        ids::{RunId, ThreadId, ToolCallId},
    },
};

/// What a run begins with.
#[derive(Debug)]
pub struct Setup {
    /// The conversation.
    pub thread: ThreadId,
    /// The run.
    pub run: RunId,
    /// The run it continues.
    pub parent: Option<RunId>,
    /// The id of the model.
    pub model: String,
    /// The messages.
    pub rows: Vec<Row>,
    /// The tools.
    pub tools: Toolset,
    /// What may be done about calls without a result.
    pub open: OpenCalls,
    /// What was decided about them.
    pub decisions: Decisions,
    /// The results that the client has posted for them, so that they are not told again.
    pub posted: HashMap<ToolCallId, String>,
    /// What an earlier attempt at this continuation has left.
    pub earlier: Option<Earlier>,
    /// Shown at a pause.
    pub state: Option<Value>,
    /// Model turns at most.
    pub max_iterations: u32,
    /// Rounds of questions of one call at most.
    pub max_input_rounds: u32,
}

/// What may be done about calls of the history that have no result.
#[derive(Debug)]
pub enum OpenCalls {
    /// The history is taken at its word: they run, wait or fail as if the model had just made them.
    Trusted,
    /// Only these may run or wait, the others are cancelled.
    Known(Vec<PendingCall>),
}

/// What an earlier attempt has left, to be shown again.
#[derive(Debug, Default)]
pub struct Earlier {
    /// Calls that have their result in the rows.
    pub results: Vec<ToolCallId>,
    /// There is more in the rows than results, or the client may have seen a piece of a message.
    pub snapshot: bool,
    /// The earlier attempt came to its end.
    pub completed: bool,
}

/// What has to happen next.
#[derive(Debug)]
pub enum Step {
    /// Ask the model for a turn, then tell [`Agent::model_said`](super::Agent::model_said) and [`Agent::model_ended`](super::Agent::model_ended).
    CallModel {
        /// The conversation.
        messages: Vec<ModelMessage>,
        /// The tools.
        tools: Vec<ModelTool>,
    },
    /// Run a call, then tell [`Agent::tool_ended`](super::Agent::tool_ended).
    RunTool(ToolStart),
    /// Put the pause away, then [`Agent::announce`](super::Agent::announce) it.
    Pause {
        /// The conversation.
        rows: Vec<Row>,
        /// The calls that wait.
        pending: Vec<PendingCall>,
    },
    /// The run is over.
    Completed(FinishReason),
    /// The run has failed; RUN_ERROR is among the events.
    Failed {
        /// What the reader was told.
        message: String,
        /// Its code.
        code: Option<String>,
    },
    /// The turn goes on.
    Listen,
}

/// What has come of a run so far, for an attempt after this one.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The conversation, results of the present turn included.
    pub rows: Vec<Row>,
    /// Calls of the present turn without a result.
    pub pending: Vec<PendingCall>,
    /// A message has been shown in part.
    pub partial: bool,
}
