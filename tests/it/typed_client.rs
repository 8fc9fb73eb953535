//! Definitions that a server and its clients share: over HTTP in both eras, and in this process.

mod direct;

use std::{sync::Arc, time::Duration};

use actix_web::{HttpRequest, HttpResponse, web::ServiceConfig};
use roscius::{
    client::{ClientError, Era, InputKind},
    prelude::*,
    web::McpRoutes,
    wire::{auth::AuthInfo, content::CallToolResult, oauth::OAuthError},
};
use roscius_actors::server::McpServerBuilder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::served::Served;

/// Current weather for a city
#[derive(Serialize, Deserialize, JsonSchema)]
struct City {
    city: String,
}

fn oslo() -> City {
    City {
        city: "Oslo".to_owned(),
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Weather {
    celsius: f32,
}

const COLD: Weather = Weather { celsius: 7.0 };

/// Reviews code
#[derive(Serialize, Deserialize, JsonSchema)]
struct Review {
    language: String,
    lines: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct NoteId {
    id: String,
}

/// What a host gives with a request.
struct Tenant(&'static str);

const GET_WEATHER: ToolDef<City, Weather> = ToolDef::new("get_weather").read_only();
const CONDITIONS: ToolDef<City, String> = ToolDef::new("conditions");
const FORECAST: ToolDef<City, Vec<Weather>> = ToolDef::new("forecast");
const CLEAR: ToolDef<(), ()> = ToolDef::new("clear").description("Clears the sky");
const GREET: ToolDef<(), CallToolResult> = ToolDef::new("greet");
const ASK_CITY: ToolDef<(), String> = ToolDef::new("ask_city");
const SUMMARIZE: ToolDef<(), String> = ToolDef::new("summarize");
const SLEEP: ToolDef<(), ()> = ToolDef::new("sleep");
const REVIEW: PromptDef<Review> = PromptDef::new("review");
const ABOUT: ResourceDef = ResourceDef::fixed("about", "help://about").mime_type("text/plain");
const NOTE: ResourceDef<NoteId> = ResourceDef::template("notes://{id}").name("note");
const TENANT: ResourceDef = ResourceDef::fixed("tenant", "tenant://own");

#[derive(Debug, thiserror::Error)]
#[error("no weather is known for {0}")]
struct UnknownCity(String);

async fn get_weather(Args(q): Args<City>) -> Result<Json<Weather>, UnknownCity> {
    match q.city.as_str() {
        "Oslo" => Ok(Json(COLD)),
        _ => Err(UnknownCity(q.city)),
    }
}

fn builder() -> McpServerBuilder {
    McpServer::new("typed", "1.0.0")
        .context(Tenant("nobody"))
        .tool(GET_WEATHER.implement(get_weather))
        .tool(CONDITIONS.implement_blocking(|Args(q): Args<City>| format!("{}: sunny", q.city)))
        .tool(FORECAST.implement(|_: Args<City>| async { Json(vec![COLD, COLD]) }))
        .tool(CLEAR.implement(|| async {}))
        .tool(GREET.implement(|| async { "hello" }))
        .tool(ASK_CITY.implement(|cx: ToolCx| async move {
            let city = cx.request_input("Which city?").await?;
            Ok::<_, ToolError>(city)
        }))
        .tool(SUMMARIZE.implement(|cx: ToolCx| async move {
            Ok::<_, ToolError>(cx.sample("all of it").await?)
        }))
        .tool(SLEEP.implement(|cx: ToolCx| async move { cx.cancelled().cancelled().await }))
        .prompt(REVIEW.implement(|Args(r): Args<Review>| async move {
            format!("{} lines of {}", r.lines.unwrap_or_default(), r.language)
        }))
        .resource(ABOUT.implement(|| async { "notes" }))
        .resource(
            NOTE.implement(|Vars(note): Vars<NoteId>, cx: ToolCx| async move {
                if note.id == "secret" {
                    cx.request_input("Password?").await?;
                }
                Ok::<_, ToolError>((note.id != "lost").then_some(note.id))
            }),
        )
        .resource(TENANT.implement(|tenant: Ctx<Tenant>| async move {
            let Tenant(name) = *tenant;
            name
        }))
}

fn server() -> McpServer {
    builder().build().unwrap()
}

/// Serves to both eras, or to that of 2025 alone.
fn serve(server: &McpServer, modern: bool) -> Served {
    let refuse = move |request: &HttpRequest| {
        let version = request.headers().get("mcp-protocol-version");
        !modern && version.is_some_and(|version| version == "2026-07-28")
    };
    let routes = McpRoutes::new("/mcp", server).authorize(move |request: HttpRequest| {
        let refused = refuse(&request);
        async move {
            match refused {
                true => Err(HttpResponse::BadRequest().finish()),
                false => Ok(Options::new()),
            }
        }
    });
    Served::start(move |config: &mut ServiceConfig| {
        config.service(routes.clone());
    })
}

async fn connect(served: &Served, era: Era) -> McpClient {
    let url = format!("http://{}/mcp", served.addr);
    let client = McpClient::connect(Http::new(url)).await.unwrap();
    assert_eq!(client.server().unwrap().era, era);
    client
}

/// What every client does alike.
async fn calls_what_is_defined(client: impl TypedClient) {
    assert_eq!(client.call(&GET_WEATHER, oslo()).await.unwrap(), COLD);
    let conditions = client.call(&CONDITIONS, oslo()).await.unwrap();
    assert_eq!(conditions, "Oslo: sunny");
    let forecast = client.call(&FORECAST, oslo()).await.unwrap();
    assert_eq!(forecast, [COLD, COLD]);
    client.call(&CLEAR, ()).await.unwrap();
    let greeting = client.call(&GREET, ()).await.unwrap();
    assert_eq!(greeting.content[0].as_text(), Some("hello"));
    let raw = client.call(&GET_WEATHER, oslo()).raw().await.unwrap();
    assert_eq!(raw.structured_content, Some(json!({"celsius": 7.0})));

    let review = Review {
        language: "Rust".to_owned(),
        lines: Some(9),
    };
    let prompt = client.prompt(&REVIEW, review).await.unwrap();
    assert_eq!(prompt.description.as_deref(), Some("Reviews code"));
    assert_eq!(
        prompt.messages[0].content.as_text(),
        Some("9 lines of Rust")
    );

    let about = client.read(&ABOUT, ()).await.unwrap();
    assert_eq!(about.text(), Some("notes"));
    assert_eq!(about.contents[0].mime_type.as_deref(), Some("text/plain"));
    let id = "a b/ü".to_owned();
    let note = client.read(&NOTE, NoteId { id }).await.unwrap();
    assert_eq!(note.text(), Some("a b/ü"));
    assert_eq!(note.contents[0].uri, "notes://a%20b%2F%C3%BC");
}

/// What every client reports alike.
async fn reports_what_is_wrong(client: impl TypedClient) {
    let city = "Atlantis".to_owned();
    let lost = client.call(&GET_WEATHER, City { city });
    let error = lost.clone().await.unwrap_err();
    assert!(error.is_tool_failure());
    let text = "the tool `get_weather` failed: no weather is known for Atlantis";
    assert_eq!(error.to_string(), text);
    assert_eq!(lost.raw().await.unwrap().is_error, Some(true));

    // Somebody else's idea of the same tool.
    const OTHER_INPUT: ToolDef<Value, Weather> = ToolDef::new("get_weather");
    let error = client
        .call(&OTHER_INPUT, json!({"town": 1}))
        .await
        .unwrap_err();
    let text = "invalid arguments for tool `get_weather`: /city: is required";
    assert!(error.to_string().ends_with(text), "{error}");
    let error = client
        .call(&OTHER_INPUT, json!(["Oslo"]))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ClientError::Arguments { name, .. } if name == "get_weather"),
        "{error}"
    );
    const OTHER_OUTPUT: ToolDef<City, Vec<u8>> = ToolDef::new("get_weather");
    let error = client.call(&OTHER_OUTPUT, oslo()).await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Output { tool, .. } if tool == "get_weather"),
        "{error}"
    );

    let id = "lost".to_owned();
    let error = client.read(&NOTE, NoteId { id }).await.unwrap_err();
    assert!(error.is_unknown());
    let text = "the MCP server has no resource `notes://lost`";
    assert_eq!(error.to_string(), text);
    let id = String::new();
    let error = client.read(&NOTE, NoteId { id }).await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Arguments { name, .. } if name == "notes://{id}"),
        "{error}"
    );
}

/// How a question of 2026 is met.
async fn answers_a_question(client: impl TypedClient) {
    let error = client.call(&ASK_CITY, ()).await.unwrap_err();
    let asked = error.input_required().unwrap();
    assert_eq!(asked.kind, InputKind::Form);
    assert_eq!(asked.request["message"], "Which city?");
    let answer = json!({"action": "accept", "content": {"value": "Paris"}});
    let answers = |asked: &roscius::client::InputRequired| {
        let keys: Vec<String> = asked.questions.keys().cloned().collect();
        let answer = answer.clone();
        keys.into_iter().map(move |key| (key, answer.clone()))
    };
    let city = client
        .call(&ASK_CITY, ())
        .input_responses(answers(asked))
        .request_state(asked.request_state.clone())
        .await;
    assert_eq!(city.unwrap(), "Paris");

    let secret = || NoteId {
        id: "secret".to_owned(),
    };
    let error = client.read(&NOTE, secret()).await.unwrap_err();
    let asked = error.input_required().unwrap();
    let note = client
        .read(&NOTE, secret())
        .input_responses(answers(asked))
        .request_state(asked.request_state.clone())
        .await;
    assert_eq!(note.unwrap().text(), Some("secret"));
}

#[actix_web::test]
async fn definitions_are_called_over_http_in_2026() {
    let served = serve(&server(), true);
    let client = connect(&served, Era::Modern).await;
    calls_what_is_defined(client.clone()).await;
    reports_what_is_wrong(client.clone()).await;
    answers_a_question(client).await;
}

#[actix_web::test]
async fn definitions_are_called_over_http_in_2025() {
    let served = serve(&server(), false);
    let client = connect(&served, Era::Legacy).await;
    calls_what_is_defined(client.clone()).await;
    reports_what_is_wrong(client).await;
}

#[actix_web::test]
async fn definitions_are_called_in_this_process() {
    let client = server().direct();
    calls_what_is_defined(client.clone()).await;
    reports_what_is_wrong(client.clone()).await;
    answers_a_question(client).await;
}

#[actix_web::test]
async fn a_call_over_a_connection_can_move_to_another_thread() {
    const fn is_send<T: Send>(_: &T) {}
    let served = serve(&server(), true);
    let client = connect(&served, Era::Modern).await;
    let call = client.call(&GET_WEATHER, oslo()).into_future();
    is_send(&call);
    assert_eq!(call.await.unwrap(), COLD);
}
