//! What a host learns of a tool before it calls it: title, hints, `_meta` and the schema of its
//! output; and a tool that makes its whole result itself.
//!
//! ```sh
//! cargo run --example described_tools             # the list and two calls, printed
//! cargo run --example described_tools -- --serve  # until ctrl-c
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

#[path = "shared/host.rs"]
mod host;

use std::error::Error;

use roscius::{
    prelude::*,
    wire::content::{CallToolResult, ContentBlock},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use self::host::Host;

/// Current weather for a city
#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

/// Its schema becomes the output schema of the tool.
#[derive(Serialize, JsonSchema)]
struct Weather {
    city: String,
    celsius: f32,
}

async fn get_weather(Args(City { city }): Args<City>) -> Json<Weather> {
    Json(Weather {
        city,
        celsius: 18.0,
    })
}

/// Content for the reader, data for programs, sent as they are.
async fn draw_map() -> CallToolResult {
    CallToolResult {
        content: vec![
            ContentBlock::text("The map of Oslo:"),
            ContentBlock::image("iVBORw0KGgo=", "image/png"),
        ],
        structured_content: Some(json!({"zoom": 3})),
        ..CallToolResult::default()
    }
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut meta = Map::new();
    meta.insert("ui".to_owned(), json!({"resourceUri": "ui://weather"}));
    let server = McpServer::new("weather", "1.0.0")
        .tool(
            Tool::new("get_weather", get_weather)
                .title("Weather")
                .read_only()
                .open_world(true)
                .meta(meta),
        )
        .tool(
            Tool::new("draw_map", draw_map)
                .description("Draws a map")
                .destructive(false)
                .idempotent(),
        )
        .on_error(|fault| println!("fault: {fault}"))
        .build()?;
    let Some(host) = Host::start(&server).await? else {
        return Ok(());
    };

    let client = McpClient::connect(Http::new(&host.url)).await?;
    for tool in client.list_tools().await?.iter() {
        println!("tool: {}", serde_json::to_string(tool)?);
    }
    for (tool, arguments) in [
        ("get_weather", json!({"city": "Oslo"})),
        ("draw_map", json!({})),
    ] {
        let result = client.call_tool(tool, arguments).await?;
        println!("{tool}: {}", serde_json::to_string(&result)?);
    }
    client.close().await;

    // What the protocol refuses reaches `on_error`.
    let refused = awc::Client::new()
        .post(&host.url)
        .send_body("hello")
        .await?;
    println!("no message: {}", refused.status());
    host.stop().await;
    Ok(())
}
