//! Content blocks, tool listings and tool results, as both eras of MCP carry them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::resource::ResourceContents;

/// One block of a tool result, a prompt message or a sampling message.
///
/// Kinds that this version does not know survive in [`ContentBlock::Other`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ContentBlock {
    /// A kind with a type of its own.
    Known(KnownBlock),
    /// Anything else, carried untouched.
    Other(Value),
}

/// The kinds of content that MCP defines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum KnownBlock {
    /// Plain text.
    Text {
        /// The text.
        text: String,
        /// Annotations, `_meta` and what else came with it.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// An image.
    Image {
        /// Base64.
        data: String,
        /// For example `image/png`.
        #[serde(rename = "mimeType")]
        mime_type: String,
        /// Annotations, `_meta` and what else came with it.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// Sound.
    Audio {
        /// Base64.
        data: String,
        /// For example `audio/wav`.
        #[serde(rename = "mimeType")]
        mime_type: String,
        /// Annotations, `_meta` and what else came with it.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// A resource that can be read by its URI.
    ResourceLink {
        /// Where it is.
        uri: String,
        /// What it is called.
        name: String,
        /// The other members of a resource listing.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// A resource with its contents.
    Resource {
        /// `{uri, mimeType?, text | blob}`.
        resource: Value,
        /// Annotations, `_meta` and what else came with it.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
}

impl ContentBlock {
    /// Makes a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Known(KnownBlock::Text {
            text: text.into(),
            extra: Map::new(),
        })
    }

    /// Makes an image block from base64 data.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Known(KnownBlock::Image {
            data: data.into(),
            mime_type: mime_type.into(),
            extra: Map::new(),
        })
    }

    /// Makes an audio block from base64 data.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Known(KnownBlock::Audio {
            data: data.into(),
            mime_type: mime_type.into(),
            extra: Map::new(),
        })
    }

    /// Makes a block that carries a resource with its contents.
    pub fn resource(contents: ResourceContents) -> Self {
        Self::Known(KnownBlock::Resource {
            resource: serde_json::to_value(contents).unwrap_or_default(),
            extra: Map::new(),
        })
    }

    /// Gives the text of a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Known(KnownBlock::Text { text, .. }) => Some(text),
            _ => None,
        }
    }
}

impl From<&str> for ContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<ResourceContents> for ContentBlock {
    fn from(contents: ResourceContents) -> Self {
        Self::resource(contents)
    }
}

/// The result of `tools/call`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult {
    /// What the model reads; may be empty.
    #[serde(default)]
    pub content: Vec<ContentBlock>,
    /// The same as data. Any JSON value in 2026, an object in 2025.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// True when the tool failed in a way the model should see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// `_meta`, kept as it came.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

impl CallToolResult {
    /// Makes a result of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![ContentBlock::text(text)],
            ..Self::default()
        }
    }

    /// Makes a failure that the model reads.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: Some(true),
            ..Self::text(text)
        }
    }
}

/// Hints about what a tool does. They come from the server and are no proof.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool may destroy something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling twice is as good as once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool reaches out into the world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// One item of `tools/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolListing {
    /// The name that calls use.
    pub name: String,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the model reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of the arguments, carried untouched.
    #[serde(default = "empty_object_schema")]
    pub input_schema: Value,
    /// JSON Schema of the structured result, carried untouched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Hints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// `_meta`, kept as it came.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
    /// `icons`, `execution` and members this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

fn empty_object_schema() -> Value {
    serde_json::json!({"type": "object", "properties": {}})
}
