//! The tool set that every peer of the benches offers. Usage: `bench_server PORT [memory]`.

use actix_web::{App, HttpServer};
use roscius::{prelude::*, web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// Text to echo back
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// First addend
    a: f64,
    /// Second addend
    b: f64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: f64,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "the fillers only make the list long")]
struct Search {
    /// Search text
    text: String,
    /// Maximum number of results
    limit: i64,
}

async fn echo(Args(q): Args<Echo>) -> String {
    q.text
}

async fn add(Args(q): Args<Add>) -> Json<Sum> {
    Json(Sum { sum: q.a + q.b })
}

async fn filler(_: Args<Search>) -> &'static str {
    "nothing found"
}

fn server(sessions: Sessions) -> Result<McpServer, roscius::server::ServerError> {
    let fillers = (0..48).map(|number| {
        let what = format!(
            "Filler tool number {number:02}: searches a fictional index and returns matches"
        );
        Tool::new(format!("filler_{number:02}"), filler).description(what)
    });
    McpServer::new("bench", env!("CARGO_PKG_VERSION"))
        .tool(Tool::new("echo", echo).description("Echo the text back"))
        .tool(Tool::new("add", add).description("Add two numbers"))
        .tools(fillers)
        .sessions(sessions)
        .max_body_bytes(16 * 1024 * 1024)
        .build()
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let port: u16 = args
        .next()
        .ok_or("usage: bench_server PORT [memory]")?
        .parse()?;
    let sessions = match args.next().as_deref() {
        Some("memory") => Sessions::Memory,
        _ => Sessions::Stateless,
    };
    let server = server(sessions)?;
    HttpServer::new(move || App::new().configure(web::mcp("/mcp", &server)))
        .tcp_nodelay(true)
        .h1_allow_half_closed(false)
        .bind(("127.0.0.1", port))?
        .run()
        .await?;
    Ok(())
}
