//! An MCP server as applications have one, for the clients of other makers.
//!
//! ```text
//! mcp_host                     HTTP on a free port, until SIGTERM; the first line has the address
//! mcp_host --stdio stateless   one server on standard input and output
//! mcp_host --stdio memory      the same with sessions
//! ```
//!
//! Every server has the same tools, resources and prompts. Over HTTP there are `/stateless/mcp`,
//! `/memory/mcp`, and `/protected/stateless/mcp` and `/protected/memory/mcp`, which ask for bearer
//! tokens: `reader` has the scope `notes:read`, `writer` has `notes:write` as well. `/modern/mcp`
//! serves 2026 alone, and `/paged/mcp` has lists of two items a page. `GET /open` tells how many
//! sessions and calls are open.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a host for tests: whatever it did not expect ends it"
)]

mod served;

use std::time::{Duration, SystemTime};

use actix_web::{
    App, HttpResponse, HttpServer,
    rt::signal::unix::{SignalKind, signal},
    web::ServiceConfig,
};
use roscius::{
    prelude::*,
    server::{McpServerBuilder, ServerFault},
    web,
    wire::{auth::AuthInfo, oauth::OAuthError},
};
use serde_json::json;

/// Calls that are open when the host is told to end get this long.
const DRAIN: Duration = Duration::from_millis(300);
/// How soon a client comes back to a stream.
const RETRY: Duration = Duration::from_millis(20);

/// Knows the two tokens.
async fn verify(token: String) -> Result<AuthInfo, OAuthError> {
    let scopes: &[&str] = match token.as_str() {
        "reader" => &["notes:read"],
        "writer" => &["notes:read", "notes:write"],
        _ => return Err(OAuthError::invalid_token("the token is not known")),
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let in_an_hour = now.expect("a clock after 1970").as_secs() + 3600;
    let caller = AuthInfo::new(token.clone(), "interop").subject(token);
    Ok(caller.scopes(scopes.iter().copied()).expires_at(in_an_hour))
}

fn plain(sessions: Sessions) -> McpServerBuilder {
    served::server(sessions)
        .session_limits(SessionLimits::default().retry(RETRY))
        .on_error(|fault: &ServerFault| eprintln!("{fault}"))
}

fn protected(sessions: Sessions) -> McpServerBuilder {
    plain(sessions).auth(verify).required_scopes(["notes:read"])
}

fn sessions(name: &str) -> Sessions {
    match name {
        "memory" => Sessions::Memory,
        _ => Sessions::Stateless,
    }
}

type Servers = Vec<(String, McpServer)>;

fn open(servers: &Servers) -> HttpResponse {
    let servers = servers.iter().map(|(_, server)| server);
    HttpResponse::Ok().json(json!({
        "sessions": servers.clone().map(McpServer::open_sessions).sum::<usize>(),
        "calls": servers.map(McpServer::running_calls).sum::<usize>(),
    }))
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = arguments.as_slice()
        && flag == "--stdio"
    {
        let server = plain(sessions(name)).build()?;
        return Ok(roscius::server::serve_stdio(server).await?);
    }
    serve().await
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let mut servers = Servers::new();
    for name in ["stateless", "memory"] {
        servers.push((format!("/{name}"), plain(sessions(name)).build()?));
        let server = protected(sessions(name)).build()?;
        servers.push((format!("/protected/{name}"), server));
    }
    let modern = plain(Sessions::Reject).build()?;
    let paged = plain(Sessions::Stateless).page_size(2).build()?;
    servers.extend([("/modern".to_owned(), modern), ("/paged".to_owned(), paged)]);
    let served = servers.clone();
    let app = HttpServer::new(move || {
        let servers = served.clone();
        App::new().configure(move |config: &mut ServiceConfig| {
            for (path, server) in &servers {
                config.configure(web::mcp(&format!("{path}/mcp"), server));
            }
            let open = move || std::future::ready(open(&servers));
            config.route("/open", actix_web::web::get().to(open));
        })
    })
    // Sessions have to be found from a worker that did not open them.
    .workers(2)
    .tcp_nodelay(true)
    .h1_allow_half_closed(false)
    .disable_signals()
    .shutdown_timeout(1)
    .bind(("127.0.0.1", 0))?;
    let address = *app.addrs().first().ok_or("no address")?;
    println!("http://{address}");
    let app = app.run();
    let handle = app.handle();
    actix_web::rt::spawn(app);
    signal(SignalKind::terminate())?.recv().await;
    for (_, server) in &servers {
        server.drain(DRAIN).await;
    }
    handle.stop(true).await;
    Ok(())
}
