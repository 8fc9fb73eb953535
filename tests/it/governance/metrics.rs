//! The counters of a server, as a recorder sees them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use roscius::{gauge, prelude::*, web};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{legacy, modern, post};
use crate::{
    chat_world::{Gate, builder, is_completed, on_system, script},
    served::{Served, eventually, request},
};

/// The values of a histogram.
#[derive(Default)]
struct Samples(Mutex<Vec<f64>>);

impl HistogramFn for Samples {
    fn record(&self, value: f64) {
        self.0.lock().unwrap().push(value);
    }
}

/// Keeps what it is told: counters as whole numbers, gauges as the bits of a float.
#[derive(Clone, Default)]
struct Told {
    counters: Arc<Mutex<BTreeMap<String, Arc<AtomicU64>>>>,
    gauges: Arc<Mutex<BTreeMap<String, Arc<AtomicU64>>>>,
    histograms: Arc<Mutex<BTreeMap<String, Arc<Samples>>>>,
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

    /// The values of a histogram with exactly these labels.
    fn samples(&self, key: &str) -> Vec<f64> {
        let histograms = self.histograms.lock().unwrap();
        histograms
            .get(key)
            .map_or_else(Vec::new, |samples| samples.0.lock().unwrap().clone())
    }

    /// How many values each histogram has, by name and labels.
    fn measured(&self, name: &str) -> BTreeMap<String, usize> {
        let histograms = self.histograms.lock().unwrap();
        histograms
            .iter()
            .filter_map(|(key, samples)| {
                let labels = key.strip_prefix(name)?.trim_start();
                Some((labels.to_owned(), samples.0.lock().unwrap().len()))
            })
            .collect()
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

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, _: SharedString) {
        assert_eq!(unit, Some(Unit::Seconds));
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

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let mut histograms = self.histograms.lock().unwrap();
        Histogram::from_arc(Arc::clone(histograms.entry(name(key)).or_default()))
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
    let session = table(&[("mcp.protocol.version=2025-11-25", 1)]);
    eventually("the measurement", || told.measured(SESSION) == session);
}

const REQUEST: &str = "mcp.server.operation.duration";
const SESSION: &str = "mcp.server.session.duration";
const TOOL: &str = "gen_ai.execute_tool.duration";

/// Gives a table of what was measured.
fn table(rows: &[(&str, usize)]) -> BTreeMap<String, usize> {
    rows.iter()
        .map(|(labels, count)| ((*labels).to_owned(), *count))
        .collect()
}

// G23
#[test]
fn requests_are_measured_by_method_and_end() {
    let told = Told::default();
    let server = McpServer::new("measured", "1.0.0")
        .tool(Tool::new("hi", || async { "hi" }))
        .tool(Tool::new("fail", || async {
            Err::<String, _>(ToolError::new("no"))
        }))
        .prompt(Prompt::new("review", || async { "look at it" }))
        .build()
        .unwrap();
    let served = serve(&server, &told);
    for tool in ["hi", "hi", "fail", "gone-tool"] {
        let params = json!({"name": tool, "arguments": {}});
        post(&served, &modern(1, "tools/call", params), &[]);
    }
    for prompt in ["review", "gone-prompt"] {
        post(
            &served,
            &modern(2, "prompts/get", json!({"name": prompt})),
            &[],
        );
    }
    post(&served, &modern(3, "tools/list", json!({})), &[]);
    post(&served, &modern(4, "gone/method", json!({})), &[]);
    post(&served, &legacy(5, "ping", json!({})), &[]);
    post(&served, &json!("no message"), &[]);
    let failed = |code: i64| format!("error.type={code} rpc.response.status_code={code}");
    let call = "mcp.method.name=tools/call mcp.protocol.version=2026-07-28";
    let get = "mcp.method.name=prompts/get mcp.protocol.version=2026-07-28";
    assert_eq!(
        told.measured(REQUEST),
        table(&[
            (
                &format!("{call} gen_ai.operation.name=execute_tool gen_ai.tool.name=hi"),
                2
            ),
            (
                &format!(
                    "{call} gen_ai.operation.name=execute_tool gen_ai.tool.name=fail error.type=tool_error"
                ),
                1
            ),
            (&format!("{call} {}", failed(-32602)), 1),
            (&format!("{get} gen_ai.prompt.name=review"), 1),
            (&format!("{get} {}", failed(-32602)), 1),
            (
                "mcp.method.name=tools/list mcp.protocol.version=2026-07-28",
                1
            ),
            (
                &format!(
                    "mcp.method.name=_OTHER mcp.protocol.version=2026-07-28 {}",
                    failed(-32601)
                ),
                1
            ),
            ("mcp.method.name=ping mcp.protocol.version=2025-06-18", 1),
        ])
    );
    assert_eq!(
        told.measured(TOOL),
        table(&[
            ("gen_ai.tool.name=hi", 2),
            ("gen_ai.tool.name=fail error.type=tool_error", 1),
        ])
    );
}

#[test]
fn a_request_is_measured_from_its_start_to_its_end() {
    const CALL: &str = "mcp.server.operation.duration mcp.method.name=tools/call mcp.protocol.version=2026-07-28 gen_ai.operation.name=execute_tool gen_ai.tool.name=wait";
    const RUN: &str = "gen_ai.execute_tool.duration gen_ai.tool.name=wait";
    let (told, open) = (Told::default(), Arc::new(Notify::new()));
    let served = serve(&server(&open), &told);
    let send = || {
        let mut message = modern(1, "tools/call", json!({"name": "wait", "arguments": {}}));
        message["params"]["_meta"]["progressToken"] = json!("p");
        let own = super::mirrored(&message);
        let mut headers = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        headers.extend(own.iter().map(|(name, value)| (&**name, &**value)));
        let (head, mut wire) = served.request("POST", "/mcp", &headers, &message.to_string());
        assert_eq!(head.status, 200);
        wire.until("notifications/progress");
        wire
    };
    let began = Instant::now();
    let mut wire = send();
    assert!(told.measured(REQUEST).is_empty(), "it has not ended");
    // While another request comes and goes, this one goes on.
    let held = Instant::now();
    post(&served, &modern(2, "tools/list", json!({})), &[]);
    let least = held.elapsed();
    open.notify_one();
    wire.until("waited");
    eventually("the measurement", || !told.samples(CALL).is_empty());
    let longest = began.elapsed();
    for key in [CALL, RUN] {
        let [took] = told.samples(key)[..] else {
            panic!("{key}: {:?}", told.samples(key));
        };
        let took = Duration::from_secs_f64(took);
        assert!((least..=longest).contains(&took), "{key}: {took:?}");
    }
    // The client of 2026 that goes away has cancelled.
    drop(send());
    for key in [CALL, RUN] {
        let key = format!("{key} error.type=cancelled");
        eventually(&key, || told.samples(&key).len() == 1);
    }
}

#[test]
fn a_tool_is_measured_in_its_task_too() {
    let (told, open) = (Told::default(), Arc::new(Notify::new()));
    let waits = Arc::clone(&open);
    let slow = Tool::new("slow", move || {
        let waits = Arc::clone(&waits);
        async move {
            waits.notified().await;
            "slow"
        }
    });
    let server = McpServer::new("measured", "1.0.0")
        .tool(slow.task())
        .build()
        .unwrap();
    let served = serve(&server, &told);
    let params = json!({"name": "slow", "arguments": {}, "task": {}});
    let newest = [("mcp-protocol-version", "2025-11-25")];
    let created = post(&served, &legacy(1, "tools/call", params), &newest).json();
    assert!(created["result"]["task"].is_object(), "{created}");
    let call = "mcp.method.name=tools/call mcp.protocol.version=2025-11-25 gen_ai.operation.name=execute_tool gen_ai.tool.name=slow";
    assert_eq!(told.measured(REQUEST), table(&[(call, 1)]));
    assert!(told.measured(TOOL).is_empty(), "it still runs");
    open.notify_one();
    let ran = table(&[("gen_ai.tool.name=slow", 1)]);
    eventually("the measurement", || told.measured(TOOL) == ran);
}

#[test]
fn tools_of_a_chat_are_measured() {
    let told = Told::default();
    let gate = Gate::open();
    metrics::with_local_recorder(&told, || {
        on_system(async {
            let chat = builder(&script("transfer")).tool(gate.tool("transfer"));
            let run = chat.build().unwrap().run(ChatRun::new("go")).await.unwrap();
            assert!(is_completed(&run.outcome().await));
        });
    });
    assert_eq!(
        told.measured(TOOL),
        table(&[("gen_ai.tool.name=transfer", 1)])
    );
}

/// The table of the documents, the names of the code and the descriptions are the same.
#[test]
fn every_metric_is_described_and_documented() {
    let told = Told::default();
    metrics::with_local_recorder(&told, gauge::describe);
    let document = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/observability.md"
    ));
    let document = document.unwrap();
    let described = told.described.lock().unwrap();
    let documented = document
        .split('`')
        .filter(|word| word.starts_with("roscius_") || word.ends_with(".duration"));
    let documented: BTreeSet<_> = documented.collect();
    let described: BTreeSet<_> = described.iter().map(String::as_str).collect();
    assert_eq!(documented, described);
}
