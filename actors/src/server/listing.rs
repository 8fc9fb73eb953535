//! Replies that never change, written once when the server is built.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{
    Sessions,
    caching::{Cached, Caching},
    pages::{Item, ListKind, Pages, Paging},
    skills, tasks,
};
use crate::{
    machine::schema::{in_member, is_object},
    skill,
    tool::Tool,
    wire::{
        mcp::meta_key::SERVER_INFO,
        task::{self, TaskSupport},
        version::{LEGACY, MODERN, V2025_11_25},
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
    /// Some tool runs as a task; whether the extension is served.
    pub(super) tasks: Option<bool>,
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

/// `initialize` without its first member, the version.
#[derive(Clone, Debug)]
pub(super) struct Initialize {
    plain: Bytes,
    /// 2025-11-25, on a server with tasks: for clients whose tasks nobody can tell from those of
    /// others, and for the rest, who can list theirs.
    tasks: Option<[Bytes; 2]>,
}

impl Initialize {
    fn new(profile: &Profile, offer: &Offer<'_>, in_session: bool) -> Self {
        let tail = |tasks: Option<Value>| {
            let mut capabilities = capabilities(offer, in_session, false);
            if let (Some(tasks), Some(members)) = (tasks, capabilities.as_object_mut()) {
                members.insert("tasks".to_owned(), tasks);
            }
            let mut result = Map::new();
            result.insert("capabilities".to_owned(), capabilities);
            let info = Value::Object(profile.info.clone());
            result.insert("serverInfo".to_owned(), info);
            if let Some(text) = &profile.instructions {
                result.insert("instructions".to_owned(), Value::from(text.as_str()));
            }
            Bytes::from(Value::Object(result).to_string().replacen('{', ",", 1))
        };
        let calls = json!({"tools": {"call": {}}});
        Self {
            plain: tail(None),
            tasks: offer.tasks.map(|_| {
                [
                    tail(Some(json!({"cancel": {}, "requests": calls}))),
                    tail(Some(json!({"list": {}, "cancel": {}, "requests": calls}))),
                ]
            }),
        }
    }

    /// Gives the text for a version; `bound` says that tasks belong to the client alone.
    pub(super) fn tail(&self, version: &str, bound: bool) -> &[u8] {
        match &self.tasks {
            Some([_, bound_tail]) if version == V2025_11_25 && bound => bound_tail,
            Some([tail, _]) if version == V2025_11_25 => tail,
            _ => &self.plain,
        }
    }
}

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
    pub(super) initialize: Initialize,
    /// The same where it opens a session.
    pub(super) greeting: Initialize,
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
        discover.insert("capabilities".to_owned(), capabilities(offer, true, true));
        if let Some(text) = &profile.instructions {
            discover.insert("instructions".to_owned(), Value::from(text.as_str()));
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
        Self {
            meta_tail: Bytes::from(meta_tail),
            server_info: info,
            discover: Bytes::from(Value::Object(discover).to_string()),
            tools,
            initialize: Initialize::new(profile, offer, false),
            greeting: Initialize::new(profile, offer, true),
            versions,
        }
    }
}

/// What the server can do. What nobody serves is not announced. Without a session nobody could
/// remember the log level that a 2025 client wants.
fn capabilities(offer: &Offer<'_>, remembers: bool, modern: bool) -> Value {
    let mut capabilities = Map::new();
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
    let mut extensions = Map::new();
    if offer.skills {
        extensions.insert(skill::EXTENSION.to_owned(), skills::settings());
    }
    if modern && offer.tasks == Some(true) {
        extensions.insert(task::EXTENSION.to_owned(), tasks::settings());
    }
    if !extensions.is_empty() {
        capabilities.insert("extensions".to_owned(), Value::Object(extensions));
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
    let support = tool.task_support();
    if let (true, Some(members)) = (support != TaskSupport::Forbidden, listing.as_object_mut()) {
        let execution = json!({"taskSupport": support});
        members.insert("execution".to_owned(), execution);
    }
    // 2025 knows objects only: any other result stands in the member `result`.
    if let Some(schema) = listing.get_mut("outputSchema")
        && !is_object(schema)
    {
        *schema = in_member(schema.take(), "result");
    }
    listing
}
