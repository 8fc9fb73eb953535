//! The MCP endpoint: every method of one path.

use std::{
    borrow::Cow,
    fmt,
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
};

use actix_web::{
    HttpRequest, HttpResponse, Resource,
    body::{BodySize, BoxBody, MessageBody},
    dev::{AppService, HttpServiceFactory},
    http::{
        Method, StatusCode,
        header::{self, HeaderMap, HeaderName, HeaderValue},
    },
    web::{Payload, ServiceConfig},
};
use bytes::Bytes;
use futures_util::{Stream as _, future::LocalBoxFuture};
use roscius_actors::{
    server::{EventStream, Handling, McpServer, Options, Response},
    wire::{
        http::{self, Body, Head, Headers, REPEATED, Request},
        version::is_modern,
    },
};

use super::{
    body::{BodyError, read_body},
    guard::{Cors, Guard},
};

const METHODS: &str = "GET, POST, DELETE, OPTIONS";
/// What a page may send: the star stands for `Mcp-Param-*`, and does not cover `authorization`.
const REQUEST_HEADERS: &str = "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id, *";

static PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
static ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Serves an MCP server at a path, for [`App::configure`](actix_web::App::configure). Use
/// [`McpRoutes`] to set anything.
pub fn mcp(path: &str, server: &McpServer) -> impl FnOnce(&mut ServiceConfig) + Clone + use<> {
    McpRoutes::new(path, server).routes()
}

/// Knows the caller of a request, or refuses it.
trait Authorize: Send + Sync {
    fn call(&self, request: HttpRequest) -> LocalBoxFuture<'static, Result<Options, HttpResponse>>;
}

impl<F, Fut> Authorize for F
where
    F: Fn(HttpRequest) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Options, HttpResponse>> + 'static,
{
    fn call(&self, request: HttpRequest) -> LocalBoxFuture<'static, Result<Options, HttpResponse>> {
        Box::pin(self(request))
    }
}

/// An MCP endpoint on its way into an application: `App::configure(endpoint.routes())` or
/// `App::service(endpoint)`.
#[derive(Clone)]
pub struct McpRoutes {
    path: String,
    endpoint: Endpoint,
}

#[derive(Clone)]
struct Endpoint {
    server: McpServer,
    guard: Guard,
    authorize: Option<Arc<dyn Authorize>>,
}

impl McpRoutes {
    /// Starts with a path and the server behind it.
    #[must_use]
    pub fn new(path: &str, server: &McpServer) -> Self {
        Self {
            path: path.to_owned(),
            endpoint: Endpoint {
                server: server.clone(),
                guard: Guard::new(),
                authorize: None,
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

    /// Says who sends a request and which values its tools get, or answers it. The hook is called
    /// before the body is read; without it nobody is known.
    #[must_use]
    pub fn authorize<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(HttpRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Options, HttpResponse>> + 'static,
    {
        self.endpoint.authorize = Some(Arc::new(hook));
        self
    }

    /// Gives what [`App::configure`](actix_web::App::configure) takes.
    pub fn routes(self) -> impl FnOnce(&mut ServiceConfig) + Clone + use<> {
        move |config: &mut ServiceConfig| {
            config.service(self);
        }
    }
}

impl HttpServiceFactory for McpRoutes {
    fn register(self, config: &mut AppService) {
        let endpoint = Rc::new(self.endpoint);
        let serve = move |request: HttpRequest, payload: Payload| {
            let endpoint = Rc::clone(&endpoint);
            async move { endpoint.serve(request, payload).await }
        };
        Resource::new(self.path.as_str()).to(serve).register(config);
    }
}

impl fmt::Debug for McpRoutes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("McpRoutes")
            .field("path", &self.path)
            .field("server", &self.endpoint.server)
            .field("guard", &self.endpoint.guard)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    async fn serve(&self, request: HttpRequest, payload: Payload) -> HttpResponse {
        let cors = match self.guard.check(&request) {
            Ok(cors) => cors,
            Err(refusal) => {
                let modern = names_modern(request.headers());
                let refused = self.server.forbidden(modern, refusal.to_string());
                return respond(refused, &Cors::none());
            }
        };
        if request.method() == Method::OPTIONS {
            return self.guard.preflight(&cors, METHODS, REQUEST_HEADERS);
        }
        let peer = request.peer_addr().map(|peer| peer.ip());
        let options = match &self.authorize {
            None => Options::new(),
            Some(hook) => match hook.call(request.clone()).await {
                Ok(options) => options,
                Err(mut response) => {
                    cors.apply(response.headers_mut(), "");
                    return response;
                }
            },
        };
        let options = options.or_peer(peer);
        let options = if self.server.wants_token(&options) {
            let token = one(request.headers(), &header::AUTHORIZATION);
            match self.server.authenticate(token, options).await {
                Ok(options) => options,
                Err(refused) => return respond(refused, &cors),
            }
        } else {
            options
        };
        let body = match self.body(&request, payload).await {
            Ok(body) => body,
            Err(refused) => return respond(refused, &cors),
        };
        let headers = Values::of(request.headers());
        let request = Request {
            head: headers.head(request.method()),
            body: &body,
        };
        let mut attended = Attended(Some(self.server.handle(request, options)));
        let response = std::future::poll_fn(|cx| attended.poll(cx)).await;
        respond(response, &cors)
    }

    /// Reads the body of a message; a request that is none is answered without it.
    async fn body(&self, request: &HttpRequest, payload: Payload) -> Result<Bytes, Response> {
        if request.method() != Method::POST {
            return Ok(Bytes::new());
        }
        let mut payload = payload.into_inner();
        let read = read_body(request, &mut payload, self.server.max_body_bytes()).await;
        read.map_err(|error| match error {
            BodyError::TooLarge(_) => self.server.body_too_large(names_modern(request.headers())),
            other => Response::empty(other.status().as_u16()),
        })
    }
}

fn names_modern(headers: &HeaderMap) -> bool {
    headers
        .get(&PROTOCOL_VERSION)
        .and_then(|version| version.to_str().ok())
        .is_some_and(is_modern)
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}

fn respond(response: Response, cors: &Cors) -> HttpResponse {
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let (body, kind) = match response.body {
        Body::Json(body) => (BoxBody::new(body), Some("application/json")),
        Body::Events(body) => (BoxBody::new(body), Some("text/event-stream")),
        Body::Stream(stream) => (BoxBody::new(Events(stream)), Some("text/event-stream")),
        _ => (BoxBody::new(()), None),
    };
    let mut http = HttpResponse::with_body(status, body);
    let headers = http.headers_mut();
    if let Some(kind) = kind {
        put(headers, header::CONTENT_TYPE, kind);
    }
    if kind == Some("text/event-stream") {
        put(headers, header::CACHE_CONTROL, "no-cache, no-transform");
        // Middleware that compresses would gather events; it leaves alone what is encoded already.
        put(headers, header::CONTENT_ENCODING, "identity");
        put(headers, ACCEL_BUFFERING.clone(), "no");
    }
    if let Some(methods) = response.allow {
        put(headers, header::ALLOW, methods);
    }
    if let Some(seconds) = response.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    let session = response.session;
    if let Some(id) = session.and_then(|id| HeaderValue::from_str(id.as_str()).ok()) {
        headers.insert(SESSION_ID.clone(), id);
    }
    let challenge = response.www_authenticate;
    if let Some(challenge) = challenge.and_then(|text| HeaderValue::try_from(&*text).ok()) {
        headers.insert(header::WWW_AUTHENTICATE, challenge);
        cors.apply(headers, "mcp-session-id, retry-after, www-authenticate");
    } else {
        cors.apply(headers, "mcp-session-id, retry-after");
    }
    http
}

/// The headers of a request, as the server reads them.
struct Values<'a> {
    headers: &'a HeaderMap,
    /// What one pass over the headers found.
    found: Head<'a>,
    /// The ranges of all `Accept` headers: several lines are one list.
    accept: Option<Cow<'a, [u8]>>,
}

impl<'a> Values<'a> {
    fn of(headers: &'a HeaderMap) -> Self {
        let mut found = Head::new(http::Method::Other);
        let mut accept: Option<Cow<'a, [u8]>> = None;
        for (name, value) in headers {
            let value = value.as_bytes();
            let slot = match name.as_str() {
                "accept" => {
                    accept = Some(match accept {
                        None => Cow::Borrowed(value),
                        Some(list) => Cow::Owned([&list, value].join(&b',')),
                    });
                    continue;
                }
                "content-type" => &mut found.content_type,
                "mcp-protocol-version" => &mut found.protocol_version,
                "mcp-method" => &mut found.mcp_method,
                "mcp-name" => &mut found.mcp_name,
                "mcp-session-id" => &mut found.session_id,
                "last-event-id" => &mut found.last_event_id,
                _ => continue,
            };
            *slot = Some(match slot {
                None => value.trim_ascii(),
                Some(_) => REPEATED,
            });
        }
        Self {
            headers,
            found,
            accept,
        }
    }

    fn head(&'a self, method: &Method) -> Head<'a> {
        let mut head = self.found;
        head.method = match *method {
            Method::POST => http::Method::Post,
            Method::GET => http::Method::Get,
            Method::DELETE => http::Method::Delete,
            _ => http::Method::Other,
        };
        head.accept = self.accept.as_deref();
        head.others = self;
        head
    }
}

/// A header that came twice may have been read differently on the way.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a [u8]> {
    let mut values = headers.get_all(name);
    let first = values.next()?;
    if values.next().is_some() {
        return Some(REPEATED);
    }
    Some(first.as_bytes().trim_ascii())
}

impl Headers for Values<'_> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        let name = HeaderName::try_from(name).ok()?;
        one(self.headers, &name)
    }
}

/// A request whose client waits. Dropping it means that the client has gone.
struct Attended(Option<Handling>);

impl Attended {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Response> {
        let Some(handling) = &mut self.0 else {
            return Poll::Pending;
        };
        let polled = Pin::new(handling).poll(cx);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        if let Some(rest) = self.0.take().and_then(Handling::detached) {
            actix_web::rt::spawn(rest);
        }
    }
}

/// A stream of events as a body. Dropping it means that the client has gone.
struct Events(EventStream);

impl Drop for Events {
    fn drop(&mut self) {
        if let Some(rest) = self.0.detached() {
            actix_web::rt::spawn(rest);
        }
    }
}

impl MessageBody for Events {
    type Error = std::convert::Infallible;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.0)
            .poll_next(cx)
            .map(|chunk| chunk.map(Ok))
    }
}
