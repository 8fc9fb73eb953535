//! Compares recorded events with ours.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

/// What we do otherwise on purpose. Each excuses one thing and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Differences {
    /// RUN_STARTED comes first on a resume, and names its parent.
    StartsFirst,
    /// Every stream ends in RUN_FINISHED or RUN_ERROR.
    AlwaysEnds,
    /// Nothing reads resources of a user interface yet.
    NoUiResource,
    /// A link to a resource reads as a link, not as JSON.
    ReadableLinks,
    /// There is no middleware yet that could emit.
    NoMiddleware,
    /// Sources are closed even when one of their tools has the name of an own tool.
    ClosesOnClash,
}

/// Words of the validator of the recorded application, which are not the engine's.
const FOREIGN_WORDS: &str = "Invalid input: expected";

const RECORDED_LINK: &str = r#"{\"name\":\"x\",\"uri\":\"file:///x\",\"type\":\"resource_link\"}"#;
const OUR_LINK: &str = "[resource x](file:///x)";

/// Members that hold ids which the host makes up.
const HOST_IDS: [&str; 6] = [
    "messageId",
    "parentMessageId",
    "stepName",
    "stepId",
    "entityId",
    "id",
];

/// Collects every text of the given values.
pub(super) fn known_texts<'a>(values: impl IntoIterator<Item = &'a Value>) -> HashSet<String> {
    fn walk(value: &Value, known: &mut HashSet<String>) {
        match value {
            Value::String(text) => {
                known.insert(text.clone());
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, known)),
            Value::Object(members) => members.values().for_each(|value| walk(value, known)),
            _ => {}
        }
    }
    let mut known = HashSet::new();
    for value in values {
        walk(value, &mut known);
    }
    known
}

/// Says how the events differ, beyond what is excused.
pub(super) fn compare(
    recorded: &[Value],
    seen: &[Value],
    known: &HashSet<String>,
    excused: &HashSet<Differences>,
) -> Vec<String> {
    let mut problems = Vec::new();
    for event in seen {
        if !event["timestamp"].is_u64() {
            problems.push(format!("no timestamp: {event}"));
        }
    }
    let mut expected = normal(recorded, known);
    let mut actual = normal(seen, known);
    excuse(&mut expected, &mut actual, excused);
    for (index, (expected, actual)) in expected.iter().zip(&actual).enumerate() {
        if !same(expected, actual) {
            problems.push(format!(
                "event {index}\n  expected {expected}\n  got      {actual}"
            ));
        }
    }
    if expected.len() != actual.len() {
        let names = |events: &[Value]| {
            let names: Vec<&str> = events
                .iter()
                .filter_map(|event| event["type"].as_str())
                .collect();
            names.join(" ")
        };
        problems.push(format!(
            "expected {} events, got {}\n  expected {}\n  got      {}",
            expected.len(),
            actual.len(),
            names(&expected),
            names(&actual)
        ));
    }
    problems
}

fn excuse(expected: &mut Vec<Value>, actual: &mut Vec<Value>, excused: &HashSet<Differences>) {
    let is = |event: &Value, name: &str| event["type"] == name;
    if excused.contains(&Differences::NoUiResource) {
        expected.retain(|event| !(is(event, "CUSTOM") && event["name"] == "ui-resource"));
    }
    if excused.contains(&Differences::ReadableLinks) {
        for event in expected.iter_mut() {
            let Some(content) = event["content"].as_str() else {
                continue;
            };
            if content.contains("resource_link") {
                event["content"] = json!(content.replace(RECORDED_LINK, OUR_LINK));
            }
        }
    }
    if excused.contains(&Differences::NoMiddleware) {
        expected.retain(|event| !(is(event, "CUSTOM") && event["name"] == "mw:hello"));
        strip_start(expected);
        strip_start(actual);
    }
    if excused.contains(&Differences::StartsFirst) {
        let started = expected.iter().position(|event| is(event, "RUN_STARTED"));
        if let Some(started) = started.filter(|index| *index > 0) {
            let event = expected.remove(started);
            expected.insert(0, event);
        }
        let parent = actual
            .first()
            .and_then(|event| event.get("parentRunId").cloned());
        let first = expected
            .first_mut()
            .filter(|event| is(event, "RUN_STARTED"));
        if let (Some(parent), Some(first)) = (parent, first) {
            first["parentRunId"] = parent;
        }
    }
    if excused.contains(&Differences::AlwaysEnds) {
        let ends = |events: &[Value]| {
            events
                .last()
                .is_some_and(|event| is(event, "RUN_FINISHED") || is(event, "RUN_ERROR"))
        };
        if !ends(expected) && ends(actual) && actual.len() == expected.len() + 1 {
            actual.pop();
        }
    }
}

/// A recording whose middleware emits starts the run before the model has a name.
fn strip_start(events: &mut [Value]) {
    if let Some(Value::Object(first)) = events.first_mut() {
        first.shift_remove("metadata");
    }
}

/// Equal, or equal up to the words of a validator.
fn same(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::String(expected), Value::String(actual)) => {
            match expected.split_once(FOREIGN_WORDS) {
                Some((lead, _)) => actual.starts_with(lead) && actual.len() > lead.len(),
                None => expected == actual,
            }
        }
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() == actual.len()
                && expected
                    .iter()
                    .zip(actual)
                    .all(|(one, other)| same(one, other))
        }
        (Value::Object(expected), Value::Object(actual)) => {
            expected.len() == actual.len()
                && expected
                    .iter()
                    .all(|(name, value)| actual.get(name).is_some_and(|other| same(value, other)))
        }
        _ => expected == actual,
    }
}

fn normal(events: &[Value], known: &HashSet<String>) -> Vec<Value> {
    let mut ids = HashMap::new();
    events
        .iter()
        .map(|event| {
            let mut event = event.clone();
            if let Value::Object(members) = &mut event {
                members.shift_remove("timestamp");
            }
            rewrite("", &mut event, known, &mut ids);
            event
        })
        .collect()
}

fn rewrite(
    name: &str,
    value: &mut Value,
    known: &HashSet<String>,
    ids: &mut HashMap<String, usize>,
) {
    match value {
        Value::Array(items) => {
            for item in items {
                rewrite(name, item, known, ids);
            }
        }
        Value::Object(members) => rewrite_members(members, known, ids),
        Value::String(text) if known.contains(text.as_str()) => {}
        Value::String(text) => {
            if name == "createdAt" || name == "expiresAt" {
                assert!(text.len() == 24 && text.ends_with('Z'), "{text} is no date");
                *value = json!("<date>");
            } else if HOST_IDS.contains(&name) && !is_derived(text) {
                let next = ids.len() + 1;
                let number = *ids.entry(text.clone()).or_insert(next);
                *value = json!(format!("<id {number}>"));
            }
        }
        _ => {}
    }
}

fn rewrite_members(
    members: &mut Map<String, Value>,
    known: &HashSet<String>,
    ids: &mut HashMap<String, usize>,
) {
    // Numbers are given in the order of names, so that the order of members does not matter.
    let mut names: Vec<String> = members.keys().cloned().collect();
    names.sort();
    for name in names {
        if let Some(value) = members.get_mut(&name) {
            rewrite(&name, value, known, ids);
        }
    }
}

/// Ids that follow from known ones have to be equal.
fn is_derived(id: &str) -> bool {
    [
        "approval_",
        "client_tool_",
        "mcp_input_",
        "tool-",
        "snapshot_",
    ]
    .iter()
    .any(|lead| id.starts_with(lead))
}
