//! Questions of a task, and before it.

use serde_json::{Value, json};

use super::{acknowledged, ask, begin, begin_two_questions, call, get, served, until, update, yes};
use crate::{mcp_server::host::Ask, served::eventually};

#[test]
fn questions_of_a_task_are_answered_one_by_one_and_no_key_comes_twice() {
    let (_, _, served) = served();
    let id = begin_two_questions(&served);
    let asked = get(&served, &id);
    assert_eq!(asked["status"], "input_required");
    let one = &asked["inputRequests"]["one"];
    assert_eq!(
        (&one["method"], &one["params"]["message"]),
        (&json!("elicitation/create"), &json!("One?"))
    );
    // One answer that does not fit refuses the others too.
    let wrong = json!({"one": yes(true), "two": {"action": "accept", "content": {"ok": 5}}});
    assert_eq!(update(&served, &id, wrong).error_code(), -32602);
    assert_eq!(
        get(&served, &id)["inputRequests"]
            .as_object()
            .unwrap()
            .len(),
        2
    );
    acknowledged(&update(&served, &id, json!({"unknown": {"ignored": true}})));
    acknowledged(&update(&served, &id, json!({"one": yes(true)})));
    let partly = get(&served, &id);
    assert_eq!(partly["status"], "input_required");
    assert_eq!(
        partly["inputRequests"]
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["two"]
    );
    acknowledged(&update(
        &served,
        &id,
        json!({"two": yes(false), "one": yes(false)}),
    ));
    eventually("another question", || {
        get(&served, &id)["inputRequests"].get("one:2").is_some()
    });
    acknowledged(&update(&served, &id, json!({"one:2": yes(true)})));
    let done = until(&served, &id, "completed");
    assert_eq!(
        done["result"]["content"][0]["text"],
        r#"{"ok":true} {"ok":false} {"ok":true}"#
    );
    // Nothing is open any more.
    acknowledged(&update(&served, &id, json!({"one": yes(false)})));
    assert_eq!(update(&served, &id, Value::Null).error_code(), -32602);
}

#[test]
fn a_declined_question_of_a_task_is_a_failure_that_the_model_reads() {
    let (_, _, served) = served();
    let id = begin_two_questions(&served);
    let no = json!({"action": "decline"});
    acknowledged(&update(&served, &id, json!({"one": no, "two": no})));
    eventually("another question", || {
        get(&served, &id)["inputRequests"].get("one:2").is_some()
    });
    acknowledged(&update(&served, &id, json!({"one:2": yes(true)})));
    let done = until(&served, &id, "completed");
    assert_eq!(done["result"]["isError"], true);
}

#[test]
fn a_question_of_a_task_needs_a_key() {
    let (_, _, served) = served();
    let done = until(&served, &begin(&served, "unkeyed"), "completed");
    assert_eq!(done["result"]["isError"], true);
    let text = done["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("request_form"), "{text}");
    let inline =
        Ask::modern("tools/call", json!({"name": "unkeyed", "arguments": {}})).send(&served);
    assert_eq!(inline.json()["result"]["isError"], true);
}

#[test]
fn questions_before_the_task_are_asked_in_rounds_of_the_call() {
    let (open, server, served) = served();
    let first = call(&served, "when_told");
    assert_eq!(first["resultType"], "input_required", "{first}");
    assert_eq!(first.get("taskId"), None);
    assert_eq!(server.open_tasks(), 0);
    let again = |name: Value| {
        let answer = json!({"name": {"action": "accept", "content": name}});
        let params = json!({"name": "when_told", "arguments": {}, "inputResponses": answer, "requestState": first["requestState"]});
        ask("tools/call", params).send(&served).json()["result"].clone()
    };
    let at_once = again(json!({"now": true}));
    assert_eq!(
        (&at_once["resultType"], at_once.get("taskId")),
        (&json!("complete"), None)
    );
    let created = again(json!({"who": "Ada"}));
    assert_eq!(
        (&created["resultType"], &created["status"]),
        (&json!("task"), &json!("working"))
    );
    assert_eq!(
        (created.get("requestState"), created.get("inputRequests")),
        (None, None)
    );
    let id = created["taskId"].as_str().unwrap();
    open.notify_one();
    until(&served, id, "input_required");
    acknowledged(&update(&served, id, json!({"sure": yes(true)})));
    let done = until(&served, id, "completed");
    assert_eq!(
        done["result"]["content"][0]["text"],
        r#"{"who":"Ada"} {"ok":true}"#
    );
}
