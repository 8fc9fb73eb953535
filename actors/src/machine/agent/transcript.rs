//! The conversation of a run, as rows.

use serde_json::json;

use super::events::Events;
use crate::{
    machine::{
        continuation::{SEAL_MEMBER, SEAL_SPACE},
        interrupt::PendingCall,
        result_text::{APPROVED_PLACEHOLDER, ResultText},
        rows::{calls, is_placeholder, is_result},
    },
    wire::{
        agui::{Event, EventKind, Role, Row},
        ids::{MessageId, RunId, ToolCallId},
    },
};

/// The rows of a conversation.
#[derive(Debug)]
pub(super) struct Transcript(Vec<Row>);

impl Transcript {
    pub(super) const fn new(rows: Vec<Row>) -> Self {
        Self(rows)
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.0
    }

    pub(super) fn extend(&mut self, rows: Vec<Row>) {
        self.0.extend(rows);
    }

    /// Adds a result, in place of the placeholder of its call if there is one.
    pub(super) fn add_result(&mut self, call: &ToolCallId, result: &ResultText) {
        let row = Self::result_row(call, result);
        let placeholder = self
            .0
            .iter_mut()
            .find(|row| row.tool_call_id() == Some(call.as_str()) && is_placeholder(row));
        match placeholder {
            Some(placeholder) => *placeholder = row,
            None => self.0.push(row),
        }
    }

    /// Makes the row of a result. It has no id of its own until it is shown in a snapshot.
    pub(super) fn result_row(call: &ToolCallId, result: &ResultText) -> Row {
        let mut row = Row::default();
        row = row
            .with("role", Role::Tool.as_str())
            .with("toolCallId", call.as_str())
            .with("content", result.content.as_str());
        if let Some(error) = result.error_text() {
            row = row.with("error", error);
        }
        if let Some(parts) = &result.parts {
            row.set_meta("tanstack", "toolResult", json!({"content": parts}));
        }
        row
    }

    /// Tells a result that the rows hold already.
    pub(super) fn repeat_result(&self, call: &ToolCallId, out: &mut Events) {
        let row = self
            .0
            .iter()
            .find(|row| row.tool_call_id() == Some(call.as_str()) && is_result(row));
        let Some(row) = row else {
            return;
        };
        let owner = calls(&self.0)
            .into_iter()
            .find(|known| known.call.id == *call)
            .and_then(|known| known.message)
            .unwrap_or_else(|| MessageId::from(call.as_str()));
        let kind = EventKind::ToolCallResult {
            message_id: owner,
            tool_call_id: call.clone(),
            content: row.content_text().unwrap_or_default().to_owned(),
            role: Some(Role::Tool),
        };
        let mut event = Event::new(out.now_ms(), kind);
        if row.error().is_some() {
            event = event.tanstack("state", "output-error");
        }
        out.push(event);
    }

    /// Shows the whole conversation; the message with the calls that wait carries their seal.
    pub(super) fn snapshot(
        &self,
        run: &RunId,
        sealed: Option<(&str, &[PendingCall])>,
        out: &mut Events,
    ) {
        let mut messages: Vec<Row> = self.0.clone();
        for (index, row) in messages.iter_mut().enumerate() {
            if row.id().is_some() {
                continue;
            }
            let id = format!("snapshot_{run}_{index}");
            // The id comes first, as in the rows of clients.
            let mut members = serde_json::Map::new();
            members.insert("id".to_owned(), id.as_str().into());
            members.extend(row.members().clone());
            *row = Row::new(members);
            if row.role() == Some(Role::Tool) {
                let mut owned = row
                    .extra("toolResult")
                    .and_then(|owned| owned.as_object().cloned())
                    .unwrap_or_default();
                owned.insert("id".to_owned(), id.into());
                row.set_meta("tanstack", "toolResult", owned);
            }
        }
        if let Some((seal, pending)) = sealed {
            let waiting = |row: &Row| {
                row.tool_calls()
                    .iter()
                    .any(|call| pending.iter().any(|waits| waits.id == call.id))
            };
            if let Some(row) = messages.iter_mut().rev().find(|row| waiting(row)) {
                row.set_meta(SEAL_SPACE, SEAL_MEMBER, seal);
            }
        }
        out.plain(EventKind::MessagesSnapshot { messages });
    }

    /// Notes that a call of the browser has been approved, unless that is noted already.
    pub(super) fn add_placeholder(&mut self, call: &ToolCallId) {
        let noted = |row: &Row| row.tool_call_id() == Some(call.as_str()) && is_placeholder(row);
        if self.0.iter().any(noted) {
            return;
        }
        let row = Row::default()
            .with("role", Role::Tool.as_str())
            .with("toolCallId", call.as_str())
            .with("content", APPROVED_PLACEHOLDER);
        self.0.push(row);
    }
}
