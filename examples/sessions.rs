//! What a server does with clients of the 2025 versions: it keeps a session for each, serves each
//! request by itself, or refuses them. Only in a session can a tool ask while its call waits.
//!
//! ```sh
//! cargo run --example sessions             # the same client meets each of them, printed
//! cargo run --example sessions -- --serve  # the first of them, until ctrl-c
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

#[path = "shared/host.rs"]
mod host;

use std::error::Error;

use awc::ClientRequest;
use futures_util::StreamExt as _;
use roscius::{prelude::*, wire::sse::SseDecoder};
use serde_json::{Value, json};

use self::host::Host;

async fn ask_city(cx: ToolCx) -> Result<String, ToolError> {
    let city = cx.request_input("Which city?").await?;
    Ok(format!("You chose {city}."))
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    for sessions in [Sessions::Memory, Sessions::Stateless, Sessions::Reject] {
        println!("{sessions:?}");
        let server = McpServer::new("cities", "1.0.0")
            .tool(Tool::new("ask_city", ask_city).description("Ask which city to use"))
            .sessions(sessions)
            .build()?;
        let Some(host) = Host::start(&server).await? else {
            return Ok(());
        };
        let mut client = Client {
            url: host.url.clone(),
            session: None,
        };
        client.open().await?;
        client.call().await?;
        client.close().await?;
        host.stop().await;
    }
    Ok(())
}

/// A client of the old era, by hand: `McpClient` would speak 2026 to this server.
struct Client {
    url: String,
    session: Option<String>,
}

impl Client {
    fn with_headers(&self, request: ClientRequest) -> ClientRequest {
        let request = request
            .insert_header(("accept", "application/json, text/event-stream"))
            .insert_header(("mcp-protocol-version", "2025-11-25"));
        match &self.session {
            Some(session) => request.insert_header(("mcp-session-id", session.as_str())),
            None => request,
        }
    }

    /// Posts a message, prints what comes back, and answers if it is a question.
    async fn post(&self, message: &Value) -> Result<Option<String>, Box<dyn Error>> {
        let request = self.with_headers(awc::Client::new().post(&self.url));
        let sent = request.send_json(message).await;
        let mut response = sent.map_err(|error| error.to_string())?;
        let session = response.headers().get("mcp-session-id");
        let session = session
            .map(|id| id.to_str().map(str::to_owned))
            .transpose()?;
        let kind = response.headers().get("content-type");
        if kind.is_none_or(|kind| kind != "text/event-stream") {
            let body = String::from_utf8_lossy(&response.body().await?).into_owned();
            println!("  {} {body}", response.status().as_u16());
            return Ok(session);
        }
        let mut events = SseDecoder::default();
        while let Some(chunk) = response.next().await {
            events.feed(&chunk?)?;
            while let Some(event) = events.next_event() {
                // The first event only says where to go on after a lost connection.
                let Ok(message) = serde_json::from_str::<Value>(&event.data) else {
                    continue;
                };
                println!("  event: {message}");
                if message.get("method").is_some() {
                    let value = json!({"action": "accept", "content": {"value": "Paris"}});
                    let answer =
                        json!({"jsonrpc": "2.0", "id": message.get("id"), "result": value});
                    Box::pin(self.post(&answer)).await?;
                }
            }
        }
        Ok(session)
    }

    async fn open(&mut self) -> Result<(), Box<dyn Error>> {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "old", "version": "1.0.0"},
        });
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        self.session = self.post(&message).await?;
        println!("  session: {}", self.session.is_some());
        Ok(())
    }

    async fn call(&self) -> Result<(), Box<dyn Error>> {
        let params = json!({"name": "ask_city", "arguments": {}});
        let message = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
        self.post(&message).await?;
        Ok(())
    }

    async fn close(&self) -> Result<(), Box<dyn Error>> {
        if self.session.is_some() {
            let request = self.with_headers(awc::Client::new().delete(&self.url));
            let ended = request.send().await.map_err(|error| error.to_string())?;
            println!("  deleted: {}", ended.status().as_u16());
        }
        Ok(())
    }
}
