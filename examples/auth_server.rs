//! An MCP server that requires a bearer token: a JWT of an authorization server, checked against
//! its key set.
//!
//! ```sh
//! cargo run --example auth_server             # five requests, both sides printed
//! cargo run --example auth_server -- --serve  # until ctrl-c
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::{error::Error, net::SocketAddr, time::SystemTime};

use actix_web::{
    App, HttpResponse, HttpServer,
    dev::ServerHandle,
    web::{ServiceConfig, get},
};
use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use jsonwebtoken::{Algorithm, EncodingKey, Header, jwk::Jwk};
use roscius::{
    auth::Jwt,
    machine::resource_metadata::ProtectedResource,
    prelude::{Ctx, McpServer, Tool},
    web::{mcp, oauth_metadata},
    wire::auth::AuthInfo,
};
use serde_json::{Value, json};

/// Who issues the tokens, and for whom: tokens name them in `iss` and `aud`.
const ISSUER: &str = "https://auth.example.com/";
const AUDIENCE: &str = "https://mcp.example.com/mcp";

async fn whoami(caller: Ctx<AuthInfo>) -> String {
    let user = caller.subject.as_deref().unwrap_or("nobody");
    format!("{user}, by {}", caller.client_id)
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let issuer = Issuer::new()?;
    let key_set = issuer.key_set.clone();
    let (auth, auth_server) = start(move |config: &mut ServiceConfig| {
        let key_set = move || std::future::ready(HttpResponse::Ok().json(&key_set));
        config.route("/.well-known/jwks.json", get().to(key_set));
    })?;

    let resource = ProtectedResource::new(AUDIENCE, ISSUER).scopes(["notes:read", "notes:write"]);
    let verifier = Jwt::jwks(format!("http://{auth}/.well-known/jwks.json"))
        .issuer(ISSUER)
        .audience(AUDIENCE);
    let server = McpServer::new("notes", "1.0.0")
        .tool(Tool::new("whoami", whoami).description("Tells who calls"))
        .tool(
            Tool::new("clear", || async { "cleared" })
                .description("Deletes all notes")
                .required_scopes(["notes:write"]),
        )
        .auth(verifier)
        .required_scopes(["notes:read"])
        .resource_metadata_url(resource.url()?)
        .build()?;
    let (metadata, endpoint) = (oauth_metadata(&resource)?, mcp("/mcp", &server));
    let (notes, notes_server) = start(move |config: &mut ServiceConfig| {
        config.configure(metadata).configure(endpoint);
    })?;

    if std::env::args().any(|arg| arg == "--serve") {
        println!("POST http://{notes}/mcp");
        println!("a token: {}", issuer.token("notes:read")?);
        tokio::signal::ctrl_c().await?;
    } else {
        show(notes, &issuer).await?;
    }
    notes_server.stop(true).await;
    auth_server.stop(true).await;
    Ok(())
}

async fn show(notes: SocketAddr, issuer: &Issuer) -> Result<(), Box<dyn Error>> {
    let url = format!("http://{notes}/.well-known/oauth-protected-resource/mcp");
    let mut document = awc::Client::new().get(&url).send().await?;
    println!("GET /.well-known/oauth-protected-resource/mcp");
    println!("  {}", String::from_utf8_lossy(&document.body().await?));

    let reader = issuer.token("notes:read")?;
    call(notes, "no token", None, "whoami").await?;
    call(
        notes,
        "a token without scopes",
        Some(issuer.token("")?),
        "whoami",
    )
    .await?;
    call(notes, "a reader", Some(reader.clone()), "whoami").await?;
    call(notes, "a reader who wants more", Some(reader), "clear").await
}

/// Calls a tool and prints what comes back.
async fn call(
    notes: SocketAddr,
    who: &str,
    token: Option<String>,
    tool: &str,
) -> Result<(), Box<dyn Error>> {
    let request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": {}},
    });
    let mut post = awc::Client::new()
        .post(format!("http://{notes}/mcp"))
        .insert_header(("accept", "application/json, text/event-stream"));
    if let Some(token) = token {
        post = post.bearer_auth(token);
    }
    let mut response = post.send_json(&request).await?;
    let challenge = response.headers().get("www-authenticate");
    let challenge = challenge
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    println!("{who} calls {tool}: {}", response.status());
    println!("  {}", String::from_utf8_lossy(&response.body().await?));
    if let Some(challenge) = challenge {
        println!("  {challenge}");
    }
    Ok(())
}

/// Stands for the authorization server, which is somebody else's program.
struct Issuer {
    key: EncodingKey,
    key_set: Value,
}

impl Issuer {
    fn new() -> Result<Self, Box<dyn Error>> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map_err(|_| "no key can be made")?;
        let key = EncodingKey::from_ec_der(pair.as_ref());
        let mut jwk = Jwk::from_encoding_key(&key, Algorithm::ES256)?;
        jwk.common.key_id = Some("key-1".to_owned());
        let key_set = json!({"keys": [jwk]});
        Ok(Self { key, key_set })
    }

    fn token(&self, scope: &str) -> Result<String, Box<dyn Error>> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some("key-1".to_owned());
        let claims = json!({
            "iss": ISSUER, "aud": AUDIENCE, "exp": now.as_secs() + 600,
            "sub": "ada", "client_id": "desk", "scope": scope,
        });
        Ok(jsonwebtoken::encode(&header, &claims, &self.key)?)
    }
}

/// Serves on a free port of this machine.
fn start<C>(configure: C) -> std::io::Result<(SocketAddr, ServerHandle)>
where
    C: FnOnce(&mut ServiceConfig) + Clone + Send + 'static,
{
    let server = HttpServer::new(move || App::new().configure(configure.clone()))
        .workers(1)
        .tcp_nodelay(true)
        .h1_allow_half_closed(false)
        .disable_signals()
        .shutdown_timeout(1)
        .bind("127.0.0.1:0")?;
    let addr = server
        .addrs()
        .first()
        .copied()
        .ok_or_else(|| std::io::Error::other("no address"))?;
    let server = server.run();
    let handle = server.handle();
    actix_web::rt::spawn(server);
    Ok((addr, handle))
}
