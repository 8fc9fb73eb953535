//! Forms of types and pages to open, asked of the client of a session.

use roscius::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    client::{Client, NEWEST, json_of, messages, serve},
    questions::{question, text_of},
};
use crate::{
    mcp_server::forms::{Stay, requested},
    schema::assert_fits,
    served::Served,
};

const OLDER: &str = "2025-06-18";
const PAGES: &str = r#"{"elicitation":{"form":{},"url":{}}}"#;
const URL: &str = "https://app.test/in";

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Class {
    /// The cheap one
    Economy,
    /// The other one
    Business,
}

#[derive(Deserialize, JsonSchema)]
struct Seat {
    class: Class,
    #[serde(default = "one")]
    seats: u8,
}

const fn one() -> u8 {
    1
}

fn server() -> McpServer {
    McpServer::new("forms", "1.0.0")
        .sessions(Sessions::Memory)
        .tool(
            Tool::new("book", |cx: ToolCx| async move {
                let stay: Stay = cx.request_input_as("Where do you stay?").await?;
                Ok::<_, ToolError>(stay.words())
            })
            .asks::<Stay>(),
        )
        .tool(
            Tool::new("seat", |cx: ToolCx| async move {
                let seat: Seat = cx.request_form_as("seat", "Which class?").await?;
                let class = match seat.class {
                    Class::Economy => "economy",
                    Class::Business => "business",
                };
                Ok::<_, ToolError>(format!("{class} {}", seat.seats))
            })
            .asks::<Seat>(),
        )
        .tool(Tool::new("page", |cx: ToolCx| async move {
            let page = Question::url("Sign in", URL).elicitation_id("e-1");
            cx.ask(page).await?;
            cx.elicitation_complete("e-1");
            // Nobody was asked to open this one.
            cx.elicitation_complete("e-2");
            Ok::<_, ToolError>("signed in")
        }))
        .tool(Tool::new("locked", |_: ToolCx| async {
            let page = Question::url("Sign in", URL).elicitation_id("e-3");
            Err::<(), _>(ToolError::needs_input(page))
        }))
        .tool(Tool::new("unnamed", |_: ToolCx| async {
            Err::<(), _>(ToolError::needs_input(Question::url("Sign in", URL)))
        }))
        .tool(Tool::new("form_error", |_: ToolCx| async {
            Err::<(), _>(ToolError::needs_input(Question::text("Who?")))
        }))
        .build()
        .unwrap()
}

fn accept(content: &Value) -> Value {
    json!({"action": "accept", "content": content})
}

#[test]
fn a_session_is_asked_for_a_type_until_it_fits() {
    let served = serve(&server());
    let client = Client::open(&served);
    let (head, mut wire) = client.call(1, "book");
    let asked = question(&wire.until("elicitation/create"));
    assert_fits(NEWEST, "ElicitRequest", &asked);
    assert_eq!(asked["params"]["requestedSchema"], requested());
    for (id, (content, place)) in [
        (json!({"code": "zrh", "nights": 2}), "/code: "),
        (json!({"code": "ZRH", "nights": 0}), "/nights: "),
    ]
    .iter()
    .enumerate()
    {
        client.answer(id as u64, accept(content));
        let asked = question(&wire.until("elicitation/create"));
        let message = asked["params"]["message"].as_str().unwrap();
        assert!(message.contains(place), "{message}");
        assert_eq!(asked["params"]["requestedSchema"], requested());
    }
    client.answer(2, accept(&json!({"code": "ZRH", "nights": 2})));
    let answer = messages(&wire.body(&head)).pop().unwrap();
    assert_eq!(text_of(&answer), "ZRH 2 None false {}");
}

#[test]
fn a_client_of_2025_06_18_is_asked_in_its_own_words() {
    let served = serve(&server());
    let client = Client::open_as(&served, OLDER, r#"{"elicitation":{}}"#);
    let (head, mut wire) = client.call(1, "seat");
    let asked = question(&wire.until("elicitation/create"));
    assert_fits(OLDER, "ElicitRequest", &asked);
    assert_eq!(
        asked["params"]["requestedSchema"]["properties"],
        json!({
            "class": {
                "type": "string",
                "enum": ["economy", "business"],
                "enumNames": ["The cheap one", "The other one"],
            },
            "seats": {"type": "integer", "minimum": 0, "maximum": 255},
        })
    );
    client.answer(0, accept(&json!({"class": "business"})));
    let answer = messages(&wire.body(&head)).pop().unwrap();
    assert_eq!(text_of(&answer), "business 1");
    let refused = json_of(client.call(2, "book"));
    assert_eq!(refused["result"]["isError"], true);
    let why = text_of(&refused);
    assert!(why.contains("`extras`") && why.contains(OLDER), "{why}");
}

#[test]
fn a_page_is_asked_for_by_its_id_and_its_end_is_told() {
    let served = serve(&server());
    let client = Client::open_as(&served, NEWEST, PAGES);
    let (head, mut wire) = client.call(1, "page");
    let asked = question(&wire.until("elicitation/create"));
    assert_fits(NEWEST, "ElicitRequest", &asked);
    assert_eq!(
        asked["params"],
        json!({"message": "Sign in", "mode": "url", "url": URL, "elicitationId": "e-1"})
    );
    client.answer(0, json!({"action": "accept"}));
    let all = messages(&wire.body(&head));
    let told: Vec<&Value> = all
        .iter()
        .filter(|message| message["method"] == "notifications/elicitation/complete")
        .collect();
    assert_eq!(told.len(), 1, "{all:?}");
    assert_fits(NEWEST, "ElicitationCompleteNotification", told[0]);
    assert_eq!(told[0]["params"], json!({"elicitationId": "e-1"}));
    assert_eq!(text_of(all.last().unwrap()), "signed in");
}

#[test]
fn a_call_that_needs_a_page_first_says_so_and_its_client_hears_of_the_end() {
    let server = server();
    let served = serve(&server);
    let client = Client::open_as(&served, NEWEST, PAGES);
    let (_, mut get) = client.get(&[]);
    assert!(!server.elicitation_complete("e-3"), "nobody was asked yet");
    let refused = json_of(client.call(1, "locked"));
    assert_fits(NEWEST, "URLElicitationRequiredError", &refused);
    assert_eq!(refused["error"]["code"], -32042);
    let page = json!({"message": "Sign in", "mode": "url", "url": URL, "elicitationId": "e-3"});
    assert_eq!(refused["error"]["data"], json!({"elicitations": [page]}));
    assert!(server.elicitation_complete("e-3"));
    let told = question(&get.until("notifications/elicitation/complete"));
    assert_eq!(told["params"], json!({"elicitationId": "e-3"}));
    assert!(!server.elicitation_complete("e-3"), "it is told once");
    let unnamed = json_of(client.call(2, "unnamed"));
    let id = unnamed["error"]["data"]["elicitations"][0]["elicitationId"].as_str();
    assert!(id.is_some_and(|id| id.len() == 36), "{unnamed}");
}

fn fails(served: &Served, version: &'static str, capabilities: &str, name: &str, why: &str) {
    let client = Client::open_as(served, version, capabilities);
    let answer = json_of(client.call(1, name));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(text_of(&answer).contains(why), "{answer}");
}

#[test]
fn pages_are_for_clients_that_declare_them() {
    let served = serve(&server());
    for (version, capabilities) in [
        (NEWEST, "{}"),
        (NEWEST, r#"{"elicitation":{}}"#),
        (NEWEST, r#"{"elicitation":{"form":{}}}"#),
        (OLDER, PAGES),
    ] {
        for name in ["page", "locked"] {
            fails(&served, version, capabilities, name, "capability");
        }
    }
    fails(&served, NEWEST, PAGES, "form_error", "while its call runs");
}

#[test]
fn without_a_session_a_page_cannot_be_asked_for() {
    let stateless = McpServer::new("forms", "1.0.0")
        .tool(Tool::new("locked", |_: ToolCx| async {
            Err::<(), _>(ToolError::needs_input(Question::url("Sign in", URL)))
        }))
        .build()
        .unwrap();
    let served = serve(&stateless);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"locked"}}"#;
    let headers = [("mcp-protocol-version", NEWEST)];
    let answer = json_of(super::client::post(&served, &headers, body));
    assert_eq!(answer["result"]["isError"], true);
    assert!(text_of(&answer).contains("session"), "{answer}");
    assert!(!stateless.elicitation_complete("e-1"));
}
