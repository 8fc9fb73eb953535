//! Which turn of a script comes next, read from the conversation alone.

use super::Turn;
use crate::ports::model::{ModelMessage, ModelRole};

/// Where the conversation stands after a turn.
#[derive(Clone, Copy, Default)]
struct Place {
    /// The message that the next turn is looked for in, first.
    row: usize,
    /// How much of that message's text belongs to turns before.
    used: usize,
}

/// Gives the index of the first turn that is not yet in the conversation.
///
/// Turns are looked for in order, each at or after the one before it: two turns with the same
/// text need two messages, or one message that holds both.
pub(super) fn first_unplayed(turns: &[Turn], messages: &[ModelMessage]) -> usize {
    let mut place = Place::default();
    let mut before: Option<&Turn> = None;
    for (index, turn) in turns.iter().enumerate() {
        let found = if !turn.tool_calls.is_empty() {
            after_calls(turn, messages, place)
        } else if turn.said().is_empty() {
            after_silence(messages, place, before)
        } else {
            after_text(&turn.said(), messages, place)
        };
        let Some(next) = found else {
            return index;
        };
        place = next;
        before = Some(turn);
    }
    turns.len()
}

impl Turn {
    fn said(&self) -> String {
        self.text.iter().flatten().map(String::as_str).collect()
    }
}

fn after_calls(turn: &Turn, messages: &[ModelMessage], place: Place) -> Option<Place> {
    let rows = turn.tool_calls.iter().map(|call| {
        messages.iter().enumerate().position(|(row, message)| {
            message.tool_calls.iter().any(|there| {
                // A call that the script gives no id is known by its name: the id is the engine's.
                there.id.as_str() == call.id
                    || (call.id.is_empty() && row >= place.row && there.name == call.name)
            })
        })
    });
    let row = rows.collect::<Option<Vec<_>>>()?.into_iter().max()?;
    let said = turn.said();
    let text = messages.get(row).map(|message| message.content.text());
    let start = if row == place.row { place.used } else { 0 };
    let used = text
        .and_then(|text| Some(start + text.get(start..)?.find(&said)? + said.len()))
        .unwrap_or(start);
    Some(Place { row, used })
}

fn after_text(said: &str, messages: &[ModelMessage], place: Place) -> Option<Place> {
    let rows = messages.iter().enumerate().skip(place.row);
    let assistant = rows.filter(|(_, message)| message.role == ModelRole::Assistant);
    for (row, message) in assistant {
        let text = message.content.text();
        let start = if row == place.row { place.used } else { 0 };
        let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) else {
            continue;
        };
        if let Some(at) = rest.find(said) {
            let used = start + at + said.len();
            return Some(Place { row, used });
        }
        if said.starts_with(rest) {
            let used = text.len();
            return Some(Place { row, used });
        }
    }
    None
}

/// A turn that leaves nothing in the conversation (it failed, or only thought) is over when the
/// user has spoken again. After calls the turn began without the user, else it answered one.
fn after_silence(messages: &[ModelMessage], place: Place, before: Option<&Turn>) -> Option<Place> {
    let rows = messages.iter().enumerate().skip(place.row);
    let mut users = rows.filter(|(_, message)| message.role == ModelRole::User);
    if before.is_some_and(|turn| !turn.tool_calls.is_empty()) {
        users.next()?;
        return Some(place);
    }
    let (asked, _) = users.next()?;
    users.next()?;
    Some(Place {
        row: asked + 1,
        used: 0,
    })
}
