//! Changes on the pipe of a client that listens.

use std::time::Duration;

use roscius::server::Changes;
use serde_json::{Value, json};

use super::{McpServer, PATIENCE, Seen, builder, cancelled, modern, serve};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn listening(changes: &Changes) -> McpServer {
    let builder = builder(&Seen::default().into());
    builder.changes(changes).build().unwrap()
}

fn listen(id: i64) -> Value {
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    modern(id, "subscriptions/listen", wanted)
}

#[tokio::test]
async fn a_client_that_listens_is_served_as_before() {
    let changes = Changes::new();
    let served = serve(listening(&changes), |mut pipes| async move {
        pipes.send(listen(1)).await;
        let first = pipes.line().await;
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(first["params"]["_meta"][SUBSCRIPTION], 1);

        // The next request does not wait for the end of the stream, and its id is another one.
        let call = json!({"name": "two_lines", "arguments": {}});
        pipes.ask(modern(2, "tools/call", call.clone())).await;
        assert!(pipes.ask(listen(1)).await["error"].is_object());

        changes.tools_list_changed();
        let change = pipes.line().await;
        assert_eq!(change["method"], "notifications/tools/list_changed");
        assert_eq!(change["params"]["_meta"][SUBSCRIPTION], 1);

        // Once it is cancelled, nothing comes of it, and its id is free.
        pipes.send(cancelled(1)).await;
        pipes.ask(modern(3, "tools/call", call)).await;
        changes.tools_list_changed();
        pipes.send(listen(1)).await;
        let again = pipes.line().await;
        assert_eq!(again["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(pipes.end().await, Vec::<Value>::new());
    });
    served.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_listens_does_not_hold_the_end_back() {
    let changes = Changes::new();
    let begin = tokio::time::Instant::now();
    let served = serve(listening(&changes), |mut pipes| async move {
        pipes.send(listen(1)).await;
        pipes.line().await;
        assert_eq!(pipes.end().await, Vec::<Value>::new());
    });
    tokio::time::timeout(PATIENCE, served)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(begin.elapsed(), Duration::ZERO);
}
