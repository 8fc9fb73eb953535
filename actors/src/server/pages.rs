//! Lists in pages. What never changes is written once, when the server is built.

use bytes::Bytes;
use serde::Serialize;

use super::{
    answer::Members,
    cursor::{ItemKey, Place, unknown_cursor},
};
use crate::{
    machine::seal::SealKey,
    wire::{cache::CacheHint, jsonrpc::RpcError},
};

/// One item of a list as JSON text.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) key: ItemKey,
    pub(super) json: String,
}

impl Item {
    pub(super) fn new(name: &str, listing: &impl Serialize) -> Self {
        Self {
            key: ItemKey::of(name),
            json: serde_json::to_string(listing).unwrap_or_default(),
        }
    }
}

/// What all pages of one list have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListKind {
    pub(super) method: &'static str,
    /// The member of the result that holds the items.
    pub(super) member: &'static str,
}

/// How lists are cut and sent.
#[derive(Clone, Debug)]
pub(super) struct Paging {
    pub(super) size: usize,
    pub(super) key: SealKey,
}

impl Paging {
    /// Cuts the page out that a cursor asks for.
    pub(super) fn cut(
        &self,
        kind: ListKind,
        items: &[&Item],
        cursor: Option<&str>,
        cache: CacheHint,
    ) -> Result<Members, RpcError> {
        let start = match cursor {
            None => 0,
            Some(cursor) => {
                let place = Place::open(&self.key, kind.method, cursor)?;
                place.start(items.iter().map(|item| item.key))
            }
        };
        let rest = items.get(start..).unwrap_or_default();
        let page = rest.get(..self.size).unwrap_or(rest);
        let next = page
            .last()
            .filter(|_| rest.len() > page.len())
            .map(|last| Place {
                offset: start + page.len(),
                after: last.key,
            });
        let next = next.map(|place| place.seal(&self.key, kind.method));
        let modern = page.iter().map(|item| item.json.as_str());
        Ok(Members {
            text: members(kind, modern, next.as_deref()),
            cache: Some(cache),
            meta: None,
            ..Members::default()
        })
    }
}

fn members<'a>(kind: ListKind, items: impl Iterator<Item = &'a str>, next: Option<&str>) -> String {
    let mut text = format!("\"{}\":[", kind.member);
    for (at, item) in items.enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(item);
    }
    text.push(']');
    if let Some(next) = next {
        text.push_str(",\"nextCursor\":\"");
        text.push_str(next);
        text.push('"');
    }
    text
}

/// The pages of a list that never changes: results as JSON text, of 2026 and of 2025.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    kind: ListKind,
    size: usize,
    pages: Vec<[Bytes; 2]>,
}

impl Pages {
    /// Writes the pages. `legacy` holds the items as 2025 knows them; `meta_tail` is the end of
    /// every 2026 result.
    pub(super) fn new(
        kind: ListKind,
        modern: &[Item],
        legacy: &[Item],
        paging: &Paging,
        cache: CacheHint,
        meta_tail: &str,
    ) -> Self {
        let pages = modern.len().div_ceil(paging.size).max(1);
        let page = |at: usize| {
            let start = at * paging.size;
            let end = (start + paging.size).min(modern.len());
            let last = modern.get(..end).and_then(<[Item]>::last);
            let next = last.filter(|_| end < modern.len()).map(|last| Place {
                offset: end,
                after: last.key,
            });
            let next = next.map(|place| place.seal(&paging.key, kind.method));
            let text = |items: &[Item]| {
                let items = items.get(start..end).unwrap_or_default().iter();
                members(kind, items.map(|item| item.json.as_str()), next.as_deref())
            };
            let (ttl_ms, scope) = (cache.ttl_ms(), cache.scope());
            let modern = format!(
                "{{\"resultType\":\"complete\",{},\"ttlMs\":{ttl_ms},\"cacheScope\":\"{scope}\"{meta_tail}",
                text(modern)
            );
            let legacy = format!("{{{}}}", text(legacy));
            [Bytes::from(modern), Bytes::from(legacy)]
        };
        Self {
            kind,
            size: paging.size,
            pages: (0..pages).map(page).collect(),
        }
    }

    /// Gives the page that a cursor asks for: of 2026 and of 2025.
    pub(super) fn get(&self, key: &SealKey, cursor: Option<&str>) -> Result<&[Bytes; 2], RpcError> {
        let at = match cursor {
            None => 0,
            Some(cursor) => {
                let place = Place::open(key, self.kind.method, cursor)?;
                // Another node with the same key may cut other pages.
                if !place.offset.is_multiple_of(self.size) {
                    return Err(unknown_cursor());
                }
                place.offset / self.size
            }
        };
        self.pages.get(at).ok_or_else(unknown_cursor)
    }
}
