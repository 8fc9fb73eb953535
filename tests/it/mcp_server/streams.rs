//! Answers that report, calls whose client goes away, and the end of the server.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use roscius::{prelude::*, wire::mcp::LogLevel};
use serde_json::json;
use tokio::sync::Notify;

use super::host::{Ask, Served, Wire};

#[derive(Clone, Default)]
struct Gate {
    open: Arc<Notify>,
    entered: Arc<AtomicBool>,
}

fn server(gate: &Gate) -> McpServer {
    let gate = gate.clone();
    McpServer::new("streams", "1.0.0")
        .keep_alive(Duration::from_millis(50))
        .tool(Tool::new("busy", |cx: ToolCx| async move {
            cx.progress(0.0, Some(2.0), None);
            cx.progress(1.0, Some(2.0), Some("half"));
            cx.progress(1.0, Some(2.0), Some("not more"));
            cx.log(LogLevel::Debug, "low");
            cx.log(LogLevel::Warning, json!({"high": 1}));
            cx.emit("custom", json!(1));
            "done"
        }))
        .tool(Tool::new("gated", move |cx: ToolCx| {
            let gate = gate.clone();
            async move {
                gate.entered.store(true, Ordering::SeqCst);
                cx.progress(1.0, None, None);
                gate.open.notified().await;
                cx.progress(2.0, None, None);
                "done"
            }
        }))
        .build()
        .unwrap()
}

fn call(name: &str, meta: serde_json::Value) -> Ask {
    Ask::modern(
        "tools/call",
        json!({"name": name, "arguments": {}, "_meta": meta}),
    )
}

fn until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "the condition did not come true");
        std::thread::yield_now();
    }
}

#[test]
fn a_call_that_reports_nothing_wanted_answers_with_json() {
    let served = Served::new(&server(&Gate::default()));
    let reply = call("busy", json!({})).send(&served);
    assert_eq!(reply.json()["result"]["content"][0]["text"], "done");
    let no_stream = call("busy", json!({"progressToken": 1})).with("accept", "application/json");
    assert_eq!(
        no_stream.send(&served).json()["result"]["content"][0]["text"],
        "done"
    );
}

#[test]
fn wanted_reports_come_before_the_result() {
    let served = Served::new(&server(&Gate::default()));
    let meta = json!({"progressToken": "t", "io.modelcontextprotocol/logLevel": "info"});
    let reply = call("busy", meta).send(&served);
    let events = reply.events();
    assert_eq!(events.len(), 4, "{events:?}");
    assert_eq!(
        events[0]["params"],
        json!({"progressToken": "t", "progress": 0, "total": 2})
    );
    assert_eq!(events[1]["params"]["message"], "half");
    assert_eq!(
        events[2]["params"],
        json!({"level": "warning", "data": {"high": 1}})
    );
    assert_eq!(events[3]["result"]["content"][0]["text"], "done");
    let unknown = call("busy", json!({"io.modelcontextprotocol/logLevel": "loud"})).send(&served);
    assert_eq!(unknown.error_code(), -32602);
}

#[test]
fn a_2025_call_reports_progress_and_logs_nothing() {
    let served = Served::new(&server(&Gate::default()));
    let params = json!({"name": "busy", "arguments": {}, "_meta": {"progressToken": 7, "io.modelcontextprotocol/logLevel": "debug"}});
    let reply = Ask::legacy("2025-11-25", "tools/call", params).send(&served);
    let events = reply.events();
    assert_eq!(events.len(), 3, "{events:?}");
    assert_eq!(events[0]["params"]["progressToken"], 7);
    assert_eq!(events[2]["result"]["content"][0]["text"], "done");
}

#[test]
fn a_stream_carries_each_report_when_it_comes_and_says_that_it_lives() {
    let gate = Gate::default();
    let served = Served::new(&server(&gate));
    let mut wire = Wire::open(served.addr);
    wire.send(&call("gated", json!({"progressToken": 1})).bytes(served.addr));
    assert!(wire.line().contains("200"));
    let mut headers = Vec::new();
    loop {
        let line = wire.line();
        if line.is_empty() {
            break;
        }
        headers.push(line);
    }
    for header in [
        "content-type: text/event-stream",
        "x-accel-buffering: no",
        "cache-control: no-cache, no-transform",
    ] {
        assert!(
            headers.iter().any(|line| line == header),
            "{header}: {headers:?}"
        );
    }
    assert!(wire.chunk().unwrap().contains(r#""progress":1"#));
    assert_eq!(wire.chunk().unwrap(), ": keep-alive\n\n");
    gate.open.notify_one();
    let mut rest = String::new();
    while let Some(chunk) = wire.chunk() {
        rest.push_str(&chunk);
    }
    assert!(
        rest.contains(r#""progress":2"#) && rest.contains(r#""text":"done""#),
        "{rest}"
    );
}

// B009: over HTTP the end of the connection is the cancellation.
#[test]
fn a_client_that_goes_away_cancels_its_2026_call() {
    for meta in [json!({}), json!({"progressToken": 1})] {
        let (seen, cancelled) = mpsc::channel();
        let entered = Arc::new(AtomicBool::new(false));
        let inside = Arc::clone(&entered);
        let server = McpServer::new("gone", "1.0.0")
            .tool(Tool::new("wait", move |cx: ToolCx| {
                let token = cx.cancelled().clone();
                let seen = seen.clone();
                let inside = Arc::clone(&inside);
                async move {
                    // What a tool has started elsewhere hears of the end by the token.
                    actix_web::rt::spawn(async move {
                        token.cancelled().await;
                        let _ = seen.send(());
                    });
                    cx.progress(1.0, None, None);
                    inside.store(true, Ordering::SeqCst);
                    std::future::pending::<()>().await;
                }
            }))
            .build()
            .unwrap();
        let served = Served::new(&server);
        let mut wire = Wire::open(served.addr);
        wire.send(&call("wait", meta).bytes(served.addr));
        until(|| entered.load(Ordering::SeqCst));
        assert_eq!(server.running_calls(), 1);
        drop(wire);
        cancelled.recv_timeout(Duration::from_secs(10)).unwrap();
        until(|| server.running_calls() == 0);
    }
}

#[test]
fn a_2025_call_goes_on_when_its_client_goes_away() {
    for meta in [json!({}), json!({"progressToken": 1})] {
        let gate = Gate::default();
        let done = Arc::new(AtomicBool::new(false));
        let (inside, ended) = (gate.clone(), Arc::clone(&done));
        let server = McpServer::new("stays", "1.0.0")
            .tool(Tool::new("wait", move |cx: ToolCx| {
                let (inside, ended) = (inside.clone(), Arc::clone(&ended));
                async move {
                    cx.progress(1.0, None, None);
                    inside.entered.store(true, Ordering::SeqCst);
                    inside.open.notified().await;
                    ended.store(!cx.cancelled().is_cancelled(), Ordering::SeqCst);
                }
            }))
            .build()
            .unwrap();
        let served = Served::new(&server);
        let mut wire = Wire::open(served.addr);
        let params = json!({"name": "wait", "arguments": {}, "_meta": meta});
        let ask = Ask::legacy("2025-11-25", "tools/call", params);
        wire.send(&ask.bytes(served.addr));
        until(|| gate.entered.load(Ordering::SeqCst));
        drop(wire);
        // A second connection is served after the worker has seen the end of the first.
        assert_eq!(
            Ask::legacy("2025-11-25", "ping", json!({}))
                .send(&served)
                .status,
            200
        );
        gate.open.notify_one();
        until(|| done.load(Ordering::SeqCst));
        until(|| server.running_calls() == 0);
    }
}

#[test]
fn a_drain_refuses_new_work_and_ends_what_runs() {
    let gate = Gate::default();
    let server = server(&gate);
    let served = Served::new(&server);
    let mut stream = Wire::open(served.addr);
    stream.send(&call("gated", json!({"progressToken": 1})).bytes(served.addr));
    until(|| gate.entered.load(Ordering::SeqCst));
    let drained = {
        let server = server.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build();
            runtime
                .unwrap()
                .block_on(server.drain(Duration::from_millis(50)));
        })
    };
    until(|| Ask::modern("tools/list", json!({})).send(&served).status == 503);
    let refused = Ask::modern("tools/list", json!({})).send(&served);
    assert_eq!(refused.header("retry-after"), Some("5"));
    let events = stream.reply().events();
    assert_eq!(events.last().unwrap()["error"]["code"], -32603);
    drained.join().unwrap();
    assert_eq!(server.running_calls(), 0);
}

/// A server whose one tool waits at a gate, and whether the tool came through.
fn waiting(gate: &Gate) -> (roscius::server::McpServerBuilder, Arc<AtomicBool>) {
    let done = Arc::new(AtomicBool::new(false));
    let (inside, ended) = (gate.clone(), Arc::clone(&done));
    let tool = Tool::new("wait", move || {
        let (inside, ended) = (inside.clone(), Arc::clone(&ended));
        async move {
            inside.entered.store(true, Ordering::SeqCst);
            inside.open.notified().await;
            ended.store(true, Ordering::SeqCst);
        }
    });
    (McpServer::new("stays", "1.0.0").tool(tool), done)
}

#[test]
fn a_batch_goes_on_when_its_client_goes_away() {
    let gate = Gate::default();
    let (server, done) = waiting(&gate);
    let server = server.build().unwrap();
    let served = Served::new(&server);
    let mut wire = Wire::open(served.addr);
    let body = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "wait"}},
    ]);
    let ask = Ask::post(body.to_string()).header("mcp-protocol-version", "2025-03-26");
    wire.send(&ask.bytes(served.addr));
    until(|| gate.entered.load(Ordering::SeqCst));
    drop(wire);
    let ping = Ask::legacy("2025-11-25", "ping", json!({}));
    assert_eq!(ping.send(&served).status, 200);
    gate.open.notify_one();
    until(|| done.load(Ordering::SeqCst));
    until(|| server.running_calls() == 0);
}

#[actix_web::test]
async fn a_2025_call_behind_a_token_goes_on_when_its_future_is_given_up() {
    use roscius::wire::http::{Head, Method, Request};
    for (version, goes_on) in [("2025-11-25", true), ("2026-07-28", false)] {
        let gate = Gate::default();
        let (server, done) = waiting(&gate);
        let anybody = |token: String| async move {
            let mut caller = roscius::wire::auth::AuthInfo::new(token, "app");
            caller.expires_at = Some(u64::MAX);
            Ok::<_, roscius::wire::oauth::OAuthError>(caller)
        };
        let server = server.auth(anybody).build().unwrap();
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": "wait", "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let body = body.to_string();
        let headers = [
            ("content-type", "application/json"),
            ("authorization", "Bearer abc"),
            ("mcp-protocol-version", version),
            ("mcp-method", "tools/call"),
            ("mcp-name", "wait"),
        ];
        let headers = headers.to_vec();
        let request = Request {
            head: Head::of(Method::Post, &headers),
            body: body.as_bytes(),
        };
        let mut handling = server.handle(request, roscius::server::Options::new());
        assert!(futures_util::poll!(&mut handling).is_pending());
        assert!(gate.entered.load(Ordering::SeqCst));
        let rest = handling.detached();
        assert_eq!(rest.is_some(), goes_on, "{version}");
        gate.open.notify_one();
        if let Some(rest) = rest {
            rest.await;
        }
        assert_eq!(done.load(Ordering::SeqCst), goes_on, "{version}");
        assert_eq!(server.running_calls(), 0);
    }
}
