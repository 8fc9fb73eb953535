//! The extension `io.modelcontextprotocol/tasks`: calls that go on without their request.

use std::{sync::Arc, time::Duration};

use actix_web::{HttpRequest, HttpResponse};
use roscius::{
    prelude::*,
    server::{McpServerBuilder, TaskLimits},
    web::McpRoutes,
    wire::{auth::AuthInfo, content::CallToolResult},
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::host::{Ask, Reply, Served, Wire};
use crate::served::eventually;

const TASKS: &str = "io.modelcontextprotocol/tasks";

fn flag(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "boolean"}}, "required": [name]})
}

fn builder(open: &Arc<Notify>) -> McpServerBuilder {
    let (gate, told) = (Arc::clone(open), Arc::clone(open));
    McpServer::new("tasks", "1.0.0")
        .tasks_extension(true)
        .tool(Tool::new("plain", || async { "plain" }))
        .tool(
            Tool::new("slow", move || {
                let gate = Arc::clone(&gate);
                async move {
                    gate.notified().await;
                    Json(json!({"done": true}))
                }
            })
            .task(),
        )
        .tool(
            Tool::new("fails", || async {
                Err::<(), _>(ToolError::new("no luck"))
            })
            .task_required(),
        )
        .tool(Tool::new("marked", || async { CallToolResult::error("marked") }).task())
        .tool(
            Tool::new("breaks", || async {
                Err::<(), _>(ToolError::internal("broken"))
            })
            .task(),
        )
        .tool(
            Tool::new("two_questions", |cx: ToolCx| async move {
                let (one, two) = futures_util::join!(
                    cx.request_form("one", "One?", flag("ok")),
                    cx.request_form("two", "Two?", flag("ok"))
                );
                let again = cx.request_form("one", "Once more?", flag("ok")).await?;
                Ok::<_, ToolError>(format!("{} {} {again}", one?, two?))
            })
            .task(),
        )
        .tool(
            Tool::new("unkeyed", |cx: ToolCx| async move {
                cx.request_input("Which?").await
            })
            .task(),
        )
        .tool(
            Tool::new("samples", |cx: ToolCx| async move {
                cx.ask(Question::roots().key("roots"))
                    .await
                    .map(|roots| roots.to_string())
            })
            .task(),
        )
        .tool(
            Tool::new("when_told", move |cx: ToolCx| {
                let gate = Arc::clone(&told);
                async move {
                    let name = cx
                        .request_form("name", "Name?", json!({"type": "object"}))
                        .await?;
                    if name["now"] == true {
                        return Ok::<_, ToolError>("at once".to_owned());
                    }
                    cx.begin_task();
                    gate.notified().await;
                    let sure = cx.request_form("sure", "Sure?", flag("ok")).await?;
                    Ok(format!("{name} {sure}"))
                }
            })
            .task_required()
            .begins_task(),
        )
}

fn served() -> (Arc<Notify>, McpServer, Served) {
    let open = Arc::new(Notify::new());
    let server = builder(&open).build().unwrap();
    let served = Served::new(&server);
    (open, server, served)
}

fn declared() -> Value {
    json!({"elicitation": {}, "extensions": {TASKS: {}}})
}

fn ask(method: &str, params: Value) -> Ask {
    Ask::modern_as(declared(), method, params)
}

fn call(served: &Served, name: &str) -> Value {
    let reply = ask("tools/call", json!({"name": name, "arguments": {}})).send(served);
    reply.json()["result"].clone()
}

/// Begins a task and gives its id.
fn begin(served: &Served, name: &str) -> String {
    let created = call(served, name);
    assert_eq!(created["resultType"], "task", "{created}");
    created["taskId"].as_str().unwrap().to_owned()
}

fn get(served: &Served, id: &str) -> Value {
    let reply = ask("tasks/get", json!({"taskId": id})).send(served);
    let result = reply.json()["result"].clone();
    assert_eq!(result["resultType"], "complete", "{reply:?}");
    assert_eq!(result["taskId"], id);
    result
}

fn until(served: &Served, id: &str, status: &str) -> Value {
    eventually(status, || get(served, id)["status"] == status);
    get(served, id)
}

fn update(served: &Served, id: &str, answers: Value) -> Reply {
    ask(
        "tasks/update",
        json!({"taskId": id, "inputResponses": answers}),
    )
    .send(served)
}

fn yes(ok: bool) -> Value {
    json!({"action": "accept", "content": {"ok": ok}})
}

/// An acknowledgement says nothing but that it is one.
fn acknowledged(reply: &Reply) {
    let mut result = reply.json()["result"].clone();
    result.as_object_mut().unwrap().shift_remove("_meta");
    assert_eq!(result, json!({"resultType": "complete"}), "{reply:?}");
}

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
fn questions_of_a_task_are_answered_one_by_one_and_no_key_comes_twice() {
    let (_, _, served) = served();
    let id = begin(&served, "two_questions");
    eventually("two questions", || {
        get(&served, &id)["inputRequests"]
            .as_object()
            .is_some_and(|open| open.len() == 2)
    });
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
    let id = begin(&served, "two_questions");
    eventually("two questions", || {
        get(&served, &id)["inputRequests"]
            .as_object()
            .is_some_and(|open| open.len() == 2)
    });
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
fn a_cancelled_task_stops_and_every_cancel_is_acknowledged() {
    let (open, _, served) = served();
    let id = begin(&served, "slow");
    for _ in 0..2 {
        acknowledged(&ask("tasks/cancel", json!({"taskId": id})).send(&served));
        let cancelled = get(&served, &id);
        assert_eq!(cancelled["status"], "cancelled");
        assert_eq!(
            (cancelled.get("result"), cancelled.get("error")),
            (None, None)
        );
    }
    // The function is gone: the permit is there for the next one.
    open.notify_one();
    until(&served, &begin(&served, "slow"), "completed");
    assert_eq!(get(&served, &id)["status"], "cancelled");
    let asks = begin(&served, "two_questions");
    until(&served, &asks, "input_required");
    acknowledged(&ask("tasks/cancel", json!({"taskId": asks})).send(&served));
    assert_eq!(get(&served, &asks).get("inputRequests"), None);
}

#[test]
fn the_headers_repeat_the_task() {
    let (_, _, served) = served();
    let id = begin(&served, "slow");
    for (method, params) in [
        ("tasks/get", json!({"taskId": id})),
        ("tasks/update", json!({"taskId": id, "inputResponses": {}})),
        ("tasks/cancel", json!({"taskId": id})),
    ] {
        for wrong in [
            ask(method, params.clone()).with("mcp-name", "another"),
            ask(method, params.clone()).without("mcp-name"),
            ask(method, params.clone()).with("mcp-method", "tools/call"),
        ] {
            let refused = wrong.send(&served);
            assert_eq!(
                (refused.status, refused.error_code()),
                (400, -32020),
                "{method}"
            );
        }
        assert_eq!(ask(method, params).send(&served).status, 200, "{method}");
    }
}

#[test]
fn what_names_no_task_is_refused() {
    let (_, _, served) = served();
    for (params, reason) in [
        (
            json!({"taskId": "00000000-0000-4000-8000-000000000000", "inputResponses": {}}),
            "Task not found",
        ),
        (json!({"inputResponses": {}}), "taskId is required"),
        (
            json!({"taskId": "", "inputResponses": {}}),
            "taskId is required",
        ),
    ] {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let refused = ask(method, params.clone()).send(&served);
            assert_eq!(
                (refused.status, refused.error_code()),
                (200, -32602),
                "{method}"
            );
            assert_eq!(refused.json()["error"]["message"], reason, "{method}");
        }
    }
}

#[test]
fn a_task_belongs_to_its_caller_and_to_its_era() {
    let open = Arc::new(Notify::new());
    let server = builder(&open).build().unwrap();
    let hook = |request: HttpRequest| async move {
        let user = request
            .headers()
            .get("x-user")
            .and_then(|name| name.to_str().ok());
        Ok::<_, HttpResponse>(match user {
            Some(user) => Options::new().auth_info(AuthInfo::new("token", "app").subject(user)),
            None => Options::new(),
        })
    };
    let served = Served::with(McpRoutes::new("/mcp", &server).authorize(hook).routes());
    let created = ask("tools/call", json!({"name": "slow", "arguments": {}}))
        .header("x-user", "anna")
        .send(&served);
    let id = created.json()["result"]["taskId"]
        .as_str()
        .unwrap()
        .to_owned();
    let params = json!({"taskId": id, "inputResponses": {}});
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for foreign in [
            ask(method, params.clone()),
            ask(method, params.clone()).header("x-user", "bert"),
        ] {
            assert_eq!(foreign.send(&served).error_code(), -32602, "{method}");
        }
    }
    let legacy = Ask::legacy("2025-11-25", "tasks/get", json!({"taskId": id}));
    let legacy = legacy.header("x-user", "anna").send(&served);
    assert_eq!(legacy.error_code(), -32602);
    let own = ask("tasks/get", params)
        .header("x-user", "anna")
        .send(&served);
    assert_eq!(own.json()["result"]["status"], "working");
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

#[test]
fn who_listens_to_a_task_hears_how_it_stands() {
    let (_, _, served) = served();
    let id = begin(&served, "two_questions");
    eventually("two questions", || {
        get(&served, &id)["inputRequests"]
            .as_object()
            .is_some_and(|open| open.len() == 2)
    });
    let filter = json!({"notifications": {"taskIds": [id, "unknown"], "toolsListChanged": true}});
    let mut wire = Wire::open(served.addr);
    wire.send(&ask("subscriptions/listen", filter).bytes(served.addr));
    let mut read = String::new();
    let mut heard = |text: &str| {
        while !read.contains(text) {
            read.push_str(&wire.line());
            read.push('\n');
        }
        let lines = read.lines().filter_map(|line| line.strip_prefix("data: "));
        let messages: Vec<Value> = lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        messages
    };
    let first = heard("acknowledged").remove(0);
    let meta = json!({"io.modelcontextprotocol/subscriptionId": 1});
    assert_eq!(
        first["params"],
        json!({"_meta": meta, "notifications": {"taskIds": [id]}})
    );
    acknowledged(&update(
        &served,
        &id,
        json!({"one": yes(true), "two": yes(true)}),
    ));
    eventually("another question", || {
        get(&served, &id)["inputRequests"].get("one:2").is_some()
    });
    heard(r#""one:2""#);
    acknowledged(&update(&served, &id, json!({"one:2": yes(true)})));
    let heard = heard(r#""status":"completed""#);
    assert!(
        heard[1..]
            .iter()
            .all(|one| one["method"] == "notifications/tasks"
                && one["params"]["_meta"] == meta
                && one["params"]["taskId"] == *id)
    );
    let statuses: Vec<&Value> = heard[1..]
        .iter()
        .map(|one| &one["params"]["status"])
        .collect();
    // Of what the listener has not read in time it hears the last only.
    let all = ["working", "input_required", "working", "completed"];
    let mut left = all.iter();
    assert!(
        statuses
            .iter()
            .all(|status| left.any(|next| *status == next)),
        "{statuses:?}"
    );
    let asked = heard[1..]
        .iter()
        .map(|one| &one["params"]["inputRequests"])
        .find(|asked| !asked.is_null())
        .unwrap();
    assert_eq!(asked["one:2"]["params"]["message"], "Once more?");
    let last = &heard[heard.len() - 1]["params"];
    assert!(last["result"]["content"][0]["text"].is_string());
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
