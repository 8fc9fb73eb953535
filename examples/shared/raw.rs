//! A request by hand, for what no client of this crate asks.

use std::error::Error;

use serde_json::{Value, json};

/// Sends one request of the 2025 era and gives its result or error.
pub(crate) async fn ask(url: &str, method: &str, params: Value) -> Result<Value, Box<dyn Error>> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut answer: Value = awc::Client::new()
        .post(url)
        .insert_header(("accept", "application/json, text/event-stream"))
        .insert_header(("mcp-protocol-version", "2025-11-25"))
        .send_json(&body)
        .await
        .map_err(|error| error.to_string())?
        .json()
        .await?;
    let part = if answer.get("error").is_some() {
        "error"
    } else {
        "result"
    };
    let part = answer.get_mut(part).map(Value::take);
    Ok(part.unwrap_or_default())
}
