//! An MCP server in an application that knows its callers already: the host passes the caller and
//! its values along, and no gate asks for a token.
//!
//! ```sh
//! cargo run --example own_auth
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;

use roscius::{
    prelude::{Ctx, McpServer, Options, Resource, Tool},
    wire::{
        auth::AuthInfo,
        http::{Body, Head, Method, Request},
    },
};
use serde_json::json;

/// What the application has for each of its users.
struct Notes {
    titles: Vec<&'static str>,
}

impl Notes {
    fn of(titles: &[&'static str]) -> Self {
        Self {
            titles: titles.to_vec(),
        }
    }
}

/// The same function serves a tool and a resource.
async fn list_notes(caller: Ctx<AuthInfo>, notes: Ctx<Notes>) -> String {
    format!("{} has {}", caller.client_id, notes.titles.join(" and "))
}

/// What the middleware of the application does: it knows a session, or it does not.
fn verify(headers: &[(&str, &str)]) -> Option<(AuthInfo, Notes)> {
    let (_, session) = headers.iter().find(|(name, _)| *name == "x-session")?;
    match *session {
        "s-1" => Some((AuthInfo::new("s-1", "ann"), Notes::of(&["bread", "milk"]))),
        "s-2" => Some((AuthInfo::new("s-2", "bob"), Notes::of(&["nails"]))),
        _ => None,
    }
}

/// One request, whatever framework it came by: `server.handle` needs none.
async fn serve(server: &McpServer, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let Some((caller, notes)) = verify(headers) else {
        return (401, "who are you?".to_owned());
    };
    let headers: Vec<(&str, &str)> = headers.to_vec();
    let request = Request {
        head: Head::of(Method::Post, &headers),
        body: body.as_bytes(),
    };
    let options = Options::new().auth_info(caller).context(notes);
    let response = server.handle(request, options).await;
    let text = match response.body {
        Body::Json(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => String::new(),
    };
    (response.status, text)
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = McpServer::new("notes", "1.0.0")
        .tool(Tool::new("list_notes", list_notes).description("Lists the caller's notes"))
        .resource(Resource::new("notes", "notes://own", list_notes))
        .request_context::<Notes>()
        .build()?;
    let requests = [
        ("tools/call", json!({"name": "list_notes", "arguments": {}})),
        ("resources/read", json!({"uri": "notes://own"})),
    ];
    for session in ["s-1", "s-2", "s-3"] {
        for (method, params) in &requests {
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            let headers = [("content-type", "application/json"), ("x-session", session)];
            let (status, body) = serve(&server, &headers, &request.to_string()).await;
            println!("{session}, {method}: {status} {body}");
        }
    }
    Ok(())
}
