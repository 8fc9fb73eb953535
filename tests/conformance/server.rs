//! The server that the official conformance suite talks to. See `README.md` beside this file.
#![expect(
    clippy::indexing_slicing,
    reason = "a JSON value that lacks a key gives null"
)]

mod tasks;

use actix_web::{App, HttpServer};
use roscius::{
    prelude::*,
    server::Changes,
    skill::{Skills, SkillsError},
    tool::QuestionKind,
    web,
    wire::content::{CallToolResult, ContentBlock},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// One white pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/// A WAV file without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

fn resource(uri: &str, mime_type: &str, text: &str) -> ContentBlock {
    let block =
        json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}});
    ContentBlock::Other(block)
}

fn object(name: &str, kind: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": kind}}, "required": [name]})
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Tools of both eras: one kind of content each.
fn contents() -> Vec<Tool> {
    vec![
        // The suite calls the first tool of the list without arguments.
        Tool::new("test_simple_text", || async {
            "This is a simple text response for testing."
        })
        .description("Gives a text"),
        Tool::new("test_image_content", || async {
            vec![ContentBlock::image(PNG, "image/png")]
        })
        .description("Gives an image"),
        Tool::new("test_audio_content", || async {
            vec![ContentBlock::audio(WAV, "audio/wav")]
        })
        .description("Gives a sound"),
        Tool::new("test_embedded_resource", || async {
            let text = "This is an embedded resource content.";
            vec![resource("test://embedded-resource", "text/plain", text)]
        })
        .description("Gives a resource"),
        Tool::new("test_multiple_content_types", || async {
            vec![
                ContentBlock::text("Multiple content types test:"),
                ContentBlock::image(PNG, "image/png"),
                resource(
                    "test://mixed-content-resource",
                    "application/json",
                    r#"{"test":"data"}"#,
                ),
            ]
        })
        .description("Gives text, image and resource"),
        Tool::new("test_error_handling", || async {
            CallToolResult::error("This tool intentionally returns an error for testing")
        })
        .description("Fails"),
        Tool::new("test_tool_with_progress", |cx: ToolCx| async move {
            for step in [0.0, 50.0, 100.0] {
                cx.progress(step, Some(100.0), None);
                actix_web::rt::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            "Progress is complete"
        })
        .description("Reports its progress"),
        Tool::raw(
            "json_schema_2020_12_tool",
            schema_2020_12(),
            |value, _| async move { value },
        )
        .description("Has a schema with the keywords of draft 2020-12"),
    ]
}

fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

/// Tools of 2026 that depend on what the request declares.
fn requests() -> Vec<Tool> {
    let region = json!({
        "type": "object",
        "properties": {"region": {"type": "string", "description": "A region", "x-mcp-header": "Region"}},
    });
    vec![
        Tool::new("test_missing_capability", |cx: ToolCx| async move {
            cx.sample("Anything").await
        })
        .description("Needs sampling"),
        Tool::new("test_streaming_elicitation", |cx: ToolCx| async move {
            cx.request_form("streamed", "Anything?", object("answer", "string"))
                .await
        })
        .description("Asks for a form"),
        Tool::new("test_logging_tool", |cx: ToolCx| async move {
            cx.log(roscius::wire::mcp::LogLevel::Info, "the tool runs");
            "logged"
        })
        .description("Logs if the request wants it"),
        Tool::raw("test_x_mcp_header", region, |value, _| async move {
            format!("region: {}", word(&value["region"]))
        })
        .description("Echoes an argument that a header mirrors"),
    ]
}

/// Tools that say that something has changed.
fn triggers(changes: &Changes) -> Vec<Tool> {
    let (tools, prompts) = (changes.clone(), changes.clone());
    vec![
        Tool::new("test_trigger_tool_change", move || {
            tools.tools_list_changed();
            std::future::ready("changed")
        })
        .description("Says that the list of tools has changed"),
        Tool::new("test_trigger_prompt_change", move || {
            prompts.prompts_list_changed();
            std::future::ready("changed")
        })
        .description("Says that the list of prompts has changed"),
    ]
}

/// Tools of 2025 that report, and ask the client of their session while they wait.
fn sessions() -> Vec<Tool> {
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
                cx.log(
                    roscius::wire::mcp::LogLevel::Info,
                    format!("Tool execution {step}"),
                );
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
fn questions() -> Vec<Tool> {
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

#[derive(Deserialize)]
struct Id {
    id: String,
}

fn resources() -> Vec<Resource> {
    vec![
        Resource::new("static-text", "test://static-text", || async {
            "This is the content of the static text resource."
        })
        .description("A text")
        .mime_type("text/plain"),
        Resource::new("static-binary", "test://static-binary", || async {
            ResourceContents {
                blob: Some(PNG.to_owned()),
                ..ResourceContents::default()
            }
        })
        .description("An image")
        .mime_type("image/png"),
        Resource::new("watched-resource", "test://watched-resource", || async {
            "Nothing has changed."
        })
        .description("A text to subscribe to")
        .mime_type("text/plain"),
        Resource::template("test://template/{id}/data", |Vars(vars): Vars<Id>| async move {
            Json(json!({"id": vars.id, "templateTest": true, "data": format!("Data for ID: {}", vars.id)}))
        })
        .name("template")
        .description("Data of an id")
        .mime_type("application/json"),
    ]
}

/// What two arguments become
#[derive(Deserialize, JsonSchema)]
struct TwoWords {
    /// The first word
    arg1: String,
    /// The second word
    arg2: String,
}

/// A message with a resource inside
#[derive(Deserialize, JsonSchema)]
struct Embedded {
    /// The URI of the resource
    #[serde(rename = "resourceUri")]
    resource_uri: String,
}

fn prompts() -> Vec<Prompt> {
    vec![
        Prompt::new("test_simple_prompt", || async {
            "This is a simple prompt for testing."
        })
        .description("One message"),
        Prompt::new(
            "test_prompt_with_arguments",
            |Args(words): Args<TwoWords>| async move {
                format!(
                    "Prompt with arguments: arg1='{}', arg2='{}'",
                    words.arg1, words.arg2
                )
            },
        )
        .complete("arg1", |typed: Partial| async move {
            typed.filter(["test", "testing", "tested"])
        }),
        Prompt::new(
            "test_prompt_with_embedded_resource",
            |Args(embedded): Args<Embedded>| async move {
                let contents = ResourceContents::text("Embedded resource content for testing.")
                    .uri(embedded.resource_uri)
                    .mime_type("text/plain");
                [
                    PromptMessage::user(contents),
                    PromptMessage::user("Please process the embedded resource above."),
                ]
            },
        ),
        Prompt::new("test_prompt_with_image", || async {
            [
                PromptMessage::user(ContentBlock::image(PNG, "image/png")),
                PromptMessage::user("Please analyze the image above."),
            ]
        })
        .description("A message with an image"),
        Prompt::new(
            "test_input_required_result_prompt",
            |cx: ToolCx| async move {
                let schema = object("context", "string");
                let form = cx
                    .request_form("user_context", "What context should be used?", schema)
                    .await?;
                Ok::<_, ToolError>(format!("Use this context: {form}"))
            },
        )
        .description("Asks before it is made"),
    ]
}

fn skills() -> Result<Skills, SkillsError> {
    Skills::from_files([
        (
            "pdf-processing/SKILL.md",
            "---\nname: pdf-processing\ndescription: Fills in PDF forms.\n---\nSee references/FORMS.md.\n",
        ),
        ("pdf-processing/references/FORMS.md", "# Forms\n"),
        (
            "notes/meeting-notes/SKILL.md",
            "---\nname: meeting-notes\ndescription: Writes down what was said.\n---\nBe brief.\n",
        ),
        ("notes/meeting-notes/assets/template.md", "# Meeting\n"),
    ])
}

async fn confirm(cx: ToolCx) -> Result<String, InputError> {
    cx.request_form("confirm", "Please confirm", object("ok", "boolean"))
        .await?;
    // The server opened the sealed state before this line was reached.
    Ok("state-ok".to_owned())
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port: u16 = std::env::var("PORT")?.parse()?;
    let changes = Changes::new();
    let server = McpServer::new("roscius-conformance", env!("CARGO_PKG_VERSION"))
        .sample_from_client(true)
        .sessions(Sessions::Memory)
        .changes(&changes)
        .tools(contents())
        .tools(requests())
        .tools(questions())
        .tools(sessions())
        .tools(triggers(&changes))
        .tools(tasks::tasks())
        .tasks_extension(true)
        .resources(resources())
        .prompts(prompts())
        .skills(skills()?)
        .build()?;
    HttpServer::new(move || App::new().configure(web::mcp("/mcp", &server)))
        .workers(1)
        .tcp_nodelay(true)
        .h1_allow_half_closed(false)
        .bind(("127.0.0.1", port))?
        .run()
        .await?;
    Ok(())
}
