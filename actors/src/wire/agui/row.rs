//! Message rows, as clients post them and as MESSAGES_SNAPSHOT carries them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::wire::ids::{MessageId, ToolCallId};

/// Who speaks in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are AG-UI's")]
pub enum Role {
    Developer,
    System,
    Assistant,
    User,
    Tool,
    Activity,
    Reasoning,
}

impl Role {
    /// Reads the wire's name of a role.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "developer" => Self::Developer,
            "system" => Self::System,
            "assistant" => Self::Assistant,
            "user" => Self::User,
            "tool" => Self::Tool,
            "activity" => Self::Activity,
            "reasoning" => Self::Reasoning,
            _ => return None,
        })
    }

    /// Gives the wire's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Developer => "developer",
            Self::System => "system",
            Self::Assistant => "assistant",
            Self::User => "user",
            Self::Tool => "tool",
            Self::Activity => "activity",
            Self::Reasoning => "reasoning",
        }
    }
}

/// One row of a conversation.
///
/// A row is kept as it came, unknown members and their order included, because it goes back to the
/// client in the next snapshot. The methods read what the engine needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Row(Map<String, Value>);

/// One entry of an assistant row's `toolCalls`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowToolCall {
    /// The call's id.
    pub id: ToolCallId,
    /// The tool's name.
    pub name: String,
    /// The argument text, JSON if the model wrote it well.
    pub arguments: String,
    /// A provider's proof of thought, given back to it in later turns.
    pub encrypted_value: Option<String>,
}

impl RowToolCall {
    fn to_value(&self) -> Value {
        let mut call = json!({
            "id": self.id.as_str(),
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        });
        if let (Some(encrypted), Value::Object(call)) = (&self.encrypted_value, &mut call) {
            call.insert("encryptedValue".to_owned(), encrypted.as_str().into());
        }
        call
    }

    fn from_value(value: &Value) -> Option<Self> {
        let function = value.get("function")?;
        Some(Self {
            id: ToolCallId::from(value.get("id")?.as_str()?),
            name: function.get("name")?.as_str()?.to_owned(),
            arguments: function
                .get("arguments")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            encrypted_value: value
                .get("encryptedValue")
                .and_then(Value::as_str)
                .map(str::to_owned),
        })
    }
}

impl Row {
    /// Takes a row as it came.
    #[must_use]
    pub const fn new(members: Map<String, Value>) -> Self {
        Self(members)
    }

    fn with_role(role: Role, id: &str) -> Self {
        let mut members = Map::new();
        members.insert("id".to_owned(), id.into());
        members.insert("role".to_owned(), role.as_str().into());
        Self(members)
    }

    /// Makes a user row.
    #[must_use]
    pub fn user(id: &MessageId, content: impl Into<Value>) -> Self {
        Self::with_role(Role::User, id.as_str()).with("content", content)
    }

    /// Makes a system row.
    #[must_use]
    pub fn system(id: &MessageId, content: impl Into<String>) -> Self {
        Self::with_role(Role::System, id.as_str()).with("content", content.into())
    }

    /// Makes an assistant row; empty content and an empty list of calls are left out.
    #[must_use]
    pub fn assistant(id: &MessageId, content: &str, calls: &[RowToolCall]) -> Self {
        let mut row = Self::with_role(Role::Assistant, id.as_str());
        if !content.is_empty() {
            row = row.with("content", content);
        }
        if !calls.is_empty() {
            let calls = calls.iter().map(RowToolCall::to_value).collect();
            row = row.with("toolCalls", Value::Array(calls));
        }
        row
    }

    /// Makes the row of a tool's result.
    #[must_use]
    pub fn tool(id: &MessageId, call: &ToolCallId, content: impl Into<String>) -> Self {
        Self::with_role(Role::Tool, id.as_str())
            .with("toolCallId", call.as_str())
            .with("content", content.into())
    }

    /// Makes a reasoning row.
    #[must_use]
    pub fn reasoning(id: &MessageId, content: &str, encrypted_value: Option<&str>) -> Self {
        let row = Self::with_role(Role::Reasoning, id.as_str()).with("content", content);
        match encrypted_value {
            Some(value) => row.with("encryptedValue", value),
            None => row,
        }
    }

    /// Sets a member.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// Gives all members.
    #[must_use]
    pub const fn members(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Gives all members, to change them.
    pub const fn members_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.0
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }

    /// Gives the row's id.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.text("id")
    }

    /// Gives the role; a row without a known one is none of ours.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        Role::from_name(self.text("role")?)
    }

    /// Gives the content: a text, or the parts of a user's message.
    #[must_use]
    pub fn content(&self) -> Option<&Value> {
        self.0.get("content")
    }

    /// Gives the content if it is a text.
    #[must_use]
    pub fn content_text(&self) -> Option<&str> {
        self.text("content")
    }

    /// Gives the id of the call that a tool row answers.
    #[must_use]
    pub fn tool_call_id(&self) -> Option<&str> {
        self.text("toolCallId")
    }

    /// Gives the error text of a tool row.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.text("error")
    }

    /// Gives the provider's proof of a reasoning row, in either spelling.
    #[must_use]
    pub fn signature(&self) -> Option<&str> {
        self.text("encryptedValue")
            .or_else(|| self.extra("signature")?.as_str())
    }

    /// Gives the calls of an assistant row; malformed entries are passed over.
    #[must_use]
    pub fn tool_calls(&self) -> Vec<RowToolCall> {
        let Some(calls) = self.0.get("toolCalls").and_then(Value::as_array) else {
            return Vec::new();
        };
        calls.iter().filter_map(RowToolCall::from_value).collect()
    }

    /// Gives the row's metadata.
    #[must_use]
    pub fn metadata(&self) -> Option<&Map<String, Value>> {
        self.0.get("metadata")?.as_object()
    }

    /// Reads a member of `metadata.tanstack`.
    #[must_use]
    pub fn extra(&self, key: &str) -> Option<&Value> {
        self.metadata()?.get("tanstack")?.get(key)
    }

    /// Reads `metadata.<space>.<key>`, for example the seal at `metadata.roscius.seal`.
    #[must_use]
    pub fn meta(&self, space: &str, key: &str) -> Option<&Value> {
        self.metadata()?.get(space)?.get(key)
    }

    /// Sets `metadata.<space>.<key>`, making what is missing on the way.
    pub fn set_meta(&mut self, space: &str, key: &str, value: impl Into<Value>) {
        let metadata = self.0.entry("metadata").or_insert_with(|| json!({}));
        if !metadata.is_object() {
            *metadata = json!({});
        }
        let Some(metadata) = metadata.as_object_mut() else {
            return;
        };
        let members = metadata.entry(space).or_insert_with(|| json!({}));
        if !members.is_object() {
            *members = json!({});
        }
        if let Some(members) = members.as_object_mut() {
            members.insert(key.to_owned(), value.into());
        }
    }
}

impl From<Map<String, Value>> for Row {
    fn from(members: Map<String, Value>) -> Self {
        Self(members)
    }
}
