//! Tools that run as tasks, in both eras. Ids and times are made by the server: a star stands for
//! them.

use std::sync::Arc;

use roscius::prelude::*;
use tokio::sync::Notify;

use super::{BOTH, request, send};
use crate::mcp_server::host::Served;

fn served(open: &Arc<Notify>) -> Served {
    let gate = Arc::clone(open);
    let slow = move || {
        let gate = Arc::clone(&gate);
        async move {
            gate.notified().await;
            "slow"
        }
    };
    let fails = || async { Err::<String, _>(std::io::Error::other("no luck")) };
    let server = McpServer::new("tasks", "1.0.0")
        .tool(Tool::new("slow", slow).task())
        .tool(Tool::new("fails", fails).task())
        .tasks_extension(true);
    Served::new(&server.build().unwrap())
}

/// Puts a star in the place of the text of each of these members.
fn starred(told: &str) -> String {
    let mut text = told.to_owned();
    for member in ["taskId", "createdAt", "lastUpdatedAt"] {
        let start = format!("\"{member}\":\"");
        let parts: Vec<&str> = text.split(&start).collect();
        let (first, rest) = parts.split_first().unwrap();
        let mut all = (*first).to_owned();
        for part in rest {
            let (_, after) = part.split_once('"').unwrap();
            all += &format!("{start}*\"{after}");
        }
        text = all;
    }
    text
}

/// The body of an answer with status 200.
fn body(served: &Served, headers: &str, message: &str) -> String {
    let told = send(
        served,
        &request(served, "POST", &format!("{BOTH}{headers}"), message),
    )
    .told();
    let body = told.strip_prefix("200\ncontent-type: application/json\n\n");
    body.unwrap_or_else(|| panic!("{told}")).to_owned()
}

fn id_of(body: &str) -> String {
    let (_, after) = body.split_once("\"taskId\":\"").unwrap();
    after.split('"').next().unwrap().to_owned()
}

/// G5: a task is made, got, waited for, listed and cancelled as 2025-11-25 has it.
#[test]
fn tasks_of_2025_byte_by_byte() {
    let open = Arc::new(Notify::new());
    let served = served(&open);
    let ask = |method: &str, params: &str| {
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#);
        body(&served, "mcp-protocol-version: 2025-11-25\r\n", &message)
    };
    let named = |method: &str, id: &str| ask(method, &format!(r#""taskId":"{id}""#));
    let begin = |name: &str| {
        ask(
            "tools/call",
            &format!(r#""name":"{name}","arguments":{{}},"task":{{"ttl":60000}}"#),
        )
    };
    let result = |members: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{members}}}"#);
    let error = |code: i64, message: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"{message}"}}}}"#)
    };
    let task = |status: &str, message: &str| {
        format!(
            r#"{{"taskId":"*","status":"{status}",{message}"createdAt":"*","lastUpdatedAt":"*","ttl":60000,"pollInterval":1000}}"#
        )
    };
    let related = r#""_meta":{"io.modelcontextprotocol/related-task":{"taskId":"*"}}"#;

    let created = begin("slow");
    assert_eq!(
        starred(&created),
        result(&format!(r#"{{"task":{}}}"#, task("working", "")))
    );
    let id = id_of(&created);
    assert_eq!(
        starred(&named("tasks/get", &id)),
        result(&task("working", ""))
    );
    open.notify_one();
    assert_eq!(
        starred(&named("tasks/result", &id)),
        result(&format!(
            r#"{{"content":[{{"type":"text","text":"slow"}}],{related}}}"#
        ))
    );
    assert_eq!(
        starred(&named("tasks/get", &id)),
        result(&task("completed", ""))
    );

    let id = id_of(&begin("fails"));
    assert_eq!(
        starred(&named("tasks/result", &id)),
        result(&format!(
            r#"{{"content":[{{"type":"text","text":"no luck"}}],"isError":true,{related}}}"#
        ))
    );
    assert_eq!(
        starred(&named("tasks/get", &id)),
        result(&task("failed", r#""statusMessage":"no luck","#))
    );

    let id = id_of(&begin("slow"));
    assert_eq!(
        starred(&named("tasks/cancel", &id)),
        result(&task(
            "cancelled",
            r#""statusMessage":"the client has cancelled the task","#
        ))
    );
    assert_eq!(
        named("tasks/cancel", &id),
        error(-32602, "the task has ended")
    );
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(
            named(method, "no-such"),
            error(-32602, "Task not found"),
            "{method}"
        );
        assert_eq!(
            named(method, ""),
            error(-32602, "taskId is required"),
            "{method}"
        );
    }
    // Without callers that can be told apart there is no list.
    assert_eq!(ask("tasks/list", ""), error(-32601, "Method not found"));
}

/// G5: the extension of 2026 carries the task in the result of the call, and the result in the task.
#[test]
fn tasks_of_2026_byte_by_byte() {
    let open = Arc::new(Notify::new());
    let served = served(&open);
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
    let info =
        r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"tasks","version":"1.0.0"}}"#;
    let ask = |method: &str, name: &str, params: &str| {
        let headers = format!(
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\nMcp-Name: {name}\r\n"
        );
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params},{meta}}}}}"#
        );
        body(&served, &headers, &message)
    };
    let result =
        |members: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{{members},{info}}}}}"#);
    let task = |kind: &str, status: &str, more: &str| {
        result(&format!(
            r#""resultType":"{kind}","taskId":"*","status":"{status}","createdAt":"*","lastUpdatedAt":"*","ttlMs":3600000,"pollIntervalMs":1000{more}"#
        ))
    };
    let created = ask("tools/call", "slow", r#""name":"slow","arguments":{}"#);
    assert_eq!(starred(&created), task("task", "working", ""));
    let id = id_of(&created);
    let get = || ask("tasks/get", &id, &format!(r#""taskId":"{id}""#));
    assert_eq!(starred(&get()), task("complete", "working", ""));
    open.notify_one();
    crate::served::eventually("the task has ended", || get().contains("completed"));
    assert_eq!(
        starred(&get()),
        task(
            "complete",
            "completed",
            r#","result":{"resultType":"complete","content":[{"type":"text","text":"slow"}]}"#
        )
    );
    let cancel = ask("tasks/cancel", &id, &format!(r#""taskId":"{id}""#));
    assert_eq!(cancel, result(r#""resultType":"complete""#));
}
