//! The provider's events as a turn, without IO.

use std::{collections::VecDeque, sync::Arc};

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::{
    field::{item_key, text_of, usage, word},
    strict,
};
use crate::ports::model::{FinishReason, ModelEvent, ModelTool};

/// What a broken connection is called, as recorded from the original adapter.
pub(super) const BROKEN_STREAM: &str = "terminated";
/// Said when a model refuses without a word.
const WORDLESS_REFUSAL: &str = "Refused without explanation";

/// Reads the events of one response.
#[derive(Debug, Default)]
pub(super) struct ResponseReader {
    schemas: IndexMap<String, Arc<Value>>,
    ready: VecDeque<ModelEvent>,
    text: Text,
    thought: Option<Thought>,
    calls: IndexMap<String, Call>,
    refusal: Option<String>,
    over: bool,
}

/// What has been said.
#[derive(Debug, Default)]
struct Text {
    open: bool,
    any: bool,
    /// Whether the content part at hand came in deltas.
    part_seen: bool,
}

/// The reasoning item that is open.
#[derive(Debug, Default)]
struct Thought {
    id: Option<String>,
    encrypted: Option<Value>,
}

/// A function call, by the provider's item id.
#[derive(Debug, Default)]
struct Call {
    call_id: String,
    name: String,
    arguments: String,
    ended: bool,
}

impl ResponseReader {
    pub(super) fn new(tools: &[ModelTool]) -> Self {
        let schemas = tools.iter();
        Self {
            schemas: schemas
                .map(|tool| (tool.name.clone(), Arc::clone(&tool.input_schema)))
                .collect(),
            ..Self::default()
        }
    }

    /// Gives the next event of the turn.
    pub(super) fn next_event(&mut self) -> Option<ModelEvent> {
        self.ready.pop_front()
    }

    /// Tells whether the turn has ended: nothing that follows counts.
    pub(super) const fn is_over(&self) -> bool {
        self.over
    }

    /// Reads one event of the provider.
    pub(super) fn feed(&mut self, event: &Value) {
        if self.over {
            return;
        }
        match text_of(event, "type") {
            "response.created" => {
                if let Some(model) = event.pointer("/response/model").and_then(Value::as_str) {
                    self.say(ModelEvent::ModelId(model.to_owned()));
                }
            }
            "response.output_text.delta" => self.text_delta(text_of(event, "delta"), true),
            "response.reasoning_text.delta"
            | "response.reasoning_summary_text.delta"
            | "response.reasoning.delta" => {
                let item = event.get("item_id").and_then(Value::as_str);
                self.thought_delta(item, text_of(event, "delta"));
            }
            "response.content_part.added" | "response.content_part.done" => {
                let begins = text_of(event, "type").ends_with("added");
                self.content_part(event.get("part").unwrap_or(&Value::Null), begins);
            }
            "response.refusal.delta" => {
                let refusal = self.refusal.get_or_insert_default();
                refusal.push_str(text_of(event, "delta"));
            }
            "response.refusal.done" => self.refuse(text_of(event, "refusal")),
            "response.output_item.added" => self.item_added(event),
            "response.output_item.done" => self.item_done(event),
            "response.function_call_arguments.delta" => {
                self.arguments_delta(text_of(event, "item_id"), text_of(event, "delta"));
            }
            "response.function_call_arguments.done" => {
                self.end_call(text_of(event, "item_id"), text_of(event, "arguments"));
            }
            "response.completed" => self.completed(event.get("response").unwrap_or(&Value::Null)),
            "response.failed" => self.failed(event, "Response failed"),
            "response.incomplete" => self.failed(event, "Response ended incomplete"),
            "error" => {
                // Gateways nest the error, the provider does not.
                let error = event.get("error").filter(|error| error.is_object());
                let error = error.unwrap_or(event);
                let message = text_of(error, "message").to_owned();
                self.fail(message, error.get("code").and_then(word));
            }
            _ => {}
        }
    }

    /// Ends a stream that ended without saying how.
    ///
    /// The HTTP client reports a cut between two chunks as an end, so this is a broken stream: half
    /// an answer must not look like a whole one, and a call must not run with half its arguments.
    pub(super) fn finish(&mut self, model: &str) {
        match self.refusal.take() {
            Some(refusal) if !self.over => self.refuse(&refusal),
            _ => self.break_off(model, BROKEN_STREAM),
        }
    }

    /// Ends a stream that broke below the protocol. What was open stays open.
    pub(super) fn break_off(&mut self, model: &str, message: &str) {
        if !self.over {
            self.say(ModelEvent::ModelId(model.to_owned()));
            self.fail(message.to_owned(), None);
        }
    }

    fn say(&mut self, event: ModelEvent) {
        self.ready.push_back(event);
    }

    fn end(&mut self, event: ModelEvent) {
        self.say(event);
        self.over = true;
    }

    fn fail(&mut self, message: String, code: Option<String>) {
        self.end(ModelEvent::Failed {
            message,
            code,
            raw_event: None,
        });
    }

    fn refuse(&mut self, refusal: &str) {
        let message = match refusal {
            "" => WORDLESS_REFUSAL,
            words => words,
        };
        self.fail(message.to_owned(), Some("refusal".to_owned()));
    }

    fn failed(&mut self, event: &Value, default: &str) {
        let response = event.get("response").unwrap_or(&Value::Null);
        let error = response.get("error").unwrap_or(&Value::Null);
        let reason = response.pointer("/incomplete_details/reason");
        let reason = reason.and_then(Value::as_str);
        let message = match text_of(error, "message") {
            "" => reason.unwrap_or(default),
            message => message,
        };
        let code = error.get("code").and_then(word);
        self.close_blocks();
        self.fail(
            message.to_owned(),
            code.or_else(|| Some("incomplete".to_owned())),
        );
    }

    fn text_delta(&mut self, delta: &str, streamed: bool) {
        self.close_thought();
        if !self.text.open {
            self.text.open = true;
            self.say(ModelEvent::TextStart);
        }
        if !delta.is_empty() {
            self.text.any = true;
            self.text.part_seen |= streamed;
            self.say(ModelEvent::TextDelta(delta.to_owned()));
        }
    }

    fn content_part(&mut self, part: &Value, begins: bool) {
        match text_of(part, "type") {
            "output_text" => {
                if begins {
                    self.text.part_seen = false;
                }
                let text = text_of(part, "text");
                if !text.is_empty() && !self.text.part_seen {
                    self.text_delta(text, true);
                }
            }
            "refusal" => {
                let refusal = text_of(part, "refusal");
                // An empty part that begins announces deltas.
                if !begins || !refusal.is_empty() {
                    self.refuse(refusal);
                } else {
                    self.refusal.get_or_insert_default();
                }
            }
            "reasoning_text" | "summary_text" if begins => {
                self.thought_delta(None, text_of(part, "text"));
            }
            _ => {}
        }
    }

    fn thought_delta(&mut self, item: Option<&str>, delta: &str) {
        self.open_thought(item);
        if !delta.is_empty() {
            self.say(ModelEvent::ReasoningDelta(delta.to_owned()));
        }
    }

    /// Opens a reasoning block. Each item has a block of its own, so that each signature survives.
    fn open_thought(&mut self, item: Option<&str>) {
        let known = self
            .thought
            .as_ref()
            .and_then(|thought| thought.id.as_deref());
        if item.is_some() && known.is_some() && known != item {
            self.close_thought();
        }
        if self.thought.is_none() {
            self.say(ModelEvent::ReasoningStart);
        }
        let thought = self.thought.get_or_insert_default();
        if thought.id.is_none() {
            thought.id = item.map(str::to_owned);
        }
    }

    fn close_thought(&mut self) {
        let Some(thought) = self.thought.take() else {
            return;
        };
        let signature = thought.id.map(|id| match thought.encrypted {
            Some(encrypted) => json!({"id": id, "encrypted_content": encrypted}).to_string(),
            None => json!({ "id": id }).to_string(),
        });
        self.say(ModelEvent::ReasoningEnd { signature });
    }

    fn close_blocks(&mut self) {
        self.close_thought();
        if std::mem::take(&mut self.text.open) {
            self.say(ModelEvent::TextEnd);
        }
    }

    fn item_added(&mut self, event: &Value) {
        let item = event.get("item").unwrap_or(&Value::Null);
        match text_of(item, "type") {
            "reasoning" => self.open_thought(item.get("id").and_then(Value::as_str)),
            "function_call" => {
                let index = event.get("output_index").and_then(Value::as_u64);
                self.start_call(item, index);
            }
            _ => {}
        }
    }

    fn item_done(&mut self, event: &Value) {
        let item = event.get("item").unwrap_or(&Value::Null);
        match text_of(item, "type") {
            "reasoning" => {
                self.open_thought(item.get("id").and_then(Value::as_str));
                if let Some(thought) = &mut self.thought {
                    thought.encrypted = item
                        .get("encrypted_content")
                        .filter(|content| !content.is_null())
                        .cloned();
                }
            }
            "function_call" => {
                let index = event.get("output_index").and_then(Value::as_u64);
                self.whole_call(item, index);
            }
            _ => {}
        }
    }

    fn whole_call(&mut self, item: &Value, index: Option<u64>) {
        self.start_call(item, index);
        self.end_call(item_key(item), text_of(item, "arguments"));
    }

    fn start_call(&mut self, item: &Value, index: Option<u64>) {
        let (key, name) = (item_key(item), text_of(item, "name"));
        if name.is_empty() || self.calls.contains_key(key) {
            return;
        }
        let index = index.and_then(|index| usize::try_from(index).ok());
        let call_id = text_of(item, "call_id").to_owned();
        let metadata = item.get("id").filter(|id| id.is_string());
        self.say(ModelEvent::ToolCallStart {
            id: call_id.clone(),
            name: name.to_owned(),
            index: index.unwrap_or(self.calls.len()),
            metadata: metadata.map(|id| Map::from_iter([("itemId".to_owned(), id.clone())])),
        });
        let call = Call {
            call_id,
            name: name.to_owned(),
            ..Call::default()
        };
        self.calls.insert(key.to_owned(), call);
    }

    fn arguments_delta(&mut self, key: &str, delta: &str) {
        let Some(call) = self.calls.get_mut(key).filter(|call| !call.ended) else {
            return;
        };
        if delta.is_empty() {
            return;
        }
        call.arguments.push_str(delta);
        let id = call.call_id.clone();
        let delta = delta.to_owned();
        self.say(ModelEvent::ToolCallArgs { id, delta });
    }

    fn end_call(&mut self, key: &str, arguments: &str) {
        let streamed = self.calls.get(key).map(|call| call.arguments.is_empty());
        if streamed == Some(true) {
            self.arguments_delta(key, arguments);
        }
        let Some(call) = self.calls.get_mut(key).filter(|call| !call.ended) else {
            return;
        };
        call.ended = true;
        let text = match arguments {
            "" => call.arguments.as_str(),
            whole => whole,
        };
        let input = serde_json::from_str(text).unwrap_or_else(|_| json!({}));
        let input = match self.schemas.get(&call.name) {
            Some(schema) => strict::without_forced_nulls(input, schema),
            None => input,
        };
        let id = call.call_id.clone();
        self.say(ModelEvent::ToolCallEnd {
            id,
            input: Some(input),
        });
    }

    fn completed(&mut self, response: &Value) {
        let output = response.get("output").and_then(Value::as_array);
        let output = output.map_or(&[][..], Vec::as_slice);
        let items = output.iter().zip(0u64..);
        for (item, index) in items.filter(|(item, _)| text_of(item, "type") == "function_call") {
            self.whole_call(item, Some(index));
        }
        let said_before = self.text.any;
        let messages = output
            .iter()
            .filter(|item| text_of(item, "type") == "message");
        for part in messages.flat_map(|item| item.get("content").and_then(Value::as_array)) {
            for part in part {
                match text_of(part, "type") {
                    "output_text" if !said_before => self.text_delta(text_of(part, "text"), false),
                    "refusal" => return self.refuse(text_of(part, "refusal")),
                    _ => {}
                }
            }
        }
        if let Some(refusal) = self.refusal.take() {
            return self.refuse(&refusal);
        }
        self.close_blocks();
        let incomplete = response.pointer("/incomplete_details/reason");
        let reason = match incomplete.and_then(Value::as_str) {
            _ if !self.calls.is_empty() => FinishReason::ToolCalls,
            Some("max_output_tokens") => FinishReason::Length,
            Some("content_filter") => FinishReason::ContentFilter,
            _ => FinishReason::Stop,
        };
        self.end(ModelEvent::Finished {
            reason,
            usage: response.get("usage").and_then(usage),
        });
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
