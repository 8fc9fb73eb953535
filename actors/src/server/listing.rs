//! Replies that never change, written once when the server is built.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{
    Sessions,
    caching::{Cached, Caching},
    pages::{Item, ListKind, Pages, Paging},
    skills,
};
use crate::{
    machine::schema::is_object,
    skill,
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

impl Profile {
    /// Gives the end of every 2026 result: `,"_meta":{"…/serverInfo":{…}}}`.
    pub(super) fn meta_tail(&self) -> String {
        let meta = json!({SERVER_INFO: self.info});
        format!(",\"_meta\":{meta}}}")
    }
}

/// What the server serves.
pub(super) struct Offer<'a> {
    pub(super) tools: &'a [Tool],
    pub(super) resources: bool,
    pub(super) prompts: bool,
    pub(super) completions: bool,
    pub(super) skills: bool,
    /// Some function can log.
    pub(super) logging: bool,
    /// Somebody can say that something has changed.
    pub(super) changes: bool,
    pub(super) paging: &'a Paging,
    pub(super) caching: &'a Caching,
}

const TOOLS: ListKind = ListKind {
    method: "tools/list",
    member: "tools",
};

/// Results as JSON text.
#[derive(Clone, Debug)]
pub(super) struct Listings {
    /// `,"_meta":{"…/serverInfo":{…}}}`: the end of every 2026 result.
    pub(super) meta_tail: Bytes,
    /// `serverInfo` as a JSON text.
    pub(super) server_info: Value,
    pub(super) discover: Bytes,
    /// `tools/list`; none without tools.
    pub(super) tools: Option<Pages>,
    /// `initialize` without its first member, the version.
    pub(super) initialize_tail: Bytes,
    /// The versions that are served, newest first.
    pub(super) versions: Value,
}

impl Listings {
    pub(super) fn new(profile: &Profile, offer: &Offer<'_>, sessions: Sessions) -> Self {
        let info = Value::Object(profile.info.clone());
        let meta = json!({SERVER_INFO: info});
        let versions: Vec<&str> = match sessions {
            Sessions::Reject => MODERN.to_vec(),
            Sessions::Stateless | Sessions::Memory => {
                MODERN.iter().chain(&LEGACY).copied().collect()
            }
        };
        let versions = json!(versions);
        let mut discover = Map::new();
        discover.insert("resultType".to_owned(), Value::from("complete"));
        discover.insert("supportedVersions".to_owned(), versions.clone());
        discover.insert(
            "capabilities".to_owned(),
            capabilities(offer, sessions, true),
        );
        let mut initialize = Map::new();
        initialize.insert(
            "capabilities".to_owned(),
            capabilities(offer, sessions, false),
        );
        initialize.insert("serverInfo".to_owned(), info.clone());
        if let Some(text) = &profile.instructions {
            for result in [&mut discover, &mut initialize] {
                result.insert("instructions".to_owned(), Value::from(text.as_str()));
            }
        }
        let hint = offer.caching.get(Cached::Discover);
        discover.insert("ttlMs".to_owned(), Value::from(hint.ttl_ms()));
        discover.insert("cacheScope".to_owned(), Value::from(hint.scope()));
        discover.insert("_meta".to_owned(), meta);
        let meta_tail = profile.meta_tail();
        let items = |legacy: bool| -> Vec<Item> {
            let item = |tool: &Tool| Item::new(tool.name(), &listing(tool, legacy));
            offer.tools.iter().map(item).collect()
        };
        let tools = (!offer.tools.is_empty()).then(|| {
            let hint = offer.caching.get(Cached::Tools);
            Pages::new(
                TOOLS,
                &items(false),
                &items(true),
                offer.paging,
                hint,
                &meta_tail,
            )
        });
        let tail = Value::Object(initialize).to_string();
        Self {
            meta_tail: Bytes::from(meta_tail),
            server_info: info,
            discover: Bytes::from(Value::Object(discover).to_string()),
            tools,
            initialize_tail: Bytes::from(tail.replacen('{', ",", 1)),
            versions,
        }
    }
}

/// What the server can do. What nobody serves is not announced. Without a session nobody could
/// remember the log level that a 2025 client wants.
fn capabilities(offer: &Offer<'_>, sessions: Sessions, modern: bool) -> Value {
    let mut capabilities = Map::new();
    let remembers = modern || sessions == Sessions::Memory;
    let changes = offer.changes && remembers;
    if offer.logging && remembers {
        capabilities.insert("logging".to_owned(), json!({}));
    }
    if offer.completions {
        capabilities.insert("completions".to_owned(), json!({}));
    }
    if offer.prompts {
        capabilities.insert("prompts".to_owned(), json!({"listChanged": changes}));
    }
    if offer.resources {
        let resources = json!({"subscribe": changes, "listChanged": changes});
        capabilities.insert("resources".to_owned(), resources);
    }
    if offer.skills {
        let extensions = json!({skill::EXTENSION: skills::settings()});
        capabilities.insert("extensions".to_owned(), extensions);
    }
    if !offer.tools.is_empty() {
        capabilities.insert("tools".to_owned(), json!({"listChanged": changes}));
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
