//! The demo MCP server: small tools that show what a tool can do.

use std::{convert::Infallible, time::Duration};

use roscius::{
    machine::seal::SealKey,
    prelude::{Args, Json, SampleRequest, Tool, ToolCx, ToolError},
    server::{McpServer, ServerError},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What the server is called, and what its tools' names begin with.
pub(crate) const NAME: &str = "demo";

/// Messages that show each tool, for the page.
pub(crate) const EXAMPLES: &[&str] = &[
    "weather in Oslo",
    "ask me for a city",
    "summarize: Actors own their state and talk by messages. Nobody else touches it.",
    "delete note 3",
    "count to 5",
    "hello",
];

/// How long one step of the slow counter takes: long enough to press Stop.
const STEP: Duration = Duration::from_millis(400);
/// A longer count shows nothing new.
const MAX_COUNT: u32 = 100;
/// Bounds the summary that a client's model is asked for.
const SUMMARY_TOKENS: u32 = 200;

/// Makes the server.
pub(crate) fn server(state_key: SealKey) -> Result<McpServer, ServerError> {
    McpServer::new("roscius-demo", env!("CARGO_PKG_VERSION"))
        .title("Roscius demo")
        .instructions("Tools to try out: they look up nothing and change nothing.")
        .tool(Tool::new("get_weather", get_weather).read_only())
        .tool(
            Tool::new("ask_city", ask_city)
                .description("Ask the user which city to use")
                .read_only(),
        )
        .tool(Tool::new("summarize", summarize).read_only())
        .tool(Tool::new("delete_note", delete_note).destructive(true))
        .tool(Tool::new("slow_count", slow_count).read_only())
        .tool(Tool::new("fail", fail).read_only())
        .sample_from_client(true)
        .state_key(state_key)
        .build()
}

/// Current weather for a city (made up)
#[derive(Deserialize, JsonSchema)]
struct City {
    /// City name
    city: String,
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    /// The city that was asked for
    city: String,
    /// Degrees Celsius
    celsius: i32,
    /// Sky
    conditions: String,
}

/// Gives each city a weather of its own that does not change between calls.
async fn get_weather(Args(City { city }): Args<City>) -> Result<Json<Weather>, Infallible> {
    const SKIES: [&str; 5] = ["clear", "cloudy", "rain", "snow", "fog"];
    let sum: u32 = city.to_lowercase().bytes().map(u32::from).sum();
    let celsius = i32::try_from(sum % 30).unwrap_or_default() - 4;
    let skies = SKIES
        .iter()
        .cycle()
        .nth(usize::try_from(sum % 5).unwrap_or_default());
    Ok(Json(Weather {
        city,
        celsius,
        conditions: skies.copied().unwrap_or("clear").to_owned(),
    }))
}

async fn ask_city(cx: ToolCx) -> Result<String, ToolError> {
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string", "title": "City", "minLength": 1}},
        "required": ["city"],
    });
    let answer = cx
        .request_form("city", "Which city should I use?", schema)
        .await?;
    let city = answer.get("city").and_then(serde_json::Value::as_str);
    Ok(city.unwrap_or_default().to_owned())
}

/// Summarize a text, with the model of whoever calls
#[derive(Deserialize, JsonSchema)]
struct Text {
    /// The text
    text: String,
}

async fn summarize(Args(Text { text }): Args<Text>, cx: ToolCx) -> Result<String, ToolError> {
    let request = SampleRequest::new(format!("Summarize in one sentence:\n\n{text}"));
    let request = request
        .system_prompt("Answer with the summary alone.")
        .max_tokens(SUMMARY_TOKENS);
    Ok(cx.sample(request).await?)
}

/// Delete a note for good (there are no notes: nothing is lost)
#[derive(Deserialize, JsonSchema)]
struct Note {
    /// The note's number
    id: u32,
}

#[derive(Serialize, JsonSchema)]
struct Deleted {
    /// The note's number
    deleted: u32,
}

async fn delete_note(Args(Note { id }): Args<Note>) -> Result<Json<Deleted>, Infallible> {
    Ok(Json(Deleted { deleted: id }))
}

/// Count slowly, one number each 0.4 seconds
#[derive(Deserialize, JsonSchema)]
struct Count {
    /// The last number, at most 100
    #[schemars(range(min = 1, max = 100))]
    to: u32,
}

async fn slow_count(Args(Count { to }): Args<Count>, cx: ToolCx) -> Result<String, ToolError> {
    if to == 0 || to > MAX_COUNT {
        return Err(ToolError::new(format!("`to` must be 1 to {MAX_COUNT}")));
    }
    for number in 1..=to {
        let step = cx.cancelled().run_until_cancelled(tokio::time::sleep(STEP));
        if step.await.is_none() {
            return Err(ToolError::new(format!("stopped before {number}")));
        }
        let text = format!("{number} of {to}");
        cx.progress(f64::from(number), Some(f64::from(to)), Some(&text));
    }
    Ok(format!("counted to {to}"))
}

/// Fail with a message
#[derive(Deserialize, JsonSchema)]
struct Failure {
    /// What the error says
    message: String,
}

async fn fail(Args(Failure { message }): Args<Failure>) -> Result<String, ToolError> {
    Err(ToolError::new(message))
}
