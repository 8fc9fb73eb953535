//! Replies that never change, written once when the server is built.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::Sessions;
use crate::{
    machine::schema::is_object,
    tool::Tool,
    wire::{
        mcp::meta_key::SERVER_INFO,
        version::{LEGACY, MODERN},
    },
};

/// Who the server is.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    /// `Implementation`.
    pub(super) info: Map<String, Value>,
    pub(super) instructions: Option<String>,
}

/// Results as JSON text.
#[derive(Clone, Debug)]
pub(super) struct Listings {
    /// `,"_meta":{"…/serverInfo":{…}}}`: the end of every 2026 result.
    pub(super) meta_tail: Bytes,
    /// `serverInfo` as a JSON text.
    pub(super) server_info: Value,
    pub(super) discover: Bytes,
    /// `tools/list` of 2026 and of 2025; none without tools.
    pub(super) tools: Option<[Bytes; 2]>,
    /// `initialize` without its first member, the version.
    pub(super) initialize_tail: Bytes,
    /// The versions that are served, newest first.
    pub(super) versions: Value,
}

impl Listings {
    pub(super) fn new(profile: &Profile, tools: &[Tool], sessions: Sessions) -> Self {
        let info = Value::Object(profile.info.clone());
        let meta = json!({SERVER_INFO: info});
        let versions: Vec<&str> = match sessions {
            Sessions::Reject => MODERN.to_vec(),
            Sessions::Stateless => MODERN.iter().chain(&LEGACY).copied().collect(),
        };
        let versions = json!(versions);
        let complete = |mut result: Map<String, Value>, meta: &Value| {
            result.insert("ttlMs".to_owned(), Value::from(0));
            result.insert("cacheScope".to_owned(), Value::from("private"));
            result.insert("_meta".to_owned(), meta.clone());
            Bytes::from(Value::Object(result).to_string())
        };
        let mut discover = Map::new();
        discover.insert("resultType".to_owned(), Value::from("complete"));
        discover.insert("supportedVersions".to_owned(), versions.clone());
        discover.insert("capabilities".to_owned(), capabilities(tools, true));
        let mut initialize = Map::new();
        initialize.insert("capabilities".to_owned(), capabilities(tools, false));
        initialize.insert("serverInfo".to_owned(), info.clone());
        if let Some(text) = &profile.instructions {
            for result in [&mut discover, &mut initialize] {
                result.insert("instructions".to_owned(), Value::from(text.as_str()));
            }
        }
        let list = |legacy: bool| Value::from_iter(tools.iter().map(|tool| listing(tool, legacy)));
        let lists = (!tools.is_empty()).then(|| {
            let mut modern = Map::new();
            modern.insert("resultType".to_owned(), Value::from("complete"));
            modern.insert("tools".to_owned(), list(false));
            let legacy = Bytes::from(json!({"tools": list(true)}).to_string());
            [complete(modern, &meta), legacy]
        });
        let tail = Value::Object(initialize).to_string();
        Self {
            meta_tail: Bytes::from(format!(",\"_meta\":{meta}}}")),
            server_info: info,
            discover: complete(discover, &meta),
            tools: lists,
            initialize_tail: Bytes::from(tail.replacen('{', ",", 1)),
            versions,
        }
    }
}

/// What the server can do. A list that nobody serves is not announced.
fn capabilities(tools: &[Tool], modern: bool) -> Value {
    let mut capabilities = Map::new();
    // Without a session nobody could remember the level that a 2025 client wants.
    if modern && tools.iter().any(Tool::uses_cx) {
        capabilities.insert("logging".to_owned(), json!({}));
    }
    if !tools.is_empty() {
        capabilities.insert("tools".to_owned(), json!({"listChanged": false}));
    }
    Value::Object(capabilities)
}

fn listing(tool: &Tool, legacy: bool) -> Value {
    let mut listing = serde_json::to_value(tool.listing()).unwrap_or_default();
    if !legacy {
        return listing;
    }
    if let Some(schema) = listing.get_mut("outputSchema")
        && !is_object(schema)
    {
        *schema = wrapped(schema.take());
    }
    listing
}

/// 2025 knows objects only: any other result stands in the member `result`.
fn wrapped(mut schema: Value) -> Value {
    // References point into the root's definitions, wherever they stand.
    let definitions = schema
        .as_object_mut()
        .and_then(|members| members.shift_remove("$defs"));
    let mut wrapped = json!({
        "type": "object",
        "properties": {"result": schema},
        "required": ["result"],
    });
    if let (Some(members), Some(definitions)) = (wrapped.as_object_mut(), definitions) {
        members.insert("$defs".to_owned(), definitions);
    }
    wrapped
}
