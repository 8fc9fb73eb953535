//! `resources/list`, `resources/templates/list` and `resources/read`.

use std::{collections::HashMap, collections::HashSet, sync::Arc};

use futures_util::future::join_all;
use serde_json::json;

use super::{
    Handling, Inner, McpServer, ServerError,
    answer::{Answer, Members},
    caching::{Cached, Caching},
    cursor::ItemKey,
    dispatch::Call,
    pages::{Item, ListKind, Pages, Paging},
    prepare::{Subject, prepare, prepare_quiet},
    running::Job,
    skills,
};
use crate::{
    handler::{Rejection, Served, Serving},
    machine::era::Era,
    resource::{ListRequest, ReadOutput, ReadRequest, Resource},
    tool::{Context, ToolError},
    wire::{
        jsonrpc::{RpcError, code},
        resource::ResourceListing,
        uri_template::{MAX_URI_BYTES, normalize},
    },
};

const LIST: ListKind = ListKind {
    method: "resources/list",
    member: "resources",
};
const TEMPLATES: ListKind = ListKind {
    method: "resources/templates/list",
    member: "resourceTemplates",
};

/// The resources of a server.
pub(super) struct Resources {
    /// By URI in normal form.
    fixed: HashMap<Box<str>, Resource>,
    /// The most specific first.
    templates: Vec<Resource>,
    /// Templates with a list of their own, in the order in which they were added.
    listed: Vec<Resource>,
    /// The items of fixed resources.
    items: Vec<Item>,
    /// The list, if no function adds to it.
    list: Pages,
    templates_list: Pages,
}

impl Resources {
    /// Checks the resources and writes what never changes; none if there are none. Of `skills` only
    /// the list is kept here.
    pub(super) fn new(
        resources: &[Resource],
        skills: &[ResourceListing],
        context: &Context,
        paging: &Paging,
        caching: &Caching,
        meta_tail: &str,
    ) -> Result<Option<Self>, ServerError> {
        if resources.is_empty() && skills.is_empty() {
            return Ok(None);
        }
        let mut fixed = HashMap::new();
        let mut templates = Vec::new();
        let (mut items, mut template_items) = (Vec::new(), Vec::new());
        let mut addresses = HashSet::new();
        for resource in resources {
            resource.check(context)?;
            let address = normalize(resource.address());
            if !addresses.insert(address.clone()) {
                let address = resource.address().to_owned();
                return Err(ServerError::DuplicateResource(address));
            }
            if let Some(listing) = resource.listing() {
                items.push(Item::new(&listing.uri, &listing));
                fixed.insert(address.into_boxed_str(), resource.clone());
            }
            if let Some(listing) = resource.template_listing() {
                template_items.push(Item::new(&listing.uri_template, &listing));
                templates.push(resource.clone());
            }
        }
        items.extend(
            skills
                .iter()
                .map(|listing| Item::new(&listing.uri, listing)),
        );
        let has_list = |resource: &&Resource| resource.lister().is_some();
        let listed = templates.iter().filter(has_list).cloned().collect();
        templates.sort_by_cached_key(|resource| {
            let template = resource.uri_template();
            std::cmp::Reverse(template.map(|template| template.specificity()))
        });
        let pages = |kind, items: &[Item], cached| {
            let hint = caching.get(cached);
            Pages::new(kind, items, items, paging, hint, meta_tail)
        };
        Ok(Some(Self {
            fixed,
            templates,
            listed,
            list: pages(LIST, &items, Cached::Resources),
            templates_list: pages(TEMPLATES, &template_items, Cached::Templates),
            items,
        }))
    }

    /// Finds what a URI names.
    fn find(&self, uri: &str) -> Option<(&Resource, ReadRequest)> {
        if uri.len() > MAX_URI_BYTES {
            return None;
        }
        let normal = normalize(uri);
        let request = |variables| ReadRequest {
            uri: uri.to_owned(),
            variables,
        };
        if let Some(resource) = self.fixed.get(normal.as_str()) {
            return Some((resource, request(Default::default())));
        }
        self.templates.iter().find_map(|resource| {
            let variables = resource.matches(&normal)?;
            Some((resource, request(variables)))
        })
    }

    /// Tells whether a URI names something.
    pub(super) fn knows(&self, uri: &str) -> bool {
        self.find(uri).is_some()
    }

    /// Finds what has been written as this URI or template.
    pub(super) fn by_address(&self, address: &str) -> Option<&Resource> {
        let normal = normalize(address);
        self.fixed.get(normal.as_str()).or_else(|| {
            let mut templates = self.templates.iter();
            templates.find(|resource| resource.address() == address)
        })
    }
}

pub(super) fn list(server: &McpServer, call: Call<'_>) -> Handling {
    let Some(resources) = &server.0.resources else {
        return call.not_found();
    };
    let cursor = call.params.cursor.as_deref();
    if resources.listed.is_empty() {
        return call.page(resources.list.get(&server.0.paging.key, cursor));
    }
    let prepared = prepare_quiet(&server.0, &call, "a list cannot ask");
    let mut lists = Vec::with_capacity(resources.listed.len());
    for resource in &resources.listed {
        let Some(lister) = resource.lister() else {
            continue;
        };
        match lister.start(&ListRequest, prepared.cx.clone()) {
            Ok(listing) => lists.push(listing),
            Err(rejection) => return call.error(&server.0.rejected(resource.address(), rejection)),
        }
    }
    let owner = Arc::clone(&server.0);
    let cursor = cursor.map(str::to_owned);
    let job = Box::pin(async move {
        let lists = join_all(lists).await;
        merge(&owner, lists, cursor.as_deref())
    });
    prepared.run(&server.0, &call, Job::Request(job))
}

/// Joins the fixed resources and those that functions have listed; the first of equal URIs stays.
fn merge(
    server: &Inner,
    lists: Vec<Served<Vec<ResourceListing>>>,
    cursor: Option<&str>,
) -> Served<Answer> {
    let Some(resources) = &server.resources else {
        return Served::Done(Ok(Members::default()));
    };
    let mut found = Vec::new();
    for (resource, list) in resources.listed.iter().zip(lists) {
        match list {
            Served::Done(mut listings) => {
                resource.complete_listings(&mut listings);
                found.extend(listings.iter().map(|item| Item::new(&item.uri, item)));
            }
            Served::Failed(error) => return Served::Failed(error),
            Served::NeedsInput(_) => return Served::Failed(ToolError::new("a list cannot ask")),
        }
    }
    let mut seen: HashSet<ItemKey> = HashSet::new();
    let mut items: Vec<&Item> = resources.items.iter().chain(&found).collect();
    items.retain(|item| seen.insert(item.key));
    let hint = server.caching.get(Cached::Resources);
    let page = server.paging.cut(LIST, &items, cursor, hint);
    Served::Done(page.map_err(Into::into))
}

pub(super) fn templates_list(server: &McpServer, call: Call<'_>) -> Handling {
    let Some(resources) = &server.0.resources else {
        return call.not_found();
    };
    let cursor = call.params.cursor.as_deref();
    call.page(resources.templates_list.get(&server.0.paging.key, cursor))
}

pub(super) fn read(server: &McpServer, call: Call<'_>) -> Handling {
    let Some(resources) = &server.0.resources else {
        return call.not_found();
    };
    let Some(uri) = call.params.uri.as_deref() else {
        return call.error(&RpcError::new(code::INVALID_PARAMS, "uri is required"));
    };
    let missing = no_resource(call.era, uri);
    if let Some(members) = skills::read(server, uri) {
        return call.members(&server.0, members);
    }
    let Some((resource, request)) = resources.find(uri) else {
        return call.error(&missing);
    };
    let subject = Subject::new("resources/read", uri, "{}");
    let prepared = match prepare(&server.0, &call, &subject) {
        Ok(prepared) => prepared,
        Err(error) => return call.error(&error),
    };
    let reading = match resource.reader().start(&request, prepared.cx.clone()) {
        Ok(reading) => reading,
        // The variables are not of the types that its resources have: there is no such resource.
        Err(Rejection::Arguments(reason)) => {
            tracing::debug!(%reason, "the variables of a uri do not fit");
            return call.error(&missing);
        }
        Err(rejection) => return call.error(&server.0.rejected(uri, rejection)),
    };
    let owner = Arc::clone(&server.0);
    let job = answer(owner, resource.clone(), request, missing, reading);
    prepared.run(&server.0, &call, Job::Request(job))
}

fn answer(
    server: Arc<Inner>,
    resource: Resource,
    request: ReadRequest,
    missing: RpcError,
    reading: Serving<Option<ReadOutput>>,
) -> Serving<Answer> {
    Box::pin(async move {
        let mut output = match reading.await {
            Served::Done(Some(output)) if !output.contents.is_empty() => output,
            Served::Done(_) => return Served::Done(Err(missing.into())),
            Served::Failed(error) => return Served::Failed(error),
            Served::NeedsInput(questions) => return Served::NeedsInput(questions),
        };
        resource.complete_output(&request.uri, &mut output);
        let hint = output.cache.or_else(|| resource.cache_hint());
        let contents = serde_json::to_string(&output.contents).unwrap_or_default();
        Served::Done(Ok(Members {
            text: format!("\"contents\":{contents}"),
            cache: Some(hint.unwrap_or_else(|| server.caching.get(Cached::Reads))),
            meta: output.meta,
            ..Members::default()
        }))
    })
}

/// 2026 has given up the code that 2025 has for it.
pub(super) fn no_resource(era: Era, uri: &str) -> RpcError {
    let code = if era.is_modern() {
        code::INVALID_PARAMS
    } else {
        code::RESOURCE_NOT_FOUND
    };
    RpcError::new(code, format!("Resource not found: {uri}")).with_data(json!({"uri": uri}))
}
