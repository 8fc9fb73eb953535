//! Access tokens that are JWTs.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::future::LocalBoxFuture;
use jsonwebtoken::{
    Algorithm, DecodingKey, Validation, crypto::CryptoProvider, crypto::aws_lc, decode,
    decode_header,
};
use serde_json::{Map, Value};

use super::endpoint::{Endpoint, EndpointError};
use crate::{
    key_set::{Key, KeySet, NoKey, Source, Timing},
    machine::claims::{self, CLIENT_ID_CLAIMS, ClaimRules},
    ports::{
        clock::{Clock, SystemClock},
        token_verifier::TokenVerifier,
    },
    transport::Egress,
    wire::{auth::AuthInfo, oauth::OAuthError},
};

/// The most that clocks may differ: more would make expiry meaningless.
const MAX_LEEWAY: Duration = Duration::from_mins(5);

/// How a token may be signed: with a private key only. `none` and shared secrets have no name here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JwtAlgorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    Rs384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    Rs512,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// RSASSA-PSS with SHA-384.
    Ps384,
    /// RSASSA-PSS with SHA-512.
    Ps512,
    /// ECDSA on P-256.
    Es256,
    /// ECDSA on P-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl JwtAlgorithm {
    const ALL: [Self; 9] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];

    const fn algorithm(self) -> Algorithm {
        match self {
            Self::Rs256 => Algorithm::RS256,
            Self::Rs384 => Algorithm::RS384,
            Self::Rs512 => Algorithm::RS512,
            Self::Ps256 => Algorithm::PS256,
            Self::Ps384 => Algorithm::PS384,
            Self::Ps512 => Algorithm::PS512,
            Self::Es256 => Algorithm::ES256,
            Self::Es384 => Algorithm::ES384,
            Self::EdDsa => Algorithm::EdDSA,
        }
    }
}

/// Checks JWTs against the key set of their issuer.
///
/// `iss`, `aud` and `exp` have to be there and to match, `nbf` is honoured. The key set is read by
/// URL when the first token comes, kept for 10 minutes, and read again for a token with an unknown
/// key, at most every 30 s. While the issuer is down, known keys stay good. All threads share one
/// reading.
///
/// ```
/// use roscius_actors::auth::Jwt;
///
/// let verifier = Jwt::jwks("https://auth.example.com/.well-known/jwks.json")
///     .issuer("https://auth.example.com/")
///     .audience("https://mcp.example.com/mcp")
///     .required_scopes(["notes:read"]);
/// ```
pub struct Jwt {
    config: Config,
    ready: OnceLock<Arc<Ready>>,
}

#[derive(Clone)]
struct Config {
    endpoint: Endpoint,
    rules: ClaimRules,
    algorithms: Vec<JwtAlgorithm>,
    required_scopes: Vec<String>,
    client_id_claims: Vec<String>,
    timing: Timing,
    allow_http: bool,
    clock: Arc<dyn Clock>,
}

struct Ready {
    config: Config,
    keys: KeySet,
}

impl Jwt {
    /// Starts with the URL of the issuer's key set. Issuer and audience have to be set too.
    pub fn jwks(url: impl Into<String>) -> Self {
        let rules = ClaimRules {
            expires: true,
            ..ClaimRules::default()
        };
        Self {
            config: Config {
                endpoint: Endpoint::new(url.into()),
                rules,
                algorithms: JwtAlgorithm::ALL.into(),
                required_scopes: Vec::new(),
                client_id_claims: CLIENT_ID_CLAIMS.map(ToOwned::to_owned).into(),
                timing: Timing::default(),
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

    /// Names the issuer, exactly as tokens do. May be called for several that share the key set.
    #[must_use]
    pub fn issuer(self, issuer: impl Into<String>) -> Self {
        self.set(|config| config.rules.issuers.push(issuer.into()))
    }

    /// Names the audience, usually the URL of this server. May be called for several; one is
    /// enough.
    #[must_use]
    pub fn audience(self, audience: impl Into<String>) -> Self {
        self.set(|config| config.rules.audiences.push(audience.into()))
    }

    /// Sets how tokens may be signed; by default with any algorithm that has a public key.
    #[must_use]
    pub fn algorithms(self, allowed: impl IntoIterator<Item = JwtAlgorithm>) -> Self {
        self.set(|config| config.algorithms = allowed.into_iter().collect())
    }

    /// Names the scopes that every request needs.
    #[must_use]
    pub fn required_scopes<S: Into<String>>(self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.set(|config| config.required_scopes = scopes.into_iter().map(Into::into).collect())
    }

    /// Names the claims that tell the client, the first that is there; `client_id`, `azp`, `sub` by
    /// default.
    #[must_use]
    pub fn client_id_claims<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        self.set(|config| config.client_id_claims = names.into_iter().map(Into::into).collect())
    }

    /// Sets how far the issuer's clock may differ, for `exp` and `nbf`: not at all by default, five
    /// minutes at most.
    #[must_use]
    pub fn leeway(self, leeway: Duration) -> Self {
        self.set(|config| config.rules.leeway_seconds = leeway.min(MAX_LEEWAY).as_secs())
    }

    /// Sets how long the key set is kept; 10 minutes by default.
    #[must_use]
    pub fn max_age(self, age: Duration) -> Self {
        self.set(|config| config.timing.max_age = age)
    }

    /// Sets how often tokens with unknown keys make us read the key set; every 30 s by default.
    #[must_use]
    pub fn cool_down(self, pause: Duration) -> Self {
        self.set(|config| config.timing.cool_down = pause)
    }

    /// Sets how long reading the key set may take; 5 s by default.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        self.set(|config| config.endpoint.deadline = deadline)
    }

    /// Allows a key set without encryption, in a network that encrypts by itself.
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
            install_provider();
            let endpoint = self.config.endpoint.clone();
            let source: Source = Arc::new(move || {
                let endpoint = endpoint.clone();
                Box::pin(async move {
                    let json = endpoint.get().await?;
                    Key::read_set(&json).ok_or(EndpointError::Unreadable)
                })
            });
            Arc::new(Ready {
                keys: KeySet::new(source, self.config.timing),
                config: self.config.clone(),
            })
        });
        Arc::clone(made)
    }
}

/// With two backends compiled in and none installed the first token would panic.
fn install_provider() {
    if CryptoProvider::try_get_default().is_none() {
        // Another thread may have been faster, which is as good.
        let _ = aws_lc::DEFAULT_PROVIDER.install_default();
    }
}

impl TokenVerifier for Jwt {
    fn verify(&self, token: String) -> LocalBoxFuture<'static, Result<AuthInfo, OAuthError>> {
        let ready = self.ready();
        Box::pin(async move { ready.verify(token).await })
    }

    fn check(&self) -> Result<(), String> {
        let Config {
            rules, algorithms, ..
        } = &self.config;
        if rules.issuers.is_empty() || rules.audiences.is_empty() {
            return Err("a JWT verifier needs an issuer and an audience".to_owned());
        }
        if algorithms.is_empty() {
            return Err("a JWT verifier needs an algorithm".to_owned());
        }
        self.config.endpoint.check(self.config.allow_http)
    }

    fn required_scopes(&self) -> &[String] {
        &self.config.required_scopes
    }

    fn leeway(&self) -> Duration {
        Duration::from_secs(self.config.rules.leeway_seconds)
    }
}

impl Ready {
    async fn verify(&self, token: String) -> Result<AuthInfo, OAuthError> {
        let Config {
            rules, algorithms, ..
        } = &self.config;
        // A verifier that was never checked by a server must not let everybody in.
        if rules.issuers.is_empty() || rules.audiences.is_empty() {
            let text = "The server names no issuer or no audience.";
            return Err(OAuthError::server_error(text));
        }
        let header = decode_header(&token).map_err(|_| invalid("The token is no JWT."))?;
        let algorithm = header.alg;
        if !algorithms.iter().any(|own| own.algorithm() == algorithm) {
            return Err(invalid(
                "The token is signed with an algorithm that is not allowed.",
            ));
        }
        let id = header.kid.as_deref();
        let found = self.keys.find(|keys| choose(keys, id, algorithm)).await;
        let key = found.map_err(|error| match error {
            NoKey::Unknown => {
                invalid("The token is signed with a key that the issuer does not know.")
            }
            NoKey::Unread(error) => {
                OAuthError::server_error(format!("The key set could not be read: {error}"))
            }
        })?;
        let claims = signed(&token, &key, algorithm)?;
        rules.check(&claims, self.config.clock.now_ms() / 1000)?;
        claims::caller(token, claims, &self.config.client_id_claims)
    }
}

/// Chooses the key that a token names. A token that names none is taken when one key fits.
fn choose(keys: &[Key], id: Option<&str>, algorithm: Algorithm) -> Option<DecodingKey> {
    let mut fitting = keys
        .iter()
        .filter(|key| key.signs(algorithm) && (id.is_none() || key.id.as_deref() == id));
    let key = fitting.next()?;
    if id.is_none() && fitting.next().is_some() {
        return None;
    }
    Some(key.decoding.clone())
}

/// Checks the signature alone: the rules for claims are our own.
fn signed(
    token: &str,
    key: &DecodingKey,
    algorithm: Algorithm,
) -> Result<Map<String, Value>, OAuthError> {
    let mut validation = Validation::new(algorithm);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    decode(token, key, &validation)
        .map(|token| token.claims)
        .map_err(|_| invalid("The signature of the token is wrong."))
}

fn invalid(description: &str) -> OAuthError {
    OAuthError::invalid_token(description)
}

impl fmt::Debug for Jwt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Jwt")
            .field("jwks", &self.config.endpoint.url)
            .field("issuers", &self.config.rules.issuers)
            .field("audiences", &self.config.rules.audiences)
            .finish_non_exhaustive()
    }
}
