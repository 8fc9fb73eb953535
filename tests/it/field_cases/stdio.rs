//! The server as a child process: framing, long lines, ids.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use roscius::prelude::*;
use serde_json::{Value, json};

use super::world::{Runs, text};
use crate::mcp_stdio::{Pipes, initialize, legacy, modern, serve};

fn server() -> McpServer {
    let long = |Args(size): Args<std::collections::HashMap<String, usize>>| async move {
        "x".repeat(size["bytes"])
    };
    let server = Runs::default().builder().max_body_bytes(16 * 1024 * 1024);
    server.tool(Tool::new("long", long)).build().unwrap()
}

async fn call(pipes: &mut Pipes, id: i64, name: &str, arguments: Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    pipes.ask(legacy(id, "tools/call", params)).await
}

/// B066: lines that are no messages, as programs print them, are skipped or answered; the next
/// message is served.
#[tokio::test]
async fn lines_of_other_programs_end_nothing() {
    serve(server(), |mut pipes| async move {
        for line in [
            "Server v1.0 started",
            "",
            r#"{"level":"info"}"#,
            "null",
            "123",
            "\u{1b}[32mok\u{1b}[0m",
        ] {
            pipes.write(format!("{line}\n")).await;
            if !line.is_empty() {
                let answer = pipes.line().await;
                assert!(answer["error"]["code"].is_i64(), "{line}: {answer}");
                assert_eq!(answer.get("id"), Some(&Value::Null), "{line}");
            }
        }
        assert_eq!(
            text(&call(&mut pipes, 1, "safe_tool", json!({})).await),
            "safe"
        );
        assert!(pipes.end().await.is_empty());
    })
    .await
    .unwrap();
}

/// B001, B002: ids are told apart by their type, and null is none.
#[tokio::test]
async fn ids_keep_their_type_on_a_line() {
    serve(server(), |mut pipes| async move {
        for id in ["7", r#""7""#, r#""req-äß""#, "0"] {
            pipes
                .write(format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n"
                ))
                .await;
            assert_eq!(pipes.line().await["id"].to_string(), id);
        }
        pipes
            .write("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n")
            .await;
        let answer = pipes.line().await;
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(-32600), &Value::Null)
        );
        assert!(pipes.end().await.is_empty());
    })
    .await
    .unwrap();
}

/// B007: progress on a line carries the token that came, or is not sent.
#[tokio::test]
async fn progress_on_lines_carries_the_token_that_came() {
    serve(server(), |mut pipes| async move {
        let params = json!({"name": "report", "arguments": {}});
        let mut with_token = params.clone();
        with_token["_meta"] = json!({"progressToken": 0});
        assert_eq!(
            text(&pipes.ask(legacy(1, "tools/call", params)).await),
            "done"
        );
        pipes
            .send(legacy(2, "tools/call", with_token.clone()))
            .await;
        for step in [1, 2, 3] {
            let report = pipes.line().await;
            assert_eq!(
                report["params"],
                json!({"progressToken": 0, "progress": step})
            );
        }
        assert_eq!(pipes.line().await["id"], 2);
        // The helper for 2026 has a token of its own.
        pipes
            .send(modern(3, "tools/call", json!({"name": "report"})))
            .await;
        assert_eq!(pipes.line().await["params"]["progressToken"], "p");
        assert_eq!(pipes.end().await.pop().unwrap()["id"], 3);
    })
    .await
    .unwrap();
}

/// B070: a line may be long in both directions.
#[tokio::test]
async fn long_lines_are_read_and_written_whole() {
    serve(server(), |mut pipes| async move {
        for (id, bytes) in [(1, 132 * 1024), (2, 5 * 1024 * 1024)] {
            let answer = call(&mut pipes, id, "long", json!({"bytes": bytes})).await;
            assert_eq!(text(&answer).len(), bytes);
        }
        // The pipe holds less than the line, so both ends have to move.
        let value = "y".repeat(900 * 1024);
        let answer = call(&mut pipes, 3, "echo", json!({"t": value})).await;
        assert_eq!(answer["result"]["structuredContent"]["t"], value);
    })
    .await
    .unwrap();
}

/// B077: what goes out is one message a line, whatever the text of a tool holds.
#[tokio::test]
async fn a_message_is_one_line() {
    let words = "a\nb\r\nc\u{2028}d\u{85}e";
    serve(server(), |mut pipes| async move {
        let answer = call(&mut pipes, 1, "echo", json!({"t": words})).await;
        assert_eq!(answer["result"]["structuredContent"]["t"], words);
        // Each line was read as one JSON text, and nothing is left over.
        assert!(pipes.end().await.is_empty());
    })
    .await
    .unwrap();
}

/// B073: timers and tools that still run do not keep a process whose input has ended.
#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_ends_timers_and_tools() {
    struct OnDrop(Arc<AtomicUsize>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&dropped);
    let tick = move || {
        let guard = OnDrop(Arc::clone(&seen));
        async move {
            let _guard = guard;
            loop {
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            }
            #[expect(unreachable_code, reason = "it gives the function its type")]
            ""
        }
    };
    let server = Runs::default()
        .builder()
        .tool(Tool::new("tick", tick))
        .build();
    let began = tokio::time::Instant::now();
    serve(server.unwrap(), |mut pipes| async move {
        pipes.ask(initialize("2025-11-25")).await;
        pipes
            .send(legacy(1, "tools/call", json!({"name": "tick"})))
            .await;
        pipes
            .send(modern(2, "tools/call", json!({"name": "tick"})))
            .await;
        pipes.ask(legacy(3, "ping", json!({}))).await;
        assert!(pipes.end().await.is_empty());
    })
    .await
    .unwrap();
    assert_eq!(dropped.load(Ordering::SeqCst), 2);
    assert!(began.elapsed() < std::time::Duration::from_secs(2));
}
