//! An MCP server that bounds how often each caller may ask and tells who called what; its host knows
//! the callers by a header.
//!
//! ```sh
//! cargo run --example audited_server             # four requests, both sides printed
//! cargo run --example audited_server -- --serve  # until ctrl-c; `x-user` names the caller
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

#[path = "shared/host.rs"]
mod host;

use std::error::Error;

use actix_web::HttpResponse;
use host::Host;
use roscius::{
    prelude::*,
    server::{RateLimit, Redaction},
    web::McpRoutes,
    wire::auth::AuthInfo,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Transfer {
    /// Who gets it
    to: String,
    amount: u32,
    /// The number that confirms it
    #[schemars(extend("writeOnly" = true))]
    pin: String,
}

async fn transfer(Args(order): Args<Transfer>) -> Result<String, ToolError> {
    if order.pin.len() != 4 {
        return Err(ToolError::new("the pin has four digits"));
    }
    Ok(format!("{} for {}", order.amount, order.to))
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = McpServer::new("bank", "1.0.0")
        .tool(
            Tool::new("transfer", transfer)
                .description("Sends money")
                .destructive(true),
        )
        .rate_limit(RateLimit::per_minute(2))
        .audit(|audit| {
            let (user, name) = (audit.subject.unwrap_or("nobody"), audit.name);
            println!(
                "audit: {user} {name} {} {:?}",
                audit.arguments, audit.outcome
            );
        })
        .audit_arguments(Redaction::values())
        .build()?;
    let routes = McpRoutes::new("/mcp", &server).authorize(|request| async move {
        let user = request
            .headers()
            .get("x-user")
            .and_then(|user| user.to_str().ok());
        let user = user.ok_or_else(|| HttpResponse::Unauthorized().finish())?;
        Ok(Options::new().auth_info(AuthInfo::new("", "bank-app").subject(user)))
    });
    let host = Host::mount(move |config| {
        config.service(routes);
    })?;
    println!("server: {}", host.url);
    if std::env::args().any(|arg| arg == "--serve") {
        actix_web::rt::signal::ctrl_c().await?;
        host.stop().await;
        return Ok(());
    }

    let client = awc::Client::default();
    for (user, pin) in [
        ("ann", "1234"),
        ("ann", "12"),
        ("ann", "1234"),
        ("bob", "1234"),
    ] {
        let order = json!({"to": "carl", "amount": 5, "pin": pin});
        let params = json!({"name": "transfer", "arguments": order});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let sent = client
            .post(&host.url)
            .insert_header(("x-user", user))
            .insert_header(("mcp-protocol-version", "2025-11-25"))
            .send_json(&call)
            .await?;
        println!("{user}: {}", sent.status());
    }
    host.stop().await;
    Ok(())
}
