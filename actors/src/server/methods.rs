//! Every method and what serves it.

use super::{
    Handling, McpServer, Response, call, changes, completion, dispatch::Call, listing::Initialize,
    memory, prompts, reply, resources, skills, tasks,
};
use crate::wire::{
    jsonrpc::{RpcError, code},
    version::{LEGACY, V2025_11_25},
};

/// What serves a method.
pub(super) type Serve = fn(&McpServer, Call<'_>) -> Handling;

/// Which member of the parameters `Mcp-Name` repeats.
#[derive(Clone, Copy)]
pub(super) enum Mirror {
    Nothing,
    Name,
    Uri,
    TaskId,
}

/// What a request of a method is about.
#[derive(Clone, Copy)]
pub(super) enum Subject {
    Nothing,
    /// What `name` says.
    Name,
    /// What `uri` says.
    Uri,
    /// What `ref` says.
    Reference,
    /// What `taskId` says.
    Task,
}

/// A method and what serves it in each era.
pub(super) struct MethodDef {
    pub(super) name: &'static str,
    pub(super) subject: Subject,
    pub(super) mirror: Mirror,
    pub(super) modern: Option<Serve>,
    pub(super) legacy: Option<Serve>,
}

/// Every method, the busiest first.
const METHODS: [MethodDef; 23] = [
    both("tools/call", call::tools_call)
        .about(Subject::Name)
        .mirrors(Mirror::Name),
    both("tools/list", tools_list),
    both("resources/read", resources::read)
        .about(Subject::Uri)
        .mirrors(Mirror::Uri),
    both("resources/list", resources::list),
    both("resources/templates/list", resources::templates_list),
    both("prompts/get", prompts::get)
        .about(Subject::Name)
        .mirrors(Mirror::Name),
    both("prompts/list", prompts::list),
    both("completion/complete", completion::complete).about(Subject::Reference),
    both("skills/list", skills::list),
    both("skills/get", skills::get).about(Subject::Uri),
    both("resources/directory/read", skills::children).about(Subject::Uri),
    both("tasks/get", tasks::get)
        .about(Subject::Task)
        .mirrors(Mirror::TaskId),
    both("tasks/cancel", tasks::cancel)
        .about(Subject::Task)
        .mirrors(Mirror::TaskId),
    modern("tasks/update", tasks::update)
        .about(Subject::Task)
        .mirrors(Mirror::TaskId),
    legacy("tasks/result", tasks::result).about(Subject::Task),
    legacy("tasks/list", tasks::list),
    modern("server/discover", discover),
    legacy("initialize", initialize),
    modern("subscriptions/listen", changes::listen),
    legacy("resources/subscribe", memory::subscribe).about(Subject::Uri),
    legacy("resources/unsubscribe", memory::unsubscribe).about(Subject::Uri),
    legacy("logging/setLevel", memory::set_level),
    legacy("ping", ping),
];

const fn both(name: &'static str, serve: Serve) -> MethodDef {
    MethodDef {
        name,
        subject: Subject::Nothing,
        mirror: Mirror::Nothing,
        modern: Some(serve),
        legacy: Some(serve),
    }
}

const fn modern(name: &'static str, serve: Serve) -> MethodDef {
    MethodDef {
        legacy: None,
        ..both(name, serve)
    }
}

const fn legacy(name: &'static str, serve: Serve) -> MethodDef {
    MethodDef {
        modern: None,
        ..both(name, serve)
    }
}

impl MethodDef {
    const fn about(mut self, subject: Subject) -> Self {
        self.subject = subject;
        self
    }

    const fn mirrors(mut self, mirror: Mirror) -> Self {
        self.mirror = mirror;
        self
    }
}

/// Finds a method.
pub(super) fn find(name: &str) -> Option<&'static MethodDef> {
    METHODS.iter().find(|method| method.name == name)
}

fn tools_list(server: &McpServer, call: Call<'_>) -> Handling {
    let Some(pages) = &server.0.listings.tools else {
        return call.not_found();
    };
    let cursor = call.params.cursor.as_deref();
    call.page(pages.get(&server.0.paging.key, cursor))
}

fn discover(server: &McpServer, call: Call<'_>) -> Handling {
    call.result(&[&server.0.listings.discover])
}

fn initialize(server: &McpServer, call: Call<'_>) -> Handling {
    let Some(asked) = call.params.protocol_version.as_deref() else {
        let error = RpcError::new(code::INVALID_PARAMS, "protocolVersion is required");
        return call.error(&error);
    };
    let known = LEGACY.into_iter().find(|version| *version == asked);
    let version = known.unwrap_or(V2025_11_25);
    match server.0.kept(&call.options, call.head, "initialize") {
        Some(store) => memory::initialize(server, store, &call, version),
        None => {
            let bound = !call.options.owner().is_anonymous();
            initialize_result(&server.0.listings.initialize, call.id, version, bound).into()
        }
    }
}

/// Gives what `initialize` answers; `bound` says that tasks belong to the client alone.
pub(super) fn initialize_result(
    greeting: &Initialize,
    id: &str,
    version: &str,
    bound: bool,
) -> Response {
    let parts: [&[u8]; 4] = [
        br#"{"protocolVersion":""#,
        version.as_bytes(),
        b"\"",
        greeting.tail(version, bound),
    ];
    Response::json(200, reply::result(id, &parts))
}

fn ping(_server: &McpServer, call: Call<'_>) -> Handling {
    call.result(&[b"{}"])
}
