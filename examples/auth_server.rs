//! An MCP server that requires a bearer token: a JWT of an authorization server, checked against
//! its key set.
//!
//! ```sh
//! cargo run --example auth_server             # a few requests, both sides printed
//! cargo run --example auth_server -- --serve  # until ctrl-c
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

#[path = "shared/host.rs"]
mod host;

use std::{
    error::Error,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::SystemTime,
};

use actix_web::{
    HttpRequest, HttpResponse,
    web::{Data, Form, ServiceConfig, get, post},
};
use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use host::Host;
use jsonwebtoken::{Algorithm, EncodingKey, Header, jwk::Jwk};
use roscius::{
    auth::Jwt,
    machine::resource_metadata::ProtectedResource,
    prelude::{Ctx, McpServer, Tool},
    web::{mcp, oauth_metadata},
    wire::auth::AuthInfo,
};
use serde::Deserialize;
use serde_json::{Value, json};

async fn whoami(caller: Ctx<AuthInfo>) -> String {
    let user = caller.subject.as_deref().unwrap_or("nobody");
    format!("{user}, by {}", caller.client_id)
}

/// The server: a verifier, the scopes of every request, and the scopes of one tool.
fn notes(resource: &ProtectedResource, verifier: Jwt) -> Result<McpServer, Box<dyn Error>> {
    let clear = Tool::new("clear", || async { "cleared" })
        .description("Deletes all notes")
        .required_scopes(["notes:write"]);
    let server = McpServer::new("notes", "1.0.0")
        .tool(Tool::new("whoami", whoami).description("Tells who calls"))
        .tool(clear)
        .auth(verifier)
        .required_scopes(["notes:read"])
        .resource_metadata_url(resource.url()?)
        .build()?;
    Ok(server)
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The addresses are known before the servers run: tokens and documents name them.
    let (auth, here) = (
        TcpListener::bind("127.0.0.1:0")?,
        TcpListener::bind("127.0.0.1:0")?,
    );
    let addr = here.local_addr()?;
    let url = format!("http://{addr}/mcp");
    let issuer = Arc::new(Issuer::new(auth.local_addr()?, &url)?);
    let auth_server = Host::mount_at(auth, Issuer::routes(&issuer))?;

    let resource = ProtectedResource::new(&url, &issuer.url).scopes(["notes:read", "notes:write"]);
    let verifier = Jwt::jwks(format!("{}/jwks.json", issuer.url))
        .issuer(&issuer.url)
        .audience(&url);
    let server = notes(&resource, verifier)?;
    let (metadata, endpoint) = (oauth_metadata(&resource)?, mcp("/mcp", &server));
    let notes_server = Host::mount_at(here, move |config: &mut ServiceConfig| {
        config.configure(metadata).configure(endpoint);
    })?;

    if std::env::args().any(|arg| arg == "--serve") {
        println!("a token: {}", issuer.token("notes:read")?);
        println!("POST {url}");
        tokio::signal::ctrl_c().await?;
    } else {
        show(addr, &issuer).await?;
    }
    notes_server.stop().await;
    auth_server.stop().await;
    Ok(())
}

async fn show(addr: SocketAddr, issuer: &Issuer) -> Result<(), Box<dyn Error>> {
    let path = "/.well-known/oauth-protected-resource/mcp";
    let mut document = awc::Client::new()
        .get(format!("http://{addr}{path}"))
        .send()
        .await?;
    println!("GET {path}");
    println!("  {}", String::from_utf8_lossy(&document.body().await?));

    let reader = issuer.token("notes:read")?;
    call(addr, "nobody", None, "whoami").await?;
    call(
        addr,
        "a token without scopes",
        Some(issuer.token("")?),
        "whoami",
    )
    .await?;
    call(addr, "a reader", Some(reader.clone()), "whoami").await?;
    call(addr, "a reader", Some(reader), "clear").await
}

/// Calls a tool and prints what comes back.
async fn call(
    addr: SocketAddr,
    who: &str,
    token: Option<String>,
    tool: &str,
) -> Result<(), Box<dyn Error>> {
    let params = json!({"name": tool, "arguments": {}});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut post = awc::Client::new().post(format!("http://{addr}/mcp"));
    if let Some(token) = token {
        post = post.bearer_auth(token);
    }
    let mut response = post.send_json(&request).await?;
    println!("{who} calls {tool}: {}", response.status());
    println!("  {}", String::from_utf8_lossy(&response.body().await?));
    if let Some(challenge) = response.headers().get("www-authenticate") {
        println!("  {}", challenge.to_str()?);
    }
    Ok(())
}

/// Stands for the authorization server, which is somebody else's program: it issues tokens to one
/// client by its secret.
struct Issuer {
    url: String,
    audience: String,
    key: EncodingKey,
    key_set: Value,
}

#[derive(Deserialize)]
struct TokenRequest {
    scope: Option<String>,
}

impl Issuer {
    fn new(addr: SocketAddr, audience: &str) -> Result<Self, Box<dyn Error>> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map_err(|_| "no key can be made")?;
        let key = EncodingKey::from_ec_der(pair.as_ref());
        let mut jwk = Jwk::from_encoding_key(&key, Algorithm::ES256)?;
        jwk.common.key_id = Some("key-1".to_owned());
        Ok(Self {
            url: format!("http://{addr}"),
            audience: audience.to_owned(),
            key,
            key_set: json!({"keys": [jwk]}),
        })
    }

    fn token(&self, scope: &str) -> Result<String, Box<dyn Error>> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some("key-1".to_owned());
        let claims = json!({
            "iss": self.url, "aud": self.audience, "exp": now.as_secs() + 600,
            "sub": "ada", "client_id": "desk", "scope": scope,
        });
        Ok(jsonwebtoken::encode(&header, &claims, &self.key)?)
    }

    fn routes(issuer: &Arc<Self>) -> impl FnOnce(&mut ServiceConfig) + Clone + Send + 'static {
        let issuer = Arc::clone(issuer);
        move |config: &mut ServiceConfig| {
            config
                .app_data(Data::from(issuer))
                .route("/jwks.json", get().to(keys))
                .route(
                    "/.well-known/oauth-authorization-server",
                    get().to(metadata),
                )
                .route("/token", post().to(issue));
        }
    }
}

async fn keys(issuer: Data<Issuer>) -> HttpResponse {
    HttpResponse::Ok().json(&issuer.key_set)
}

async fn metadata(issuer: Data<Issuer>) -> HttpResponse {
    let url = &issuer.url;
    HttpResponse::Ok().json(json!({
        "issuer": url, "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"), "response_types_supported": ["code"],
        "grant_types_supported": ["client_credentials"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic"],
    }))
}

async fn issue(
    issuer: Data<Issuer>,
    request: HttpRequest,
    form: Form<TokenRequest>,
) -> HttpResponse {
    // `desk:secret`
    let known = request.headers().get("authorization");
    if known.is_none_or(|value| value != "Basic ZGVzazpzZWNyZXQ=") {
        return HttpResponse::Unauthorized().json(json!({"error": "invalid_client"}));
    }
    let scope = form.scope.as_deref().unwrap_or_default();
    match issuer.token(scope) {
        Ok(token) => HttpResponse::Ok().json(json!({
            "access_token": token, "token_type": "Bearer", "expires_in": 600, "scope": scope,
        })),
        Err(_) => HttpResponse::InternalServerError().json(json!({"error": "server_error"})),
    }
}
