//! A tool that asks for a value of a type: the form comes from the type, and an answer that does
//! not fit is asked for again.
//!
//! ```sh
//! cargo run --example book_stay             # one question, answered twice and printed
//! cargo run --example book_stay -- --serve  # until ctrl-c
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

#[path = "shared/host.rs"]
mod host;

use roscius::{client::ClientError, prelude::*};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use self::host::Host;

/// A stay
#[derive(Deserialize, JsonSchema)]
struct Stay {
    /// Three capital letters
    #[schemars(regex(pattern = "^[A-Z]{3}$"))]
    airport: String,
    #[schemars(range(min = 1, max = 14))]
    nights: u8,
    room: Room,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Room {
    /// One bed
    Single,
    /// Two beds
    Double,
}

async fn book(cx: ToolCx) -> Result<String, ToolError> {
    let stay: Stay = cx.request_input_as("Where, and how long?").await?;
    let Stay {
        airport,
        nights,
        room,
    } = stay;
    Ok(format!("{nights} nights near {airport}, {room:?}"))
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = McpServer::new("hotel", "1.0.0")
        // A type that cannot be a form is found here.
        .tool(
            Tool::new("book", book)
                .description("Books a stay")
                .asks::<Stay>(),
        )
        .build()?;
    let Some(host) = Host::start(&server).await? else {
        return Ok(());
    };

    let client = McpClient::connect(Http::new(&host.url)).await?;
    let mut answers = [
        json!({"airport": "Zurich", "nights": 2, "room": "single"}),
        json!({"airport": "ZRH", "nights": 2, "room": "single"}),
    ]
    .into_iter();
    let mut called = client.call_tool("book", json!({})).await;
    let result = loop {
        let asked = match called {
            Err(ClientError::InputRequired(asked)) => asked,
            other => break other?,
        };
        let (key, question) = asked.questions.first().ok_or("no question")?;
        println!("question: {}", question.params);
        let content = answers.next().ok_or("asked too often")?;
        println!("answer: {content}");
        let answer = json!({"action": "accept", "content": content});
        called = client
            .call_tool("book", json!({}))
            .input_responses([(key.clone(), answer)])
            .request_state(asked.request_state.clone())
            .await;
    };
    println!("result: {}", serde_json::to_string(&result)?);
    client.close().await;
    host.stop().await;
    Ok(())
}
