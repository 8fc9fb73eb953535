//! Tools that run as tasks.

use std::time::Duration;

use roscius::prelude::*;
use serde::Deserialize;
use serde_json::Value;

use super::{object, word};

#[derive(Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Compute {
    seconds: f64,
    label: Option<String>,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct File {
    filename: String,
}

async fn pause(seconds: f64) {
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    actix_web::rt::time::sleep(time).await;
}

fn confirm() -> Value {
    object("confirm", "boolean")
}

pub(super) fn tasks() -> Vec<Tool> {
    vec![
        Tool::new("greet", |Args(who): Args<Name>| async move {
            format!("Hello, {}!", who.name)
        })
        .description("Greets, and never as a task"),
        Tool::new("slow_compute", |Args(compute): Args<Compute>| async move {
            pause(compute.seconds).await;
            format!("{} is computed", compute.label.unwrap_or_default())
        })
        .description("Takes its time")
        .task(),
        Tool::new("failing_job", || async {
            pause(1.0).await;
            Err::<(), _>(ToolError::new("the job has failed"))
        })
        .description("Fails")
        .task_required(),
        Tool::new("protocol_error_job", || async {
            Err::<(), _>(ToolError::internal("the server has failed"))
        })
        .description("Fails as the server would")
        .task(),
        Tool::new(
            "confirm_delete",
            |Args(file): Args<File>, cx: ToolCx| async move {
                let question = format!("Delete {}?", file.filename);
                let form = cx.request_form("confirm", question, confirm()).await?;
                Ok::<_, ToolError>(format!("deleted: {}", form["confirm"] == true))
            },
        )
        .description("Asks before it deletes")
        .task(),
        Tool::new("multi_input", |cx: ToolCx| async move {
            let (one, two) = futures_util::join!(
                cx.request_form("first", "The first?", confirm()),
                cx.request_form("second", "The second?", confirm()),
            );
            Ok::<_, ToolError>(format!("{} {}", one?, two?))
        })
        .description("Asks two questions at once")
        .task(),
        Tool::new("test_tool_with_task", |cx: ToolCx| async move {
            let schema = object("name", "string");
            let form = cx
                .request_form("user_name", "What is your name?", schema)
                .await?;
            cx.begin_task();
            pause(0.1).await;
            Ok::<_, ToolError>(format!("Hello, {}!", word(&form["name"])))
        })
        .description("Asks, then runs as a task")
        .task_required()
        .begins_task(),
    ]
}
