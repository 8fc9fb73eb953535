//! Tools that ask.

use roscius::{prelude::*, tool::QuestionKind, wire::mcp::LogLevel};
use serde_json::{Value, json};

use super::{object, word};

/// Tools of 2025 that report, and ask the client of their session while they wait.
pub(super) fn sessions() -> Vec<Tool> {
    let form = |message: &'static str, schema: Value| {
        move |cx: ToolCx| {
            let schema = schema.clone();
            async move {
                let form = cx.request_form("form", message, schema).await?;
                Ok::<_, ToolError>(format!("User response: {form}"))
            }
        }
    };
    vec![
        Tool::new("test_tool_with_logging", |cx: ToolCx| async move {
            for step in ["started", "processing", "completed"] {
                cx.log(LogLevel::Info, format!("Tool execution {step}"));
                actix_web::rt::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            "Tool with logging is complete"
        })
        .description("Logs what it does"),
        Tool::raw(
            "test_sampling",
            object("prompt", "string"),
            |value, cx| async move {
                let request = SampleRequest::new(word(&value["prompt"])).max_tokens(100);
                let answer = cx.sample(request).await?;
                Ok::<_, ToolError>(format!("LLM response: {answer}"))
            },
        )
        .description("Asks the model of the client"),
        Tool::raw(
            "test_elicitation",
            object("message", "string"),
            |value, cx| async move {
                let schema = json!({
                    "type": "object",
                    "properties": {"username": {"type": "string"}, "email": {"type": "string"}},
                    "required": ["username", "email"],
                });
                let message = word(&value["message"]);
                let form = cx.request_form("form", message, schema).await?;
                Ok::<_, ToolError>(format!("User response: {form}"))
            },
        )
        .description("Asks for name and address"),
        Tool::new(
            "test_elicitation_sep1034_defaults",
            form("Please confirm", with_defaults()),
        )
        .description("Asks with defaults"),
        Tool::new(
            "test_elicitation_sep1330_enums",
            form("Please choose", with_enums()),
        )
        .description("Asks for choices"),
        Tool::new("test_reconnection", |cx: ToolCx| async move {
            cx.close_stream();
            actix_web::rt::time::sleep(std::time::Duration::from_millis(100)).await;
            "Reconnection is complete"
        })
        .description("Closes its stream before it has ended"),
    ]
}

fn with_defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    }})
}

fn with_enums() -> Value {
    let titled = json!([
        {"const": "value1", "title": "First"},
        {"const": "value2", "title": "Second"},
        {"const": "value3", "title": "Third"},
    ]);
    let plain = json!(["option1", "option2", "option3"]);
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }})
}

/// Tools of 2026 that ask.
pub(super) fn questions() -> Vec<Tool> {
    vec![
        Tool::new(
            "test_input_required_result_elicitation",
            |cx: ToolCx| async move {
                let schema = object("name", "string");
                let form = cx
                    .request_form("user_name", "What is your name?", schema)
                    .await?;
                Ok::<_, ToolError>(format!("Hello, {}!", word(&form["name"])))
            },
        )
        .description("Asks for a name"),
        Tool::new(
            "test_input_required_result_sampling",
            |cx: ToolCx| async move {
                let request = SampleRequest::new("What is the capital of France?")
                    .key("capital_question")
                    .max_tokens(100);
                cx.sample(request).await
            },
        )
        .description("Asks a model"),
        Tool::new(
            "test_input_required_result_list_roots",
            |cx: ToolCx| async move {
                let roots = cx.ask(Question::roots().key("roots")).await?;
                Ok::<_, ToolError>(roots["roots"].to_string())
            },
        )
        .description("Asks for the roots"),
        Tool::new("test_input_required_result_request_state", confirm)
            .description("Asks for a confirmation; the state is checked"),
        Tool::new("test_input_required_result_tampered_state", confirm)
            .description("Asks for a confirmation; a changed state is refused"),
        Tool::new(
            "test_input_required_result_multiple_inputs",
            |cx: ToolCx| async move {
                let form =
                    cx.request_form("user_name", "What is your name?", object("name", "string"));
                let greeting = SampleRequest::new("Write a greeting")
                    .key("greeting")
                    .max_tokens(50);
                let greeting = cx.sample(greeting);
                let roots = cx.ask(Question::roots().key("client_roots"));
                let (form, greeting, roots) = futures_util::join!(form, greeting, roots);
                let (form, greeting, roots) = (form?, greeting?, roots?);
                Ok::<_, ToolError>(format!("{} {greeting} {}", form["name"], roots["roots"]))
            },
        )
        .description("Asks three questions at once"),
        Tool::new(
            "test_input_required_result_multi_round",
            |cx: ToolCx| async move {
                let name = cx
                    .request_form("step1", "What is your name?", object("name", "string"))
                    .await?;
                let color = cx
                    .request_form("step2", "Which color?", object("color", "string"))
                    .await?;
                Ok::<_, ToolError>(format!(
                    "{} likes {}",
                    word(&name["name"]),
                    word(&color["color"])
                ))
            },
        )
        .description("Asks in two rounds"),
        Tool::new(
            "test_input_required_result_capabilities",
            |cx: ToolCx| async move {
                if cx.can_ask(QuestionKind::Form) {
                    cx.request_form("form", "Anything?", object("answer", "string"))
                        .await?;
                }
                Ok::<_, ToolError>(cx.sample("Anything").await?)
            },
        )
        .description("Asks what the client declares"),
    ]
}

async fn confirm(cx: ToolCx) -> Result<String, InputError> {
    cx.request_form("confirm", "Please confirm", object("ok", "boolean"))
        .await?;
    // The server opened the sealed state before this line was reached.
    Ok("state-ok".to_owned())
}
