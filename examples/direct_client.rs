//! A client of a server in the same process: no connection, no token, values for each call.
//!
//! ```sh
//! cargo run --example direct_client
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;

use roscius::wire::auth::AuthInfo;
use roscius::{prelude::*, wire::oauth::OAuthError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Adds a note
#[derive(Serialize, Deserialize, JsonSchema)]
struct Note {
    text: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Added {
    id: u32,
    title: String,
}

/// Who asks: the application gives it with each call.
struct User(&'static str);

const ADD_NOTE: ToolDef<Note, Added> = ToolDef::new("add_note");
const ASK_COLOR: ToolDef<(), String> = ToolDef::new("ask_color").description("Asks for a color");
const OWNER: ResourceDef = ResourceDef::fixed("owner", "notes://owner");

/// The title is what the server's own model makes of the text.
async fn add_note(Args(note): Args<Note>, cx: ToolCx) -> Result<Json<Added>, ToolError> {
    let title = cx.sample(format!("A title for: {}", note.text)).await?;
    Ok(Json(Added { id: 1, title }))
}

async fn ask_color(cx: ToolCx) -> Result<String, ToolError> {
    Ok(cx.request_input("Which color?").await?)
}

async fn owner(user: Ctx<User>) -> String {
    let User(name) = *user;
    format!("These are the notes of {name}.")
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = McpServer::new("notes", "1.0.0")
        .tool(ADD_NOTE.implement(add_note))
        .tool(ASK_COLOR.implement(ask_color))
        .resource(OWNER.implement(owner))
        .request_context::<User>()
        .sample(|asked: SampleRequest| async move {
            Ok::<_, ToolError>(format!("\"{}\"", asked.text()))
        })
        // Nobody comes in by HTTP; this process needs no token.
        .auth(async |_token: String| Err::<AuthInfo, _>(OAuthError::invalid_token("closed")))
        .build()?;

    let client = server.direct();
    let text = "Buy bread".to_owned();
    let added = client.call(&ADD_NOTE, Note { text }).await?;
    println!("note {}: {}", added.id, added.title);
    for user in ["ann", "bob"] {
        let owner = client.read(&OWNER, ()).context(User(user)).await?;
        println!("{}", owner.text().unwrap_or_default());
    }

    let Err(error) = client.call(&ASK_COLOR, ()).await else {
        return Err("the tool did not ask".into());
    };
    println!("{error}");
    let asked = error.input_required().ok_or("no question")?;
    println!("question: {}", asked.request);
    let answer = json!({"action": "accept", "content": {"value": "blue"}});
    let keys = asked.questions.keys().cloned();
    let color = client
        .call(&ASK_COLOR, ())
        .input_responses(keys.map(|key| (key, answer.clone())))
        .request_state(asked.request_state.clone())
        .await?;
    println!("color: {color}");

    const LOST: ToolDef<(), ()> = ToolDef::new("lost");
    if let Err(error) = client.call(&LOST, ()).await {
        println!("{error}");
    }
    Ok(())
}
