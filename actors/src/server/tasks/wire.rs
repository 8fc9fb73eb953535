//! How tasks are written, in each era.

use indexmap::IndexMap;
use serde_json::{Map, Value, json, value::RawValue};

use super::deliver::related;
use crate::{
    machine::task::{Task, TaskEnd, TaskEra},
    server::answer::{Members, ResultKind},
    wire::{
        task::{RELATED_TASK, TaskStatus},
        time::iso8601,
    },
};

/// What `capabilities.extensions` says of the extension.
pub(in crate::server) fn settings() -> Value {
    json!({})
}

/// Gives `Task`: what both eras have, and the times under the names of the era.
pub(super) fn fields(task: &Task) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("taskId", Value::from(task.id().as_str()));
    put("status", Value::from(task.status().as_str()));
    if let Some(message) = task.message() {
        put("statusMessage", Value::from(message));
    }
    put("createdAt", Value::from(iso8601(task.created_at())));
    put("lastUpdatedAt", Value::from(iso8601(task.updated_at())));
    let (ttl, poll) = match task.era() {
        TaskEra::Core => ("ttl", "pollInterval"),
        TaskEra::Extension => ("ttlMs", "pollIntervalMs"),
    };
    // Null says that the task is kept without end.
    let kept = Some(task.ttl_ms()).filter(|time| *time != u64::MAX);
    put(ttl, Value::from(kept));
    put(poll, Value::from(task.poll_interval_ms()));
    fields
}

/// 2026: writes the members of `DetailedTask`, with what the task waits for or has come to.
pub(in crate::server) fn detailed(task: &Task) -> String {
    let mut fields = fields(task);
    if task.status() == TaskStatus::InputRequired {
        let questions = task.questions().clone();
        let requests = questions.into_iter().collect::<Map<_, _>>();
        fields.insert("inputRequests".to_owned(), Value::Object(requests));
    }
    if let Some(TaskEnd::Error(error)) = task.end() {
        fields.insert("error".to_owned(), json!(error));
    }
    let mut text = text(fields);
    if let Some(TaskEnd::Result { json, .. }) = task.end() {
        // As it stands: numbers and depths that a `Value` does not hold are the client's to read.
        text.push_str(",\"result\":");
        text.push_str(json);
    }
    text
}

/// The answer to a call that has become a task.
pub(super) fn created(task: &Task) -> Members {
    let mut fields = fields(task);
    if task.era() == TaskEra::Core {
        let task = Value::Object(std::mem::take(&mut fields));
        fields.insert("task".to_owned(), task);
    }
    Members {
        text: text(fields),
        kind: ResultKind::Task,
        ..Members::default()
    }
}

/// The answer to a request for a task as it is.
pub(super) fn found(task: &Task) -> Members {
    Members {
        text: match task.era() {
            TaskEra::Core => text(fields(task)),
            TaskEra::Extension => detailed(task),
        },
        ..Members::default()
    }
}

/// 2025: the answer to `tasks/result`: what the call would have given, and which task it is of.
pub(super) fn payload(task: &Task, json: &str) -> Members {
    // Values are carried as they stand.
    let mut result: IndexMap<&str, &RawValue> = serde_json::from_str(json).unwrap_or_default();
    let meta = result.shift_remove("_meta").map(RawValue::get);
    let meta = meta.and_then(|meta| serde_json::from_str(meta).ok());
    let meta = json!({"_meta": meta.unwrap_or_else(|| json!({}))});
    let mut meta = related(meta, task.id().as_str());
    let meta = meta.get_mut("_meta").map(Value::take).unwrap_or_default();
    debug_assert!(meta.get(RELATED_TASK).is_some());
    let mut text = String::with_capacity(json.len());
    for (name, value) in &result {
        text.push_str(&Value::from(*name).to_string());
        text.push(':');
        text.push_str(value.get());
        text.push(',');
    }
    text.push_str("\"_meta\":");
    text.push_str(&meta.to_string());
    Members {
        text,
        ..Members::default()
    }
}

/// Writes members without the braces round them.
fn text(fields: Map<String, Value>) -> String {
    let text = Value::Object(fields).to_string();
    let inside = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    inside.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "a failed expectation is the test failing"
    )]
    use std::sync::Arc;

    use super::*;
    use crate::wire::{ids::TaskId, jsonrpc::RpcError};

    fn task(era: TaskEra) -> Task {
        Task::new(TaskId::from("t1"), era, 0, 60_000, 500)
    }

    fn read(members: &Members) -> Value {
        serde_json::from_str(&format!("{{{}}}", members.text)).unwrap()
    }

    #[test]
    fn each_era_has_its_names_and_its_frame() {
        let core = created(&task(TaskEra::Core));
        let times = json!({"taskId": "t1", "status": "working", "createdAt": "1970-01-01T00:00:00.000Z", "lastUpdatedAt": "1970-01-01T00:00:00.000Z", "ttl": 60_000, "pollInterval": 500});
        assert_eq!(read(&core), json!({"task": times}));
        let extension = created(&task(TaskEra::Extension));
        assert_eq!(extension.kind, ResultKind::Task);
        let flat = read(&extension);
        assert_eq!(
            (&flat["ttlMs"], &flat["pollIntervalMs"]),
            (&json!(60_000), &json!(500))
        );
        for absent in [
            "task",
            "ttl",
            "pollInterval",
            "result",
            "error",
            "inputRequests",
        ] {
            assert_eq!(flat.get(absent), None, "{absent}");
        }
    }

    #[test]
    fn a_task_of_2026_carries_what_it_waits_for_and_what_came_of_it() {
        let mut waits = task(TaskEra::Extension);
        waits.ask("a", json!({"method": "roots/list"}), 1).unwrap();
        assert_eq!(
            read(&found(&waits))["inputRequests"],
            json!({"a": {"method": "roots/list"}})
        );
        let mut done = task(TaskEra::Extension);
        let end = TaskEnd::Result {
            json: Arc::from(r#"{"content":[]}"#),
            is_error: false,
        };
        done.finish(end, None, 1);
        assert_eq!(read(&found(&done))["result"], json!({"content": []}));
        let mut failed = task(TaskEra::Extension);
        failed.finish(
            TaskEnd::Error(RpcError::new(-32603, "no")),
            Some("no".to_owned()),
            1,
        );
        let failed = read(&found(&failed));
        assert_eq!(failed["error"], json!({"code": -32603, "message": "no"}));
        assert_eq!(
            (failed.get("result"), &failed["statusMessage"]),
            (None, &json!("no"))
        );
    }

    #[test]
    fn a_payload_is_the_result_as_it_stands_and_names_its_task() {
        let json = r#"{"content":[],"structuredContent":{"n":1.0,"big":123456789012345678901234567890},"_meta":{"own":1}}"#;
        let payload = payload(&task(TaskEra::Core), json).text;
        assert!(
            payload
                .contains(r#""structuredContent":{"n":1.0,"big":123456789012345678901234567890}"#)
        );
        assert!(payload.contains(
            r#""_meta":{"own":1,"io.modelcontextprotocol/related-task":{"taskId":"t1"}}"#
        ));
    }
}
