//! Definitions that a server and its clients share: over HTTP in both eras, and in this process.

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

#[actix_web::test]
async fn a_client_in_this_process_needs_no_token_and_one_over_a_connection_does() {
    let server = builder()
        .auth(async |_token: String| {
            Err::<AuthInfo, _>(OAuthError::invalid_token("nobody is let in"))
        })
        .required_scopes(["weather:read"])
        .build()
        .unwrap();
    let served = serve(&server, true);
    let url = format!("http://{}/mcp", served.addr);
    let error = McpClient::connect(Http::new(url).bearer("t")).await;
    assert!(error.is_err(), "the gate is open");
    let weather = server.direct().call(&GET_WEATHER, oslo()).await;
    assert_eq!(weather.unwrap(), COLD);
}

#[actix_web::test]
async fn a_client_in_this_process_gives_values_to_one_call_or_to_all() {
    let server = server();
    let tenant = async |client: &DirectClient| {
        let read = client.read(&TENANT, ()).await.unwrap();
        read.text().unwrap().to_owned()
    };
    let client = server.direct();
    assert_eq!(tenant(&client).await, "nobody");
    let read = client.read(&TENANT, ()).context(Tenant("ann")).await;
    assert_eq!(read.unwrap().text(), Some("ann"));
    assert_eq!(tenant(&client).await, "nobody");
    assert_eq!(tenant(&client.context(Tenant("bob"))).await, "bob");
}

#[actix_web::test]
async fn a_client_in_this_process_names_what_is_not_there() {
    let client = server().direct();
    const TOOL: ToolDef<(), ()> = ToolDef::new("nope");
    let error = client.call(&TOOL, ()).await.unwrap_err();
    assert!(error.is_unknown());
    assert_eq!(error.to_string(), "the MCP server has no tool `nope`");
    const PROMPT: PromptDef<()> = PromptDef::new("nope");
    let error = client.prompt(&PROMPT, ()).await.unwrap_err();
    assert_eq!(error.to_string(), "the MCP server has no prompt `nope`");
    const RESOURCE: ResourceDef = ResourceDef::fixed("nope", "nope://nope");
    let nothing = McpServer::new("nothing", "1.0.0").build().unwrap();
    for client in [client, nothing.direct()] {
        let error = client.read(&RESOURCE, ()).await.unwrap_err();
        assert!(error.is_unknown());
        let text = "the MCP server has no resource `nope://nope`";
        assert_eq!(error.to_string(), text);
    }
}

#[actix_web::test]
async fn a_sample_in_this_process_asks_the_sampler_of_the_server() {
    let own = builder().sample(|request: SampleRequest| async move {
        Ok::<_, ToolError>(format!("short: {}", request.text()))
    });
    let client = own.build().unwrap().direct();
    let summary = client.call(&SUMMARIZE, ()).await;
    assert_eq!(summary.unwrap(), "short: all of it");

    let error = server().direct().call(&SUMMARIZE, ()).await.unwrap_err();
    assert!(error.is_tool_failure());
    assert!(
        error.to_string().contains("nobody answers sample"),
        "{error}"
    );
}

#[actix_web::test]
async fn a_call_in_this_process_ends_in_time_or_when_it_is_told_to() {
    tokio::time::pause();
    let client = server().direct();
    let error = client.call(&SLEEP, ()).await.unwrap_err();
    assert!(matches!(error, ClientError::Timeout { after } if after.as_secs() == 60));
    let quick = client.clone().timeout(Duration::from_secs(2));
    let error = quick.call(&SLEEP, ()).await.unwrap_err();
    assert!(matches!(error, ClientError::Timeout { after } if after.as_secs() == 2));
    let token = tokio_util::sync::CancellationToken::new();
    token.cancel();
    let told = client.call(&SLEEP, ()).cancel_on(token);
    assert!(matches!(told.await, Err(ClientError::Cancelled)));
}

const COUNT_DOWN: ToolDef<Left, u32> = ToolDef::new("count_down");

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Left {
    left: u32,
}

#[actix_web::test]
async fn a_tool_can_call_its_own_server_and_a_dropped_call_ends_all_of_them() {
    let own = Arc::new(std::sync::OnceLock::<McpServer>::new());
    let called = Arc::clone(&own);
    let server = McpServer::new("own", "1.0.0")
        .tool(
            COUNT_DOWN.implement(move |Args(Left { left }): Args<Left>| {
                let called = Arc::clone(&called);
                async move {
                    if left == 99 {
                        std::future::pending::<()>().await;
                    }
                    if left == 0 {
                        return Ok(Json(0));
                    }
                    let client = called.get().unwrap().direct();
                    let below = client.call(&COUNT_DOWN, Left { left: left - 1 }).await;
                    below
                        .map(|below| Json(below + 1))
                        .map_err(|error| ToolError::new(error.to_string()))
                }
            }),
        )
        .build()
        .unwrap();
    assert!(own.set(server.clone()).is_ok());
    let client = server.direct();
    let counted = client.call(&COUNT_DOWN, Left { left: 20 }).await.unwrap();
    assert_eq!(counted, 20);
    assert_eq!(server.running_calls(), 0);
    let mut call = Box::pin(client.call(&COUNT_DOWN, Left { left: 110 }).into_future());
    assert!(futures_util::poll!(&mut call).is_pending());
    assert_eq!(server.running_calls(), 12);
    drop(call);
    assert_eq!(server.running_calls(), 0);
    let wrong: ToolDef<Left, String> = ToolDef::new("count_down");
    let error = client.call(&wrong, Left { left: 1 }).await.unwrap_err();
    assert!(matches!(error, ClientError::Output { .. }), "{error}");
}
