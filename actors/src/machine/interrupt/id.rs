//! The ids of questions: what they are about is read from them.

use crate::wire::ids::{InterruptId, ToolCallId};

const APPROVAL_PREFIX: &str = "approval_";
const CLIENT_PREFIX: &str = "client_tool_";
const INPUT_PREFIX: &str = "mcp_input_";

/// Names the question whether a call may run.
#[must_use]
pub fn approval_id(call: &ToolCallId) -> InterruptId {
    InterruptId::from(format!("{APPROVAL_PREFIX}{call}"))
}

/// Names the request to the browser to run a call.
#[must_use]
pub fn client_tool_id(call: &ToolCallId) -> InterruptId {
    InterruptId::from(format!("{CLIENT_PREFIX}{call}"))
}

/// Names a question of a call: the first without a number, the others from 2.
#[must_use]
pub fn input_id(call: &ToolCallId, index: usize) -> InterruptId {
    if index == 0 {
        return InterruptId::from(format!("{INPUT_PREFIX}{call}"));
    }
    InterruptId::from(format!("{INPUT_PREFIX}{call}:{}", index + 1))
}

/// What an interrupt id is about, read from the id alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject<'a> {
    /// Whether the call may run.
    Approval(&'a str),
    /// The browser's output of the call.
    Client(&'a str),
    /// The first question of the call.
    Input(&'a str),
    /// None of ours.
    Other,
}

impl<'a> Subject<'a> {
    /// Reads an id.
    #[must_use]
    pub fn of(id: &'a InterruptId) -> Self {
        let id = id.as_str();
        if let Some(call) = id.strip_prefix(APPROVAL_PREFIX) {
            Self::Approval(call)
        } else if let Some(call) = id.strip_prefix(CLIENT_PREFIX) {
            Self::Client(call)
        } else if let Some(call) = id.strip_prefix(INPUT_PREFIX) {
            Self::Input(call)
        } else {
            Self::Other
        }
    }
}
