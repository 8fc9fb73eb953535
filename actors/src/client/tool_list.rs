//! The tools of a server as one connection knows them.

use std::{collections::HashMap, rc::Rc, sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{
    config::Era,
    connection::{Link, Request, Ticket},
    error::ClientError,
};
use crate::{
    machine::{
        client_policy::Pages,
        param_headers::{self, ParamHeader},
    },
    wire::{content::ToolListing, mcp::envelope::Obj},
};

/// A list as the server gave it, without the tools that must not be used.
pub(super) struct ToolList {
    pub(super) listings: Arc<[ToolListing]>,
    mirrored: HashMap<String, Vec<ParamHeader>>,
    /// When the server's own word about the age of the list ends. Without one the list stays until
    /// the server says that it changed.
    stale_at: Option<Instant>,
}

impl ToolList {
    /// The properties of a tool's arguments that become headers.
    pub(super) fn mirrored(&self, tool: &str) -> &[ParamHeader] {
        self.mirrored.get(tool).map_or(&[], Vec::as_slice)
    }

    pub(super) fn find(&self, tool: &str) -> Option<&ToolListing> {
        self.listings.iter().find(|listing| listing.name == tool)
    }

    fn is_fresh(&self) -> bool {
        self.stale_at.is_none_or(|at| Instant::now() < at)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<Value>,
    #[serde(default)]
    next_cursor: Option<String>,
    #[serde(default)]
    ttl_ms: Option<f64>,
}

impl Link {
    /// Gives the tools, from the connection's memory while it is fresh.
    pub(super) async fn tools(&self) -> Result<Rc<ToolList>, ClientError> {
        let fresh = || {
            let known = self.state.borrow().tools.clone();
            known.filter(|list| list.is_fresh())
        };
        if let Some(list) = fresh() {
            return Ok(list);
        }
        let _one_at_a_time = self.listing.lock().await;
        match fresh() {
            Some(list) => Ok(list),
            None => self.read_tools().await,
        }
    }

    /// Reads the list again, whatever is known.
    pub(super) async fn tools_again(&self) -> Result<Rc<ToolList>, ClientError> {
        self.state.borrow_mut().tools = None;
        self.tools().await
    }

    async fn read_tools(&self) -> Result<Rc<ToolList>, ClientError> {
        let facts = self.ready().await?;
        if !facts.capabilities.contains_key("tools") && facts.era == Era::Modern {
            tracing::debug!("the server declares no tools; it is asked all the same");
        }
        let mut pages = Pages::default();
        let mut cursor = None;
        let mut listings = Vec::new();
        let mut ttl = None;
        loop {
            let mut params = Map::new();
            if let Some(cursor) = cursor.take() {
                params.insert("cursor".to_owned(), Value::String(cursor));
            }
            let result = self
                .request(&Request::new("tools/list", params), &Ticket::new(None))
                .await?;
            let Obj(page): Obj<Page> = serde_json::from_str(result.get())
                .map_err(|error| ClientError::protocol(format!("tools/list: {error}")))?;
            listings.extend(page.tools.into_iter().filter_map(listing));
            ttl = shorter(ttl, page.ttl_ms);
            cursor = pages.next(page.next_cursor)?;
            if cursor.is_none() {
                break;
            }
        }
        let mirrors = facts.era == Era::Modern && self.shared.config.transport.has_headers();
        let list = Rc::new(tool_list(listings, mirrors, ttl));
        self.state.borrow_mut().tools = Some(Rc::clone(&list));
        Ok(list)
    }
}

/// Reads one listing; a broken one costs that tool alone.
fn listing(value: Value) -> Option<ToolListing> {
    match ToolListing::deserialize(&value) {
        Ok(listing) => Some(listing),
        Err(error) => {
            let name = value.get("name").and_then(Value::as_str).unwrap_or("?");
            tracing::warn!(tool = name, %error, "a tool cannot be used: its listing is broken");
            None
        }
    }
}

fn tool_list(listings: Vec<ToolListing>, mirrors: bool, ttl: Option<Duration>) -> ToolList {
    let mut mirrored = HashMap::new();
    let usable = |listing: &ToolListing| {
        if !mirrors {
            return true;
        }
        match param_headers::annotated(&listing.input_schema) {
            Ok(headers) if headers.is_empty() => true,
            Ok(headers) => {
                mirrored.insert(listing.name.clone(), headers);
                true
            }
            Err(error) => {
                tracing::warn!(tool = listing.name, %error, "a tool cannot be used over HTTP");
                false
            }
        }
    };
    let listings: Vec<ToolListing> = listings.into_iter().filter(usable).collect();
    ToolList {
        listings: listings.into(),
        mirrored,
        stale_at: ttl.map(|ttl| Instant::now() + ttl),
    }
}

/// A list is as fresh as its shortest-lived page. Zero says nothing: most servers send it.
fn shorter(ttl: Option<Duration>, page_ms: Option<f64>) -> Option<Duration> {
    /// Nothing is believed for longer than a day.
    const LONGEST_MS: f64 = 86_400_000.0;
    let page = page_ms
        .filter(|ms| *ms > 0.0)
        .map(|ms| Duration::from_secs_f64(ms.min(LONGEST_MS) / 1000.0));
    match (ttl, page) {
        (Some(ttl), Some(page)) => Some(ttl.min(page)),
        (ttl, page) => ttl.or(page),
    }
}
