//! JSON → script, with the path of what does not fit.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{Failure, Reasoning, Script, ScriptError, ScriptedCall, Turn};
use crate::ports::model::{FinishReason, Usage};

pub(super) fn script(value: &Value) -> Result<Script, ScriptError> {
    let root = Node {
        at: String::new(),
        value,
    };
    root.object()?;
    let turns = root.required("turns")?;
    Ok(Script {
        id: root.optional("id", Node::string)?,
        turns: turns
            .items()?
            .iter()
            .enumerate()
            .map(|(index, node)| turn(node, index))
            .collect::<Result<_, _>>()?,
    })
}

fn turn(node: &Node<'_>, index: usize) -> Result<Turn, ScriptError> {
    node.object()?;
    node.only(&[
        "text",
        "reasoning",
        "toolCalls",
        "delayMs",
        "finishReason",
        "usage",
        "error",
        "throws",
        "cut",
    ])?;
    let calls = node.optional("toolCalls", |calls| {
        let calls = calls.items()?;
        let calls = calls.iter().enumerate();
        calls
            .map(|(at, node)| call(node, index, at))
            .collect::<Result<Vec<_>, _>>()
    })?;
    Ok(Turn {
        reasoning: node.optional("reasoning", reasoning)?,
        text: node.optional("text", Node::strings)?,
        delay: node.optional("delayMs", Node::millis)?.unwrap_or_default(),
        tool_calls: calls.unwrap_or_default(),
        finish_reason: node
            .optional("finishReason", Node::string)?
            .map(FinishReason::from),
        usage: node.optional("usage", usage)?,
        failure: failure(node)?,
    })
}

fn reasoning(node: &Node<'_>) -> Result<Reasoning, ScriptError> {
    node.object()?;
    Ok(Reasoning {
        chunks: node.optional("chunks", Node::strings)?.unwrap_or_default(),
        signature: node.optional("signature", Node::string)?,
    })
}

fn call(node: &Node<'_>, turn: usize, index: usize) -> Result<ScriptedCall, ScriptError> {
    node.object()?;
    let given = node.member("arguments").map(|arguments| arguments.value);
    let text = match given {
        None => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
    };
    let deltas = node.optional("deltas", Node::strings)?;
    let input = match given {
        None if deltas.is_none() => Some(Value::Object(Map::new())),
        None | Some(Value::String(_)) => None,
        Some(other) => Some(other.clone()),
    };
    Ok(ScriptedCall {
        id: node
            .optional("id", Node::string)?
            .unwrap_or_else(|| format!("call_{}_{}", turn + 1, index + 1)),
        name: node.optional("name", Node::string)?.unwrap_or_default(),
        deltas: deltas.unwrap_or_else(|| halves(text.as_deref().unwrap_or_default())),
        input,
        metadata: node.optional("metadata", |metadata| metadata.object().cloned())?,
    })
}

/// Cuts a text into two pieces, so that readers meet arguments that arrive in parts.
fn halves(text: &str) -> Vec<String> {
    let middle = text.len() / 2;
    let cut = (0..=middle).rev().find(|at| text.is_char_boundary(*at));
    let (first, second) = text.split_at(cut.unwrap_or_default());
    [first, second]
        .into_iter()
        .filter(|piece| !piece.is_empty())
        .map(str::to_owned)
        .collect()
}

fn usage(node: &Node<'_>) -> Result<Usage, ScriptError> {
    node.object()?;
    for count in ["promptTokens", "completionTokens", "totalTokens"] {
        node.optional(count, Node::number)?;
    }
    serde_json::from_value(node.value.clone())
        .map_err(|_| node.must_be("an object of token counts"))
}

fn failure(node: &Node<'_>) -> Result<Option<Failure>, ScriptError> {
    if let Some(error) = node.member("error") {
        error.object()?;
        return Ok(Some(Failure::Error {
            message: error.required("message")?.string()?,
            code: error.optional("code", Node::word)?,
            raw_event: error.member("rawEvent").map(|raw| raw.value.clone()),
        }));
    }
    if let Some(throws) = node.member("throws") {
        throws.object()?;
        return Ok(Some(Failure::Throws {
            message: throws.required("message")?.string()?,
            status: throws.optional("status", |status| {
                let number = status.value.as_i64();
                number.ok_or_else(|| status.must_be("an integer"))
            })?,
        }));
    }
    let cut = node.optional("cut", |cut| {
        cut.value.as_bool().ok_or_else(|| cut.must_be("a boolean"))
    })?;
    Ok(cut.unwrap_or_default().then_some(Failure::Cut))
}

struct Node<'json> {
    at: String,
    value: &'json Value,
}

impl<'json> Node<'json> {
    fn must_be(&self, expected: &'static str) -> ScriptError {
        let at = if self.at.is_empty() {
            "the whole".to_owned()
        } else {
            self.at.clone()
        };
        ScriptError::Member { at, expected }
    }

    fn object(&self) -> Result<&'json Map<String, Value>, ScriptError> {
        let object = self.value.as_object();
        object.ok_or_else(|| self.must_be("an object"))
    }

    fn items(&self) -> Result<Vec<Node<'json>>, ScriptError> {
        let Some(items) = self.value.as_array() else {
            return Err(self.must_be("an array"));
        };
        let items = items.iter().enumerate();
        Ok(items
            .map(|(index, value)| Node {
                at: format!("{}[{index}]", self.at),
                value,
            })
            .collect())
    }

    fn member(&self, key: &str) -> Option<Node<'json>> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(self.child(key, value))
    }

    fn required(&self, key: &str) -> Result<Node<'json>, ScriptError> {
        let missing = || self.child(key, &Value::Null).must_be("there");
        self.member(key).ok_or_else(missing)
    }

    fn optional<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Node<'json>) -> Result<T, ScriptError>,
    ) -> Result<Option<T>, ScriptError> {
        self.member(key).map(|node| read(&node)).transpose()
    }

    fn child<'other>(&self, key: &str, value: &'other Value) -> Node<'other> {
        let at = match self.at.as_str() {
            "" => key.to_owned(),
            at => format!("{at}.{key}"),
        };
        Node { at, value }
    }

    fn string(&self) -> Result<String, ScriptError> {
        let text = self.value.as_str().map(str::to_owned);
        text.ok_or_else(|| self.must_be("a string"))
    }

    fn word(&self) -> Result<String, ScriptError> {
        match self.value {
            Value::Number(number) => Ok(number.to_string()),
            _ => self.string(),
        }
    }

    fn strings(&self) -> Result<Vec<String>, ScriptError> {
        match self.value {
            Value::String(text) => Ok(vec![text.clone()]),
            Value::Array(_) => self.items()?.iter().map(Node::string).collect(),
            _ => Err(self.must_be("a string or an array of strings")),
        }
    }

    fn number(&self) -> Result<u64, ScriptError> {
        let number = self.value.as_u64();
        number.ok_or_else(|| self.must_be("a whole number, not negative"))
    }

    fn millis(&self) -> Result<Duration, ScriptError> {
        self.number().map(Duration::from_millis)
    }

    /// Refuses members that mean nothing here: they are mistyped.
    fn only(&self, known: &[&str]) -> Result<(), ScriptError> {
        let mut members = self.value.as_object().into_iter().flatten();
        match members.find(|(key, _)| !known.contains(&key.as_str())) {
            Some((key, value)) => Err(self.child(key, value).must_be("left out: it means nothing")),
            None => Ok(()),
        }
    }
}
