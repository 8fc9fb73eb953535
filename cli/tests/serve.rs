//! The real binary, from its first line to its last stream.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is the test failing"
)]
#![cfg(unix)]

#[path = "serve/process.rs"]
mod process;
#[path = "serve/wire.rs"]
mod wire;

use std::time::{Duration, Instant};

use process::{Served, refused};
use serde_json::{Value, json};
use wire::{Chat, Events, Response};

/// The first start reads a large binary from a busy disk; it is still far below a person's patience.
const START: Duration = Duration::from_secs(2);

fn of_kind<'events>(events: &'events [Value], kind: &str) -> Vec<&'events Value> {
    events
        .iter()
        .filter(|event| event["type"] == json!(kind))
        .collect()
}

fn text_of(events: &[Value]) -> String {
    let deltas = of_kind(events, "TEXT_MESSAGE_CONTENT");
    deltas
        .iter()
        .filter_map(|event| event["delta"].as_str())
        .collect()
}

/// The names and arguments of the calls.
fn calls_of(events: &[Value]) -> Vec<(String, Value)> {
    let ends = of_kind(events, "TOOL_CALL_END");
    let starts = of_kind(events, "TOOL_CALL_START");
    let calls = starts.iter().zip(ends);
    let call = |(start, end): (&&Value, &Value)| {
        let name = start["toolCallName"].as_str().unwrap().to_owned();
        (name, end["metadata"]["tanstack"]["input"].clone())
    };
    calls.map(call).collect()
}

fn result_of(events: &[Value]) -> String {
    let results = of_kind(events, "TOOL_CALL_RESULT");
    assert_eq!(results.len(), 1, "{events:?}");
    results[0]["content"].as_str().unwrap().to_owned()
}

fn interrupt_of(events: &[Value]) -> Value {
    let interrupts = &events.last().unwrap()["outcome"]["interrupts"];
    assert_eq!(interrupts.as_array().map(Vec::len), Some(1), "{events:?}");
    interrupts[0].clone()
}

fn finished(events: &[Value]) {
    let last = events.last().unwrap();
    assert_eq!(last["type"], json!("RUN_FINISHED"), "{last}");
    assert_eq!(
        last["metadata"]["tanstack"]["finishReason"],
        json!("stop"),
        "{last}"
    );
}

#[test]
fn it_says_its_address_in_time_and_is_healthy() {
    let begun = Instant::now();
    let served = Served::start(&[]);
    assert!(begun.elapsed() < START, "{:?}", begun.elapsed());
    let health = served.get("/healthz");
    assert_eq!((health.status, health.body.as_str()), (200, "ok"));
}

#[test]
fn without_a_command_it_serves() {
    let served = Served::run(&["--addr", "127.0.0.1:0", "--no-demo-server"], &[]);
    assert_eq!(served.get("/healthz").status, 200);
    assert_eq!(served.get("/mcp").status, 404);
    let info = served.get("/api/info").json();
    assert_eq!(
        info,
        json!({"model": "demo", "servers": [], "examples": []})
    );
}

#[test]
fn the_page_and_its_files_are_served_as_what_they_are() {
    let served = Served::start(&[]);
    let table = [
        ("/", "text/html; charset=utf-8", "<div id=\"root\">"),
        (
            "/assets/app.js",
            "text/javascript; charset=utf-8",
            "function",
        ),
        ("/assets/app.css", "text/css; charset=utf-8", "{"),
        ("/assets/icon.svg", "image/svg+xml", "<svg"),
        (
            "/THIRD-PARTY-NOTICES.txt",
            "text/plain; charset=utf-8",
            "react",
        ),
    ];
    for (path, content_type, part) in table {
        let response = served.get(path);
        assert_eq!(response.status, 200, "{path}");
        assert_eq!(
            response.header("content-type"),
            Some(content_type),
            "{path}"
        );
        assert_eq!(
            response.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        let policy = response.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'self'"), "{policy}");
        assert!(response.body.contains(part), "{path}");
    }
    assert_eq!(served.get("/assets/other.js").status, 404);
}

#[test]
fn other_hosts_and_origins_are_refused_on_every_route() {
    let served = Served::start(&[]);
    for path in [
        "/",
        "/healthz",
        "/api/info",
        "/api/sample",
        "/api/chat",
        "/mcp",
    ] {
        let method = if path.starts_with("/api/") && path != "/api/info" {
            "POST"
        } else {
            "GET"
        };
        for header in ["host: evil.example.com", "origin: http://evil.example.com"] {
            let response = served.send(
                method,
                path,
                &[header, "content-type: application/json"],
                "{}",
            );
            assert_eq!(response.status, 403, "{method} {path} with {header}");
        }
    }
    let own = format!("origin: http://{}", served.addr());
    assert_eq!(served.send("GET", "/api/info", &[&own], "").status, 200);
}

#[test]
fn info_names_the_model_the_tools_and_the_examples() {
    let served = Served::start(&[]);
    let info = served.eventually("the demo server", |served| {
        let info = served.get("/api/info").json();
        (info["servers"][0]["connected"] == json!(true)).then_some(info)
    });
    assert_eq!(info["model"], json!("demo"));
    let demo = &info["servers"][0];
    assert_eq!(demo["name"], json!("demo"));
    assert_eq!(demo["url"], json!(format!("http://{}/mcp", served.addr())));
    assert_eq!(demo["error"], Value::Null);
    let tools = [
        "get_weather",
        "ask_city",
        "summarize",
        "delete_note",
        "slow_count",
        "fail",
    ];
    let tools: Vec<_> = tools.iter().map(|tool| format!("demo_{tool}")).collect();
    assert_eq!(demo["tools"], json!(tools));
    assert!(
        info["examples"]
            .as_array()
            .unwrap()
            .contains(&json!("weather in Oslo"))
    );
    served.eventually("the line about it", |served| {
        served.said("mcp demo").then_some(())
    });
}

#[test]
fn hello_is_answered_with_text_alone() {
    let served = Served::start(&[]);
    let events = Chat::new(&served).say("hello");
    finished(&events);
    assert_eq!(calls_of(&events), []);
    assert!(
        text_of(&events).contains("demo_get_weather"),
        "it says what it can do"
    );
}

#[test]
fn the_examples_call_their_tools_over_http() {
    let served = Served::start(&[]);
    let events = Chat::new(&served).say("weather in Oslo");
    finished(&events);
    assert_eq!(
        calls_of(&events),
        [("demo_get_weather".to_owned(), json!({"city": "Oslo"}))]
    );
    let result: Value = serde_json::from_str(&result_of(&events)).unwrap();
    assert_eq!(result["city"], json!("Oslo"));
    assert!(text_of(&events).contains("Oslo"), "{}", text_of(&events));

    let events = Chat::new(&served).say("count to 2");
    finished(&events);
    assert_eq!(
        calls_of(&events),
        [("demo_slow_count".to_owned(), json!({"to": 2}))]
    );
    assert_eq!(result_of(&events), "counted to 2");

    let events = Chat::new(&served).say("fail: on purpose");
    finished(&events);
    assert!(result_of(&events).contains("on purpose"));
}

#[test]
fn a_question_of_a_tool_is_answered_and_the_call_goes_on() {
    let served = Served::start(&[]);
    let mut chat = Chat::new(&served);
    let events = chat.say("ask me for a city");
    let interrupt = interrupt_of(&events);
    let payload = &interrupt["metadata"]["tanstack:interruptPayload"];
    assert_eq!(
        (&interrupt["reason"], &payload["kind"]),
        (&json!("mcp_input"), &json!("form"))
    );
    assert_eq!(
        payload["request"]["requestedSchema"]["required"],
        json!(["city"])
    );
    let events = chat.answer(&interrupt, json!({"city": "Paris"}));
    finished(&events);
    assert_eq!(result_of(&events), "Paris");
    assert!(text_of(&events).contains("Paris"));
}

#[test]
fn a_sampling_question_shows_the_text_and_takes_the_answer() {
    let served = Served::start(&[]);
    let mut chat = Chat::new(&served);
    let events = chat.say("summarize: cats are small. And quick.");
    let interrupt = interrupt_of(&events);
    let request = &interrupt["metadata"]["tanstack:interruptPayload"]["request"];
    assert!(
        request["messages"]
            .to_string()
            .contains("cats are small. And quick.")
    );
    let sampled = served.send(
        "POST",
        "/api/sample",
        &["content-type: application/json"],
        &json!({ "request": request }).to_string(),
    );
    assert_eq!(
        (sampled.status, &sampled.json()),
        (200, &json!({"text": "cats are small."}))
    );
    let events = chat.answer(&interrupt, sampled.json()["text"].clone());
    finished(&events);
    assert_eq!(result_of(&events), "cats are small.");
}

#[test]
fn deleting_needs_approval_unless_told_otherwise() {
    let served = Served::start(&[]);
    let mut chat = Chat::new(&served);
    let events = chat.say("delete note 3");
    let interrupt = interrupt_of(&events);
    assert_eq!(interrupt["metadata"]["kind"], json!("approval"));
    assert_eq!(interrupt["metadata"]["input"], json!({"id": 3}));
    let events = chat.answer(&interrupt, json!({"approved": true}));
    finished(&events);
    assert_eq!(result_of(&events), r#"{"deleted":3}"#);

    let served = Served::start(&["--approve", "never"]);
    let events = Chat::new(&served).say("delete note 3");
    finished(&events);

    let served = Served::start(&["--approve", "all"]);
    let events = Chat::new(&served).say("weather in Oslo");
    assert_eq!(
        interrupt_of(&events)["metadata"]["toolName"],
        json!("demo_get_weather")
    );
}

#[test]
fn bad_sampling_requests_are_refused() {
    let served = Served::start(&[]);
    let json = "content-type: application/json";
    let post = |header: &str, body: &str| served.send("POST", "/api/sample", &[header], body);
    assert_eq!(post("content-type: text/plain", "{}").status, 415);
    assert_eq!(post(json, "{").status, 400);
    assert_eq!(post(json, r#"{"request": {}}"#).status, 400);
    assert_eq!(post(json, &" ".repeat(4 * 1024 * 1024 + 1)).status, 413);
    let unknown = json!({"request": {"messages": []}}).to_string();
    let refused = post(json, &unknown);
    assert!(
        refused.json()["error"].is_string() || refused.status == 200,
        "{}",
        refused.body
    );
}

#[test]
fn a_server_that_is_not_there_is_named_and_joins_when_it_comes() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let late = format!("late=http://127.0.0.1:{port}/mcp");
    let served = Served::start(&["--mcp", &late]);
    served.eventually("its name", |served| served.said("mcp late").then_some(()));
    assert!(served.said("not connected"));
    let events = Chat::new(&served).say("weather in Oslo");
    finished(&events);
    let info = served.get("/api/info").json();
    assert_eq!(info["servers"][1]["connected"], json!(false));
    assert!(
        info["servers"][1]["error"].as_str().unwrap().len() > 10,
        "{info}"
    );

    let addr = format!("127.0.0.1:{port}");
    let _other = Served::run(&["serve", "--addr", &addr], &[]);
    served.eventually("the late server", |served| {
        finished(&Chat::new(served).say("hello"));
        let info = served.get("/api/info").json();
        (info["servers"][1]["connected"] == json!(true)).then_some(())
    });
}

#[test]
fn a_script_is_played() {
    let file = std::env::temp_dir().join(format!("roscius-script-{}.json", std::process::id()));
    let script = json!({"turns": [
        {"toolCalls": [{"id": "c1", "name": "demo_get_weather", "arguments": {"city": "Bergen"}}]},
        {"text": ["It ", "rains."]},
    ]});
    std::fs::write(&file, script.to_string()).unwrap();
    let served = Served::start(&["--model", &format!("scripted:{}", file.display())]);
    std::fs::remove_file(&file).unwrap();
    let mut chat = Chat::new(&served);
    let events = chat.say("anything");
    finished(&events);
    assert_eq!(
        calls_of(&events),
        [("demo_get_weather".to_owned(), json!({"city": "Bergen"}))]
    );
    assert_eq!(text_of(&events), "It rains.");
}

#[test]
fn what_it_cannot_do_is_said_with_code_2() {
    type Row<'row> = (&'row [&'row str], &'row [(&'row str, &'row str)], &'row str);
    let table: &[Row<'_>] = &[
        (&["--model", "nope"], &[], "openai:<model>"),
        (&["--mcp", "nope"], &[], "<name>=<url>"),
        (
            &["--mcp", "a=ftp://x"],
            &[],
            "no http:// or https:// address",
        ),
        (
            &["--mcp", "demo=http://127.0.0.1:9/mcp"],
            &[],
            "`demo` is given to two MCP servers",
        ),
        (&["--addr", "nowhere"], &[], "--addr"),
        (&["--addr", "0.0.0.0:0"], &[], "--token"),
        (&["--approve", "some"], &[], "writes"),
        (&["--token", "short"], &[], "8 letters"),
        (
            &["--base-url", "http://127.0.0.1:9/v1"],
            &[],
            "--model openai:<model>",
        ),
        (&["--model", "openai:gpt-5"], &[], "OPENAI_API_KEY"),
        (
            &["--model", "scripted:/no/such.json"],
            &[],
            "/no/such.json: No such file",
        ),
        (
            &[],
            &[("ROSCIUS_STATE_KEY", "short")],
            "ROSCIUS_STATE_KEY must be 32 bytes in base64",
        ),
        (&["--unknown"], &[], "--unknown"),
    ];
    for (args, env, expected) in table {
        let (code, error) = refused(args, env);
        assert_eq!(code, Some(2), "{args:?}: {error}");
        assert!(error.contains(expected), "{args:?}: {error}");
    }
}

#[test]
fn a_port_that_is_taken_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let (code, error) = refused(&["--addr", &addr], &[]);
    assert_eq!(code, Some(1));
    assert!(
        error.contains(&format!("cannot listen on {addr}: ")),
        "{error}"
    );
}

#[test]
fn a_token_is_asked_for_on_every_route_but_health() {
    let served = Served::start(&["--token", "secret-token"]);
    assert!(served.said("/?token=secret-token"));
    for path in [
        "/",
        "/api/info",
        "/mcp",
        "/assets/app.js",
        "/?token=secret-tokem",
        "/?token=",
        "/api/info?token=secret-token",
    ] {
        assert_eq!(served.get(path).status, 401, "{path}");
    }
    assert_eq!(served.get("/healthz").status, 200);
    let opened: Response = served.get("/?token=secret-token");
    assert_eq!((opened.status, opened.header("location")), (303, Some("/")));
    let cookie = opened.header("set-cookie").unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    let cookie = format!("cookie: a=b; {}", cookie.split(';').next().unwrap());
    assert_eq!(served.send("GET", "/", &[&cookie], "").status, 200);
    let bearer = "authorization: Bearer secret-token";
    served.eventually("the demo server behind the token", |served| {
        let info = served.send("GET", "/api/info", &[bearer], "").json();
        (info["servers"][0]["connected"] == json!(true)).then_some(())
    });
}

#[test]
fn a_signal_ends_an_open_stream_with_an_event_and_the_process_with_0() {
    for signal in ["TERM", "INT"] {
        let served = Served::start(&[]);
        let mut events = Events::post(
            served.addr(),
            &wire::body("t-drain", "r-drain", "count to 100"),
        );
        events.until("TOOL_CALL_END");
        let begun = Instant::now();
        served.signal(signal);
        let rest = events.rest();
        let last = rest.last().expect("an event after the signal");
        let kind = last["type"].as_str().unwrap();
        assert!(
            ["RUN_ERROR", "RUN_FINISHED"].contains(&kind),
            "{signal}: {last}"
        );
        let code = served.ended();
        assert_eq!(code, Some(0), "{signal}");
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{signal}: {:?}",
            begun.elapsed()
        );
    }
}

#[test]
fn an_idle_process_ends_at_once() {
    let served = Served::start(&[]);
    assert_eq!(served.get("/healthz").status, 200);
    let begun = Instant::now();
    served.signal("TERM");
    assert_eq!(served.ended(), Some(0));
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_question_survives_a_restart_with_the_same_key() {
    let key = [(
        "ROSCIUS_STATE_KEY",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    )];
    let args = ["serve", "--addr", "127.0.0.1:0"];
    let first = Served::run(&args, &key);
    let mut chat = Chat::new(&first);
    let interrupt = interrupt_of(&chat.say("ask me for a city"));
    let kept = chat.kept();
    first.signal("TERM");
    assert_eq!(first.ended(), Some(0));

    let second = Served::run(&args, &key);
    let events = Chat::resumed(&second, kept.clone()).answer(&interrupt, json!({"city": "Lima"}));
    finished(&events);
    assert_eq!(result_of(&events), "Lima");

    let other = Served::start(&[]);
    let events = Chat::resumed(&other, kept).answer(&interrupt, json!({"city": "Lima"}));
    assert_eq!(
        events.last().unwrap()["type"],
        json!("RUN_ERROR"),
        "{events:?}"
    );
}
