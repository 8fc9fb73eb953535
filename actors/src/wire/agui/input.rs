//! The body of a run request.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ResumeEntry, Row};
use crate::wire::ids::{RunId, ThreadId};

/// What a client posts to start or to continue a run.
///
/// The derived form is for bodies that we write ourselves; posted ones are read by a parser that
/// words what is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunAgentInput {
    /// The conversation.
    pub thread_id: ThreadId,
    /// The run, named by the client.
    pub run_id: RunId,
    /// The paused run that this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_run_id: Option<RunId>,
    /// The answers; empty when the run is not a continuation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resume: Vec<ResumeEntry>,
    /// Application state, free in form.
    #[serde(default)]
    pub state: Value,
    /// The whole conversation.
    pub messages: Vec<Row>,
    /// Tools that the browser runs.
    pub tools: Vec<ClientTool>,
    /// Context for the model; the engine passes it to nobody by itself.
    pub context: Vec<ContextItem>,
    /// What the page wants its server to know.
    #[serde(default)]
    pub forwarded_props: Map<String, Value>,
}

/// A tool that the browser runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientTool {
    /// The name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
}

/// One piece of context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextItem {
    /// What it is.
    pub description: String,
    /// The text.
    pub value: String,
}
