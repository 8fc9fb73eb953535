//! One model turn: what the model says becomes events and rows.

mod thought;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use self::thought::{Reasoning, Thought};
use super::events::{Events, TurnEnd, iso_time};
use crate::{
    machine::{
        dialogue::{FinishReason, ModelEvent},
        js_json::stringify,
    },
    wire::{
        agui::{Event, EventKind, Role, Row, RowToolCall},
        ids::{MessageId, ToolCallId},
    },
};

/// The longest id of a call that is taken over from a provider. The questions of the call are named
/// after it, and [`RunInputLimits::max_id_bytes`](crate::machine::run_input::RunInputLimits) bounds
/// these.
const MAX_CALL_ID_BYTES: usize = 256;

/// A model turn in progress.
#[derive(Debug)]
pub(super) struct Turn {
    message: MessageId,
    text: String,
    text_is: Span,
    thoughts: Vec<Thought>,
    reasoning: Option<Reasoning>,
    calls: Vec<TurnCall>,
    /// The call that the provider means by an id; the last one, when it uses an id twice.
    by_provider_id: HashMap<String, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    Unopened,
    Open,
    Closed,
}

#[derive(Debug)]
struct TurnCall {
    id: ToolCallId,
    name: String,
    text: String,
    input: Option<Value>,
    ended: bool,
    metadata: Map<String, Value>,
}

/// What a piece of a turn led to.
#[derive(Debug)]
pub(super) enum Heard {
    /// The turn goes on.
    More,
    /// The provider named the model that really answers.
    Model(String),
    /// The turn is complete.
    End(Box<TurnEnd>),
    /// The provider said that it failed; RUN_ERROR is among the events.
    Failed {
        /// The provider's words.
        message: String,
        /// The provider's code.
        code: Option<String>,
    },
}

impl Turn {
    pub(super) fn new() -> Self {
        Self {
            message: MessageId::random(),
            text: String::new(),
            text_is: Span::Unopened,
            thoughts: Vec::new(),
            reasoning: None,
            calls: Vec::new(),
            by_provider_id: HashMap::new(),
        }
    }

    pub(super) const fn message(&self) -> &MessageId {
        &self.message
    }

    /// Tells whether something of the turn has been shown.
    pub(super) fn is_shown(&self) -> bool {
        self.text_is != Span::Unopened || !self.calls.is_empty()
    }

    pub(super) fn hear(
        &mut self,
        event: ModelEvent,
        model: &str,
        used: &mut HashSet<ToolCallId>,
        out: &mut Events,
    ) -> Heard {
        match event {
            ModelEvent::ModelId(id) => return Heard::Model(id),
            ModelEvent::ReasoningStart => self.open_reasoning(model, out),
            ModelEvent::ReasoningDelta(delta) => self.reason(&delta, model, out),
            ModelEvent::ReasoningEnd { signature } => self.close_reasoning(signature, model, out),
            ModelEvent::TextStart => self.open_text(model, out),
            ModelEvent::TextDelta(delta) => self.say(delta, model, out),
            ModelEvent::TextEnd => self.close_text(model, out),
            ModelEvent::ToolCallStart {
                id,
                name,
                index,
                metadata,
            } => self.start_call(id, name, index, metadata, model, used, out),
            ModelEvent::ToolCallArgs { id, delta } => self.add_arguments(&id, delta, out),
            ModelEvent::ToolCallEnd { id, input } => {
                if let Some(&index) = self.by_provider_id.get(&id) {
                    self.end_call(index, input, model, out);
                }
            }
            ModelEvent::Failed {
                message,
                code,
                raw_event,
            } => {
                let mut event =
                    Event::run_error(out.now_ms(), &message, code.as_deref()).model(model);
                event.raw_event = raw_event;
                out.push(event);
                return Heard::Failed { message, code };
            }
            ModelEvent::Finished { reason, usage } => {
                self.close(model, out);
                return Heard::End(Box::new(TurnEnd { reason, usage }));
            }
        }
        Heard::More
    }

    /// Ends a turn whose stream ended without saying so.
    pub(super) fn cut(&mut self, model: &str, out: &mut Events) -> TurnEnd {
        self.close(model, out);
        let reason = if self.calls.is_empty() {
            FinishReason::Stop
        } else {
            FinishReason::ToolCalls
        };
        TurnEnd {
            reason,
            usage: None,
        }
    }

    fn close(&mut self, model: &str, out: &mut Events) {
        self.close_reasoning(None, model, out);
        for index in 0..self.calls.len() {
            self.end_call(index, None, model, out);
        }
        self.close_text(model, out);
    }

    fn open_text(&mut self, model: &str, out: &mut Events) {
        if self.text_is == Span::Open {
            return;
        }
        self.text_is = Span::Open;
        out.of_model(
            model,
            EventKind::TextMessageStart {
                message_id: self.message.clone(),
                role: Some(Role::Assistant),
                name: None,
            },
        );
    }

    fn say(&mut self, delta: String, model: &str, out: &mut Events) {
        if delta.is_empty() {
            return;
        }
        self.open_text(model, out);
        self.text.push_str(&delta);
        out.plain(EventKind::TextMessageContent {
            message_id: self.message.clone(),
            delta,
        });
    }

    fn close_text(&mut self, model: &str, out: &mut Events) {
        if self.text_is != Span::Open {
            return;
        }
        self.text_is = Span::Closed;
        out.of_model(
            model,
            EventKind::TextMessageEnd {
                message_id: self.message.clone(),
            },
        );
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the members of one event, and where they go"
    )]
    fn start_call(
        &mut self,
        provider_id: String,
        name: String,
        index: usize,
        metadata: Option<Map<String, Value>>,
        model: &str,
        used: &mut HashSet<ToolCallId>,
        out: &mut Events,
    ) {
        // Results and questions are found by the id of their call, so an id that is empty or
        // already taken would answer the wrong one, and one that is too long could not be answered.
        let mut id = ToolCallId::from(provider_id.as_str());
        let usable = (1..=MAX_CALL_ID_BYTES).contains(&provider_id.len());
        if !usable || !used.insert(id.clone()) {
            id = ToolCallId::random();
            used.insert(id.clone());
        }
        let mut metadata = metadata.unwrap_or_default();
        let kind = EventKind::ToolCallStart {
            tool_call_id: id.clone(),
            tool_call_name: name.clone(),
            parent_message_id: Some(self.message.clone()),
        };
        let mut event = Event::new(out.now_ms(), kind);
        event.metadata = Some(metadata.clone());
        let event = event.model(model).tanstack("index", index);
        if let Some(shown) = &event.metadata {
            metadata.clone_from(shown);
        }
        out.push(event);
        if let Some(signature) = metadata.get("thoughtSignature").and_then(Value::as_str) {
            out.plain(EventKind::ReasoningEncryptedValue {
                subtype: "tool-call".to_owned(),
                entity_id: id.to_string(),
                encrypted_value: signature.to_owned(),
            });
        }
        self.by_provider_id.insert(provider_id, self.calls.len());
        self.calls.push(TurnCall {
            id,
            name,
            text: String::new(),
            input: None,
            ended: false,
            metadata,
        });
    }

    fn add_arguments(&mut self, provider_id: &str, delta: String, out: &mut Events) {
        if delta.is_empty() {
            return;
        }
        let found = self.by_provider_id.get(provider_id);
        let Some(call) = found.and_then(|&index| self.calls.get_mut(index)) else {
            return;
        };
        call.text.push_str(&delta);
        out.plain(EventKind::ToolCallArgs {
            tool_call_id: call.id.clone(),
            delta,
        });
    }

    fn end_call(&mut self, index: usize, input: Option<Value>, model: &str, out: &mut Events) {
        let Some(call) = self.calls.get_mut(index).filter(|call| !call.ended) else {
            return;
        };
        call.ended = true;
        let kind = EventKind::ToolCallEnd {
            tool_call_id: call.id.clone(),
        };
        let mut event = Event::new(out.now_ms(), kind)
            .model(model)
            .tanstack("toolCallName", call.name.as_str())
            .tanstack("toolName", call.name.as_str());
        if let Some(input) = &input {
            event = event.tanstack("input", input.clone());
        }
        out.push(event);
        call.input = input;
    }

    /// Gives the calls of the turn, arguments as they will be run.
    pub(super) fn calls(&self) -> Vec<RowToolCall> {
        self.calls
            .iter()
            .map(|call| RowToolCall {
                id: call.id.clone(),
                name: call.name.clone(),
                arguments: call
                    .input
                    .as_ref()
                    .map_or_else(|| call.text.clone(), stringify),
                encrypted_value: call
                    .metadata
                    .get("thoughtSignature")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            })
            .collect()
    }

    /// Gives the rows of the turn: its thoughts, then the message.
    pub(super) fn rows(&self, now_ms: u64) -> Vec<Row> {
        let mut rows: Vec<Row> = self
            .thoughts
            .iter()
            .filter(|thought| !thought.text.is_empty() || thought.signature.is_some())
            .enumerate()
            .map(|(index, thought)| {
                let id = MessageId::from(format!("{}-reasoning-{}", self.message, index + 1));
                Row::reasoning(&id, &thought.text, thought.signature.as_deref())
            })
            .collect();
        if self.text.is_empty() && self.calls.is_empty() && rows.is_empty() {
            return rows;
        }
        let mut row = Row::assistant(&self.message, &self.text, &self.calls());
        row.set_meta("tanstack", "createdAt", iso_time(now_ms));
        // Only what the provider asked to get back; what clients add for themselves is theirs.
        let kept: Map<String, Value> = self
            .calls
            .iter()
            .filter(|call| call.metadata.keys().any(|key| key != "tanstack"))
            .map(|call| (call.id.to_string(), json!(call.metadata)))
            .collect();
        if !kept.is_empty() {
            row.set_meta("tanstack", "toolCallMetadata", kept);
        }
        rows.push(row);
        rows
    }
}
