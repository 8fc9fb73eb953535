//! Nothing opens but what was sealed, for the call it was sealed for, in its time.
//! Lines of an input: a text that is no state, a caller, a tool, its arguments, answers.

use roscius_actors::{
    machine::{
        mrtr::{Binding, CallState, MAX_STATE_BYTES},
        seal::{SealError, SealKey},
    },
    wire::ids::Owner,
};
use serde_json::{Map, Value, json};

const NOW: u64 = 1_000;
const EXPIRES: u64 = 2_000;

/// Checks one input.
pub fn check(data: &[u8]) {
    let key = SealKey::from_bytes([7; 32]);
    let [text, owner, tool, arguments, answers] = super::lines(data);
    let owner = Owner::new(String::from_utf8_lossy(owner));
    let tool = String::from_utf8_lossy(tool);
    let arguments: Value = serde_json::from_slice(arguments).unwrap_or_default();
    let call = |owner: &Owner, tool: &str, arguments: &Value| {
        Binding::new(owner, "tools/call", tool, &arguments.to_string())
    };
    let own = call(&owner, &tool, &arguments);
    for whole in [data, text] {
        let text = String::from_utf8_lossy(whole);
        let opened = CallState::open(&key, &own, &text, NOW);
        assert!(
            matches!(opened, Err(SealError::Malformed | SealError::Tampered)),
            "{opened:?}"
        );
    }

    let answers: Map<String, Value> = serde_json::from_slice(answers).unwrap_or_default();
    let mut state = CallState {
        round: u32::from(data.first().copied().unwrap_or_default()),
        answers: answers.clone(),
    };
    state.add(
        answers
            .iter()
            .map(|(key, _)| (key.clone(), json!("late")))
            .collect(),
    );
    assert_eq!(state.answers, answers, "an earlier answer stays");
    // Some numbers have more digits, and some values more levels, than come back from JSON.
    let state_again: Option<CallState> = serde_json::to_string(&state)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok());
    let arguments_again: Option<Value> = serde_json::from_str(&arguments.to_string()).ok();
    if state_again.as_ref() != Some(&state) || arguments_again.as_ref() != Some(&arguments) {
        return;
    }
    let Ok(sealed) = state.seal(&key, &own, EXPIRES) else {
        assert!(data.len() > MAX_STATE_BYTES / 4);
        return;
    };
    assert!(sealed.len() <= MAX_STATE_BYTES);
    assert_eq!(CallState::open(&key, &own, &sealed, NOW), Ok(state));
    assert_eq!(
        CallState::open(&key, &own, &sealed, EXPIRES),
        Err(SealError::Expired)
    );

    // The same value in another writing is the same call.
    let rewritten = serde_json::from_str(&reversed(&arguments).to_string()).expect("JSON");
    assert_eq!(call(&owner, &tool, &rewritten), own);
    let other = json!([arguments]);
    for foreign in [
        call(&owner, &tool, &other),
        call(&owner, &format!("{tool}x"), &arguments),
        call(&Owner::ANONYMOUS, &tool, &arguments),
        Binding::new(&owner, "prompts/get", &tool, &arguments.to_string()),
    ] {
        let opened = CallState::open(&key, &foreign, &sealed, NOW);
        assert_eq!(opened, Err(SealError::Tampered));
    }
    let at = usize::from(data.last().copied().unwrap_or_default()) % sealed.len();
    for changed in [
        swapped(&sealed, at),
        sealed[..at].to_owned(),
        format!("{sealed}A"),
    ] {
        assert!(
            CallState::open(&key, &own, &changed, NOW).is_err(),
            "{changed}"
        );
    }
}

/// Another sign in one place.
fn swapped(text: &str, at: usize) -> String {
    let mut bytes = text.as_bytes().to_vec();
    bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
    String::from_utf8(bytes).expect("ASCII")
}

/// The same value with the members of its objects in the other order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().rev();
            Value::Object(
                members
                    .map(|(name, it)| (name.clone(), reversed(it)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        other => other.clone(),
    }
}
