//! The chat endpoint: `POST` runs, `DELETE` cancels, `OPTIONS` answers a preflight.

mod caller;
mod engine;
mod respond;
#[cfg(test)]
mod tests;

use std::{fmt, future::Future, sync::Arc, time::Duration};

use actix_web::{
    HttpRequest, HttpResponse, Resource,
    dev::{AppService, HttpServiceFactory},
    guard as route,
    http::{StatusCode, header},
    web::{self, Payload, Query, ServiceConfig},
};
use futures_util::future::LocalBoxFuture;
use roscius_actors::{
    chat::Chat,
    machine::run_input::{RunInputLimits, parse_run_input},
    ports::event_log::EventCursor,
    wire::{
        agui::{Event, RunAgentInput},
        ids::{Owner, RunId, ThreadId},
    },
};
use serde::Deserialize;

pub use self::caller::Caller;
use self::{
    caller::Authorize,
    respond::{refused, single_event, unavailable},
};
use super::{
    body::read_body,
    guard::{Cors, Guard},
    stream::{EventBody, Framing, KEEP_ALIVE},
};

/// What a run request may weigh: a long conversation with a few pictures in it. Default 8 MiB.
pub const MAX_CHAT_BODY_BYTES: usize = 8 * 1024 * 1024;

const METHODS: &str = "POST, DELETE, OPTIONS";
/// What `fetchServerSentEvents` sends beside what every page may send; `authorization` is for
/// applications that know their users.
const REQUEST_HEADERS: &str = "authorization, content-type, x-run-id, last-event-id";

/// What the endpoint needs of a chat.
pub(super) trait Runs: Send + Sync + 'static {
    /// Starts a run.
    fn start(&self, run: StartRun) -> LocalBoxFuture<'static, Result<Started, Refused>>;
    /// Cancels a run; tells whether there is one. Of the anonymous owner only one of this thread.
    fn cancel(&self, owner: &Owner, run: &RunId, thread: Option<&ThreadId>) -> bool;
    /// Tells whether no more runs are taken.
    fn is_draining(&self) -> bool;
}

pub(super) struct StartRun {
    pub(super) input: RunAgentInput,
    pub(super) caller: Caller,
}

pub(super) struct Started {
    pub(super) events: EventCursor,
    /// Tells the run that its client has gone.
    pub(super) detach: Box<dyn FnOnce()>,
}

pub(super) enum Refused {
    /// The server goes down or is full: try again later.
    Unavailable(&'static str),
    /// The stream is this one RUN_ERROR.
    Failed(Box<Event>),
}

/// Serves a chat at a path, for [`App::configure`](actix_web::App::configure). Use [`ChatRoutes`]
/// to set anything.
pub fn chat(path: &str, chat: &Chat) -> impl FnOnce(&mut ServiceConfig) + Clone + use<> {
    ChatRoutes::new(path, chat).routes()
}

/// A chat endpoint on its way into an application: `App::configure(endpoint.routes())` or
/// `App::service(endpoint)`.
///
/// | request | answer |
/// | --- | --- |
/// | `POST` with a run request as JSON | 200 and the events of the run; 400, 413 or 415 with a sentence for a body that is none; 503 and `retry-after` while the chat drains or is full |
/// | `DELETE ?runId=&threadId=` | 204, and the run ends with RUN_ERROR `aborted`; 404 for a run that the caller does not own. A caller that [`authorize`](Self::authorize) knows may leave `threadId` out |
/// | `OPTIONS` | 204, with CORS headers for an allowed origin |
///
/// A client that goes away cancels its run, see [`OnDetach`](roscius_actors::chat::OnDetach).
#[derive(Clone)]
pub struct ChatRoutes {
    path: String,
    endpoint: Endpoint,
}

#[derive(Clone)]
struct Endpoint {
    runs: Arc<dyn Runs>,
    guard: Guard,
    authorize: Option<Arc<dyn Authorize>>,
    limits: RunInputLimits,
    max_body_bytes: usize,
    keep_alive: Duration,
}

impl ChatRoutes {
    /// Starts with a path and the chat behind it.
    #[must_use]
    pub fn new(path: &str, chat: &Chat) -> Self {
        Self::over(path, Arc::new(chat.clone()))
    }

    fn over(path: &str, runs: Arc<dyn Runs>) -> Self {
        Self {
            path: path.to_owned(),
            endpoint: Endpoint {
                runs,
                guard: Guard::new(),
                authorize: None,
                limits: RunInputLimits::default(),
                max_body_bytes: MAX_CHAT_BODY_BYTES,
                keep_alive: KEEP_ALIVE,
            },
        }
    }

    /// Lets pages of these origins send requests, see [`Guard::allow_origins`].
    #[must_use]
    pub fn allow_origins<S: Into<String>>(mut self, origins: impl IntoIterator<Item = S>) -> Self {
        self.endpoint.guard = self.endpoint.guard.allow_origins(origins);
        self
    }

    /// Names the hosts that requests may be sent to, see [`Guard::allowed_hosts`].
    #[must_use]
    pub fn allowed_hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.endpoint.guard = self.endpoint.guard.allowed_hosts(hosts);
        self
    }

    /// Sets what a run request may weigh. Default [`MAX_CHAT_BODY_BYTES`]; above it: 413.
    #[must_use]
    pub const fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.endpoint.max_body_bytes = bytes;
        self
    }

    /// Sets the other bounds of a run request; above them: 400.
    #[must_use]
    pub const fn input_limits(mut self, limits: RunInputLimits) -> Self {
        self.endpoint.limits = limits;
        self
    }

    /// Sets how often a silent stream says that it is alive. Default [`KEEP_ALIVE`].
    #[must_use]
    pub const fn keep_alive(mut self, every: Duration) -> Self {
        self.endpoint.keep_alive = every;
        self
    }

    /// Says who sends a request, or answers it. Without it everybody is the anonymous owner.
    ///
    /// The hook is called before the body is read. What it returns owns the run: nobody else can
    /// resume or cancel it.
    #[must_use]
    pub fn authorize<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(HttpRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Caller, HttpResponse>> + 'static,
    {
        self.endpoint.authorize = Some(Arc::new(hook));
        self
    }

    /// Gives what [`App::configure`](actix_web::App::configure) takes.
    pub fn routes(self) -> impl FnOnce(&mut ServiceConfig) + Clone + use<> {
        move |config| {
            config.service(self);
        }
    }
}

impl HttpServiceFactory for ChatRoutes {
    fn register(self, config: &mut AppService) {
        let route_to = |handle: fn(Endpoint, HttpRequest, Payload) -> Answer| {
            let endpoint = self.endpoint.clone();
            web::to(move |request: HttpRequest, payload: Payload| {
                handle(endpoint.clone(), request, payload)
            })
        };
        Resource::new(self.path.as_str())
            .route(
                route_to(|endpoint, request, payload| Box::pin(run(endpoint, request, payload)))
                    .guard(route::Post()),
            )
            .route(
                route_to(|endpoint, request, _| Box::pin(cancel(endpoint, request)))
                    .guard(route::Delete()),
            )
            .route(
                route_to(|endpoint, request, _| Box::pin(preflight(endpoint, request)))
                    .guard(route::Options()),
            )
            .default_service(route_to(|endpoint, request, _| {
                Box::pin(other(endpoint, request))
            }))
            .register(config);
    }
}

impl fmt::Debug for ChatRoutes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ChatRoutes")
            .field("path", &self.path)
            .field("guard", &self.endpoint.guard)
            .field("max_body_bytes", &self.endpoint.max_body_bytes)
            .finish_non_exhaustive()
    }
}

type Answer = LocalBoxFuture<'static, HttpResponse>;

impl Endpoint {
    /// Looks at Origin and Host, then asks who it is.
    async fn admit(&self, request: &HttpRequest) -> Result<(Cors, Caller), HttpResponse> {
        let cors = self
            .guard
            .check(request)
            .map_err(|refusal| refused(StatusCode::FORBIDDEN, &refusal))?;
        let caller = match &self.authorize {
            None => Caller::anonymous(),
            Some(hook) => match hook.call(request.clone()).await {
                Ok(caller) => caller,
                Err(mut response) => {
                    cors.apply(response.headers_mut(), "");
                    return Err(response);
                }
            },
        };
        Ok((cors, caller))
    }
}

async fn run(endpoint: Endpoint, request: HttpRequest, payload: Payload) -> HttpResponse {
    let (cors, caller) = match endpoint.admit(&request).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let mut response = match start(&endpoint, &request, payload, caller).await {
        Ok(response) | Err(response) => response,
    };
    cors.apply(response.headers_mut(), "");
    response
}

async fn start(
    endpoint: &Endpoint,
    request: &HttpRequest,
    payload: Payload,
    caller: Caller,
) -> Result<HttpResponse, HttpResponse> {
    if endpoint.runs.is_draining() {
        return Err(unavailable("the server is going down"));
    }
    // Any page can send a form or plain text to a local server; JSON needs a preflight.
    if !is_json(request) {
        return Err(refused(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            &"a run request needs content-type: application/json",
        ));
    }
    let body = read_body(request, &mut payload.into_inner(), endpoint.max_body_bytes)
        .await
        .map_err(|error| refused(error.status(), &error))?;
    let input = parse_run_input(&body, &endpoint.limits)
        .map_err(|error| refused(StatusCode::BAD_REQUEST, &error))?;
    drop(body);
    let framing = framing(request);
    let started = endpoint.runs.start(StartRun { input, caller }).await;
    let started = match started {
        Ok(started) => started,
        Err(Refused::Unavailable(why)) => return Err(unavailable(why)),
        Err(Refused::Failed(event)) => return Ok(single_event(&event, framing)),
    };
    let body = EventBody::new(started.events, framing)
        .keep_alive(endpoint.keep_alive)
        .on_detach(started.detach);
    Ok(respond::stream(framing).body(body))
}

#[derive(Deserialize)]
struct CancelQuery {
    #[serde(rename = "runId")]
    run_id: RunId,
    #[serde(rename = "threadId")]
    thread_id: Option<ThreadId>,
}

impl Endpoint {
    fn cancel(&self, caller: &Caller, asked: &CancelQuery) -> bool {
        let thread = asked.thread_id.as_ref();
        self.runs.cancel(&caller.owner, &asked.run_id, thread)
    }
}

async fn cancel(endpoint: Endpoint, request: HttpRequest) -> HttpResponse {
    let (cors, caller) = match endpoint.admit(&request).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let query = Query::<CancelQuery>::from_query(request.query_string());
    let mut response = match query {
        Err(_) => refused(StatusCode::BAD_REQUEST, &"cancelling needs ?runId="),
        Ok(query) if endpoint.cancel(&caller, &query) => HttpResponse::new(StatusCode::NO_CONTENT),
        Ok(_) => refused(StatusCode::NOT_FOUND, &"no such run"),
    };
    cors.apply(response.headers_mut(), "");
    response
}

async fn preflight(endpoint: Endpoint, request: HttpRequest) -> HttpResponse {
    match endpoint.guard.check(&request) {
        Ok(cors) => endpoint.guard.preflight(&cors, METHODS, REQUEST_HEADERS),
        Err(refusal) => refused(StatusCode::FORBIDDEN, &refusal),
    }
}

/// Re-attach and hydrate are not served.
async fn other(endpoint: Endpoint, request: HttpRequest) -> HttpResponse {
    let cors = match endpoint.guard.check(&request) {
        Ok(cors) => cors,
        Err(refusal) => return refused(StatusCode::FORBIDDEN, &refusal),
    };
    let mut response = refused(
        StatusCode::METHOD_NOT_ALLOWED,
        &"runs are started with POST and cancelled with DELETE",
    );
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, header::HeaderValue::from_static(METHODS));
    cors.apply(headers, "");
    response
}

fn is_json(request: &HttpRequest) -> bool {
    let content_type = request.headers().get(header::CONTENT_TYPE);
    content_type
        .and_then(|value| value.to_str().ok()?.split(';').next())
        .is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// Server-sent events, unless the client asks for lines.
fn framing(request: &HttpRequest) -> Framing {
    let lines = request
        .headers()
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains(Framing::NdJson.content_type()));
    if lines { Framing::NdJson } else { Framing::Sse }
}
