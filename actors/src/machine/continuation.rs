//! From a posted continuation to the conversation that goes on.
//!
//! What was paused is known from a record, or from the seal that the client brought back; what was
//! posted beside that counts only where a client has something to say: results of the browser's
//! tools, its own wording of a refusal, and messages of the user after the pause.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    interrupt::PendingCall,
    js_json::value_hash,
    rows::{calls, results},
    seal::{self, SealKey},
};
use crate::wire::{
    agui::{ResumeEntry, Role, Row},
    ids::{Owner, RunId, ThreadId, ToolCallId},
};

const SEAL_PURPOSE: &str = "chat-pause";
/// Where the seal of a pause stands: `metadata.roscius.seal`.
pub const SEAL_SPACE: &str = "roscius";
/// The member that holds it.
pub const SEAL_MEMBER: &str = "seal";

/// A pause as a client carries it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SealedPause {
    /// The run that waits.
    pub run: RunId,
    /// Its calls without a result.
    pub calls: Vec<PendingCall>,
}

impl SealedPause {
    /// Seals a pause for its owner and thread until a time in seconds since 1970.
    #[must_use]
    pub fn seal(&self, key: &SealKey, owner: &Owner, thread: &ThreadId, expires_at: u64) -> String {
        let payload = json!(self).to_string();
        let bound = bound_to(owner, thread);
        seal::seal(key, SEAL_PURPOSE, &bound, payload.as_bytes(), expires_at)
    }

    /// Finds the newest seal among posted rows and opens it. A seal that is forged, foreign or too
    /// old is none.
    #[must_use]
    pub fn find(
        key: &SealKey,
        owner: &Owner,
        thread: &ThreadId,
        rows: &[Row],
        now: u64,
    ) -> Option<Self> {
        let text = rows
            .iter()
            .rev()
            .find_map(|row| row.meta(SEAL_SPACE, SEAL_MEMBER)?.as_str())?;
        let bound = bound_to(owner, thread);
        let payload = seal::open(key, SEAL_PURPOSE, &bound, text, now).ok()?;
        serde_json::from_slice(&payload).ok()
    }

    /// Tells whether the posted calls are those that were sealed.
    #[must_use]
    pub fn matches(&self, rows: &[Row]) -> bool {
        let posted: HashSet<(ToolCallId, String)> = calls(rows)
            .into_iter()
            .map(|known| (known.call.id, known.call.name))
            .collect();
        self.calls
            .iter()
            .all(|sealed| posted.contains(&(sealed.id.clone(), sealed.name.clone())))
    }
}

fn bound_to(owner: &Owner, thread: &ThreadId) -> Vec<u8> {
    json!([owner, thread]).to_string().into_bytes()
}

/// Takes the seals out of rows, so that an old one is never shown again.
pub fn strip_seals(rows: &mut [Row]) {
    for row in rows {
        if row.meta(SEAL_SPACE, SEAL_MEMBER).is_none() {
            continue;
        }
        let Some(metadata) = row.members_mut().get_mut("metadata") else {
            continue;
        };
        if let Some(space) = metadata.get_mut(SEAL_SPACE).and_then(Value::as_object_mut) {
            space.shift_remove(SEAL_MEMBER);
        }
        if let Some(metadata) = metadata.as_object_mut() {
            if metadata.get(SEAL_SPACE) == Some(&json!({})) {
                metadata.shift_remove(SEAL_SPACE);
            }
            if metadata.is_empty() {
                row.members_mut().shift_remove("metadata");
            }
        }
    }
}

/// A conversation that goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Continued {
    /// The messages.
    pub rows: Vec<Row>,
    /// Results that the client has posted for calls that waited.
    pub posted: HashMap<ToolCallId, String>,
}

impl Continued {
    /// Goes on with the messages of a record.
    #[must_use]
    pub fn from_record(recorded: &[Row], pending: &[PendingCall], posted: &[Row]) -> Self {
        let mut rows = recorded.to_vec();
        let known: HashSet<&str> = recorded.iter().filter_map(Row::id).collect();
        let last_known = posted
            .iter()
            .rposition(|row| row.id().is_some_and(|id| known.contains(id)));
        let after = posted.iter().skip(last_known.map_or(0, |index| index + 1));
        // Nothing but a user's words is taken from after the pause: a call that was never made
        // here must not come in by the back door.
        rows.extend(
            after
                .filter(|row| row.role() == Some(Role::User))
                .filter(|row| row.id().is_none_or(|id| !known.contains(id)))
                .cloned(),
        );
        Self {
            rows,
            posted: posted_results(posted, pending),
        }
    }
}

/// Gives the posted messages as they were sealed: every call that waits stands there once, with the
/// sealed arguments, and what a client has posted as its result is left out.
#[must_use]
pub fn as_sealed(posted: &[Row], pending: &[PendingCall]) -> Vec<Row> {
    let sealed: HashMap<&str, &PendingCall> = pending
        .iter()
        .map(|call| (call.id.as_str(), call))
        .collect();
    let mut rows: Vec<Row> = posted
        .iter()
        .filter(|row| {
            row.role() != Some(Role::Tool)
                || row
                    .tool_call_id()
                    .is_none_or(|call| !sealed.contains_key(call))
        })
        .cloned()
        .collect();
    told_once(&mut rows, &sealed);
    rows
}

/// Leaves one of each sealed call: a client that repeats a call has made no other.
fn told_once(rows: &mut Vec<Row>, sealed: &HashMap<&str, &PendingCall>) {
    let mut told = HashSet::new();
    rows.retain_mut(|row| {
        let calls = row.members_mut().get_mut("toolCalls");
        let Some(calls) = calls.and_then(Value::as_array_mut) else {
            return true;
        };
        let before = calls.len();
        calls.retain_mut(|call| {
            let id = call.get("id").and_then(Value::as_str);
            let Some(sealed) = id.and_then(|id| sealed.get(id)) else {
                return true;
            };
            let name = call.pointer("/function/name").and_then(Value::as_str);
            if name != Some(&sealed.name) || !told.insert(sealed.id.clone()) {
                return false;
            }
            if let Some(function) = call.get_mut("function").and_then(Value::as_object_mut) {
                let arguments = sealed.arguments.as_str().into();
                function.insert("arguments".to_owned(), arguments);
            }
            true
        });
        let (left, dropped) = (calls.len(), before - calls.len());
        if dropped > 0 && left == 0 {
            row.members_mut().shift_remove("toolCalls");
            return row.content_text().is_some_and(|text| !text.is_empty());
        }
        true
    });
}

fn posted_results(posted: &[Row], pending: &[PendingCall]) -> HashMap<ToolCallId, String> {
    let results = results(posted);
    pending
        .iter()
        .filter_map(|call| {
            let row = results.get(call.id.as_str())?;
            Some((call.id.clone(), row.content_text()?.to_owned()))
        })
        .collect()
}

/// Digests answers, so that the same ones sent again are known as such, in whatever order.
#[must_use]
pub fn answers_digest(entries: &[ResumeEntry]) -> String {
    let mut sorted: Vec<&ResumeEntry> = entries.iter().collect();
    sorted.sort_by(|one, other| one.interrupt_id.cmp(&other.interrupt_id));
    let plain: Vec<Value> = sorted
        .into_iter()
        .map(|entry| json!([entry.interrupt_id, entry.status, entry.payload]))
        .collect();
    value_hash(&Value::Array(plain))
}

#[cfg(test)]
#[path = "continuation_tests.rs"]
mod tests;
