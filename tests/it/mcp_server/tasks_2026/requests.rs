//! Requests that name a task.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse};
use roscius::{prelude::*, web::McpRoutes, wire::auth::AuthInfo};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{
    acknowledged, ask, begin, begin_two_questions, builder, get, served, until, update, yes,
};
use crate::{
    mcp_server::host::{Ask, Served, Wire},
    served::eventually,
};

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
fn who_listens_to_a_task_hears_how_it_stands() {
    let (_, _, served) = served();
    let id = begin_two_questions(&served);
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
