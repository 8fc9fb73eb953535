//! A complete server route: a chat with the tools of two MCP servers, one of them behind a token.
//!
//! ```sh
//! cargo run --example two_servers             # one request, both sides printed
//! cargo run --example two_servers -- --serve  # until ctrl-c
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

#[path = "shared/host.rs"]
mod host;

use std::{error::Error, time::Duration};

use actix_web::{HttpRequest, HttpResponse, web::ServiceConfig};
use futures_util::StreamExt as _;
use host::Host;
use roscius::{
    chat::{Chat, Mcp},
    model::{Script, ScriptedModel},
    pool::McpPool,
    prelude::{Args, Tool},
    server::{McpServer, Options},
    transport::Http,
    web::{McpRoutes, chat as chat_route, mcp},
    wire::sse::SseDecoder,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

const TOKEN: &str = "let-me-in";

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let weather = Host::mount(mcp("/mcp", &weather_server()?))?;
    let notes = Host::mount(protected(&notes_server()?))?;

    // The pool connects to both at once; a name that cannot be reached would be in the error.
    let pool = McpPool::builder()
        .server("weather", Http::new(&weather.url))
        .server("notes", Http::new(&notes.url).bearer(TOKEN))
        .connect()
        .await?;
    // With a key: `Chat::builder(OpenAi::responses("gpt-5-mini").api_key(key))`.
    let chat = Chat::builder(model()?)
        .mcp(Mcp::clients([&pool]).keep_alive())
        .build()?;
    let page = Host::mount(chat_route("/api/chat", &chat))?;

    if std::env::args().any(|arg| arg == "--serve") {
        println!("POST {}/api/chat", page.origin);
        tokio::signal::ctrl_c().await?;
    } else {
        ask(&page.origin, "Note the weather in Oslo").await?;
    }

    // Runs end first, then their servers, then the sockets.
    chat.drain(Duration::from_secs(2)).await;
    pool.close().await;
    for server in [page, weather, notes] {
        server.stop().await;
    }
    Ok(())
}

/// Current weather for a city
#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

fn weather_server() -> Result<McpServer, Box<dyn Error>> {
    let tool = Tool::new("get_weather", async |Args(City { city }): Args<City>| {
        Ok::<_, std::convert::Infallible>(format!("{city}: 7 degrees, cloudy"))
    });
    Ok(McpServer::new("weather", "1.0.0")
        .tool(tool.read_only())
        .build()?)
}

/// Keep a note
#[derive(Deserialize, JsonSchema)]
struct Note {
    text: String,
}

fn notes_server() -> Result<McpServer, Box<dyn Error>> {
    let tool = Tool::new("add_note", async |Args(Note { text }): Args<Note>| {
        Ok::<_, std::convert::Infallible>(format!("noted: {text}"))
    });
    Ok(McpServer::new("notes", "1.0.0").tool(tool).build()?)
}

/// Serves only who knows the token.
fn protected(server: &McpServer) -> impl FnOnce(&mut ServiceConfig) + Clone + Send + use<> {
    let routes = McpRoutes::new("/mcp", server).authorize(async |request: HttpRequest| {
        let given = request.headers().get("authorization");
        let given = given.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        match given {
            Some(TOKEN) => Ok(Options::new()),
            _ => Err(HttpResponse::Unauthorized().finish()),
        }
    });
    routes.routes()
}

/// A model that needs no key: it plays what a real one would do.
fn model() -> Result<ScriptedModel, Box<dyn Error>> {
    let script = Script::from_value(&json!({"turns": [
        {"toolCalls": [{"id": "call_1", "name": "weather_get_weather", "arguments": {"city": "Oslo"}}]},
        {"toolCalls": [{"id": "call_2", "name": "notes_add_note", "arguments": {"text": "Oslo: 7 degrees"}}]},
        {"text": ["It is cloudy in Oslo, ", "and I made a note of it."]},
    ]}))?;
    Ok(ScriptedModel::from_script(script))
}

/// Does what a browser does, and prints it.
async fn ask(origin: &str, text: &str) -> Result<(), Box<dyn Error>> {
    println!("user: {text}");
    let body = json!({
        "threadId": "thread-1",
        "runId": "run-1",
        "state": {},
        "messages": [{"id": "message-1", "role": "user", "content": text}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    });
    let request = awc::Client::default().post(format!("{origin}/api/chat"));
    let mut response = request.send_json(&body).await?;
    let mut decoder = SseDecoder::default();
    while let Some(chunk) = response.next().await {
        decoder.feed(&chunk?)?;
        while let Some(frame) = decoder.next_event() {
            let event: Value = serde_json::from_str(&frame.data)?;
            let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
            match text("type") {
                "TOOL_CALL_START" => println!("call: {}", text("toolCallName")),
                "TOOL_CALL_RESULT" => println!("result: {}", text("content")),
                "TEXT_MESSAGE_CONTENT" => print!("{}", text("delta")),
                "TEXT_MESSAGE_END" => println!(),
                "RUN_ERROR" => return Err(text("message").into()),
                _ => {}
            }
        }
    }
    Ok(())
}
