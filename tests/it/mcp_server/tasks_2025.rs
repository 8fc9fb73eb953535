//! Tasks of 2025-11-25 without sessions.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse};
use roscius::{
    prelude::*,
    server::McpServerBuilder,
    web::McpRoutes,
    wire::{auth::AuthInfo, content::CallToolResult},
};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::host::{Ask, Reply, Served, Wire};
use crate::served::eventually;

const NEWEST: &str = "2025-11-25";

fn builder(open: &Arc<Notify>) -> McpServerBuilder {
    let gate = Arc::clone(open);
    McpServer::new("tasks", "1.0.0")
        .tool(Tool::new("plain", || async { "plain" }))
        .tool(
            Tool::new("slow", move || {
                let gate = Arc::clone(&gate);
                async move {
                    gate.notified().await;
                    let mut result = CallToolResult::text("slow");
                    result.meta = Some(Map::from_iter([("own".to_owned(), json!(1))]));
                    result
                }
            })
            .task(),
        )
        .tool(Tool::new("quick", || async { "quick" }).task_required())
        .tool(
            Tool::new("fails", || async {
                Err::<(), _>(ToolError::new("no luck"))
            })
            .task(),
        )
        .tool(Tool::new("panics", || async { panic_of_the_test() }).task())
        .tool(
            Tool::new("asks", |cx: ToolCx| async move {
                let form = cx
                    .request_form("ok", "Sure?", json!({"type": "object"}))
                    .await?;
                Ok::<_, ToolError>(form.to_string())
            })
            .task(),
        )
}

fn panic_of_the_test() {
    panic!("a panic of the test");
}

fn served() -> (Arc<Notify>, McpServer, Served) {
    let open = Arc::new(Notify::new());
    let server = builder(&open).build().unwrap();
    let served = Served::new(&server);
    (open, server, served)
}

fn ask(method: &str, params: Value) -> Ask {
    Ask::legacy(NEWEST, method, params)
}

fn call(name: &str, task: Value) -> Ask {
    ask(
        "tools/call",
        json!({"name": name, "arguments": {}, "task": task}),
    )
}

fn begin(served: &Served, name: &str) -> String {
    let created = call(name, json!({})).send(served).json();
    created["result"]["task"]["taskId"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn named(served: &Served, method: &str, id: &str) -> Reply {
    ask(method, json!({"taskId": id})).send(served)
}

fn status(served: &Served, id: &str) -> Value {
    named(served, "tasks/get", id).json()["result"]["status"].clone()
}

#[test]
fn tasks_are_announced_and_tools_say_how_they_run() {
    let (_, _, served) = served();
    let initialize = |version: &str| {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        let reply = Ask::legacy(version, "initialize", params).send(&served);
        reply.json()["result"]["capabilities"].clone()
    };
    // Nobody can tell these clients apart, so there is no list.
    assert_eq!(
        initialize(NEWEST)["tasks"],
        json!({"cancel": {}, "requests": {"tools": {"call": {}}}})
    );
    assert_eq!(initialize("2025-06-18").get("tasks"), None);
    let listed = ask("tools/list", json!({})).send(&served).json();
    let support = |at: usize| listed["result"]["tools"][at]["execution"].clone();
    assert_eq!(support(0), Value::Null);
    assert_eq!(support(1), json!({"taskSupport": "optional"}));
    assert_eq!(support(2), json!({"taskSupport": "required"}));
    let without = McpServer::new("none", "1.0.0").tool(Tool::new("plain", || async { "plain" }));
    let without = Served::new(&without.build().unwrap());
    // Who does not announce tasks ignores the wish for one.
    let reply = call("plain", json!({})).send(&without).json();
    assert_eq!(reply["result"]["content"][0]["text"], "plain");
    assert_eq!(named(&without, "tasks/get", "t").error_code(), -32601);
}

#[test]
fn a_task_is_got_and_its_result_waited_for() {
    let (open, _, served) = served();
    let created = call("slow", json!({"ttl": 60_000})).send(&served).json();
    let task = &created["result"]["task"];
    assert_eq!(created["result"].as_object().unwrap().len(), 1);
    assert_eq!(task["status"], "working");
    assert_eq!(
        (&task["ttl"], &task["pollInterval"]),
        (&json!(60_000), &json!(1_000))
    );
    let id = task["taskId"].as_str().unwrap();
    assert_eq!(named(&served, "tasks/get", id).json()["result"], *task);
    let mut waits = Wire::open(served.addr);
    waits.send(&ask("tasks/result", json!({"taskId": id})).bytes(served.addr));
    assert_eq!(status(&served, id), "working");
    open.notify_one();
    let waited = waits.reply().json();
    let meta = json!({"own": 1, "io.modelcontextprotocol/related-task": {"taskId": id}});
    assert_eq!(
        waited["result"],
        json!({"content": [{"type": "text", "text": "slow"}], "_meta": meta})
    );
    assert_eq!(status(&served, id), "completed");
    // Asked again it is there at once.
    assert_eq!(
        named(&served, "tasks/result", id).json()["result"],
        waited["result"]
    );
}

#[test]
fn a_failure_fails_the_task_and_is_its_result() {
    let (_, _, served) = served();
    let id = begin(&served, "fails");
    let result = named(&served, "tasks/result", &id).json();
    assert_eq!(result["result"]["isError"], true);
    assert_eq!(result["result"]["content"][0]["text"], "no luck");
    let failed = named(&served, "tasks/get", &id).json();
    assert_eq!(failed["result"]["status"], "failed");
    assert_eq!(failed["result"]["statusMessage"], "no luck");
    let id = begin(&served, "panics");
    assert_eq!(named(&served, "tasks/result", &id).error_code(), -32603);
    assert_eq!(status(&served, &id), "failed");
}

#[test]
fn who_does_not_ask_for_a_task_gets_none() {
    let (open, server, served) = served();
    open.notify_one();
    let inline = ask("tools/call", json!({"name": "slow", "arguments": {}})).send(&served);
    assert_eq!(inline.json()["result"]["content"][0]["text"], "slow");
    let required = ask("tools/call", json!({"name": "quick", "arguments": {}})).send(&served);
    assert_eq!((required.status, required.error_code()), (200, -32601));
    assert_eq!(call("plain", json!({})).send(&served).error_code(), -32601);
    // Earlier versions have no tasks.
    open.notify_one();
    let params = json!({"name": "slow", "arguments": {}, "task": {}});
    let older = Ask::legacy("2025-06-18", "tools/call", params).send(&served);
    assert_eq!(older.json()["result"]["content"][0]["text"], "slow");
    let older = Ask::legacy("2025-06-18", "tasks/get", json!({"taskId": "t"}));
    assert_eq!(older.send(&served).error_code(), -32601);
    assert_eq!(server.open_tasks(), 0);
}

#[test]
fn a_wish_that_cannot_be_read_is_refused_and_one_for_too_long_is_cut() {
    let (_, _, served) = served();
    for wrong in [
        json!(5),
        json!([]),
        json!({"ttl": -1}),
        json!({"ttl": "long"}),
        json!({"ttl": 1.5}),
    ] {
        assert_eq!(
            call("quick", wrong.clone()).send(&served).error_code(),
            -32602,
            "{wrong}"
        );
    }
    for (asked, given) in [
        (json!({}), 3_600_000),
        (json!({"ttl": null}), 3_600_000),
        (json!({"ttl": 0}), 1_000),
        (json!({"ttl": 5_000}), 5_000),
        (json!({"ttl": 999_999_999_999_u64}), 3_600_000),
    ] {
        let created = call("quick", asked).send(&served).json();
        assert_eq!(created["result"]["task"]["ttl"], given);
    }
}

#[test]
fn cancelling_is_final_and_only_once() {
    let (_, server, served) = served();
    let id = begin(&served, "slow");
    let mut waits = Wire::open(served.addr);
    waits.send(&ask("tasks/result", json!({"taskId": id})).bytes(served.addr));
    let cancelled = named(&served, "tasks/cancel", &id).json();
    assert_eq!(cancelled["result"]["status"], "cancelled");
    assert_eq!(cancelled["result"]["taskId"], *id);
    assert_eq!(waits.reply().error_code(), -32000);
    assert_eq!(named(&served, "tasks/cancel", &id).error_code(), -32602);
    let done = begin(&served, "quick");
    named(&served, "tasks/result", &done);
    assert_eq!(named(&served, "tasks/cancel", &done).error_code(), -32602);
    eventually("no call runs", || server.running_calls() == 0);
}

#[test]
fn an_unknown_task_is_refused_and_nobody_can_list_those_of_others() {
    let (_, _, served) = served();
    begin(&served, "slow");
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(
            named(&served, method, "unknown").error_code(),
            -32602,
            "{method}"
        );
        assert_eq!(
            ask(method, json!({})).send(&served).error_code(),
            -32602,
            "{method}"
        );
    }
    let listed = ask("tasks/list", json!({})).send(&served);
    assert_eq!((listed.status, listed.error_code()), (200, -32601));
    let update = ask("tasks/update", json!({"taskId": "t", "inputResponses": {}})).send(&served);
    assert_eq!(update.error_code(), -32601);
}

#[test]
fn tasks_belong_to_client_and_user_who_can_list_theirs() {
    let open = Arc::new(Notify::new());
    let server = builder(&open).page_size(2).build().unwrap();
    let hook = |request: HttpRequest| async move {
        let user = request
            .headers()
            .get("x-user")
            .and_then(|name| name.to_str().ok());
        let caller = AuthInfo::new("token", "app").subject(user.unwrap_or_default());
        Ok::<_, HttpResponse>(Options::new().auth_info(caller))
    };
    let served = Served::with(McpRoutes::new("/mcp", &server).authorize(hook).routes());
    let as_user = |user: &str, ask: Ask| ask.header("x-user", user).send(&served).json();
    let initialize = json!({"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let greeted = as_user("anna", ask("initialize", initialize));
    assert_eq!(
        greeted["result"]["capabilities"]["tasks"]["list"],
        json!({})
    );
    let ids: Vec<Value> = (0..3)
        .map(|_| as_user("anna", call("slow", json!({})))["result"]["task"]["taskId"].clone())
        .collect();
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let foreign = as_user("bert", ask(method, json!({"taskId": ids[0]})));
        assert_eq!(foreign["error"]["code"], -32602, "{method}");
        assert_eq!(foreign["error"]["message"], "Task not found", "{method}");
    }
    let listed = |page: &Value| -> Vec<Value> {
        let tasks = page["result"]["tasks"].as_array().unwrap().iter();
        tasks.map(|task| task["taskId"].clone()).collect()
    };
    let first = as_user("anna", ask("tasks/list", json!({})));
    assert_eq!(listed(&first), ids[..2]);
    let cursor = &first["result"]["nextCursor"];
    let second = as_user("anna", ask("tasks/list", json!({"cursor": cursor})));
    assert_eq!(
        (listed(&second), second["result"].get("nextCursor")),
        (ids[2..].to_vec(), None)
    );
    let wrong = as_user("anna", ask("tasks/list", json!({"cursor": ""})));
    assert_eq!(wrong["error"]["code"], -32602);
    assert_eq!(
        listed(&as_user("bert", ask("tasks/list", json!({})))),
        Vec::<Value>::new()
    );
}

#[test]
fn without_a_session_a_task_cannot_ask() {
    let (_, _, served) = served();
    let id = begin(&served, "asks");
    let result = named(&served, "tasks/result", &id).json();
    assert_eq!(result["result"]["isError"], true);
    assert_eq!(status(&served, &id), "failed");
}
