//! What a task keeps of how its function ended.

use std::sync::Arc;

use crate::{
    machine::{
        era::Era,
        redaction::cut,
        task::{TaskEnd, TaskEra},
    },
    server::{Inner, OutputShape, reply::ResultWriter, running::refused},
    tool::{ToolCx, ToolError, ToolOutcome, ToolOutput},
    wire::{
        jsonrpc::{RpcError, code},
        version::V2025_11_25,
    },
};

/// The most that a status says: it stands in every listing, and the result has the rest.
const MAX_MESSAGE_BYTES: usize = 1024;

/// Writes what a task keeps.
pub(super) struct Outcomes {
    pub(super) era: TaskEra,
    pub(super) shape: OutputShape,
    /// The tool.
    pub(super) name: Box<str>,
    /// The call; it knows which question the client cannot be asked.
    pub(super) cx: ToolCx,
}

impl Outcomes {
    /// Gives the end of the task, and what a person can read about it.
    pub(super) fn write(
        &self,
        server: &Inner,
        most_bytes: usize,
        outcome: ToolOutcome,
    ) -> (TaskEnd, Option<String>) {
        let (end, message) = self.end(server, most_bytes, outcome);
        let short = |message: String| cut(&message, MAX_MESSAGE_BYTES).to_owned();
        (end, message.map(short))
    }

    fn end(
        &self,
        server: &Inner,
        most_bytes: usize,
        outcome: ToolOutcome,
    ) -> (TaskEnd, Option<String>) {
        let (json, failure) = match outcome {
            ToolOutcome::Done(output) => {
                let failure = failure(&output);
                (self.writer(server).output(output), failure)
            }
            ToolOutcome::Failed(error) => {
                if let Some(mut error) = self.protocol_error(server, &error) {
                    let message = error.message.to_string();
                    error.message = cut(&message, most_bytes).to_owned().into();
                    return (TaskEnd::Error(error), Some(message));
                }
                let why = error.message();
                (self.writer(server).failure(why), Some(why.to_owned()))
            }
            ToolOutcome::NeedsInput(_) => {
                let why = "a task cannot be called again: ask with request_form instead";
                return self.failed(server, why);
            }
        };
        if json.len() > most_bytes {
            let why =
                format!("the result is larger than {most_bytes} bytes: raise max_result_bytes");
            return self.failed(server, &why);
        }
        (text(&json, failure.is_some()), failure)
    }

    /// A failure that the model reads.
    pub(super) fn failed(&self, server: &Inner, why: &str) -> (TaskEnd, Option<String>) {
        let json = self.writer(server).failure(why);
        (text(&json, true), Some(why.to_owned()))
    }

    /// A failure of the server, or of what the client can do.
    fn protocol_error(&self, server: &Inner, error: &ToolError) -> Option<RpcError> {
        server.report_failure(&self.name, error);
        if error.is_panic() || error.is_internal() {
            let message = error.message().to_owned();
            return Some(RpcError::new(code::INTERNAL_ERROR, message));
        }
        let refused = refused(&self.cx)?;
        (self.era == TaskEra::Extension).then_some(refused)
    }

    fn writer<'a>(&self, server: &'a Inner) -> ResultWriter<'a> {
        ResultWriter {
            listings: &server.listings,
            era: match self.era {
                TaskEra::Core => Era::Legacy(V2025_11_25),
                TaskEra::Extension => Era::Modern,
            },
            shape: self.shape,
            id: None,
        }
    }
}

fn text(json: &[u8], is_error: bool) -> TaskEnd {
    let json = std::str::from_utf8(json).unwrap_or("{}");
    TaskEnd::Result {
        json: Arc::from(json),
        is_error,
    }
}

/// Gives the text of a result that says that the tool failed.
fn failure(output: &ToolOutput) -> Option<String> {
    let ToolOutput::Result(result) = output else {
        return None;
    };
    if result.is_error != Some(true) {
        return None;
    }
    let first = result.content.iter().find_map(|block| block.as_text());
    Some(first.unwrap_or("the tool failed").to_owned())
}
