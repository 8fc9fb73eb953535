//! Resources, a template with a list and completion, and a prompt.
//!
//! ```sh
//! cargo run --example notes_server             # lists, reads, completes, and gets the prompt
//! cargo run --example notes_server -- --serve  # until ctrl-c
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

#[path = "shared/host.rs"]
mod host;
#[path = "shared/raw.rs"]
mod raw;

use std::{collections::BTreeMap, time::Duration};

use roscius::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use self::{host::Host, raw::ask};

struct Notes(BTreeMap<String, String>);

#[derive(Deserialize)]
struct NoteId {
    id: String,
}

/// `None` says that there is no such note.
async fn read_note(Vars(note): Vars<NoteId>, notes: Ctx<Notes>) -> Option<String> {
    let Notes(notes) = &*notes;
    notes.get(&note.id).cloned()
}

async fn list_notes(notes: Ctx<Notes>) -> Vec<ResourceListing> {
    let Notes(notes) = &*notes;
    notes
        .keys()
        .map(|id| ResourceListing::new(format!("notes://{id}"), id))
        .collect()
}

async fn complete_id(typed: Partial, notes: Ctx<Notes>) -> Vec<String> {
    let Notes(notes) = &*notes;
    typed.filter(notes.keys().cloned())
}

/// Makes a summary of a note
#[derive(Deserialize, JsonSchema)]
struct Summary {
    /// The note's id
    id: String,
    /// How many sentences it may have
    sentences: Option<u8>,
}

async fn summarize(
    Args(args): Args<Summary>,
    notes: Ctx<Notes>,
) -> Result<[PromptMessage; 2], ToolError> {
    let Notes(notes) = &*notes;
    let note = notes
        .get(&args.id)
        .ok_or_else(|| ToolError::new("there is no such note"))?;
    let contents = ResourceContents::text(note).uri(format!("notes://{}", args.id));
    let sentences = args.sentences.unwrap_or(2);
    Ok([
        PromptMessage::user(contents),
        PromptMessage::user(format!("Summarize this note in {sentences} sentences.")),
    ])
}

fn server() -> Result<McpServer, roscius::server::ServerError> {
    let notes = [("shopping", "Milk, bread."), ("ideas", "Write an example.")];
    let notes = notes.map(|(id, text)| (id.to_owned(), text.to_owned()));
    McpServer::new("notes", "1.0.0")
        .context(Notes(notes.into()))
        .resource(
            Resource::new("about", "notes-help://about", || async {
                "Each note is a resource: notes://<id>."
            })
            .mime_type("text/plain")
            .cache(CacheHint::public(Duration::from_secs(3600))),
        )
        .resource(
            Resource::template("notes://{id}", read_note)
                .name("note")
                .mime_type("text/plain")
                .list(list_notes)
                .complete("id", complete_id),
        )
        .prompt(Prompt::new("summarize", summarize).complete("id", complete_id))
        .build()
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = server()?;
    let Some(host) = Host::start(&server).await? else {
        return Ok(());
    };

    let ideas = json!({"ref": {"type": "ref/resource", "uri": "notes://{id}"}, "argument": {"name": "id", "value": "i"}});
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "notes://shopping"})),
        ("resources/read", json!({"uri": "notes://lost"})),
        ("completion/complete", ideas),
        ("prompts/list", json!({})),
        (
            "prompts/get",
            json!({"name": "summarize", "arguments": {"id": "ideas"}}),
        ),
    ] {
        println!("{method} {params}");
        println!("  {}", ask(&host.url, method, params).await?);
    }
    host.stop().await;
    Ok(())
}
