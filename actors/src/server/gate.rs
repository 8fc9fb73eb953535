//! The gate of a server that wants access tokens, before anything of a message is read.

use std::{
    fmt,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use futures_util::future::LocalBoxFuture;

use super::{Entry, Handling, Inner, McpServer, McpServerBuilder, Options, Response, ServerError};
use crate::{
    gauge,
    machine::{
        bearer::{BearerGate, Denial},
        era,
    },
    ports::token_verifier::TokenVerifier,
    wire::{
        auth::AuthInfo,
        http::{Head, Method, Request},
    },
};

/// Headers that are read besides those of [`Head`], when a request has to wait for its token.
const OTHERS: [&str; 2] = ["traceparent", "tracestate"];

/// What the builder collects.
#[derive(Default)]
pub(super) struct GateSettings {
    verifier: Option<Arc<dyn TokenVerifier>>,
    required_scopes: Vec<String>,
    resource_metadata: Option<String>,
}

/// Who comes in, and what the others are told.
pub(super) struct Gate {
    verifier: Option<Arc<dyn TokenVerifier>>,
    bearer: BearerGate,
}

impl GateSettings {
    pub(super) fn build(self) -> Result<Gate, ServerError> {
        let mut bearer = BearerGate::new();
        if let Some(verifier) = &self.verifier {
            verifier.check().map_err(ServerError::Auth)?;
            bearer = bearer
                .required_scopes(verifier.required_scopes())
                .leeway_seconds(verifier.leeway().as_secs());
        } else if !self.required_scopes.is_empty() {
            let text = "required scopes need a verifier: set it with auth";
            return Err(ServerError::Auth(text.to_owned()));
        }
        bearer = bearer.required_scopes(self.required_scopes);
        if let Some(url) = self.resource_metadata {
            bearer = bearer.resource_metadata(url);
        }
        Ok(Gate {
            verifier: self.verifier,
            bearer,
        })
    }
}

/// Access tokens.
impl McpServerBuilder {
    /// Lets in only requests with a token that the verifier finds good. Tools reach the caller as
    /// `Ctx<AuthInfo>`; sessions, tasks and sealed questions belong to it.
    ///
    /// A verifier may be a function, `async |token: String| -> Result<AuthInfo, OAuthError>`. It has
    /// to say when the token ends (`AuthInfo::expires_at`): one that never does is refused.
    ///
    /// A request that the host gives a caller with [`Options::auth_info`] is not asked for a token.
    ///
    /// ```
    /// use roscius_actors::{auth::Introspection, server::McpServer};
    ///
    /// let tokens = Introspection::new("https://auth.example.com/introspect", "notes", "secret");
    /// let server = McpServer::new("notes", "1.0.0")
    ///     .auth(tokens)
    ///     .required_scopes(["notes:read"])
    ///     .build()?;
    /// # Ok::<(), roscius_actors::server::ServerError>(())
    /// ```
    #[must_use]
    pub fn auth(mut self, verifier: impl TokenVerifier) -> Self {
        self.gate.verifier = Some(Arc::new(verifier));
        self
    }

    /// Names the scopes that every request needs, besides those of the verifier.
    #[must_use]
    pub fn required_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        let scopes = scopes.into_iter().map(Into::into);
        self.gate.required_scopes.extend(scopes);
        self
    }

    /// Says where the metadata of this server are, so that a client finds out who issues its
    /// tokens: see [`ProtectedResource::url`].
    ///
    /// [`ProtectedResource::url`]: crate::machine::resource_metadata::ProtectedResource::url
    #[must_use]
    pub fn resource_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.gate.resource_metadata = Some(url.into());
        self
    }
}

impl McpServer {
    /// Tells whether a request with these options has to bring a token.
    #[must_use]
    pub fn wants_token(&self, options: &Options) -> bool {
        self.0.gate.verifier.is_some() && options.auth.is_none() && !options.trusted
    }

    /// Checks the token of an `Authorization` header and adds the caller to the options, so that a
    /// host can refuse a request before it reads the body. [`McpServer::handle`] does it for hosts
    /// that do not.
    pub fn authenticate(
        &self,
        authorization: Option<&[u8]>,
        options: Options,
    ) -> LocalBoxFuture<'static, Result<Options, Response>> {
        let Some(verifier) = self
            .0
            .gate
            .verifier
            .as_ref()
            .filter(|_| self.wants_token(&options))
        else {
            return Box::pin(std::future::ready(Ok(options)));
        };
        let token = match self.0.gate.bearer.token(authorization) {
            Ok(token) => token.to_owned(),
            Err(denial) => {
                self.0.audit_gate(None, options.peer);
                return Box::pin(std::future::ready(Err(denied(denial))));
            }
        };
        let verified = verifier.verify(token);
        let server = self.clone();
        Box::pin(async move {
            let bearer = &server.0.gate.bearer;
            let refuse = |caller: Option<&AuthInfo>, denial| {
                server.0.audit_gate(caller, options.peer);
                denied(denial)
            };
            let caller = verified.await;
            let caller = caller.map_err(|error| refuse(None, bearer.deny(&error)))?;
            let admitted = bearer.admit(&caller, now());
            admitted.map_err(|denial| refuse(Some(&caller), denial))?;
            Ok(options.auth_info(caller))
        })
    }

    /// Handles a request that has to bring a token. It is copied, since the answer may have to wait
    /// for the verifier.
    pub(super) fn handle_behind_gate(&self, request: Request<'_>, options: Options) -> Handling {
        let authenticated = self.authenticate(request.head.others.get("authorization"), options);
        let kept = Kept::new(self, &request);
        let modern = era::choose(request.head.protocol_version, None).is_modern();
        let server = self.clone();
        let handled = Box::pin(async move {
            match authenticated.await {
                Ok(options) => server.handle(kept.request(), options).await,
                Err(response) => response,
            }
        });
        if modern {
            Handling::later(handled)
        } else {
            Handling::lasting(&self.0, handled)
        }
    }
}

impl Inner {
    /// Looks at the scopes of a tool: gives the refusal.
    pub(super) fn step_up(&self, entry: &Entry, options: &Options) -> Option<Response> {
        self.lacks_scopes(entry, options).map(denied)
    }

    /// Tells whether a caller has the scopes of a tool; a tool that is not there has none that
    /// anybody could have.
    pub(super) fn has_scopes(&self, tool: &str, options: &Options) -> bool {
        let entry = self.tools.get(tool);
        entry.is_some_and(|entry| self.lacks_scopes(entry, options).is_none())
    }

    fn lacks_scopes(&self, entry: &Entry, options: &Options) -> Option<Denial> {
        let scopes = entry.tool.scopes();
        if scopes.is_empty() || options.trusted {
            return None;
        }
        let caller = options.auth.as_deref();
        self.gate.bearer.step_up(caller, scopes).err()
    }
}

/// A request with all that the server reads of it.
struct Kept {
    method: Method,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Kept {
    fn new(server: &McpServer, request: &Request<'_>) -> Self {
        let head = &request.head;
        let named = [
            ("content-type", head.content_type),
            ("accept", head.accept),
            ("mcp-protocol-version", head.protocol_version),
            ("mcp-method", head.mcp_method),
            ("mcp-name", head.mcp_name),
            ("mcp-session-id", head.session_id),
            ("last-event-id", head.last_event_id),
        ];
        let mut headers: Vec<(String, Vec<u8>)> = Vec::new();
        let mut keep = |name: &str, value: Option<&[u8]>| {
            if let Some(value) = value {
                headers.push((name.to_owned(), value.to_vec()));
            }
        };
        for (name, value) in named {
            keep(name, value);
        }
        for name in OTHERS {
            keep(name, head.others.get(name));
        }
        for header in server.0.tools.values().flat_map(|entry| &entry.headers) {
            let name = format!("mcp-param-{}", header.name.to_ascii_lowercase());
            keep(&name, head.others.get(&name));
        }
        Self {
            method: head.method,
            headers,
            body: request.body.to_vec(),
        }
    }

    fn request(&self) -> Request<'_> {
        Request {
            head: Head::of(self.method, &self.headers),
            body: &self.body,
        }
    }
}

fn denied(denial: Denial) -> Response {
    gauge::error(i64::from(denial.status));
    let mut response = Response::json(denial.status, denial.body);
    response.www_authenticate = denial.challenge.map(String::into_boxed_str);
    response
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

impl fmt::Debug for Gate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Gate")
            .field("bearer", &self.bearer)
            .finish_non_exhaustive()
    }
}
