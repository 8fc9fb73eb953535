//! A model that plays a script: for tests, demos and bug reports.

mod parse;
mod position;

use std::{
    collections::VecDeque,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::ports::model::{
    FinishReason, Model, ModelError, ModelEvent, ModelMessage, ModelRequest, ModelStream, Usage,
};

/// Bounds a script file: scripts are written by hand or recorded from one conversation.
pub const MAX_SCRIPT_BYTES: u64 = 8 * 1024 * 1024;

/// Said when no turn of the script is left.
pub const END_OF_SCRIPT: &str = "(end of script)";

/// What a stream says that broke below the protocol, as recorded from providers.
const BROKEN_STREAM: &str = "terminated";

/// The turns that a [`ScriptedModel`] plays.
///
/// Its JSON form is `{"id"?: "…", "turns": [turn, …]}`. Every member of a turn may be left out:
///
/// | member | form | default |
/// | --- | --- | --- |
/// | `reasoning` | `{"chunks": ["…"], "signature"?: "…"}` | no reasoning |
/// | `text` | `["delta", …]` or one string | no text |
/// | `delayMs` | pause before each delta of the text | 0 |
/// | `toolCalls` | `[{"id", "name", "arguments", "deltas", "metadata"}]` | none |
/// | `finishReason` | a string | `tool_calls` with tool calls, else `stop` |
/// | `usage` | `{"promptTokens", "completionTokens", "totalTokens", …}` | unknown |
/// | `error` | `{"message", "code"?, "rawEvent"?}`: the provider reports a failure | none |
/// | `throws` | `{"message", "status"?}`: the stream fails | none |
/// | `cut` | `true`: the connection breaks after what was said | `false` |
///
/// `arguments` is an object, or a string with the raw text; without `deltas` it is sent in two
/// pieces. A call without `id` gets `call_<turn>_<call>`, counted from 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The id the model goes by; `scripted` unless set.
    pub id: Option<String>,
    /// The turns in the order they are played.
    pub turns: Vec<Turn>,
}

/// One turn of a [`Script`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Turn {
    /// What the model thinks first.
    pub reasoning: Option<Reasoning>,
    /// What it says, in pieces. An empty list still opens a message.
    pub text: Option<Vec<String>>,
    /// How long it waits before each piece.
    pub delay: Duration,
    /// What it calls.
    pub tool_calls: Vec<ScriptedCall>,
    /// Why it stops.
    pub finish_reason: Option<FinishReason>,
    /// What the turn cost.
    pub usage: Option<Usage>,
    /// How it ends when it does not finish.
    pub failure: Option<Failure>,
}

/// What the model thinks in a [`Turn`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasoning {
    /// The thought in pieces.
    pub chunks: Vec<String>,
    /// The provider's signature of it.
    pub signature: Option<String>,
}

/// A tool call in a [`Turn`].
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedCall {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The pieces of the arguments' text.
    pub deltas: Vec<String>,
    /// The parsed arguments, when the script gives an object.
    pub input: Option<Value>,
    /// What the provider wants back with the call.
    pub metadata: Option<Map<String, Value>>,
}

/// How a [`Turn`] ends when it does not finish.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Failure {
    /// The provider reports a failure.
    Error {
        /// What it says.
        message: String,
        /// Its code.
        code: Option<String>,
        /// Its error object.
        raw_event: Option<Value>,
    },
    /// The stream fails.
    Throws {
        /// What the failure says.
        message: String,
        /// Its HTTP status.
        status: Option<i64>,
    },
    /// The connection breaks.
    Cut,
}

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read the script {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is larger than [`MAX_SCRIPT_BYTES`].
    #[error("the script is larger than {limit} bytes")]
    TooLarge {
        /// The bound in bytes.
        limit: u64,
    },
    /// The script is not JSON.
    #[error("the script is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A member has another form than it must have.
    #[error("the script does not fit: {at} must be {expected}")]
    Member {
        /// Where, for example `turns[1].toolCalls[0].name`.
        at: String,
        /// What should stand there.
        expected: &'static str,
    },
}

impl Script {
    /// Reads a script from JSON text.
    ///
    /// # Errors
    /// [`ScriptError`] says which member is wrong.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        Self::from_value(&serde_json::from_str(text)?)
    }

    /// Reads a script from parsed JSON.
    ///
    /// # Errors
    /// [`ScriptError::Member`] says which member is wrong.
    pub fn from_value(value: &Value) -> Result<Self, ScriptError> {
        parse::script(value)
    }

    /// Reads a script file of at most [`MAX_SCRIPT_BYTES`].
    ///
    /// # Errors
    /// [`ScriptError`] says what is wrong with it.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let path = path.as_ref();
        let failed = |source| ScriptError::Io {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        let mut text = String::new();
        let read = file.take(MAX_SCRIPT_BYTES + 1).read_to_string(&mut text);
        if u64::try_from(read.map_err(failed)?).unwrap_or(u64::MAX) > MAX_SCRIPT_BYTES {
            return Err(ScriptError::TooLarge {
                limit: MAX_SCRIPT_BYTES,
            });
        }
        Self::from_json(&text)
    }
}

/// Plays a [`Script`].
///
/// By default it plays the first turn that is not yet in the conversation, so it needs no memory
/// and works over any number of connections and restarts. A turn is in the conversation
///
/// * with tool calls, when all its call ids are there;
/// * with text alone, when an assistant message contains the text or is a beginning of it;
/// * with neither, when a user message has come after it: one after the message of the turn
///   before it if that had calls, else two.
///
/// Past the last turn it says [`END_OF_SCRIPT`]. [`ScriptedModel::sequence`] plays by count.
#[derive(Clone, Debug)]
pub struct ScriptedModel {
    script: Arc<Script>,
    next: Option<Arc<AtomicUsize>>,
}

impl ScriptedModel {
    /// Plays the script by what is in the conversation.
    #[must_use]
    pub fn from_script(script: Script) -> Self {
        Self {
            script: Arc::new(script),
            next: None,
        }
    }

    /// Reads a script file and plays it by what is in the conversation.
    ///
    /// # Errors
    /// [`ScriptError`] says what is wrong with the file.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        Ok(Self::from_script(Script::from_file(path)?))
    }

    /// Plays one turn a call, whatever the conversation holds. Clones share the count.
    #[must_use]
    pub fn sequence(script: Script) -> Self {
        Self {
            script: Arc::new(script),
            next: Some(Arc::new(AtomicUsize::new(0))),
        }
    }

    /// Sets the turn that the next call of a [`sequence`](Self::sequence) plays, from 0.
    pub fn set_next(&self, index: usize) {
        if let Some(next) = &self.next {
            next.store(index, Ordering::SeqCst);
        }
    }

    /// Tells how many turns a [`sequence`](Self::sequence) has played, or was set to.
    #[must_use]
    pub fn played(&self) -> Option<usize> {
        self.next.as_ref().map(|next| next.load(Ordering::SeqCst))
    }

    fn steps(&self, messages: &[ModelMessage]) -> VecDeque<Step> {
        let index = match &self.next {
            Some(next) => next.fetch_add(1, Ordering::SeqCst),
            None => position::first_unplayed(&self.script.turns, messages),
        };
        match self.script.turns.get(index) {
            Some(turn) => plan(turn),
            None => plan(&Turn {
                text: Some(vec![END_OF_SCRIPT.to_owned()]),
                ..Turn::default()
            }),
        }
    }
}

impl Model for ScriptedModel {
    fn id(&self) -> &str {
        self.script.id.as_deref().unwrap_or("scripted")
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let model = self.clone();
        // The turn is chosen when the stream is polled: a stream nobody reads plays nothing.
        let steps = stream::once(async move { play(model.steps(&request.messages), cancel) });
        steps.flatten().boxed_local()
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Say(Box<ModelEvent>),
    Wait(Duration),
    Break(ModelError),
}

impl Step {
    fn say(event: ModelEvent) -> Self {
        Self::Say(Box::new(event))
    }
}

fn play(steps: VecDeque<Step>, cancel: CancellationToken) -> ModelStream {
    stream::unfold((steps, cancel), async |(mut steps, cancel)| {
        loop {
            if cancel.is_cancelled() {
                return None;
            }
            match steps.pop_front()? {
                Step::Say(event) => return Some((Ok(*event), (steps, cancel))),
                Step::Break(error) => return Some((Err(error), (VecDeque::new(), cancel))),
                Step::Wait(delay) => {
                    let _ = cancel.run_until_cancelled(tokio::time::sleep(delay)).await;
                }
            }
        }
    })
    .boxed_local()
}

fn plan(turn: &Turn) -> VecDeque<Step> {
    let mut steps = VecDeque::new();
    let mut say = |event| steps.push_back(Step::say(event));
    if let Some(reasoning) = &turn.reasoning {
        say(ModelEvent::ReasoningStart);
        for chunk in &reasoning.chunks {
            say(ModelEvent::ReasoningDelta(chunk.clone()));
        }
        say(ModelEvent::ReasoningEnd {
            signature: reasoning.signature.clone(),
        });
    }
    if let Some(text) = &turn.text {
        steps.push_back(Step::say(ModelEvent::TextStart));
        for delta in text {
            if !turn.delay.is_zero() {
                steps.push_back(Step::Wait(turn.delay));
            }
            steps.push_back(Step::say(ModelEvent::TextDelta(delta.clone())));
        }
    }
    for (index, call) in turn.tool_calls.iter().enumerate() {
        steps.push_back(Step::say(ModelEvent::ToolCallStart {
            id: call.id.clone(),
            name: call.name.clone(),
            index,
            metadata: call.metadata.clone(),
        }));
        for delta in &call.deltas {
            steps.push_back(Step::say(ModelEvent::ToolCallArgs {
                id: call.id.clone(),
                delta: delta.clone(),
            }));
        }
        steps.push_back(Step::say(ModelEvent::ToolCallEnd {
            id: call.id.clone(),
            input: call.input.clone(),
        }));
    }
    steps.extend(ending(turn));
    steps
}

fn ending(turn: &Turn) -> Vec<Step> {
    match &turn.failure {
        Some(Failure::Error {
            message,
            code,
            raw_event,
        }) => vec![Step::say(ModelEvent::Failed {
            message: message.clone(),
            code: code.clone(),
            raw_event: raw_event.clone(),
        })],
        Some(Failure::Throws { message, status }) => {
            let mut error = ModelError::new(message.clone());
            error.code = status.map(|status| status.to_string());
            vec![Step::Break(error)]
        }
        Some(Failure::Cut) => vec![Step::Break(ModelError::new(BROKEN_STREAM))],
        None => {
            let end = turn.text.as_ref().map(|_| Step::say(ModelEvent::TextEnd));
            let reason = turn.finish_reason.clone().unwrap_or({
                if turn.tool_calls.is_empty() {
                    FinishReason::Stop
                } else {
                    FinishReason::ToolCalls
                }
            });
            let finished = Step::say(ModelEvent::Finished {
                reason,
                usage: turn.usage.clone(),
            });
            end.into_iter().chain([finished]).collect()
        }
    }
}

#[cfg(test)]
#[path = "scripted_tests.rs"]
mod tests;
