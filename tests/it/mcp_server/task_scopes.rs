//! Scopes of a tool, asked again of whoever wants the result of its task.

use std::{future::pending, sync::Arc};

use futures_util::StreamExt as _;
use roscius::{
    prelude::*,
    server::Response,
    store::memory_tasks::MemoryTasks,
    wire::{auth::AuthInfo, http::Body},
};
use serde_json::{Value, json};

use super::task_host::{legacy_as, modern_as, paused, read, settle, text_of};

fn strong() -> Options {
    Options::new().auth_info(AuthInfo::new("token", "app").scopes(["write"]))
}

/// Another token of the same caller.
fn weak() -> Options {
    Options::new().auth_info(AuthInfo::new("other", "app"))
}

fn server(store: &Arc<MemoryTasks>) -> McpServer {
    McpServer::new("tasks", "1.0.0")
        .tasks_extension(true)
        .task_store(Arc::clone(store))
        .tool(
            Tool::new("write", || async { Err::<(), _>(ToolError::new("secret")) })
                .task()
                .required_scopes(["write"]),
        )
        .tool(
            Tool::new("slow", pending::<String>)
                .task()
                .required_scopes(["write"]),
        )
        .build()
        .unwrap()
}

async fn ask(server: &McpServer, caller: Options, method: &str, id: &Value) -> Response {
    let params = json!({"taskId": id, "inputResponses": {}});
    legacy_as(server, caller, method, &params.to_string()).await
}

async fn ask_2026(server: &McpServer, caller: Options, method: &str, id: &Value) -> Response {
    let params = json!({"taskId": id, "inputResponses": {}});
    modern_as(server, caller, method, params).await
}

async fn begin(server: &McpServer, name: &str) -> Value {
    let params = json!({"name": name, "arguments": {}, "task": {}}).to_string();
    let created = legacy_as(server, strong(), "tools/call", &params).await;
    settle().await;
    read(&text_of(created))["result"]["task"]["taskId"].clone()
}

async fn begin_2026(server: &McpServer, name: &str) -> Value {
    let params = json!({"name": name, "arguments": {}});
    let created = modern_as(server, strong(), "tools/call", params).await;
    settle().await;
    read(&text_of(created))["result"]["taskId"].clone()
}

fn denied(method: &str, response: &Response) {
    assert_eq!(response.status, 403, "{method}: {response:?}");
    let challenge = response.www_authenticate.as_deref().unwrap();
    assert!(challenge.contains(r#"scope="write""#), "{challenge}");
}

#[test]
fn the_result_of_a_task_is_read_only_with_the_scopes_of_its_tool() {
    paused(async {
        let store = Arc::new(MemoryTasks::new());
        let server = server(&store);
        // The driver of the task is in another process, as it were.
        let elsewhere = self::server(&store);
        let (core, extension) = (
            begin(&server, "write").await,
            begin_2026(&server, "write").await,
        );
        for server in [&server, &elsewhere] {
            for method in ["tasks/get", "tasks/result"] {
                denied(method, &ask(server, weak(), method, &core).await);
                let answer = ask(server, strong(), method, &core).await;
                assert_eq!(answer.status, 200);
                assert!(text_of(answer).contains("secret"));
            }
            for method in ["tasks/get", "tasks/update"] {
                denied(method, &ask_2026(server, weak(), method, &extension).await);
                let answer = ask_2026(server, strong(), method, &extension).await;
                assert_eq!(answer.status, 200);
            }
            let listed = |caller: Options| async {
                let listed = legacy_as(server, caller, "tasks/list", "{}").await;
                read(&text_of(listed))["result"]["tasks"][0].clone()
            };
            assert_eq!(listed(strong()).await["statusMessage"], "secret");
            let weak = listed(weak()).await;
            assert_eq!(
                (&weak["taskId"], &weak["statusMessage"]),
                (&core, &json!(null))
            );
        }
    });
}

#[test]
fn who_lacks_the_scopes_of_a_tool_hears_of_no_task_of_it_and_can_cancel_it() {
    paused(async {
        let server = server(&Arc::new(MemoryTasks::new()));
        let (core, extension) = (
            begin(&server, "slow").await,
            begin_2026(&server, "slow").await,
        );
        for (caller, heard) in [
            (strong(), json!({"taskIds": [extension]})),
            (weak(), json!({})),
        ] {
            let params = json!({"notifications": {"taskIds": [extension]}});
            let answer = modern_as(&server, caller, "subscriptions/listen", params).await;
            let Body::Stream(mut stream) = answer.body else {
                panic!("no stream");
            };
            let first = stream.next().await.unwrap();
            let first = std::str::from_utf8(&first).unwrap();
            let data = first.split("data: ").nth(1).unwrap();
            assert_eq!(read(data)["params"]["notifications"], heard);
        }
        let cancelled = ask(&server, weak(), "tasks/cancel", &core).await;
        assert_eq!(cancelled.status, 200);
        let cancelled = ask_2026(&server, weak(), "tasks/cancel", &extension).await;
        assert_eq!(cancelled.status, 200);
        assert_eq!(server.running_calls(), 0);
    });
}
