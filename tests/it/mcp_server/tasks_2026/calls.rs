//! Who gets a task, and what comes of it.

use std::{sync::Arc, time::Duration};

use roscius::{prelude::*, server::TaskLimits};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{TASKS, ask, begin, builder, call, get, served, until};
use crate::mcp_server::host::{Ask, Served};

#[test]
fn a_call_becomes_a_task_that_carries_its_result() {
    let (open, server, served) = served();
    let created = call(&served, "slow");
    assert_eq!(created["resultType"], "task");
    assert_eq!(created["status"], "working");
    assert_eq!(
        (&created["ttlMs"], &created["pollIntervalMs"]),
        (&json!(3_600_000), &json!(1_000))
    );
    let stamp = created["createdAt"].as_str().unwrap();
    assert_eq!(
        (stamp.len(), &created["lastUpdatedAt"]),
        (24, &json!(stamp))
    );
    for absent in [
        "task",
        "ttl",
        "result",
        "error",
        "inputRequests",
        "requestState",
    ] {
        assert_eq!(created.get(absent), None, "{absent}");
    }
    let id = created["taskId"].as_str().unwrap();
    let working = get(&served, id);
    assert_eq!(
        (&working["status"], working.get("result")),
        (&json!("working"), None)
    );
    assert_eq!(server.open_tasks(), 1);
    open.notify_one();
    let done = until(&served, id, "completed");
    assert_eq!(done["result"]["structuredContent"], json!({"done": true}));
    assert_eq!(done["result"].get("_meta"), None);
    assert_eq!(done.get("error"), None);
}

#[test]
fn errors_of_tools_complete_a_task_and_errors_of_the_server_fail_it() {
    let (_, _, served) = served();
    for (name, text) in [("fails", "no luck"), ("marked", "marked")] {
        let done = until(&served, &begin(&served, name), "completed");
        assert_eq!(done["result"]["isError"], true);
        assert_eq!(done["result"]["content"][0]["text"], text);
    }
    let failed = until(&served, &begin(&served, "breaks"), "failed");
    assert_eq!(
        failed["error"],
        json!({"code": -32603, "message": "broken"})
    );
    assert_eq!(failed.get("result"), None);
    // What the client cannot answer is an error of the protocol too.
    let failed = until(&served, &begin(&served, "samples"), "failed");
    assert_eq!(failed["error"]["code"], -32021);
    assert_eq!(
        failed["error"]["data"],
        json!({"requiredCapabilities": {"roots": {}}})
    );
}

#[test]
fn only_who_declares_the_extension_gets_tasks() {
    let (open, server, served) = served();
    let plain =
        |method: &str, params: Value| Ask::modern_as(json!({}), method, params).send(&served);
    open.notify_one();
    let inline = plain("tools/call", json!({"name": "slow", "arguments": {}})).json();
    assert_eq!(inline["result"]["resultType"], "complete");
    assert_eq!(inline["result"]["structuredContent"], json!({"done": true}));
    let required = json!({"requiredCapabilities": {"extensions": {TASKS: {}}}});
    for (method, params) in [
        ("tools/call", json!({"name": "fails", "arguments": {}})),
        ("tasks/get", json!({"taskId": "t"})),
        ("tasks/update", json!({"taskId": "t", "inputResponses": {}})),
        ("tasks/cancel", json!({"taskId": "t"})),
        (
            "subscriptions/listen",
            json!({"notifications": {"taskIds": ["t"]}}),
        ),
    ] {
        let refused = plain(method, params);
        assert_eq!(
            (refused.status, refused.error_code()),
            (400, -32021),
            "{method}"
        );
        assert_eq!(refused.json()["error"]["data"], required, "{method}");
    }
    assert_eq!(server.open_tasks(), 0);
    // A hint of an older client makes no task of anything.
    let hint = json!({"name": "plain", "arguments": {}, "task": {"ttl": 60_000}});
    let reply = ask("tools/call", hint).send(&served).json();
    assert_eq!(reply["result"]["content"][0]["text"], "plain");
}

#[test]
fn without_the_extension_a_task_tool_runs_within_its_call() {
    let open = Arc::new(Notify::new());
    let server = builder(&open).tasks_extension(false).build().unwrap();
    let served = Served::new(&server);
    let failed = call(&served, "fails");
    assert_eq!(
        (&failed["resultType"], &failed["isError"]),
        (&json!("complete"), &json!(true))
    );
    let discovered = ask("server/discover", json!({})).send(&served).json();
    assert_eq!(discovered["result"]["capabilities"].get("extensions"), None);
    for (method, params) in [
        ("tasks/get", json!({"taskId": "t"})),
        (
            "subscriptions/listen",
            json!({"notifications": {"taskIds": ["t"]}}),
        ),
    ] {
        let missing = ask(method, params).send(&served);
        assert_eq!(
            (missing.status, missing.error_code()),
            (404, -32601),
            "{method}"
        );
    }
    assert_eq!(server.open_tasks(), 0);
}

#[test]
fn the_extension_is_announced_and_the_listing_knows_no_task_support() {
    let (_, _, served) = served();
    let discovered = ask("server/discover", json!({})).send(&served).json();
    let capabilities = &discovered["result"]["capabilities"];
    assert_eq!(capabilities["extensions"], json!({TASKS: {}}));
    assert_eq!(capabilities.get("tasks"), None);
    let listed = ask("tools/list", json!({})).send(&served).json();
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool.get("execution").is_none()));
    for removed in ["tasks/result", "tasks/list"] {
        let missing = ask(removed, json!({"taskId": "t"})).send(&served);
        assert_eq!(
            (missing.status, missing.error_code()),
            (404, -32601),
            "{removed}"
        );
    }
}

#[test]
fn tasks_are_bounded_and_so_are_their_results() {
    let limits = TaskLimits::new()
        .max_tasks(4)
        .max_result_bytes(100)
        .ttl(Duration::from_secs(90))
        .poll_interval(Duration::from_millis(50));
    let server = McpServer::new("bounded", "1.0.0")
        .tasks_extension(true)
        .task_limits(limits)
        .tool(Tool::new("large", || async { "x".repeat(200) }).task())
        .build()
        .unwrap();
    let served = Served::new(&server);
    let created = call(&served, "large");
    assert_eq!(
        (&created["ttlMs"], &created["pollIntervalMs"]),
        (&json!(90_000), &json!(50))
    );
    let done = until(&served, created["taskId"].as_str().unwrap(), "completed");
    assert_eq!(done["result"]["isError"], true);
    begin(&served, "large");
    let refused = ask("tools/call", json!({"name": "large", "arguments": {}})).send(&served);
    // Nobody has signed in: half of the room is theirs.
    assert_eq!(refused.error_code(), 429);
    assert_eq!(server.open_tasks(), 2);
}
