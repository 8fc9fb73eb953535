//! An authorization server on a port of its own: keys that rotate, an endpoint that answers about
//! tokens, and all the ways to fail.
#![cfg_attr(not(feature = "jwt"), allow(dead_code, reason = "only JWTs have keys"))]

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use actix_web::{HttpRequest, HttpResponse, web};
use aws_lc_rs::{
    rand::SystemRandom,
    rsa::KeySize,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
        RsaPublicKeyComponents,
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, jwk::Jwk};
use serde_json::{Value, json};

use super::FAR;
use crate::served::Served;

pub(crate) const AUDIENCE: &str = "https://mcp.test/mcp";
pub(crate) const ISSUER: &str = "https://as.test/";

pub(crate) fn base64url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A private key.
pub(crate) enum Signer {
    Ec(EncodingKey),
    Rsa(Box<RsaKeyPair>),
}

impl Signer {
    pub(crate) fn ec() -> Self {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self::Ec(EncodingKey::from_ec_der(key.as_ref()))
    }

    pub(crate) fn rsa() -> Self {
        Self::Rsa(Box::new(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()))
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Ec(_) => "ES256",
            Self::Rsa(_) => "RS256",
        }
    }

    /// The public half, as a key set shows it.
    pub(crate) fn jwk(&self, id: Option<&str>) -> Value {
        let mut jwk = match self {
            Self::Ec(key) => {
                serde_json::to_value(Jwk::from_encoding_key(key, Algorithm::ES256).unwrap())
                    .unwrap()
            }
            Self::Rsa(key) => {
                let public = RsaPublicKeyComponents::<Vec<u8>>::from(key.public_key());
                json!({"kty": "RSA", "n": base64url(public.n), "e": base64url(public.e)})
            }
        };
        if let Some(id) = id {
            jwk["kid"] = json!(id);
        }
        jwk
    }

    fn sign(&self, message: &str) -> String {
        match self {
            Self::Ec(key) => {
                jsonwebtoken::crypto::sign(message.as_bytes(), key, Algorithm::ES256).unwrap()
            }
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                let random = SystemRandom::new();
                key.sign(
                    &RSA_PKCS1_SHA256,
                    &random,
                    message.as_bytes(),
                    &mut signature,
                )
                .unwrap();
                base64url(signature)
            }
        }
    }

    /// A token with these claims and any header.
    pub(crate) fn token_with(&self, header: &Value, claims: &Value) -> String {
        let message = format!(
            "{}.{}",
            base64url(header.to_string()),
            base64url(claims.to_string())
        );
        let signature = self.sign(&message);
        format!("{message}.{signature}")
    }

    pub(crate) fn token(&self, id: &str, claims: &Value) -> String {
        self.token_with(&json!({"alg": self.algorithm(), "kid": id}), claims)
    }
}

/// The claims of a good token, changed; `null` takes a claim out.
pub(crate) fn claims(changes: Value) -> Value {
    let mut claims = json!({
        "iss": ISSUER, "aud": AUDIENCE, "exp": FAR, "sub": "user", "client_id": "client",
        "scope": "notes:read",
    });
    for (name, value) in changes.as_object().into_iter().flatten() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}

/// What the server knows, and how it fails.
#[derive(Default)]
struct State {
    keys: Mutex<Vec<Value>>,
    tokens: Mutex<HashMap<String, Value>>,
    /// Answers with this instead of what was asked for; 0 for nothing at all, ever.
    failure: Mutex<Option<(u16, String)>>,
    reads: AtomicUsize,
    asked: Mutex<Vec<Asked>>,
}

/// A question about a token.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) authorization: String,
    pub(crate) accept: String,
    pub(crate) content_type: String,
    pub(crate) body: String,
}

/// The running server.
pub(crate) struct Issuer {
    state: Arc<State>,
    served: Served,
}

impl Issuer {
    pub(crate) fn start() -> Self {
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let served = Served::start(move |config| {
            config
                .app_data(web::Data::from(Arc::clone(&shared)))
                .route("/jwks", web::get().to(jwks))
                .route("/introspect", web::post().to(introspect));
        });
        Self { state, served }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.served.addr)
    }

    pub(crate) fn keys(&self, keys: impl IntoIterator<Item = Value>) {
        *self.state.keys.lock().unwrap() = keys.into_iter().collect();
    }

    pub(crate) fn knows(&self, token: &str, answer: Value) {
        let mut tokens = self.state.tokens.lock().unwrap();
        tokens.insert(token.to_owned(), answer);
    }

    pub(crate) fn fails(&self, failure: Option<(u16, &str)>) {
        *self.state.failure.lock().unwrap() =
            failure.map(|(status, body)| (status, body.to_owned()));
    }

    pub(crate) fn reads(&self) -> usize {
        self.state.reads.load(Ordering::SeqCst)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }
}

async fn failure(state: &State) -> Option<HttpResponse> {
    let failure = state.failure.lock().unwrap().clone();
    let (status, body) = failure?;
    if status == 0 {
        std::future::pending::<()>().await;
    }
    let status = actix_web::http::StatusCode::from_u16(status).unwrap();
    Some(HttpResponse::build(status).body(body))
}

async fn jwks(state: web::Data<State>) -> HttpResponse {
    state.reads.fetch_add(1, Ordering::SeqCst);
    if let Some(failure) = failure(&state).await {
        return failure;
    }
    let keys = state.keys.lock().unwrap().clone();
    HttpResponse::Ok().json(json!({"keys": keys}))
}

async fn introspect(state: web::Data<State>, request: HttpRequest, body: String) -> HttpResponse {
    let header = |name: &str| {
        let value = request.headers().get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned()
    };
    state.asked.lock().unwrap().push(Asked {
        authorization: header("authorization"),
        accept: header("accept"),
        content_type: header("content-type"),
        body: body.clone(),
    });
    if let Some(failure) = failure(&state).await {
        return failure;
    }
    let token = body.strip_prefix("token=").unwrap_or_default();
    let known = state.tokens.lock().unwrap().get(token).cloned();
    HttpResponse::Ok().json(known.unwrap_or(json!({"active": false})))
}
