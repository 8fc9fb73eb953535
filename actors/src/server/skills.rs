//! The skills extension: `skills/list`, `skills/get` and `resources/directory/read`.

use serde_json::{Value, json};

use super::{
    Handling, McpServer,
    answer::Members,
    caching::{Cached, Caching},
    dispatch::Call,
    pages::{Item, ListKind, Pages, Paging},
};
use crate::{
    skill::Skills,
    wire::{
        cache::CacheHint,
        jsonrpc::{RpcError, code},
    },
};

const LIST: ListKind = ListKind {
    method: "skills/list",
    member: "skills",
};
const CHILDREN: ListKind = ListKind {
    method: "resources/directory/read",
    member: "resources",
};

/// The skills of a server and their list.
pub(super) struct Served {
    pub(super) skills: Skills,
    list: Pages,
}

impl Served {
    pub(super) fn new(skills: Skills, paging: &Paging, caching: &Caching, meta_tail: &str) -> Self {
        let items = skills.list().iter();
        let items: Vec<Item> = items.map(|skill| Item::new(&skill.uri, skill)).collect();
        let hint = caching.get(Cached::Skills);
        Self {
            list: Pages::new(LIST, &items, &items, paging, hint, meta_tail),
            skills,
        }
    }
}

/// What `capabilities.extensions` says of it.
pub(super) fn settings() -> Value {
    json!({"directoryRead": true})
}

pub(super) fn list(server: &McpServer, call: Call<'_>) -> Handling {
    let Some(served) = &server.0.skills else {
        return call.not_found();
    };
    let cursor = call.params.cursor.as_deref();
    call.page(served.list.get(&server.0.paging.key, cursor))
}

pub(super) fn get(server: &McpServer, call: Call<'_>) -> Handling {
    let Some(served) = &server.0.skills else {
        return call.not_found();
    };
    let Some(uri) = call.params.uri.as_deref() else {
        return call.error(&RpcError::new(code::INVALID_PARAMS, "uri is required"));
    };
    let Some(skill) = served.skills.get(uri) else {
        return call.error(&unknown("skill", uri));
    };
    let skill = serde_json::to_string(skill).unwrap_or_default();
    let members = Members {
        text: format!("\"skill\":{skill}"),
        cache: Some(server.0.caching.get(Cached::Skills)),
        meta: None,
        ..Members::default()
    };
    call.members(&server.0, members)
}

pub(super) fn children(server: &McpServer, call: Call<'_>) -> Handling {
    let Some(served) = &server.0.skills else {
        return call.not_found();
    };
    let Some(uri) = call.params.uri.as_deref() else {
        return call.error(&RpcError::new(code::INVALID_PARAMS, "uri is required"));
    };
    let Some(children) = served.skills.children(uri) else {
        return call.error(&unknown("folder", uri));
    };
    let items = children.iter();
    let items: Vec<Item> = items.map(|child| Item::new(&child.uri, child)).collect();
    let items: Vec<&Item> = items.iter().collect();
    let cursor = call.params.cursor.as_deref();
    let page = server
        .0
        .paging
        .cut(CHILDREN, &items, cursor, CacheHint::NONE);
    match page {
        Ok(mut members) => {
            // The extension gives this result no caching.
            members.cache = None;
            call.members(&server.0, members)
        }
        Err(error) => call.error(&error),
    }
}

/// Gives what a file of a skill holds.
pub(super) fn read(server: &McpServer, uri: &str) -> Option<Members> {
    let contents = server.0.skills.as_ref()?.skills.read(uri)?;
    let contents = serde_json::to_string(&[contents]).unwrap_or_default();
    Some(Members {
        text: format!("\"contents\":{contents}"),
        cache: Some(server.0.caching.get(Cached::Reads)),
        meta: None,
        ..Members::default()
    })
}

fn unknown(what: &str, uri: &str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, format!("there is no {what} {uri}"))
        .with_data(json!({"uri": uri}))
}
