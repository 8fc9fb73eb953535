//! Tools of both eras: one kind of content each.

use roscius::{
    prelude::*,
    wire::content::{CallToolResult, ContentBlock},
};
use serde_json::{Value, json};

use super::PNG;

/// A WAV file without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

fn resource(uri: &str, mime_type: &str, text: &str) -> ContentBlock {
    let block =
        json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}});
    ContentBlock::Other(block)
}

pub(super) fn contents() -> Vec<Tool> {
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
