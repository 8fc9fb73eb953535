#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed expectation is the test failing"
)]
//! The endpoint with a chat that is played, so that each answer can be had.

use std::{
    fs,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use actix_web::{
    App,
    body::{MessageBody, to_bytes},
    dev::ServiceResponse,
    test::{TestRequest, call_service, init_service},
};
use bytes::Bytes;
use futures_util::FutureExt;
use roscius_actors::{
    ports::event_log::{After, CloseReason, EventLog, LogKey, LogOptions, LogWriter},
    store::memory_log::MemoryLog,
    wire::agui::EventKind,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;

/// A chat that says one thing and leaves the stream open unless it is told to end.
#[derive(Default)]
struct Played {
    draining: AtomicBool,
    refuse: Option<fn() -> Refused>,
    keep_open: bool,
    seen: Mutex<Vec<StartRun>>,
    writers: Arc<Mutex<Vec<LogWriter>>>,
    gone: CancellationToken,
}

impl Runs for Played {
    fn start(&self, run: StartRun) -> LocalBoxFuture<'static, Result<Started, Refused>> {
        if let Some(refuse) = self.refuse {
            return futures_util::future::ready(Err(refuse())).boxed_local();
        }
        let key = LogKey::new(run.caller.owner.clone(), run.input.run_id.clone());
        self.seen.lock().unwrap().push(run);
        let (keep_open, writers) = (self.keep_open, Arc::clone(&self.writers));
        let gone = self.gone.clone();
        async move {
            let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
            let writer = LogWriter::open(&log, key.clone(), LogOptions::default()).await;
            let mut writer = writer.unwrap();
            let events = EventCursor::new(&log, key.clone(), After::Start, true);
            let finished = Event::new(
                1,
                EventKind::RunFinished {
                    thread_id: "t".into(),
                    run_id: key.run_id,
                    result: None,
                    outcome: None,
                    usage: None,
                },
            );
            writer.append(&finished).await.unwrap();
            if keep_open {
                writers.lock().unwrap().push(writer);
            } else {
                writer.close(CloseReason::Completed).await.unwrap();
            }
            Ok(Started {
                events,
                detach: Box::new(move || gone.cancel()),
            })
        }
        .boxed_local()
    }

    fn cancel(&self, owner: &Owner, run: &RunId, _: Option<&ThreadId>) -> bool {
        *owner == Owner::new("ada") && *run == RunId::from("r")
    }

    fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

fn routes(played: Played) -> (Arc<Played>, ChatRoutes) {
    let played = Arc::new(played);
    (Arc::clone(&played), ChatRoutes::over("/api/chat", played))
}

fn input() -> Value {
    json!({
        "threadId": "t", "runId": "r", "tools": [], "context": [],
        "messages": [{"id": "m", "role": "user", "content": "hi"}],
    })
}

fn post(body: impl Into<Bytes>) -> TestRequest {
    TestRequest::post()
        .uri("/api/chat")
        .insert_header(("host", "localhost:8787"))
        .insert_header(("content-type", "application/json"))
        .set_payload(body)
}

async fn send(routes: ChatRoutes, request: TestRequest) -> ServiceResponse {
    let app = init_service(App::new().configure(routes.routes())).await;
    call_service(&app, request.to_request())
        .await
        .map_into_boxed_body()
}

async fn text(response: ServiceResponse) -> String {
    let body = to_bytes(response.into_body()).await.unwrap_or_default();
    String::from_utf8(body.to_vec()).unwrap()
}

fn head<'a>(response: &'a ServiceResponse, name: &str) -> &'a str {
    response
        .headers()
        .get(name)
        .map_or("", |value| value.to_str().unwrap())
}

#[actix_web::test]
async fn a_run_is_a_stream_of_frames_with_the_recorded_head() {
    let (played, routes) = routes(Played::default());
    let response = send(routes, post(input().to_string())).await;
    assert_eq!(response.status(), 200);
    assert_eq!(head(&response, "content-type"), "text/event-stream");
    assert_eq!(head(&response, "content-encoding"), "identity");
    assert_eq!(head(&response, "cache-control"), "no-cache");
    let body = text(response).await;
    let event = body
        .strip_prefix("data: ")
        .unwrap()
        .strip_suffix("\n\n")
        .unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(event).unwrap()["type"],
        "RUN_FINISHED"
    );
    let seen = played.seen.lock().unwrap();
    assert_eq!(seen[0].input.messages.len(), 1);
    assert!(seen[0].caller.owner.is_anonymous());
    assert!(
        !played.gone.is_cancelled(),
        "a stream that ended is no client that went away"
    );
}

#[actix_web::test]
async fn lines_are_sent_to_who_asks_for_them() {
    let (_, routes) = routes(Played::default());
    let request = post(input().to_string()).insert_header(("accept", "application/x-ndjson"));
    let response = send(routes, request).await;
    assert_eq!(head(&response, "content-type"), "application/x-ndjson");
    assert!(text(response).await.starts_with("{\"type\""));
}

#[actix_web::test]
async fn every_recorded_bad_body_is_refused_with_its_reason_and_nothing_runs() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/agui/bad-bodies.table.json"
    );
    let table: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut refused = 0;
    for case in table["cases"].as_array().unwrap() {
        let (played, routes) = routes(Played::default());
        let body = match case.get("bodyText") {
            Some(text) => text.as_str().unwrap().to_owned(),
            None => case["body"].to_string(),
        };
        let response = send(routes, post(body)).await;
        let name = &case["case"];
        assert_eq!(
            response.status(),
            case["status"].as_u64().unwrap() as u16,
            "{name}"
        );
        assert_eq!(
            head(&response, "content-type"),
            case["contentType"],
            "{name}"
        );
        let runs = played.seen.lock().unwrap().len();
        if case["status"] == 200 {
            assert_eq!(runs, 1, "{name}");
            continue;
        }
        assert_eq!(runs, 0, "{name}");
        let recorded = case["reason"].as_str().unwrap();
        let reason = recorded
            .split_once("Validation errors: ")
            .map_or("not valid JSON", |it| it.1);
        let sentence = text(response).await;
        assert!(sentence.contains(reason), "{name}: {sentence}");
        refused += 1;
    }
    assert!(refused > 25);
}

#[actix_web::test]
async fn what_is_not_json_is_refused_before_it_is_read() {
    for (content_type, status) in [
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/jsonp", 415),
        ("Application/JSON; charset=utf-8", 200),
    ] {
        let (played, routes) = routes(Played::default());
        let request = post(input().to_string()).insert_header(("content-type", content_type));
        assert_eq!(
            send(routes, request).await.status(),
            status,
            "{content_type}"
        );
        assert_eq!(
            played.seen.lock().unwrap().len(),
            usize::from(status == 200)
        );
    }
}

#[actix_web::test]
async fn a_body_over_the_bound_is_refused_by_its_length_and_without_one() {
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(100));
    let (_, bounded) = routes(Played::default());
    let bounded = bounded.max_body_bytes(100);
    let declared = post(long.clone()).insert_header(("content-length", long.len()));
    let response = send(bounded.clone(), declared).await;
    assert_eq!(response.status(), 413);
    assert!(text(response).await.contains("max_body_bytes"));
    assert_eq!(send(bounded.clone(), post(long)).await.status(), 413);
    assert_eq!(send(bounded, post("{}")).await.status(), 400);
}

#[actix_web::test]
async fn foreign_pages_and_names_are_refused_on_every_method() {
    for method in ["POST", "GET", "DELETE", "OPTIONS"] {
        for (name, value) in [("origin", "https://evil.example"), ("host", "evil.example")] {
            let (played, routes) = routes(Played::default());
            let request = post(input().to_string())
                .method(method.parse().unwrap())
                .insert_header((name, value));
            let response = send(routes, request).await;
            assert_eq!(response.status(), 403, "{method} {name}");
            let told = if name == "origin" {
                "allow_origins"
            } else {
                "allowed_hosts"
            };
            assert!(text(response).await.contains(told));
            assert!(played.seen.lock().unwrap().is_empty());
        }
    }
}

#[actix_web::test]
async fn an_allowed_page_gets_its_preflight_and_may_read_every_answer() {
    let page = "https://app.example";
    let (_, routes) = routes(Played::default());
    let routes = routes.allow_origins([page]);
    let request = post("")
        .method("OPTIONS".parse().unwrap())
        .insert_header(("origin", page));
    let response = send(routes.clone(), request).await;
    assert_eq!(response.status(), 204);
    let headers = head(&response, "access-control-allow-headers");
    for name in ["content-type", "x-run-id", "last-event-id"] {
        assert!(headers.contains(name), "{name}");
    }
    assert!(head(&response, "access-control-allow-methods").contains("POST"));
    for body in [input().to_string(), "{".to_owned()] {
        let request = post(body).insert_header(("origin", page));
        let response = send(routes.clone(), request).await;
        assert_eq!(head(&response, "access-control-allow-origin"), page);
    }
}

#[actix_web::test]
async fn what_fails_after_the_body_is_one_run_error_with_status_200() {
    let (_, routes) = routes(Played {
        refuse: Some(|| {
            Refused::Failed(Event::run_error(1, "run exists", Some("conflict")).into())
        }),
        ..Played::default()
    });
    let response = send(routes, post(input().to_string())).await;
    assert_eq!(response.status(), 200);
    assert_eq!(head(&response, "content-type"), "text/event-stream");
    let body = text(response).await;
    assert_eq!(body.matches("data: ").count(), 1);
    assert!(
        body.contains(r#""code":"conflict""#) && body.ends_with("\n\n"),
        "{body}"
    );
}

#[actix_web::test]
async fn a_server_that_goes_down_says_when_to_try_again() {
    let (played, routes) = routes(Played::default());
    played.draining.store(true, Ordering::Relaxed);
    let response = send(routes, post(input().to_string())).await;
    assert_eq!(response.status(), 503);
    assert_eq!(head(&response, "retry-after"), "2");
}

#[actix_web::test]
async fn the_hook_names_the_owner_or_answers_itself() {
    let (played, routes) = routes(Played::default());
    let routes = routes.authorize(|request: HttpRequest| async move {
        match request.headers().get("authorization") {
            Some(_) => Ok(Caller::new(Owner::new("ada")).with(7_u32)),
            None => Err(HttpResponse::Unauthorized().finish()),
        }
    });
    assert_eq!(
        send(routes.clone(), post(input().to_string()))
            .await
            .status(),
        401
    );
    assert!(played.seen.lock().unwrap().is_empty());
    let request = post(input().to_string()).insert_header(("authorization", "Bearer x"));
    assert_eq!(send(routes.clone(), request).await.status(), 200);
    let owner = played.seen.lock().unwrap()[0].caller.owner.clone();
    assert_eq!(owner, Owner::new("ada"));
    for (uri, token, status) in [
        ("/api/chat?runId=r", true, 204),
        ("/api/chat?runId=x", true, 404),
        ("/api/chat", true, 400),
        ("/api/chat?runId=r", false, 401),
    ] {
        let mut request = post("").method("DELETE".parse().unwrap()).uri(uri);
        if token {
            request = request.insert_header(("authorization", "Bearer x"));
        }
        assert_eq!(
            send(routes.clone(), request).await.status(),
            status,
            "{uri} {token}"
        );
    }
}

#[actix_web::test]
async fn reading_a_run_again_is_not_served() {
    for query in ["", "?threadId=t", "?offset=-1&runId=r"] {
        let (_, routes) = routes(Played::default());
        let request = post("")
            .method("GET".parse().unwrap())
            .uri(&format!("/api/chat{query}"));
        let response = send(routes, request).await;
        assert_eq!(response.status(), 405);
        assert!(head(&response, "allow").contains("POST"));
    }
}

#[actix_web::test]
async fn a_body_that_is_dropped_before_the_end_tells_the_run() {
    let (played, routes) = routes(Played {
        keep_open: true,
        ..Played::default()
    });
    let response = send(routes, post(input().to_string())).await;
    let mut body = Box::pin(response.into_body());
    let first = std::future::poll_fn(|cx| body.as_mut().poll_next(cx)).await;
    assert!(first.is_some());
    assert!(!played.gone.is_cancelled());
    drop(body);
    assert!(played.gone.is_cancelled());
}
