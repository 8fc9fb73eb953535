//! The counters of a server, as a recorder sees them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use roscius::{gauge, prelude::*, web};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{legacy, modern, post};
use crate::served::{Served, eventually, request};

/// Keeps what it is told: counters as whole numbers, gauges as the bits of a float.
#[derive(Clone, Default)]
struct Told {
    counters: Arc<Mutex<BTreeMap<String, Arc<AtomicU64>>>>,
    gauges: Arc<Mutex<BTreeMap<String, Arc<AtomicU64>>>>,
    described: Arc<Mutex<Vec<String>>>,
}

impl Told {
    fn counter(&self, key: &str) -> u64 {
        let counters = self.counters.lock().unwrap();
        counters
            .get(key)
            .map_or(0, |value| value.load(Ordering::SeqCst))
    }

    fn gauge(&self, name: &str) -> f64 {
        let gauges = self.gauges.lock().unwrap();
        gauges
            .get(name)
            .map_or(0.0, |value| f64::from_bits(value.load(Ordering::SeqCst)))
    }

    fn describe(&self, name: KeyName) {
        self.described
            .lock()
            .unwrap()
            .push(name.as_str().to_owned());
    }
}

fn name(key: &Key) -> String {
    let labels = key
        .labels()
        .map(|label| format!(" {}={}", label.key(), label.value()));
    let labels: String = labels.collect();
    format!("{}{labels}", key.name())
}

impl Recorder for Told {
    fn describe_counter(&self, key: KeyName, _: Option<Unit>, _: SharedString) {
        self.describe(key);
    }

    fn describe_gauge(&self, key: KeyName, _: Option<Unit>, _: SharedString) {
        self.describe(key);
    }

    fn describe_histogram(&self, key: KeyName, _: Option<Unit>, _: SharedString) {
        self.describe(key);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let mut counters = self.counters.lock().unwrap();
        Counter::from_arc(Arc::clone(counters.entry(name(key)).or_default()))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        let mut gauges = self.gauges.lock().unwrap();
        Gauge::from_arc(Arc::clone(gauges.entry(name(key)).or_default()))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

/// Serves on one worker that tells this recorder for as long as it lives, and no other thread does.
fn serve(server: &McpServer, told: &Told) -> Served {
    let (server, told) = (server.clone(), told.clone());
    Served::start(move |config| {
        let told: &'static Told = Box::leak(Box::new(told.clone()));
        Box::leak(Box::new(metrics::set_default_local_recorder(told)));
        config.configure(web::mcp("/mcp", &server));
    })
}

fn server(open: &Arc<Notify>) -> McpServer {
    let open = Arc::clone(open);
    McpServer::new("counted", "1.0.0")
        .sessions(Sessions::Memory)
        .tool(Tool::new("hi", || async { "hi" }))
        .tool(Tool::new("fail", || async {
            Err::<String, _>(ToolError::new("no"))
        }))
        .tool(Tool::new("wait", move |cx: ToolCx| {
            let open = Arc::clone(&open);
            async move {
                cx.progress(1.0, None, None);
                open.notified().await;
                "waited"
            }
        }))
        .build()
        .unwrap()
}

// G23
#[test]
fn requests_and_errors_are_counted() {
    let told = Told::default();
    let served = serve(&server(&Arc::default()), &told);
    for tool in ["hi", "hi", "fail", "gone"] {
        let params = json!({"name": tool, "arguments": {}});
        post(&served, &modern(1, "tools/call", params), &[]);
    }
    post(&served, &modern(2, "no/such", json!({})), &[]);
    post(&served, &legacy(3, "ping", json!({})), &[]);
    post(&served, &json!("no message"), &[]);
    for (key, count) in [
        ("roscius_mcp_requests_total method=tools/call era=2026", 4),
        ("roscius_mcp_requests_total method=other era=2026", 1),
        ("roscius_mcp_requests_total method=ping era=2025", 1),
        ("roscius_mcp_errors_total code=tool_error", 1),
        ("roscius_mcp_errors_total code=-32602", 1),
        ("roscius_mcp_errors_total code=-32601", 1),
        // The ping names no session.
        ("roscius_mcp_errors_total code=-32000", 1),
        ("roscius_mcp_errors_total code=-32600", 1),
    ] {
        assert_eq!(told.counter(key), count, "{key}: {:?}", told.counters);
    }
}

#[test]
fn what_is_open_is_counted_until_it_ends() {
    let (told, open) = (Told::default(), Arc::new(Notify::new()));
    let served = serve(&server(&open), &told);
    let shows = |name: &str, count: f64| {
        eventually(name, || (told.gauge(name) - count).abs() < f64::EPSILON);
    };
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let opened = post(&served, &legacy(0, "initialize", params), &[]);
    let session = opened.head.header("mcp-session-id").unwrap().to_owned();
    shows("roscius_mcp_sessions", 1.0);
    let named = [
        ("accept", "text/event-stream"),
        ("mcp-session-id", &*session),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let (head, stream) = served.request("GET", "/mcp", &named, "");
    assert_eq!(head.status, 200);
    shows("roscius_mcp_streams", 1.0);

    let mut message: Value = modern(1, "tools/call", json!({"name": "wait", "arguments": {}}));
    message["params"]["_meta"]["progressToken"] = json!("p");
    let own = super::mirrored(&message);
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    headers.extend(own.iter().map(|(name, value)| (&**name, &**value)));
    let mut wire = served.connect();
    let bytes = request(served.addr, "POST", "/mcp", &headers, &message.to_string());
    wire.send(&bytes);
    shows("roscius_mcp_calls", 1.0);
    shows("roscius_mcp_streams", 2.0);
    open.notify_one();
    shows("roscius_mcp_calls", 0.0);
    shows("roscius_mcp_streams", 1.0);
    drop(stream);
    let (head, _wire) = served.request("DELETE", "/mcp", &named, "");
    assert_eq!(head.status, 200);
    for name in ["roscius_mcp_sessions", "roscius_mcp_streams"] {
        shows(name, 0.0);
    }
}

/// The table of the documents, the names of the code and the descriptions are the same.
#[test]
fn every_counter_is_described_and_documented() {
    let told = Told::default();
    metrics::with_local_recorder(&told, gauge::describe);
    let document = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/observability.md"
    ));
    let document = document.unwrap();
    let described = told.described.lock().unwrap();
    for name in described.iter() {
        assert!(document.contains(&format!("`{name}`")), "{name}");
    }
    let documented = document
        .split('`')
        .filter(|word| word.starts_with("roscius_"));
    let documented: Vec<_> = documented.collect();
    assert_eq!(documented.len(), described.len(), "{documented:?}");
}
