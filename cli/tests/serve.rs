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
#[path = "serve/story.rs"]
mod story;
#[path = "serve/wire.rs"]
mod wire;

use std::time::{Duration, Instant};

use process::{Served, refused};
use serde_json::{Value, json};
use story::finished;
use wire::{Chat, Events, Response};

/// A person waits two seconds, which the script of the whole check measures alone; these tests start
/// many processes at the same time.
const START: Duration = Duration::from_secs(6);

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
        (&[], &[("ROSCIUS_TOKEN", "short")], "ROSCIUS_TOKEN: a token"),
        (
            &["--insecure"],
            &[("ROSCIUS_TOKEN", "secret-token")],
            "choose one",
        ),
        (
            &["--mcp", "a=http://user:hidden@127.0.0.1:9/mcp"],
            &[],
            "the address of `a` holds a user or a password",
        ),
        (
            &["--model", "openai:m", "--base-url", "http://u:hidden@h"],
            &[],
            "the address of the model holds a user or a password",
        ),
        (&["--allowed-host", "http://a"], &[], "--allowed-host"),
        (&["--allow-origin", "a.example.com"], &[], "--allow-origin"),
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
        assert!(!error.contains("hidden"), "{args:?}: {error}");
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
fn a_token_of_the_environment_is_not_shown() {
    let served = Served::run(
        &["serve", "--addr", "127.0.0.1:0"],
        &[("ROSCIUS_TOKEN", "secret-token")],
    );
    assert!(served.said("/?token=<ROSCIUS_TOKEN>"));
    assert!(!served.said("secret-token"));
    assert_eq!(served.get("/api/info").status, 401);
    let bearer = "authorization: Bearer secret-token";
    assert_eq!(served.send("GET", "/api/info", &[bearer], "").status, 200);
}

#[test]
fn named_hosts_and_origins_are_served() {
    let served = Served::start(&[
        "--token",
        "secret-token",
        "--allowed-host",
        "chat.example.com",
        "--allow-origin",
        "https://app.example.com",
    ]);
    let host = "host: chat.example.com";
    let origin = "origin: https://app.example.com";
    let bearer = "authorization: Bearer secret-token";
    assert_eq!(
        served.send("GET", "/api/info", &[host, bearer], "").status,
        200
    );
    for path in ["/api/chat", "/mcp"] {
        let asked = served.send("OPTIONS", path, &[host, origin], "");
        assert_eq!(asked.status, 204, "{path}");
        assert_eq!(
            asked.header("access-control-allow-origin"),
            Some("https://app.example.com")
        );
        let foreign = served.send(
            "OPTIONS",
            path,
            &[host, "origin: https://evil.example.com"],
            "",
        );
        assert_eq!(foreign.status, 403, "{path}");
        let other = served.send("POST", path, &["host: evil.example.com", bearer], "{}");
        assert_eq!(other.status, 403, "{path}");
        let json = "content-type: application/json";
        let unknown = served.send("POST", path, &[host, origin, json], "{}");
        assert_eq!(unknown.status, 401, "{path}");
        let known = served.send("POST", path, &[host, origin, json, bearer], "{}");
        assert_eq!(known.status, 400, "{path}");
        assert_eq!(
            known.header("access-control-allow-origin"),
            Some("https://app.example.com")
        );
    }
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
