//! What changes while a server runs, and who hears of it.

mod listeners;
mod queue;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

pub(super) use self::listeners::{Listeners, Subscription};
use super::{
    Handling, Inner, McpServer, Response,
    dispatch::Call,
    stream::{EventStream, one_event},
    tasks::{self, Tasks},
};
use crate::{
    session::Changed,
    wire::{
        http::Body,
        jsonrpc::{RpcError, code},
        mcp::{envelope::Obj, meta_key::SUBSCRIPTION_ID},
        uri_template::normalize,
    },
};

/// Resources that one listener names.
const MAX_RESOURCES: usize = 1_000;
/// Tasks that one listener names.
const MAX_TASKS: usize = 1_000;

/// Tells the clients of servers what has changed: those of 2026 that listen, and those of 2025
/// that have a session with a stream. Cheap to clone; give it to the builder, and keep a clone
/// where changes happen.
///
/// ```
/// use roscius_actors::server::{Changes, McpServer};
///
/// let changes = Changes::new();
/// let server = McpServer::new("notes", "1.0.0").changes(&changes).build()?;
/// changes.resource_updated("notes://1");
/// # let _ = server;
/// # Ok::<(), roscius_actors::server::ServerError>(())
/// ```
#[derive(Clone, Default)]
pub struct Changes(Arc<Mutex<Vec<Weak<Inner>>>>);

#[derive(Clone, Copy)]
enum Change<'a> {
    Tools,
    Prompts,
    Resources,
    Resource(&'a str),
}

impl Change<'_> {
    const fn method(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Resource(_) => "notifications/resources/updated",
        }
    }

    fn message(self, subscription: Option<&RawValue>) -> Vec<u8> {
        let mut params = Map::new();
        if let Some(id) = subscription {
            params.insert("_meta".to_owned(), json!({SUBSCRIPTION_ID: id}));
        }
        if let Self::Resource(uri) = self {
            params.insert("uri".to_owned(), Value::from(uri));
        }
        let mut message = Map::new();
        message.insert("jsonrpc".to_owned(), Value::from("2.0"));
        message.insert("method".to_owned(), Value::from(self.method()));
        if !params.is_empty() {
            message.insert("params".to_owned(), Value::Object(params));
        }
        Value::Object(message).to_string().into_bytes()
    }
}

impl Changes {
    /// Makes a handle that no server has yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that the list of tools has changed.
    pub fn tools_list_changed(&self) {
        self.tell(Change::Tools);
    }

    /// Says that the list of prompts has changed.
    pub fn prompts_list_changed(&self) {
        self.tell(Change::Prompts);
    }

    /// Says that the list of resources, or of templates, has changed.
    pub fn resources_list_changed(&self) {
        self.tell(Change::Resources);
    }

    /// Says that the contents of a resource have changed, to those who have subscribed to it.
    pub fn resource_updated(&self, uri: &str) {
        self.tell(Change::Resource(uri));
    }

    pub(super) fn add(&self, server: &Arc<Inner>) {
        let mut servers = self.servers();
        servers.retain(|server| server.strong_count() > 0);
        servers.push(Arc::downgrade(server));
    }

    fn servers(&self) -> MutexGuard<'_, Vec<Weak<Inner>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, change: Change<'_>) {
        let servers: Vec<Arc<Inner>> = self.servers().iter().filter_map(Weak::upgrade).collect();
        for server in servers {
            if let Some(store) = &server.memory {
                let resource = match change {
                    Change::Resource(uri) => Some(Arc::from(normalize(uri))),
                    _ => None,
                };
                store.tell(&Changed {
                    message: Arc::from(change.message(None)),
                    resource,
                });
            }
            server.listeners.tell(change);
        }
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Changes")
            .field("servers", &self.servers().len())
            .finish()
    }
}

impl McpServer {
    /// Gives the handle by which clients hear of changes, if the server was built with one.
    #[must_use]
    pub fn changes(&self) -> Option<&Changes> {
        self.0.changes.as_ref()
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Filter {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    resource_subscriptions: Vec<String>,
    task_ids: Vec<String>,
    /// The resources in normal form.
    #[serde(skip)]
    normal: Vec<String>,
    /// The tasks that the listener can reach.
    #[serde(skip)]
    tasks: Vec<tasks::Key>,
}

impl Filter {
    fn lets_through(&self, change: Change<'_>) -> bool {
        match change {
            Change::Tools => self.tools_list_changed,
            Change::Prompts => self.prompts_list_changed,
            Change::Resources => self.resources_list_changed,
            Change::Resource(uri) => {
                let uri = normalize(uri);
                self.normal.contains(&uri)
            }
        }
    }

    /// Leaves what the server has, and gives it in words.
    fn honour(&mut self, server: &Inner, call: &Call<'_>) -> Value {
        let changes = server.changes.is_some();
        self.tools_list_changed &= changes && server.listings.tools.is_some();
        self.prompts_list_changed &= changes && server.prompts.is_some();
        self.resources_list_changed &= changes && server.resources.is_some();
        if !changes || server.resources.is_none() {
            self.resource_subscriptions.clear();
        }
        self.tasks = tasks::reachable(server, call, &self.task_ids);
        let wanted = self.resource_subscriptions.iter();
        self.normal = wanted.map(|uri| normalize(uri)).collect();
        let mut honoured = Map::new();
        for (name, on) in [
            ("toolsListChanged", self.tools_list_changed),
            ("promptsListChanged", self.prompts_list_changed),
            ("resourcesListChanged", self.resources_list_changed),
        ] {
            if on {
                honoured.insert(name.to_owned(), Value::from(true));
            }
        }
        if !self.resource_subscriptions.is_empty() {
            let uris = json!(self.resource_subscriptions);
            honoured.insert("resourceSubscriptions".to_owned(), uris);
        }
        if !self.tasks.is_empty() {
            let ids: Vec<&str> = self.tasks.iter().map(|key| key.id.as_str()).collect();
            honoured.insert("taskIds".to_owned(), json!(ids));
        }
        Value::Object(honoured)
    }
}

/// Serves `subscriptions/listen`.
pub(super) fn listen(server: &McpServer, call: Call<'_>) -> Handling {
    let has_tasks = server.0.tasks.as_ref().is_some_and(Tasks::extension);
    if server.0.changes.is_none() && !has_tasks {
        return call.not_found();
    }
    if !call.streams {
        let message = "Accept has to allow text/event-stream";
        return call.error_status(406, &RpcError::new(code::INVALID_REQUEST, message));
    }
    let invalid = |message: String| RpcError::new(code::INVALID_PARAMS, message);
    let filter = call.params.notifications.map_or("null", RawValue::get);
    let mut filter = match serde_json::from_str::<Obj<Filter>>(filter) {
        Ok(Obj(filter)) => filter,
        Err(error) => return call.error(&invalid(format!("notifications: {error}"))),
    };
    if filter.resource_subscriptions.len() > MAX_RESOURCES {
        let message = format!("at most {MAX_RESOURCES} resources can be named");
        return call.error(&invalid(message));
    }
    if filter.task_ids.len() > MAX_TASKS {
        let message = format!("at most {MAX_TASKS} tasks can be named");
        return call.error(&invalid(message));
    }
    if has_tasks
        && !filter.task_ids.is_empty()
        && let Err(error) = tasks::require_extension(&call)
    {
        return call.error_status(400, &error);
    }
    let honoured = filter.honour(&server.0, &call);
    let Ok(id) = RawValue::from_string(call.id.to_owned()) else {
        return call.error(&invalid("the id cannot be read".to_owned()));
    };
    let acknowledged = json!({
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {"_meta": {SUBSCRIPTION_ID: id}, "notifications": honoured},
    });
    let Some(subscription) = server.0.listeners.add(id, filter) else {
        let error = RpcError::new(code::INTERNAL_ERROR, "too many clients listen");
        return call.error_status(503, &error);
    };
    let first = one_event(acknowledged.to_string().as_bytes());
    let stream = EventStream::of_events(subscription, first, server.0.keep_alive);
    Response::new(200, Body::Stream(stream)).into()
}
