//! A model without a network and without a key, for people who only want to see tools at work.

mod fill;
mod pick;
mod tell;

use std::{collections::VecDeque, time::Duration};

use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{
    ports::model::{
        FinishReason, Model, ModelEvent, ModelMessage, ModelRequest, ModelRole, ModelStream,
    },
    wire::ids::ToolCallId,
};

/// How long the model takes for a word: fast enough to read along, slow enough to see it stream.
const PACE: Duration = Duration::from_millis(12);

/// Answers by calling tools, and by nothing else.
///
/// It reads the last message of the user, picks the tool whose name and description share most
/// words with it, fills the arguments from the message by the tool's schema, and tells what the
/// tool returned. When nothing fits it says what it can do. It knows nothing of its own and makes
/// nothing up. Without tools (a sampling request, for example) it shortens the text it is given.
#[derive(Clone, Debug)]
pub struct DemoModel {
    pace: Duration,
}

impl Default for DemoModel {
    fn default() -> Self {
        Self::new()
    }
}

impl DemoModel {
    /// Makes the model.
    #[must_use]
    pub const fn new() -> Self {
        Self { pace: PACE }
    }

    /// Sets the time a word takes. 12 ms unless set.
    #[must_use]
    pub const fn pace(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }
}

impl Model for DemoModel {
    fn id(&self) -> &str {
        "demo"
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let pace = self.pace;
        let turn = async move {
            let events = match decide(&request) {
                Move::Call(call) => calling(call),
                Move::Say(text) => saying(&text, request.max_tokens),
            };
            stream::unfold((events, cancel), move |(events, cancel)| {
                play(events, cancel, pace)
            })
        };
        stream::once(turn).flatten().boxed_local()
    }
}

async fn play(
    mut events: VecDeque<ModelEvent>,
    cancel: CancellationToken,
    pace: Duration,
) -> Option<(
    Result<ModelEvent, crate::ports::model::ModelError>,
    (VecDeque<ModelEvent>, CancellationToken),
)> {
    let event = events.pop_front()?;
    if matches!(event, ModelEvent::TextDelta(_)) && !pace.is_zero() {
        cancel.run_until_cancelled(tokio::time::sleep(pace)).await?;
    }
    (!cancel.is_cancelled()).then(|| (Ok(event), (events, cancel)))
}

/// What the model does next.
#[derive(Debug, PartialEq)]
enum Move {
    Call(Call),
    Say(String),
}

/// A tool call with its arguments.
#[derive(Debug, PartialEq)]
struct Call {
    name: String,
    arguments: Map<String, Value>,
}

fn decide(request: &ModelRequest) -> Move {
    let messages = &request.messages;
    let asked = messages
        .iter()
        .rposition(|message| message.role == ModelRole::User);
    let since = messages.split_at(asked.map_or(0, |at| at + 1)).1;
    if since.iter().any(|message| message.role == ModelRole::Tool) {
        return Move::Say(tell::results(since));
    }
    let text = asked
        .and_then(|at| messages.get(at))
        .map_or_else(String::new, |message: &ModelMessage| message.content.text());
    if request.tools.is_empty() {
        return Move::Say(tell::without_tools(&text));
    }
    let Some(tool) = pick::tool(&text, &request.tools) else {
        return Move::Say(tell::abilities(&request.tools));
    };
    match fill::arguments(&text, tool) {
        Ok(arguments) => Move::Call(Call {
            name: tool.name.clone(),
            arguments,
        }),
        Err(missing) => Move::Say(tell::missing(tool, &missing)),
    }
}

fn calling(call: Call) -> VecDeque<ModelEvent> {
    let id = ToolCallId::random().to_string();
    let input = Value::Object(call.arguments);
    let start = ModelEvent::ToolCallStart {
        id: id.clone(),
        name: call.name,
        index: 0,
        metadata: None,
    };
    let arguments = ModelEvent::ToolCallArgs {
        id: id.clone(),
        delta: input.to_string(),
    };
    let end = ModelEvent::ToolCallEnd {
        id,
        input: Some(input),
    };
    let finished = ModelEvent::Finished {
        reason: FinishReason::ToolCalls,
        usage: None,
    };
    VecDeque::from([start, arguments, end, finished])
}

/// Says a text word by word, at most `bound` of them.
fn saying(text: &str, bound: Option<u64>) -> VecDeque<ModelEvent> {
    let bound = bound.and_then(|bound| usize::try_from(bound).ok());
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let shown = bound.unwrap_or(usize::MAX).min(words.len());
    let reason = match shown < words.len() {
        true => FinishReason::Length,
        false => FinishReason::Stop,
    };
    let deltas = words.into_iter().take(shown);
    let deltas = deltas.map(|word| ModelEvent::TextDelta(word.to_owned()));
    let end = [
        ModelEvent::TextEnd,
        ModelEvent::Finished {
            reason,
            usage: None,
        },
    ];
    std::iter::once(ModelEvent::TextStart)
        .chain(deltas)
        .chain(end)
        .collect()
}

#[cfg(test)]
#[path = "demo_tests.rs"]
mod tests;
