//! An MCP server that requires opaque tokens: it asks the authorization server about each.
//!
//! ```sh
//! cargo run --example introspection             # three requests, printed
//! cargo run --example introspection -- --serve  # until ctrl-c; `key-1` is a good token
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

#[path = "shared/host.rs"]
mod host;

use std::{
    error::Error,
    time::{SystemTime, UNIX_EPOCH},
};

use actix_web::{
    HttpResponse,
    web::{Form, ServiceConfig, post},
};
use roscius::{auth::Introspection, prelude::*, wire::auth::AuthInfo};
use serde::Deserialize;
use serde_json::json;

use self::host::Host;

#[derive(Deserialize)]
struct Asked {
    token: String,
}

/// Stands for the authorization server, which is somebody else's program.
async fn introspect(asked: Form<Asked>) -> HttpResponse {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let exp = now.unwrap_or_default().as_secs() + 600;
    HttpResponse::Ok().json(match asked.token.as_str() {
        "key-1" => json!({
            "active": true, "client_id": "desk", "sub": "ada", "scope": "notes:read", "exp": exp,
        }),
        "key-2" => json!({"active": true, "client_id": "desk", "sub": "bob", "exp": exp}),
        _ => json!({"active": false}),
    })
}

async fn whoami(caller: Ctx<AuthInfo>) -> String {
    let user = caller.subject.as_deref().unwrap_or("nobody");
    format!("{user}, by {}", caller.client_id)
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let issuer = Host::mount(|config: &mut ServiceConfig| {
        config.route("/introspect", post().to(introspect));
    })?;
    let endpoint = format!("{}/introspect", issuer.origin);
    let server = McpServer::new("notes", "1.0.0")
        .tool(Tool::new("whoami", whoami).description("Tells who calls"))
        .auth(Introspection::new(endpoint, "notes", "secret"))
        .required_scopes(["notes:read"])
        .build()?;
    let Some(host) = Host::start(&server).await? else {
        return Ok(());
    };

    for token in ["key-1", "key-2", "key-3"] {
        let transport = Http::new(&host.url).bearer(token);
        match McpClient::connect(transport).await {
            Ok(client) => {
                let result = client.call_tool("whoami", json!({})).await?;
                println!("{token}: {}", serde_json::to_string(&result.content)?);
                client.close().await;
            }
            Err(error) => println!("{token}: {error}"),
        }
    }
    host.stop().await;
    issuer.stop().await;
    Ok(())
}
