//! The chat endpoint over raw HTTP, with a scripted model behind it.

mod bodies;

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix_web::{HttpRequest, HttpResponse};
use roscius::{
    chat::Chat,
    model::{Script, ScriptedModel},
    tool::{Tool, ToolCx, ToolError},
    web,
    wire::{
        agui::{Event, EventKind},
        ids::Owner,
    },
};
use serde_json::{Value, json};

use crate::served::{Head, Served, Wire, eventually, pause};

/// What a tool in flight has seen.
#[derive(Clone, Default)]
struct Flight {
    started: Arc<AtomicUsize>,
    cancelled: Arc<AtomicBool>,
}

impl Flight {
    /// A tool that returns only when it is cancelled.
    fn tool(&self) -> Tool {
        let flight = self.clone();
        Tool::raw(
            "hang",
            json!({"type": "object"}),
            move |_arguments: Value, cx: ToolCx| {
                let flight = flight.clone();
                async move {
                    flight.started.fetch_add(1, Ordering::SeqCst);
                    cx.cancelled().cancelled().await;
                    flight.cancelled.store(true, Ordering::SeqCst);
                    Err::<String, _>(ToolError::new("cancelled"))
                }
            },
        )
    }
}

/// A tool that waits for `ms` milliseconds, or until it is cancelled.
pub(crate) fn hanging_tool() -> Tool {
    Tool::raw(
        "hang",
        json!({"type": "object"}),
        |arguments: Value, cx: ToolCx| async move {
            let wait = Duration::from_millis(arguments["ms"].as_u64().unwrap());
            tokio::select! {
                () = tokio::time::sleep(wait) => Ok("slept"),
                () = cx.cancelled().cancelled() => Err(ToolError::new("cancelled")),
            }
        },
    )
}

fn echo() -> Tool {
    Tool::raw(
        "echo",
        json!({"type": "object"}),
        |arguments: Value, _cx: ToolCx| async move { Ok::<_, ToolError>(arguments.to_string()) },
    )
}

pub(crate) fn chat(turns: &Value, tools: Vec<Tool>) -> Chat {
    let script = Script::from_value(&json!({"turns": turns})).unwrap();
    Chat::builder(ScriptedModel::from_script(script))
        .tools(tools)
        .build()
        .unwrap()
}

pub(crate) fn serve(chat: &Chat) -> Served {
    let chat = chat.clone();
    Served::start(move |config| {
        config.service(
            web::ChatRoutes::new("/api/chat", &chat).keep_alive(Duration::from_millis(20)),
        );
    })
}

pub(crate) fn input(run: &str) -> String {
    json!({
        "threadId": "t", "runId": run, "state": {}, "tools": [], "context": [],
        "messages": [{"id": "m", "role": "user", "content": "hi"}],
    })
    .to_string()
}

fn events(body: &str) -> Vec<Event> {
    body.split("\n\n")
        .filter(|frame| !frame.is_empty() && !frame.starts_with(':'))
        .map(|frame| serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap())
        .collect()
}

fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.kind.name()).collect()
}

fn whole((head, mut wire): (Head, Wire)) -> Vec<Event> {
    assert_eq!(head.status, 200);
    events(&wire.body(&head))
}

fn code(event: &Event) -> Option<&str> {
    match &event.kind {
        EventKind::RunError { code, .. } => code.as_deref(),
        _ => None,
    }
}

fn slow_text() -> Value {
    json!([{"text": vec!["x"; 1000], "delayMs": 50}])
}

#[test]
fn a_stream_has_the_recorded_head_and_one_line_a_frame() {
    let served = serve(&chat(&json!([{"text": ["one\n", "two"]}]), vec![]));
    let (head, mut wire) = served.post("/api/chat", &input("r"));
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    assert_eq!(head.header("cache-control"), Some("no-cache"));
    let body = wire.body(&head);
    assert!(body.ends_with("\n\n"));
    let events = events(&body);
    assert_eq!(
        names(&events),
        [
            "RUN_STARTED",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED"
        ]
    );
    for frame in body.split_terminator("\n\n") {
        assert!(!frame.contains('\n'), "{frame}");
    }
    // The connection is as good as before.
    let again = crate::served::request(
        served.addr,
        "POST",
        "/api/chat",
        &[("content-type", "application/json")],
        &input("r2"),
    );
    wire.send(&again);
    let head = wire.head();
    assert_eq!(
        names(&events_of(&mut wire, &head)).last(),
        Some(&"RUN_FINISHED")
    );
}

fn events_of(wire: &mut Wire, head: &Head) -> Vec<Event> {
    events(&wire.body(head))
}

#[test]
fn every_stream_ends_in_run_finished_or_run_error() {
    let call = json!([{"id": "c", "name": "echo", "arguments": {"a": 1}}]);
    for (turns, last) in [
        (json!([{"text": ["hi"]}]), "RUN_FINISHED"),
        (json!([{}]), "RUN_FINISHED"),
        (json!([]), "RUN_FINISHED"),
        (
            json!([{"toolCalls": call}, {"text": ["done"]}]),
            "RUN_FINISHED",
        ),
        (
            json!([{"toolCalls": [{"id": "c", "name": "nobody", "arguments": {}}]}, {"text": ["done"]}]),
            "RUN_FINISHED",
        ),
        (
            json!([{"text": ["a"], "error": {"message": "no"}}]),
            "RUN_ERROR",
        ),
        (
            json!([{"text": ["a"], "throws": {"message": "no", "status": 500}}]),
            "RUN_ERROR",
        ),
        (json!([{"text": ["a"], "cut": true}]), "RUN_ERROR"),
        (json!([{"toolCalls": call, "cut": true}]), "RUN_ERROR"),
    ] {
        let served = serve(&chat(&turns, vec![echo()]));
        let events = whole(served.post("/api/chat", &input("r")));
        assert_eq!(names(&events).first(), Some(&"RUN_STARTED"), "{turns}");
        assert_eq!(names(&events).last(), Some(&last), "{turns}");
        let errors = events.iter().filter(|event| event.is_error()).count();
        assert_eq!(errors, usize::from(last == "RUN_ERROR"), "{turns}");
    }
}

#[test]
fn a_silent_stream_sends_comments() {
    let flight = Flight::default();
    let turns = json!([{"toolCalls": [{"id": "c", "name": "hang", "arguments": {}}]}]);
    let served = serve(&chat(&turns, vec![flight.tool()]));
    let (_, mut wire) = served.post("/api/chat", &input("r"));
    wire.until(": keep-alive\n\n");
    wire.until(": keep-alive\n\n");
}

#[test]
fn a_client_that_goes_away_cancels_the_run_and_the_tool_in_flight_sees_it() {
    let flight = Flight::default();
    let turns = json!([{"toolCalls": [{"id": "c", "name": "hang", "arguments": {}}]}]);
    let chat = chat(&turns, vec![flight.tool()]);
    let served = serve(&chat);
    let (_, mut wire) = served.post("/api/chat", &input("r"));
    wire.until("TOOL_CALL_END");
    eventually("the tool started", || {
        flight.started.load(Ordering::SeqCst) == 1
    });
    assert!(!flight.cancelled.load(Ordering::SeqCst));
    drop(wire);
    eventually("the tool was cancelled", || {
        flight.cancelled.load(Ordering::SeqCst)
    });
    eventually("the run is over", || chat.open_runs() == 0);
}

#[test]
fn a_client_that_goes_away_in_the_middle_of_a_text_cancels_the_run() {
    let chat = chat(&slow_text(), vec![]);
    let served = serve(&chat);
    let (_, mut wire) = served.post("/api/chat", &input("r"));
    wire.until("TEXT_MESSAGE_CONTENT");
    assert_eq!(chat.open_runs(), 1);
    drop(wire);
    eventually("the run is over", || chat.open_runs() == 0);
}

#[test]
fn a_client_that_does_not_read_holds_the_model_back() {
    let deltas = vec!["y".repeat(20_000); 3_000];
    let chat = chat(&json!([{"text": deltas}]), vec![]);
    let served = serve(&chat);
    let (_, wire) = served.post("/api/chat", &input("r"));
    // 60 MB do not fit into the sockets, so the run cannot end while nobody reads.
    pause(Duration::from_millis(300));
    assert_eq!(chat.open_runs(), 1);
    drop(wire);
    eventually("the run is over", || chat.open_runs() == 0);
}

#[test]
fn a_run_id_in_use_is_a_conflict_that_leaves_the_first_run_alone() {
    let chat = chat(&slow_text(), vec![]);
    let served = serve(&chat);
    let (_, mut first) = served.post("/api/chat", &input("r"));
    first.until("TEXT_MESSAGE_CONTENT");
    let second = whole(served.post("/api/chat", &input("r")));
    assert_eq!(second.len(), 1);
    assert_eq!(code(&second[0]), Some("conflict"));
    first.until("TEXT_MESSAGE_CONTENT");
}

#[test]
fn only_the_owner_cancels_a_run_and_its_stream_says_so() {
    let chat = chat(&slow_text(), vec![]);
    let served = Served::start(move |config| {
        let routes =
            web::ChatRoutes::new("/api/chat", &chat).authorize(|request: HttpRequest| async move {
                match request.headers().get("x-user") {
                    Some(user) => Ok(web::Caller::new(Owner::new(user.to_str().unwrap()))),
                    None => Err(HttpResponse::Unauthorized().finish()),
                }
            });
        config.service(routes);
    });
    let json = ("content-type", "application/json");
    let (head, mut wire) =
        served.request("POST", "/api/chat", &[json, ("x-user", "ada")], &input("r"));
    assert_eq!(head.status, 200);
    wire.until("TEXT_MESSAGE_CONTENT");
    let cancel = |user| {
        let (head, _) = served.request("DELETE", "/api/chat?runId=r", &[("x-user", user)], "");
        head.status
    };
    assert_eq!(served.post("/api/chat", &input("r")).0.status, 401);
    assert_eq!(cancel("ben"), 404);
    assert_eq!(cancel("ada"), 204);
    let rest = wire.body(&head);
    let last = events(&rest).pop().unwrap();
    assert_eq!(code(&last), Some("aborted"));
    assert_eq!(cancel("ada"), 404, "there is nothing left to cancel");
}

#[test]
fn a_run_that_nobody_owns_is_cancelled_by_who_knows_its_thread() {
    let served = serve(&chat(&slow_text(), vec![]));
    let (head, mut wire) = served.post("/api/chat", &input("r"));
    wire.until("TEXT_MESSAGE_CONTENT");
    for (query, status) in [
        ("runId=r", 404),
        ("runId=r&threadId=", 404),
        ("runId=r&threadId=another", 404),
        ("runId=r&threadId=t", 204),
    ] {
        let path = format!("/api/chat?{query}");
        let (head, _) = served.request("DELETE", &path, &[], "");
        assert_eq!(head.status, status, "{query}");
    }
    let last = events(&wire.body(&head)).pop().unwrap();
    assert_eq!(code(&last), Some("aborted"));
}

#[test]
fn a_drain_ends_every_stream_and_refuses_new_runs() {
    let chat = chat(&slow_text(), vec![]);
    let served = serve(&chat);
    let (head, mut wire) = served.post("/api/chat", &input("r"));
    wire.until("TEXT_MESSAGE_CONTENT");
    let draining = std::thread::spawn(move || {
        actix_web::rt::System::new().block_on(chat.drain(Duration::from_millis(100)));
    });
    let rest = wire.body(&head);
    assert!(events(&rest).pop().unwrap().is_terminal());
    draining.join().unwrap();
    let (head, _) = served.post("/api/chat", &input("r2"));
    assert_eq!(head.status, 503);
    assert!(head.header("retry-after").is_some());
}
