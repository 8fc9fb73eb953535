//! Questions of a task, and answers that do not fit.

use std::sync::Arc;

use roscius::prelude::*;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::task_host::{
    SECOND, advance, begin, modern, modern_text, paused, read, result_of, settle,
};

#[test]
fn questions_that_a_function_has_given_up_are_not_asked_any_more() {
    paused(async {
        let open = Arc::new(Notify::new());
        let gate = Arc::clone(&open);
        let server = McpServer::new("tasks", "1.0.0")
            .tasks_extension(true)
            .tool(
                Tool::new("impatient", move |cx: ToolCx| {
                    let gate = Arc::clone(&gate);
                    async move {
                        let schema = json!({"type": "object"});
                        let questions = (0..60)
                            .map(|at| cx.request_form(format!("q{at}"), "Which?", schema.clone()));
                        let all = futures_util::future::join_all(questions);
                        assert!(tokio::time::timeout(5 * SECOND, all).await.is_err());
                        gate.notified().await;
                        "done"
                    }
                })
                .task(),
            )
            .build()
            .unwrap();
        let id = begin(&server, "impatient").await;
        settle().await;
        let get = || async { modern(&server, "tasks/get", json!({"taskId": id})).await };
        let asked = get().await;
        let requests = asked["result"]["inputRequests"].as_object();
        assert_eq!(requests.map(|all| all.len()), Some(60), "{asked}");
        advance(6 * SECOND).await;
        assert_eq!(get().await["result"]["status"], "working");
        open.notify_one();
        settle().await;
        assert_eq!(get().await["result"]["status"], "completed");
    });
}

#[test]
fn an_update_of_another_shape_is_refused_and_unknown_keys_are_not() {
    paused(async {
        let server = McpServer::new("tasks", "1.0.0")
            .tasks_extension(true)
            .tool(
                Tool::new("asks", |cx: ToolCx| async move {
                    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
                    cx.request_form("one", "How many?", schema)
                        .await
                        .map(|form| form.to_string())
                })
                .task(),
            )
            .build()
            .unwrap();
        let id = begin(&server, "asks").await;
        settle().await;
        let update = |answers: Value| {
            let params = json!({"taskId": id, "inputResponses": answers});
            let reply = modern_text(&server, "tasks/update", params);
            async move { read(&reply.await) }
        };
        for wrong in [
            json!([]),
            json!("one"),
            json!(null),
            json!({"one": "5"}),
            json!({"one": null}),
            json!({"one": {"action": "agree", "content": {"n": 1}}}),
            json!({"one": {"action": "accept", "content": {"n": "1"}}}),
            json!({"one": {"action": "accept"}}),
            json!({"one": {"action": "accept", "content": [1]}}),
        ] {
            let reply = update(wrong.clone()).await;
            assert_eq!(reply["error"]["code"], -32602, "{wrong}: {reply}");
        }
        let unknown = json!({"two": 5, "": [], "__proto__": {}});
        assert_eq!(update(unknown).await["result"]["resultType"], "complete");
        let answer = json!({"one": {"action": "accept", "content": {"n": 5}}});
        let first = update(answer.clone()).await;
        let second = update(answer.clone()).await;
        assert_eq!(first["result"]["resultType"], "complete", "{first}");
        assert_eq!(second["result"]["resultType"], "complete", "{second}");
        let result = result_of(&server, &id).await;
        assert!(result.get().contains(r#"{\"n\":5}"#), "{result}");
        let late = update(answer).await;
        assert_eq!(late["result"]["resultType"], "complete", "{late}");
    });
}
