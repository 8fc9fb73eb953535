//! The conversation of a run, as rows.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::events::Events;
use crate::{
    machine::{
        continuation::{SEAL_MEMBER, SEAL_SPACE},
        interrupt::PendingCall,
        result_text::{APPROVED_PLACEHOLDER, ResultText},
        rows::{calls, is_placeholder, results},
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

    /// Adds results, each in place of the placeholder of its call if there is one.
    pub(super) fn add_results<'a>(
        &mut self,
        results: impl Iterator<Item = (&'a ToolCallId, &'a ResultText)>,
    ) {
        let mut noted = self.placeholders();
        for (call, result) in results {
            let row = Self::result_row(call, result);
            let place = noted
                .remove(call.as_str())
                .and_then(|index| self.0.get_mut(index));
            match place {
                Some(placeholder) => *placeholder = row,
                None => self.0.push(row),
            }
        }
    }

    /// Gives the place of the first placeholder of every call that has one.
    fn placeholders(&self) -> HashMap<String, usize> {
        let mut found = HashMap::new();
        for (index, row) in self.0.iter().enumerate() {
            if let Some(call) = row.tool_call_id().filter(|_| is_placeholder(row)) {
                found.entry(call.to_owned()).or_insert(index);
            }
        }
        found
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

    /// Tells results that the rows hold already.
    pub(super) fn repeat_results(&self, told: &[ToolCallId], out: &mut Events) {
        if told.is_empty() {
            return;
        }
        let results = results(&self.0);
        let mut owners = HashMap::new();
        for known in calls(&self.0) {
            owners.entry(known.call.id).or_insert(known.message);
        }
        for call in told {
            if let Some(row) = results.get(call.as_str()) {
                let owner = owners.get(call).cloned().flatten();
                Self::repeat(call, row, owner, out);
            }
        }
    }

    fn repeat(call: &ToolCallId, row: &Row, owner: Option<MessageId>, out: &mut Events) {
        let owner = owner.unwrap_or_else(|| MessageId::from(call.as_str()));
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
            let waits: HashSet<&ToolCallId> = pending.iter().map(|call| &call.id).collect();
            let waiting = |row: &Row| row.tool_calls().iter().any(|call| waits.contains(&call.id));
            if let Some(row) = messages.iter_mut().rev().find(|row| waiting(row)) {
                row.set_meta(SEAL_SPACE, SEAL_MEMBER, seal);
            }
        }
        out.plain(EventKind::MessagesSnapshot { messages });
    }

    /// Notes that calls of the browser have been approved, unless that is noted already.
    pub(super) fn add_placeholders<'a>(&mut self, approved: impl Iterator<Item = &'a ToolCallId>) {
        let noted = self.placeholders();
        for call in approved.filter(|call| !noted.contains_key(call.as_str())) {
            let row = Row::default()
                .with("role", Role::Tool.as_str())
                .with("toolCallId", call.as_str())
                .with("content", APPROVED_PLACEHOLDER);
            self.0.push(row);
        }
    }
}
