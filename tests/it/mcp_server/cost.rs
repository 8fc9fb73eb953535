//! What a request costs: no mailbox.

use roscius::{gauge, prelude::*};
use serde_json::json;

use super::host::{Ask, Served};

/// In a process of its own, because the gauge counts the whole process.
#[test]
fn stateless_calls_use_no_mailbox() {
    const MARK: &str = "ROSCIUS_TEST_ALONE";
    if std::env::var_os(MARK).is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "mcp_server::cost::stateless_calls_use_no_mailbox",
                "--nocapture",
            ])
            .env(MARK, "1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let server = McpServer::new("cost", "1.0.0")
        .tool(Tool::new("echo", || async { "hi" }))
        .tool(Tool::new("cx", |cx: ToolCx| async move {
            cx.progress(1.0, None, None);
            "hi"
        }))
        .build()
        .unwrap();
    let served = Served::new(&server);
    let before = gauge::mailbox_deliveries();
    for round in 0..100 {
        let params = json!({"name": if round % 2 == 0 { "echo" } else { "cx" }});
        let ask = match round % 3 {
            0 => Ask::legacy("2025-11-25", "tools/call", params),
            _ => Ask::modern("tools/call", params),
        };
        assert_eq!(
            ask.send(&served).json()["result"]["content"][0]["text"],
            "hi"
        );
    }
    assert_eq!(gauge::mailbox_deliveries() - before, 0);
    gauge::mailbox_delivered();
    assert_eq!(gauge::mailbox_deliveries() - before, 1, "the gauge counts");
}
