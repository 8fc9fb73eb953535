//! The result of an MCP tool as the value that a model reads.

use serde_json::{Value, json};

use crate::wire::content::{CallToolResult, ContentBlock, KnownBlock};

/// Turns a result into structured data, a text, or a list of content parts.
///
/// `has_output_schema` says that the listing promised structured content; only then it is used.
/// One text block becomes its text, nothing becomes the empty text. Pages of a user interface
/// (`ui://`) are not for the model and are left out.
///
/// # Errors
/// The message for the model when the server marks the result as an error.
pub fn tool_value(
    native_name: &str,
    result: CallToolResult,
    has_output_schema: bool,
) -> Result<Value, String> {
    if result.is_error == Some(true) {
        return Err(error_message(native_name, &result.content));
    }
    if has_output_schema && let Some(structured) = result.structured_content {
        return Ok(structured);
    }
    let mut parts: Vec<Value> = result.content.into_iter().filter_map(part).collect();
    if parts.is_empty() {
        return Ok("".into());
    }
    if let [Value::Object(only)] = &mut parts[..]
        && only.get("type").and_then(Value::as_str) == Some("text")
        && let Some(text) = only.remove("content")
    {
        return Ok(text);
    }
    Ok(Value::Array(parts))
}

fn error_message(native_name: &str, content: &[ContentBlock]) -> String {
    let texts: Vec<&str> = content.iter().filter_map(ContentBlock::as_text).collect();
    let detail = texts.join("\n");
    match detail.is_empty() {
        true => format!("MCP tool \"{native_name}\" returned an error"),
        false => format!("MCP tool \"{native_name}\" returned an error: {detail}"),
    }
}

fn part(block: ContentBlock) -> Option<Value> {
    let known = match block {
        ContentBlock::Known(known) => known,
        ContentBlock::Other(other) => return text_part(other.to_string()),
    };
    match known {
        KnownBlock::Text { text, .. } => text_part(text),
        KnownBlock::Image {
            data, mime_type, ..
        } => Some(media("image", &data, &mime_type)),
        KnownBlock::Audio {
            data, mime_type, ..
        } => Some(media("audio", &data, &mime_type)),
        KnownBlock::Resource { resource, .. } => embedded(&resource),
        KnownBlock::ResourceLink { uri, name, extra } => {
            let description = extra.get("description").and_then(Value::as_str);
            text_part(match description {
                Some(description) => format!("[resource {name}]({uri}): {description}"),
                None => format!("[resource {name}]({uri})"),
            })
        }
    }
}

fn text_part(text: String) -> Option<Value> {
    (!text.is_empty()).then(|| json!({"type": "text", "content": text}))
}

fn media(kind: &str, data: &str, mime_type: &str) -> Value {
    json!({"type": kind, "source": {"type": "data", "value": data, "mimeType": mime_type}})
}

fn embedded(resource: &Value) -> Option<Value> {
    let uri = resource
        .get("uri")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if uri.starts_with("ui://") {
        return None;
    }
    text_part(resource.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]

    use super::*;

    fn read(result: Value, has_output_schema: bool) -> Result<Value, String> {
        tool_value(
            "get",
            serde_json::from_value(result).unwrap(),
            has_output_schema,
        )
    }

    #[test]
    fn results_become_what_a_model_reads() {
        let resource = json!({"uri": "test://a", "text": "t"});
        let table = [
            (json!({"content": []}), json!("")),
            (
                json!({"content": [{"type": "text", "text": ""}]}),
                json!(""),
            ),
            (
                json!({"content": [{"type": "text", "text": "12 C"}]}),
                json!("12 C"),
            ),
            (
                json!({"content": [{"type": "text", "text": "a"}, {"type": "image", "data": "AA==", "mimeType": "image/png"}]}),
                json!([
                    {"type": "text", "content": "a"},
                    {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}},
                ]),
            ),
            (
                json!({"content": [{"type": "audio", "data": "AA==", "mimeType": "audio/wav"}]}),
                json!([{"type": "audio", "source": {"type": "data", "value": "AA==", "mimeType": "audio/wav"}}]),
            ),
            (
                json!({"content": [{"type": "resource", "resource": resource}]}),
                json!(resource.to_string()),
            ),
            (
                json!({"content": [{"type": "resource", "resource": {"uri": "ui://w", "text": "<p>"}}]}),
                json!(""),
            ),
            (
                json!({"content": [{"type": "resource_link", "uri": "file:///a", "name": "a", "description": "notes"}]}),
                json!("[resource a](file:///a): notes"),
            ),
            (
                json!({"content": [{"type": "new_kind", "x": 1}]}),
                json!("{\"type\":\"new_kind\",\"x\":1}"),
            ),
        ];
        for (result, expected) in table {
            assert_eq!(read(result.clone(), false), Ok(expected), "{result}");
        }
    }

    #[test]
    fn structured_content_counts_when_it_was_promised() {
        let result =
            json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"a": 1}});
        assert_eq!(read(result.clone(), true), Ok(json!({"a": 1})));
        assert_eq!(read(result, false), Ok(json!("a")));
    }

    #[test]
    fn an_error_names_the_tool_and_what_it_said() {
        let table = [
            (
                json!([{"type": "text", "text": "no such city"}]),
                "MCP tool \"get\" returned an error: no such city",
            ),
            (json!([]), "MCP tool \"get\" returned an error"),
        ];
        for (content, expected) in table {
            let result = json!({"isError": true, "content": content});
            assert_eq!(read(result, true), Err(expected.to_owned()));
        }
    }
}
