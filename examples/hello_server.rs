//! An MCP server with one tool, in an actix-web application.
//!
//! ```sh
//! cargo run --example hello_server             # one call, printed
//! cargo run --example hello_server -- --serve  # until ctrl-c
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

#[path = "shared/host.rs"]
mod host;

use roscius::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::host::Host;

/// Current weather for a city
#[derive(Deserialize, JsonSchema)]
struct City {
    /// City name
    city: String,
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    celsius: f32,
    conditions: String,
}

#[derive(Debug, thiserror::Error)]
#[error("no weather is known for {0}")]
struct UnknownCity(String);

async fn get_weather(Args(q): Args<City>) -> Result<Json<Weather>, UnknownCity> {
    match q.city.as_str() {
        "Oslo" => Ok(Json(Weather {
            celsius: 7.0,
            conditions: "cloudy".to_owned(),
        })),
        _ => Err(UnknownCity(q.city)),
    }
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = McpServer::new("hello", "1.0.0")
        .tool(Tool::new("get_weather", get_weather).read_only())
        .build()?;
    let Some(host) = Host::start(&server).await? else {
        return Ok(());
    };

    let client = McpClient::connect(Http::new(&host.url)).await?;
    for tool in client.tools().await? {
        let description = tool.listing.description.unwrap_or_default();
        println!("tool: {}, {description}", tool.name);
    }
    for city in ["Oslo", "Atlantis"] {
        let result = client
            .call_tool("get_weather", json!({"city": city}))
            .await?;
        println!("{city}: {}", serde_json::to_string(&result)?);
    }
    client.close().await;
    host.stop().await;
    Ok(())
}
