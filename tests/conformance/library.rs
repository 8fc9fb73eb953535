//! Resources, prompts and skills.

use roscius::{
    prelude::*,
    skill::{Skills, SkillsError},
    wire::content::ContentBlock,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{PNG, object};

#[derive(Deserialize)]
struct Id {
    id: String,
}

pub(super) fn resources() -> Vec<Resource> {
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

pub(super) fn prompts() -> Vec<Prompt> {
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

pub(super) fn skills() -> Result<Skills, SkillsError> {
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
