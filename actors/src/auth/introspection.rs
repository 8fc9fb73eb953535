//! Opaque tokens, checked at an RFC 7662 endpoint.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use actix::{Actor, Context, Handler, Message, ResponseFuture};
use futures_util::{
    FutureExt as _,
    future::{LocalBoxFuture, Shared},
};
use serde_json::{Map, Value};

use super::{
    endpoint::{Endpoint, EndpointError},
    place::Place,
    token_cache::{TokenCache, TokenHash, hash},
};
use crate::{
    gauge::mailbox_delivered,
    machine::claims::{self, CLIENT_ID_CLAIMS, ClaimRules},
    ports::{
        clock::{Clock, SystemClock},
        token_verifier::TokenVerifier,
    },
    transport::Egress,
    wire::{auth::AuthInfo, oauth::OAuthError},
};

/// The longest time that an answer is kept, whatever is configured: a token that was taken back
/// works that much longer.
const MAX_TTL: Duration = Duration::from_secs(60);
/// How many answers are kept by default.
const MAX_CACHED: usize = 10_000;
/// How many tokens are asked about at once; more are refused with 500.
const MAX_IN_FLIGHT: usize = 256;

/// Checks tokens at an introspection endpoint.
///
/// Good answers are kept by the hash of the token, at most 60 s and never longer than the token
/// lives. Requests with the same token share one question. Bad answers are not kept.
///
/// ```
/// use roscius_actors::auth::Introspection;
///
/// let verifier = Introspection::new("https://auth.example.com/introspect", "notes", "secret")
///     .audience("https://mcp.example.com/mcp");
/// ```
pub struct Introspection {
    config: Config,
    ready: OnceLock<Arc<Ready>>,
}

#[derive(Clone)]
struct Config {
    endpoint: Endpoint,
    client_id: String,
    client_secret: String,
    rules: ClaimRules,
    required_scopes: Vec<String>,
    client_id_claims: Vec<String>,
    ttl: Duration,
    max_cached: usize,
    allow_http: bool,
    clock: Arc<dyn Clock>,
}

struct Ready {
    config: Config,
    cache: TokenCache,
    place: Place<IntrospectionActor>,
}

impl Introspection {
    /// Names the endpoint and the client that asks there.
    pub fn new(
        url: impl Into<String>,
        client_id: impl Into<String>,
        client_secret: impl Into<String>,
    ) -> Self {
        Self {
            config: Config {
                endpoint: Endpoint::new(url.into()),
                client_id: client_id.into(),
                client_secret: client_secret.into(),
                rules: ClaimRules::default(),
                required_scopes: Vec::new(),
                client_id_claims: CLIENT_ID_CLAIMS.map(ToOwned::to_owned).into(),
                ttl: MAX_TTL,
                max_cached: MAX_CACHED,
                allow_http: false,
                clock: Arc::new(SystemClock),
            },
            ready: OnceLock::new(),
        }
    }

    fn set(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self.ready = OnceLock::new();
        self
    }

    /// Takes only tokens for this audience. May be called for several; without it the endpoint
    /// alone decides.
    #[must_use]
    pub fn audience(self, audience: impl Into<String>) -> Self {
        self.set(|config| config.rules.audiences.push(audience.into()))
    }

    /// Names the scopes that every request needs.
    #[must_use]
    pub fn required_scopes<S: Into<String>>(self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.set(|config| config.required_scopes = scopes.into_iter().map(Into::into).collect())
    }

    /// Names the members that tell the client, the first that is there; `client_id`, `azp`, `sub`
    /// by default.
    #[must_use]
    pub fn client_id_claims<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        self.set(|config| config.client_id_claims = names.into_iter().map(Into::into).collect())
    }

    /// Sets how long a good answer is kept: 60 s by default and at most, zero for not at all.
    #[must_use]
    pub fn cache_ttl(self, ttl: Duration) -> Self {
        self.set(|config| config.ttl = ttl.min(MAX_TTL))
    }

    /// Sets how many answers are kept; 10,000 by default.
    #[must_use]
    pub fn max_cached(self, entries: usize) -> Self {
        self.set(|config| config.max_cached = entries)
    }

    /// Sets how long the endpoint may take; 5 s by default.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        self.set(|config| config.endpoint.deadline = deadline)
    }

    /// Allows an endpoint without encryption, in a network that encrypts by itself.
    #[must_use]
    pub fn allow_http(self, allow: bool) -> Self {
        self.set(|config| config.allow_http = allow)
    }

    /// Says where connections may go; everywhere unless set. A server whose verifier asks at a place
    /// that the list does not name is not built; a name that is looked up to a refused address
    /// shows when the first token comes.
    #[must_use]
    pub fn egress(self, egress: Egress) -> Self {
        self.set(|config| config.endpoint.egress = egress)
    }

    /// Sets the clock that dates are compared with.
    #[must_use]
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        self.set(|config| config.clock = clock)
    }

    fn ready(&self) -> Arc<Ready> {
        let made = self.ready.get_or_init(|| {
            Arc::new(Ready {
                config: self.config.clone(),
                cache: TokenCache::new(self.config.max_cached),
                place: Place::new(|| IntrospectionActor {
                    open: HashMap::new(),
                }),
            })
        });
        Arc::clone(made)
    }
}

impl TokenVerifier for Introspection {
    fn verify(&self, token: String) -> LocalBoxFuture<'static, Result<AuthInfo, OAuthError>> {
        let ready = self.ready();
        Box::pin(async move {
            let hash = hash(&token);
            let caller = match ready.cache.get(&hash) {
                Some(caller) => caller,
                None => ready.ask(hash, &token).await?,
            };
            let mut caller = AuthInfo::clone(&caller);
            caller.token = token;
            Ok(caller)
        })
    }

    fn check(&self) -> Result<(), String> {
        self.config.endpoint.check(self.config.allow_http)
    }

    fn required_scopes(&self) -> &[String] {
        &self.config.required_scopes
    }
}

impl Ready {
    async fn ask(self: &Arc<Self>, hash: TokenHash, token: &str) -> Answer {
        let message = || Introspect {
            ready: Arc::clone(self),
            hash,
            token: token.to_owned(),
        };
        let answer = self.place.ask(message).await;
        answer.unwrap_or_else(|| Err(unreachable(&EndpointError::NoSystem)))
    }

    async fn fetch(&self, hash: TokenHash, token: &str) -> Answer {
        let Config {
            endpoint,
            client_id,
            client_secret,
            ..
        } = &self.config;
        let form = [("token", token)];
        let body = endpoint.post(client_id, client_secret, &form).await;
        let body = body.map_err(|error| unreachable(&error))?;
        let claims: Map<String, Value> =
            serde_json::from_slice(&body).map_err(|_| unreachable(&EndpointError::Unreadable))?;
        let now = self.config.clock.now_ms() / 1000;
        let caller = Arc::new(self.read(claims, now)?);
        let left = caller
            .expires_at
            .map_or(u64::MAX, |end| end.saturating_sub(now));
        let ttl = self.config.ttl.min(Duration::from_secs(left));
        self.cache.put(hash, Arc::clone(&caller), ttl);
        Ok(caller)
    }

    fn read(&self, claims: Map<String, Value>, now: u64) -> Result<AuthInfo, OAuthError> {
        if claims.get("active") != Some(&Value::Bool(true)) {
            return Err(OAuthError::invalid_token("The token is not active."));
        }
        self.config.rules.check(&claims, now)?;
        claims::caller(String::new(), claims, &self.config.client_id_claims)
    }
}

fn unreachable(error: &EndpointError) -> OAuthError {
    OAuthError::server_error(match error {
        EndpointError::Status(status) => {
            format!("The introspection endpoint answered {status}.")
        }
        other => format!("The token could not be checked: {other}"),
    })
}

type Answer = Result<Arc<AuthInfo>, OAuthError>;

/// Asks about each token once at a time, whichever thread wants to know.
struct IntrospectionActor {
    open: HashMap<TokenHash, Shared<LocalBoxFuture<'static, Answer>>>,
}

impl Actor for IntrospectionActor {
    type Context = Context<Self>;
}

struct Introspect {
    ready: Arc<Ready>,
    hash: TokenHash,
    token: String,
}

impl Message for Introspect {
    type Result = Answer;
}

impl Handler<Introspect> for IntrospectionActor {
    type Result = ResponseFuture<Answer>;

    fn handle(&mut self, ask: Introspect, _ctx: &mut Context<Self>) -> Self::Result {
        mailbox_delivered();
        self.open.retain(|_, flight| flight.peek().is_none());
        // An answer may have come while the message was on its way.
        if let Some(caller) = ask.ready.cache.get(&ask.hash) {
            return Box::pin(std::future::ready(Ok(caller)));
        }
        if self.open.len() >= MAX_IN_FLIGHT && !self.open.contains_key(&ask.hash) {
            return Box::pin(std::future::ready(Err(unreachable(&EndpointError::Busy))));
        }
        let flight = self.open.entry(ask.hash).or_insert_with(|| {
            let fetch = async move { ask.ready.fetch(ask.hash, &ask.token).await };
            fetch.boxed_local().shared()
        });
        Box::pin(flight.clone())
    }
}

impl fmt::Debug for Introspection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Introspection")
            .field("url", &self.config.endpoint.url)
            .field("client_id", &self.config.client_id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_kept_no_longer_than_a_minute() {
        let kept = |asked: u64| {
            let asked = Duration::from_secs(asked);
            let verifier = Introspection::new("https://as.test/introspect", "id", "secret");
            verifier.cache_ttl(asked).config.ttl.as_secs()
        };
        assert_eq!([kept(0), kept(30), kept(60), kept(3600)], [0, 30, 60, 60]);
    }
}
