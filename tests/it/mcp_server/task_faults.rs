//! What clients do wrong with tasks, and what must come of it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use roscius::{
    prelude::*,
    wire::http::{Body, Head, Method, Request},
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::task_host::{
    begin, legacy_text, modern, modern_as, modern_text, paused, read, result_of, settle, text_of,
};

fn server() -> McpServer {
    McpServer::new("tasks", "1.0.0")
        .tasks_extension(true)
        .tool(Tool::new("hi", || async { "hi" }).task())
        .build()
        .unwrap()
}

#[test]
fn a_call_that_is_dropped_before_its_answer_leaves_no_task() {
    paused(async {
        let server = server();
        for _ in 0..3 {
            let params = json!({"name": "hi", "arguments": {}});
            drop(modern_text(&server, "tools/call", params));
            settle().await;
        }
        assert_eq!((server.open_tasks(), server.running_calls()), (0, 0));
    });
}

#[test]
fn who_listens_to_the_tasks_of_others_hears_of_none() {
    paused(async {
        let server = server();
        let params = json!({"name": "hi", "arguments": {}, "task": {}}).to_string();
        let created = read(&legacy_text(&server, "tools/call", &params).await);
        let foreign = created["result"]["task"]["taskId"]
            .as_str()
            .unwrap()
            .to_owned();
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let params = json!({"taskId": foreign, "inputResponses": {}});
            let reply = modern(&server, method, params).await;
            assert_eq!(reply["error"]["code"], -32602, "{method}");
        }
        let own = begin(&server, "hi").await;
        for method in ["tasks/get", "tasks/cancel", "tasks/result"] {
            let params = json!({"taskId": own}).to_string();
            let reply = read(&legacy_text(&server, method, &params).await);
            assert_eq!(reply["error"]["code"], -32602, "{method}");
        }
    });
}

#[test]
fn a_task_of_another_type_of_id_is_refused() {
    paused(async {
        let server = server();
        for id in ["5", "null", "{}", "[]", r#""""#, r#""a\u0000b""#] {
            for method in ["tasks/get", "tasks/cancel", "tasks/result"] {
                let reply =
                    read(&legacy_text(&server, method, &format!(r#"{{"taskId":{id}}}"#)).await);
                assert_eq!(reply["error"]["code"], -32602, "{method} {id}: {reply}");
            }
        }
    });
}

#[test]
fn requests_that_wait_take_no_place_of_calls_when_their_clients_go() {
    paused(async {
        let server = McpServer::new("tasks", "1.0.0")
            .sessions(Sessions::Memory)
            .tool(Tool::new("wait", std::future::pending::<String>).task())
            .build()
            .unwrap();
        let post = |session: Option<&str>, body: Value| {
            let body = body.to_string();
            let mut head = Head::new(Method::Post);
            head.content_type = Some(b"application/json");
            head.accept = Some(b"application/json");
            head.protocol_version = Some(b"2025-11-25");
            head.session_id = session.map(str::as_bytes);
            let body = body.as_bytes();
            server.handle(Request { head, body }, Options::new())
        };
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        let greeting = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let session = post(None, greeting).await.session.unwrap();
        let call = |method: &str, params: Value| {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            post(Some(session.as_str()), body)
        };
        let task = json!({"name": "wait", "arguments": {}, "task": {}});
        let created = read(&text_of(call("tools/call", task).await));
        let id = created["result"]["task"]["taskId"].clone();
        let mut left = Vec::new();
        for _ in 0..200 {
            let mut waits = call("tasks/result", json!({"taskId": id}));
            assert!(futures_util::poll!(&mut waits).is_pending());
            left.extend(waits.detached());
        }
        assert_eq!(left.len(), 64);
        let mut waits = call("tools/call", json!({"name": "wait", "arguments": {}}));
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert!(waits.detached().is_some());
        drop(left);
        assert_eq!(server.running_calls(), 1);
    });
}

#[test]
fn the_stream_of_a_listener_that_does_not_read_ends_when_too_much_waits() {
    paused(async {
        let open = Arc::new(Notify::new());
        let gate = Arc::clone(&open);
        let server = McpServer::new("tasks", "1.0.0")
            .tasks_extension(true)
            .tool(
                Tool::new("large", move || {
                    let gate = Arc::clone(&gate);
                    async move {
                        gate.notified().await;
                        "x".repeat(1_000_000)
                    }
                })
                .task(),
            )
            .build()
            .unwrap();
        let mut ids = Vec::new();
        for _ in 0..6 {
            ids.push(begin(&server, "large").await);
        }
        settle().await;
        let params = json!({"notifications": {"taskIds": ids}});
        let Body::Stream(stream) =
            modern_as(&server, Options::new(), "subscriptions/listen", params)
                .await
                .body
        else {
            panic!("no stream");
        };
        open.notify_waiters();
        settle().await;
        let text = |event: Bytes| String::from_utf8(event.to_vec()).unwrap();
        let events: Vec<String> = stream.take(8).map(text).collect().await;
        assert_eq!(events.len(), 2);
        assert!(events[0].contains("acknowledged"));
        assert!(events[1].contains(r#""resultType":"complete""#));
        for id in &ids {
            assert!(result_of(&server, id).await.get().len() > 1_000_000);
        }
    });
}

#[test]
fn reports_are_numbers() {
    paused(async {
        let server = McpServer::new("tasks", "1.0.0")
            .tool(Tool::new("counts", |cx: ToolCx| async move {
                cx.progress(1.0, Some(f64::NAN), None);
                cx.progress(2.0, Some(f64::INFINITY), None);
                cx.progress(f64::INFINITY, None, None);
                cx.progress(f64::NAN, None, None);
                "done"
            }))
            .build()
            .unwrap();
        let mut head = Head::new(Method::Post);
        head.content_type = Some(b"application/json");
        head.accept = Some(b"application/json, text/event-stream");
        head.protocol_version = Some(b"2025-11-25");
        let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"counts","_meta":{"progressToken":1}}}"#;
        let response = server.handle(Request { head, body }, Options::new()).await;
        let text = match response.body {
            Body::Stream(stream) => {
                let chunks: Vec<_> = stream.collect().await;
                chunks
                    .iter()
                    .map(|chunk| String::from_utf8_lossy(chunk).into_owned())
                    .collect::<String>()
            }
            Body::Events(bytes) | Body::Json(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        };
        assert!(!text.contains("null"), "{text}");
        assert!(text.contains(r#""progress":2"#), "{text}");
    });
}
