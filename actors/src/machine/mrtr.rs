//! The rounds of a call that asks: what goes out sealed, and what may come back.
//! Spec: MCP 2026-07-28, "Multi round-trip requests".

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::seal::{SealError, SealKey, open, seal};
use crate::wire::{apart::apart, ids::Owner};

/// Rounds that one call may take. A tool that always asks again would else keep a client busy.
pub const MAX_ROUNDS: u32 = 10;
/// The largest sealed state that is made and opened. It holds the answers of earlier rounds.
pub const MAX_STATE_BYTES: usize = 256 * 1024;

const PURPOSE: &str = "mcp request state";

/// What a call remembers between two rounds. It travels sealed, through the client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallState {
    /// Rounds so far.
    pub round: u32,
    /// Answers of earlier rounds, by key.
    #[serde(deserialize_with = "apart")]
    pub answers: Map<String, Value>,
}

/// The answers of a call have grown beyond what travels with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answers of earlier rounds need more than {MAX_STATE_BYTES} bytes")]
pub struct StateTooLarge;

/// What a state is bound to: who called which tool with which arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding(Vec<u8>);

impl Binding {
    /// Binds to the caller, the method, the name and the arguments, which are JSON text. They count
    /// as values: blanks and the order of members do not, for a client may write them anew.
    #[must_use]
    pub fn new(owner: &Owner, method: &str, name: &str, arguments: &str) -> Self {
        let mut digest = Sha256::new();
        for part in [owner.key().unwrap_or_default(), method, name] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        digest.update([u8::from(owner.is_anonymous())]);
        match serde_json::from_str(arguments) {
            Ok(arguments) => digest_value(&mut digest, &arguments),
            // Too deep, or with a number that is too large; a tool that looks at none of it runs.
            Err(_) => digest_text(&mut digest, arguments),
        }
        Self(digest.finalize().to_vec())
    }
}

fn digest_value(digest: &mut Sha256, value: &Value) {
    match value {
        Value::Object(members) => {
            digest.update(b"{");
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            for name in names {
                digest_text(digest, name);
                if let Some(member) = members.get(name) {
                    digest_value(digest, member);
                }
            }
            digest.update(b"}");
        }
        Value::Array(items) => {
            digest.update(b"[");
            for item in items {
                digest_value(digest, item);
            }
            digest.update(b"]");
        }
        Value::String(text) => digest_text(digest, text),
        // 1 and 1.0 are one number to a client in JavaScript.
        Value::Number(number) => {
            digest.update(b"#");
            let bits = number.as_f64().unwrap_or_default().to_bits();
            digest.update(bits.to_be_bytes());
            if let Some(exact) = number
                .as_i64()
                .filter(|exact| exact.unsigned_abs() > 1 << 53)
            {
                digest.update(exact.to_be_bytes());
            }
            if let Some(exact) = number.as_u64().filter(|_| number.as_i64().is_none()) {
                digest.update(exact.to_be_bytes());
            }
        }
        other => digest.update(other.to_string()),
    }
}

fn digest_text(digest: &mut Sha256, text: &str) {
    digest.update(b"\"");
    digest.update((text.len() as u64).to_be_bytes());
    digest.update(text);
}

impl CallState {
    /// Seals the state until `expires_at` (seconds since 1970).
    ///
    /// # Errors
    /// [`StateTooLarge`] when [`CallState::open`] would refuse it.
    pub fn seal(
        &self,
        key: &SealKey,
        binding: &Binding,
        expires_at: u64,
    ) -> Result<String, StateTooLarge> {
        let payload = serde_json::to_vec(self).unwrap_or_default();
        let text = seal(key, PURPOSE, &binding.0, &payload, expires_at);
        if text.len() > MAX_STATE_BYTES {
            return Err(StateTooLarge);
        }
        Ok(text)
    }

    /// Opens what [`CallState::seal`] made for the same call.
    ///
    /// # Errors
    /// [`SealError`] when it was not made here for this call, or is too old or too large.
    pub fn open(key: &SealKey, binding: &Binding, text: &str, now: u64) -> Result<Self, SealError> {
        if text.len() > MAX_STATE_BYTES {
            return Err(SealError::Malformed);
        }
        let payload = open(key, PURPOSE, &binding.0, text, now)?;
        serde_json::from_slice(&payload).map_err(|_| SealError::Malformed)
    }

    /// Adds the answers of this round. What was answered before stays as it was.
    pub fn add(&mut self, answers: Map<String, Value>) {
        for (key, answer) in answers {
            self.answers.entry(key).or_insert(answer);
        }
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a failed expectation is the test failing"
)]
mod tests {
    use serde_json::json;

    use super::*;

    fn binding(owner: &Owner, name: &str, arguments: &Value) -> Binding {
        Binding::new(owner, "tools/call", name, &arguments.to_string())
    }

    #[test]
    fn a_state_belongs_to_its_caller_tool_and_arguments() {
        let key = SealKey::random();
        let anna = Owner::new("anna");
        let arguments = json!({"a":1,"b":["x"]});
        let state = CallState {
            round: 1,
            answers: Map::from_iter([("k".to_owned(), json!({"action":"decline"}))]),
        };
        let text = state
            .seal(&key, &binding(&anna, "t", &arguments), 100)
            .unwrap();
        let open = |owner: &Owner, name: &str, arguments: &Value, now| {
            CallState::open(&key, &binding(owner, name, arguments), &text, now)
        };
        assert_eq!(
            open(&anna, "t", &json!({"b":["x"],"a":1.0}), 99).unwrap(),
            state
        );
        assert_eq!(open(&anna, "t", &arguments, 100), Err(SealError::Expired));
        let tampered = Err(SealError::Tampered);
        assert_eq!(open(&Owner::new("bert"), "t", &arguments, 1), tampered);
        assert_eq!(open(&Owner::ANONYMOUS, "t", &arguments, 1), tampered);
        assert_eq!(open(&anna, "u", &arguments, 1), tampered);
        assert_eq!(open(&anna, "t", &json!({"a":2,"b":["x"]}), 1), tampered);
        assert_eq!(open(&anna, "t", &json!({"a":1,"b":"x"}), 1), tampered);
    }

    #[test]
    fn numbers_that_are_one_double_are_not_one_argument() {
        let of = |number: Value| binding(&Owner::ANONYMOUS, "t", &json!({"n": number}));
        assert_ne!(of(json!(u64::MAX)), of(json!(u64::MAX - 1)));
        assert_ne!(of(json!(i64::MAX)), of(json!(i64::MAX - 1)));
        assert_ne!(of(json!(i64::MIN)), of(json!(i64::MIN + 1)));
        assert_eq!(of(json!(5)), of(json!(5.0)));
    }

    #[test]
    fn a_state_that_would_be_refused_is_not_made() {
        let key = SealKey::random();
        let call = binding(&Owner::ANONYMOUS, "t", &json!({}));
        let with = |bytes: usize| CallState {
            round: 1,
            answers: Map::from_iter([("k".to_owned(), Value::from("x".repeat(bytes)))]),
        };
        let fits = with(MAX_STATE_BYTES / 2);
        let text = fits.seal(&key, &call, 100).unwrap();
        assert_eq!(CallState::open(&key, &call, &text, 1), Ok(fits));
        let error = with(MAX_STATE_BYTES).seal(&key, &call, 100).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the answers of earlier rounds need more than 262144 bytes"
        );
    }

    #[test]
    fn a_state_opens_whatever_answers_it_holds() {
        let deepest = format!(r#"{{"k":{}{}}}"#, "[".repeat(126), "]".repeat(126));
        for answers in [
            deepest.as_str(),
            r#"{"a\"\u0001":"\ud83e\uddc0","n":[1.7976931348623157e308,-0.0,18446744073709551615]}"#,
        ] {
            let state = CallState {
                round: 1,
                answers: serde_json::from_str(answers).unwrap(),
            };
            let key = SealKey::random();
            let call = binding(&Owner::ANONYMOUS, "t", &json!({}));
            let text = state.seal(&key, &call, 100).unwrap();
            assert_eq!(CallState::open(&key, &call, &text, 1), Ok(state));
        }
    }

    #[test]
    fn arguments_that_cannot_be_read_are_bound_as_they_stand() {
        let of = |arguments: &str| Binding::new(&Owner::ANONYMOUS, "tools/call", "t", arguments);
        let (one, other) = (r#"{"n":1e999}"#, r#"{"n":2e999}"#);
        assert!(serde_json::from_str::<Value>(one).is_err());
        assert_eq!(of(one), of(one));
        assert_ne!(of(one), of(other));
        assert_ne!(of(one), of("null"));
    }

    #[test]
    fn an_earlier_answer_stays() {
        let mut state = CallState::default();
        state.add(Map::from_iter([("k".to_owned(), json!(1))]));
        state.add(Map::from_iter([
            ("k".to_owned(), json!(2)),
            ("l".to_owned(), json!(3)),
        ]));
        assert_eq!(
            state.answers,
            Map::from_iter([("k".to_owned(), json!(1)), ("l".to_owned(), json!(3))])
        );
    }

    #[test]
    fn an_empty_owner_is_not_nobody() {
        let value = json!({});
        assert_ne!(
            binding(&Owner::new(""), "t", &value),
            binding(&Owner::ANONYMOUS, "t", &value)
        );
    }
}
