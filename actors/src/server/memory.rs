//! The 2025 requests of a server that keeps sessions.

use std::sync::Arc;

use serde_json::{Map, Value, value::RawValue};

use super::{
    ClientCapabilities, Handling, Inner, McpServer, Options, Response, Sessions,
    dispatch::{Call, RETRY_AFTER},
    methods::initialize_result,
    reply,
    stream::EventStream,
};
use crate::{
    machine::era::Era,
    session::{
        Answer, Attach, AttachError, Full, Greeting, Session, SessionKey, SessionStore, Watch,
    },
    wire::{
        http::{self, Body, Head, Media, Method},
        jsonrpc::{RequestId, RpcError, code},
        mcp::{LogLevel, envelope::Params},
        uri_template::normalize,
    },
};

const INITIALIZE: &str = "initialize";
/// When a client may ask for a session again after there were too many, in seconds.
const RETRY_WHEN_FULL: u32 = 30;

/// Makes a refusal that belongs to no request.
fn refuse(status: u16, code: i64, message: &'static str) -> Response {
    reply::refuse(status, None, false, &RpcError::new(code, message))
}

fn not_found() -> Response {
    refuse(404, code::SESSION_NOT_FOUND, "Session not found")
}

impl Inner {
    /// Gives the sessions that a 2025 message belongs to; none where each is served by itself.
    ///
    /// A pipe has one client, so where nothing else was chosen that client gets a session. What it
    /// sends before it says `initialize` needs none, and has no header to name one.
    pub(super) fn kept(
        &self,
        options: &Options,
        head: &Head<'_>,
        method: &str,
    ) -> Option<&SessionStore> {
        let kept = if options.headerless {
            head.session_id.is_some() || method == INITIALIZE
        } else {
            self.sessions == Sessions::Memory
        };
        self.memory.as_ref().filter(|_| kept)
    }
}

impl McpServer {
    /// Finds the session that a request names, and notes that its client is there.
    fn named(
        &self,
        store: &SessionStore,
        head: &Head<'_>,
        options: &Options,
    ) -> Result<Arc<Session>, Response> {
        let Some(id) = head.session_id else {
            let message = "Bad Request: Mcp-Session-Id header is required";
            return Err(refuse(400, code::SERVER_ERROR, message));
        };
        let key = SessionKey::read(options.owner(), id).ok_or_else(not_found)?;
        let session = store.find(&key).ok_or_else(not_found)?;
        session.touch();
        Ok(session)
    }

    /// Finds the session of a 2025 message; `initialize` has none yet, and neither has any message
    /// to a server that keeps none.
    pub(super) fn session_of(
        &self,
        head: &Head<'_>,
        era: Era,
        method: &str,
        options: &Options,
    ) -> Result<Option<Arc<Session>>, Response> {
        let kept = self.0.kept(options, head, method);
        let Some(store) = kept.filter(|_| !era.is_modern()) else {
            return Ok(None);
        };
        if era == Era::Unknown {
            return Err(self.unknown_version(head));
        }
        if method != INITIALIZE {
            return self.named(store, head, options).map(Some);
        }
        if head.session_id.is_none() {
            return Ok(None);
        }
        self.named(store, head, options)?;
        let message = "Invalid Request: Server already initialized";
        Err(refuse(400, code::INVALID_REQUEST, message))
    }

    /// Serves GET and DELETE.
    pub(super) fn session_request(
        &self,
        store: &SessionStore,
        head: &Head<'_>,
        options: &Options,
    ) -> Handling {
        let get = head.method == Method::Get;
        if get && self.0.work.is_draining() {
            return self.draining(false).into();
        }
        if let Some(refused) = get.then(|| self.over_rate(None, false, options)).flatten() {
            return refused.into();
        }
        if get && !http::accepts(head.accept, Media::Events) {
            let message = "Not Acceptable: Client must accept text/event-stream";
            return refuse(406, code::SERVER_ERROR, message).into();
        }
        if crate::machine::era::choose(head.protocol_version, None) == Era::Unknown {
            return self.unknown_version(head).into();
        }
        let session = match self.named(store, head, options) {
            Ok(session) => session,
            Err(refused) => return refused.into(),
        };
        if get {
            return self.open_stream(session, head);
        }
        store.end(&session);
        Response::empty(200).into()
    }

    fn open_stream(&self, session: Arc<Session>, head: &Head<'_>) -> Handling {
        let after = head.last_event_id.map(<[u8]>::to_vec);
        let keep_alive = self.0.keep_alive;
        Handling::later(Box::pin(async move {
            let Some(actor) = session.actor() else {
                return not_found();
            };
            match actor.send(Attach { after }).await {
                Ok(Ok(reader)) => {
                    let stream = EventStream::of_session(reader, keep_alive);
                    Response::new(200, Body::Stream(stream))
                }
                Ok(Err(AttachError::Conflict)) => {
                    let message = "Conflict: Only one SSE stream is allowed per session";
                    refuse(409, code::SERVER_ERROR, message)
                }
                Ok(Err(AttachError::Unknown)) => {
                    let message = "Bad Request: the event of Last-Event-ID is not kept";
                    refuse(400, code::SERVER_ERROR, message)
                }
                Err(_) => not_found(),
            }
        }))
    }

    /// Takes the client's answer to a question. Where there are no sessions nobody has asked.
    pub(super) fn response(
        &self,
        head: &Head<'_>,
        era: Era,
        mut response: Map<String, Value>,
        options: &Options,
    ) -> Handling {
        let session = match self.session_of(head, era, "", options) {
            Ok(Some(session)) => session,
            Ok(None) => {
                return match self.check_unanswered(era, head, None) {
                    Ok(()) => Response::empty(202).into(),
                    Err(error) => reply::refuse(400, None, false, &error).into(),
                };
            }
            Err(refused) => return refused.into(),
        };
        let id = response.get_mut("id").map(Value::take).unwrap_or_default();
        let Ok(id) = serde_json::from_value::<RequestId>(id) else {
            let message = "Invalid Request: the id of the response cannot be read";
            return refuse(400, code::INVALID_REQUEST, message).into();
        };
        let outcome = match response.remove("result") {
            Some(result) => Ok(result),
            None => Err(
                serde_json::from_value(response.remove("error").unwrap_or_default())
                    .unwrap_or_else(|_| RpcError::new(code::INTERNAL_ERROR, "unreadable error")),
            ),
        };
        Handling::later(Box::pin(async move {
            let Some(actor) = session.actor() else {
                return not_found();
            };
            match actor.send(Answer { id, outcome }).await {
                Ok(()) => Response::empty(202),
                Err(_) => not_found(),
            }
        }))
    }

    /// Ends all sessions, within a deadline.
    pub(super) async fn end_sessions(&self, deadline: std::time::Duration) {
        if let Some(store) = &self.0.memory {
            // The threads of the sessions end them at once or never.
            let _ = tokio::time::timeout(deadline, store.end_all()).await;
        }
    }

    /// Tells the client that was asked to open this page that the page is done; see
    /// [`Question::elicitation_id`](crate::tool::Question::elicitation_id). Gives whether a session was
    /// asked; it hears of it if it reads its GET stream.
    pub fn elicitation_complete(&self, id: &str) -> bool {
        let store = self.0.memory.as_ref();
        store.is_some_and(|store| store.page_done(id))
    }

    /// Tells how many 2025 sessions are open.
    #[must_use]
    pub fn open_sessions(&self) -> usize {
        self.0.memory.as_ref().map_or(0, SessionStore::open)
    }
}

/// Handles a notification of a session.
pub(super) fn notification(session: &Session, method: &str, params: &Params<'_>) {
    match method {
        "notifications/initialized" => session.set_initialized(),
        "notifications/cancelled" => {
            if let Some(id) = params.request_id {
                session.cancel(id.get());
            }
        }
        _ => {}
    }
}

/// Serves `initialize`: opens a session.
pub(super) fn initialize(
    server: &McpServer,
    store: &SessionStore,
    call: &Call<'_>,
    version: &'static str,
) -> Handling {
    let declared = call.params.capabilities.map_or("{}", RawValue::get);
    let greeting = Greeting {
        version,
        capabilities: ClientCapabilities::read_of(version, declared),
    };
    let session = match store.start(call.options.owner(), greeting) {
        Ok(session) => session,
        Err(full) => {
            let message = match full {
                Full::TooMany => "too many sessions are open",
                Full::NoThread => "no session can be opened",
            };
            let error = RpcError::new(code::SERVER_ERROR, message);
            let mut response = reply::refuse(503, Some(call.id), false, &error);
            response.retry_after = Some(RETRY_WHEN_FULL.max(RETRY_AFTER));
            return response.into();
        }
    };
    let mut response = initialize_result(&server.0.listings.greeting, call.id, version, true);
    response.session = Some(session.id());
    response.into()
}

/// Serves `logging/setLevel`.
pub(super) fn set_level(_server: &McpServer, call: Call<'_>) -> Handling {
    let Some(session) = &call.session else {
        return call.not_found();
    };
    let level = call.params.level.as_deref().and_then(LogLevel::parse);
    let Some(level) = level else {
        let error = RpcError::new(code::INVALID_PARAMS, "the log level is not known");
        return call.error(&error);
    };
    session.set_log_level(level);
    call.result(&[b"{}"])
}

/// Serves `resources/subscribe`.
pub(super) fn subscribe(server: &McpServer, call: Call<'_>) -> Handling {
    watch(server, call, true)
}

/// Serves `resources/unsubscribe`.
pub(super) fn unsubscribe(server: &McpServer, call: Call<'_>) -> Handling {
    watch(server, call, false)
}

fn watch(server: &McpServer, call: Call<'_>, on: bool) -> Handling {
    let (Some(session), Some(resources), Some(_)) =
        (&call.session, &server.0.resources, &server.0.changes)
    else {
        return call.not_found();
    };
    let Some(uri) = call.params.uri.as_deref() else {
        let error = RpcError::new(code::INVALID_PARAMS, "uri is required");
        return call.error(&error);
    };
    if on && !resources.knows(uri) {
        let error = RpcError::new(code::RESOURCE_NOT_FOUND, "Resource not found");
        return call.error(&error.with_data(serde_json::json!({"uri": uri})));
    }
    let session = Arc::clone(session);
    let resource = normalize(uri);
    let id = call.id.to_owned();
    Handling::later(Box::pin(async move {
        let Some(actor) = session.actor() else {
            return not_found();
        };
        match actor.send(Watch { resource, on }).await {
            Ok(true) => Response::json(200, reply::result(&id, &[b"{}"])),
            Ok(false) => {
                let error = RpcError::new(code::SERVER_ERROR, "too many subscriptions");
                reply::refuse(200, Some(&id), false, &error)
            }
            Err(_) => not_found(),
        }
    }))
}
