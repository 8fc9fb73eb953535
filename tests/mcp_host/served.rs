//! What every server of the host has.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use roscius::{
    prelude::*,
    server::{Changes, McpServerBuilder},
    wire::{auth::AuthInfo, mcp::LogLevel},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Two numbers
#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

/// What they add up to
#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

/// The word by which one call is told from the others.
#[derive(Deserialize, JsonSchema)]
struct Tag {
    tag: String,
}

#[derive(Deserialize, JsonSchema)]
struct What {
    what: Change,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Change {
    Tools,
    Prompts,
    Resources,
    /// The contents of `note://today`
    Today,
}

/// Greets somebody
#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// Who is greeted
    name: String,
}

#[derive(Deserialize)]
struct Day {
    day: String,
}

/// The calls of `wait` by tag.
#[derive(Clone, Default)]
struct Waits(Arc<Mutex<HashMap<String, Waiting>>>);

#[derive(Clone, Default)]
struct Waiting {
    seen: Seen,
    finish: CancellationToken,
}

/// What the server saw of the calls of one tag.
#[derive(Clone, Default, Serialize, JsonSchema)]
struct Seen {
    started: u32,
    /// How often a token was cancelled.
    cancelled: u32,
    finished: u32,
}

impl Waits {
    fn with<R>(&self, tag: &str, act: impl FnOnce(&mut Waiting) -> R) -> R {
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        act(waits.entry(tag.to_owned()).or_default())
    }
}

/// Waits until the call is cancelled, and counts that, or until `finish` is called.
async fn wait(
    Args(asked): Args<Tag>,
    cx: ToolCx,
    waits: Ctx<Waits>,
) -> Result<&'static str, ToolError> {
    let (token, tag) = (cx.cancelled().clone(), asked.tag);
    let finish = waits.with(&tag, |waiting| {
        waiting.seen.started += 1;
        waiting.finish.clone()
    });
    // Beside the call, for a call that nobody waits for is dropped.
    let (watched, finished) = (token.clone(), finish.clone());
    let (counted, of) = (Waits::clone(&waits), tag.clone());
    actix_web::rt::spawn(async move {
        tokio::select! {
            biased;
            () = watched.cancelled() => counted.with(&of, |waiting| waiting.seen.cancelled += 1),
            () = finished.cancelled() => {}
        }
    });
    cx.progress(0.0, None, Some("waiting"));
    tokio::select! {
        () = token.cancelled() => Err(ToolError::new("the call was cancelled")),
        () = finish.cancelled() => {
            waits.with(&tag, |waiting| waiting.seen.finished += 1);
            Ok("finished")
        }
    }
}

async fn seen(Args(asked): Args<Tag>, waits: Ctx<Waits>) -> Json<Seen> {
    Json(waits.with(&asked.tag, |waiting| waiting.seen.clone()))
}

async fn finish(Args(asked): Args<Tag>, waits: Ctx<Waits>) -> &'static str {
    waits.with(&asked.tag, |waiting| waiting.finish.cancel());
    "finished"
}

async fn ask_name(cx: ToolCx) -> Result<String, ToolError> {
    let name = cx.request_input("What is your name?").await?;
    Ok(format!("Hello, {name}!"))
}

/// Two questions, one after the other.
async fn order(cx: ToolCx) -> Result<String, ToolError> {
    let dish = json!({
        "type": "object",
        "properties": {"dish": {"type": "string", "enum": ["soup", "bread"]}},
        "required": ["dish"],
    });
    let count = json!({
        "type": "object",
        "properties": {"count": {"type": "integer", "minimum": 1}},
        "required": ["count"],
    });
    let dish = cx.request_form("dish", "Which dish?", dish).await?;
    let count = cx.request_form("count", "How many?", count).await?;
    Ok(format!("{} of {}", count["count"], dish["dish"]))
}

/// Asks for something that people say no to.
async fn confirm(cx: ToolCx) -> Result<String, ToolError> {
    let schema = json!({"type": "object", "properties": {"sure": {"type": "boolean"}}});
    let sure = cx.request_form("confirm", "May I?", schema).await?;
    Ok(sure.to_string())
}

/// Asks for consent to open a page.
async fn sign_in(cx: ToolCx) -> Result<&'static str, ToolError> {
    let page = Question::url("Please sign in", "https://example.com/sign-in");
    cx.ask(page.key("page").elicitation_id("sign-in-1")).await?;
    Ok("signed in")
}

async fn summarize(Args(asked): Args<Text>, cx: ToolCx) -> Result<String, ToolError> {
    let prompt = format!("Summarize: {}", asked.text);
    let request = SampleRequest::new(prompt).max_tokens(50);
    Ok(cx.sample(request).await?)
}

async fn roots(cx: ToolCx) -> Result<Value, ToolError> {
    let mut answer = cx.ask(Question::roots()).await?;
    Ok(answer["roots"].take())
}

/// How long a short call takes.
const STEP: Duration = Duration::from_millis(10);

/// Reports and logs three steps, then waits until `finish` is called: clients forget the progress of
/// a call that has its answer, so to some is lost what they read at once with the answer.
async fn steps(
    Args(asked): Args<Tag>,
    cx: ToolCx,
    waits: Ctx<Waits>,
) -> Result<&'static str, ToolError> {
    let finish = waits.with(&asked.tag, |waiting| waiting.finish.clone());
    for step in 1..=3_u8 {
        cx.log(LogLevel::Info, format!("step {step}"));
        cx.progress(f64::from(step), Some(3.0), Some("counting"));
        // The next step is not merged with this one.
        actix_web::rt::time::sleep(STEP).await;
    }
    tokio::select! {
        () = cx.cancelled().cancelled() => Err(ToolError::new("the call was cancelled")),
        () = finish.cancelled() => Ok("done"),
    }
}

/// Ends its connection before it has its answer.
async fn long(cx: ToolCx) -> &'static str {
    cx.close_stream();
    actix_web::rt::time::sleep(STEP).await;
    "came back"
}

fn tools(changes: &Changes) -> Vec<Tool> {
    let changes = changes.clone();
    let region = json!({
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    });
    vec![
        Tool::new("echo", |Args(asked): Args<Text>| async move { asked.text })
            .description("Gives a text back"),
        Tool::raw("region", region, |asked, _| async move {
            asked["region"].to_string()
        })
        .description("Has an argument that a header repeats"),
        Tool::new("add", |Args(asked): Args<Numbers>| async move {
            let sum = asked.a.checked_add(asked.b);
            sum.map(|sum| Json(Sum { sum }))
                .ok_or(ToolError::new("too large"))
        })
        .title("Add")
        .description("Adds two numbers")
        .read_only(),
        Tool::new("whoami", |cx: ToolCx| async move {
            let caller = cx.auth().and_then(|caller| caller.subject.clone());
            caller.unwrap_or_else(|| "nobody".to_owned())
        })
        .description("Tells who calls"),
        Tool::new("clear", |_: Ctx<AuthInfo>| async { "cleared" })
            .description("Needs a scope of its own")
            .required_scopes(["notes:write"]),
        Tool::new("ask_name", ask_name).description("Asks for a name"),
        Tool::new("order", order).description("Asks twice"),
        Tool::new("confirm", confirm).description("Asks whether it may"),
        Tool::new("long", long).description("Takes longer than its connection"),
        Tool::new("sign_in", sign_in).description("Asks to open a page"),
        Tool::new("summarize", summarize).description("Asks the model of the client"),
        Tool::new("roots", roots).description("Asks for the roots of the client"),
        Tool::new("steps", steps).description("Reports three steps"),
        Tool::new("wait", wait).description("Waits until it is cancelled"),
        Tool::new("hold", wait)
            .description("Is `wait` as a task")
            .task(),
        Tool::new("order_later", order)
            .description("Is `order` as a task")
            .task(),
        Tool::new("slow", |Args(asked): Args<Text>| async move {
            actix_web::rt::time::sleep(STEP).await;
            asked.text
        })
        .description("Is `echo` as a task")
        .task(),
        Tool::new("seen", seen).description("Tells what became of the calls of `wait`"),
        Tool::new("finish", finish).description("Lets the calls of `wait` end"),
        Tool::new("change", move |Args(asked): Args<What>| {
            match asked.what {
                Change::Tools => changes.tools_list_changed(),
                Change::Prompts => changes.prompts_list_changed(),
                Change::Resources => changes.resources_list_changed(),
                Change::Today => changes.resource_updated("note://today"),
            }
            std::future::ready("changed")
        })
        .description("Says that something has changed"),
    ]
}

fn resources() -> Vec<Resource> {
    vec![
        Resource::new("today", "note://today", || async { "Buy milk." })
            .description("The note of today")
            .mime_type("text/plain"),
        Resource::template("note://day/{day}", |Vars(vars): Vars<Day>| async move {
            Json(json!({"day": vars.day, "text": "Rest."}))
        })
        .name("day")
        .description("The note of a day")
        .complete("day", |typed: Partial| async move {
            typed.filter(["monday", "tuesday", "thursday"])
        }),
    ]
}

fn prompts() -> Vec<Prompt> {
    vec![
        Prompt::new("greet", |Args(greeting): Args<Greeting>| async move {
            format!("Say hello to {}.", greeting.name)
        })
        .complete("name", |typed: Partial| async move {
            typed.filter(["Ada", "Alan", "Grace"])
        }),
        Prompt::new("ask_topic", |cx: ToolCx| async move {
            let topic = cx.request_input("Which topic?").await?;
            Ok::<_, ToolError>(format!("Write about {topic}."))
        })
        .description("Asks before it is made"),
    ]
}

/// Describes the server.
pub(crate) fn server(sessions: Sessions) -> McpServerBuilder {
    let changes = Changes::new();
    McpServer::new("interop", "1.0.0")
        .instructions("A server for tests.")
        .sessions(sessions)
        .sample_from_client(true)
        .tasks_extension(true)
        .changes(&changes)
        .context(Waits::default())
        .tools(tools(&changes))
        .resources(resources())
        .prompts(prompts())
}
