//! A small host on the public API that plays one scenario file over HTTP.
//!
//! Usage: `fixture_host <scenario.server.json> [--trust-history]`. What it answers is the contract
//! of `tests/interop/README.md`.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a host for tests: whatever it did not expect ends it"
)]

mod scenario;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix_web::{
    App, HttpResponse, HttpServer,
    dev::{Service, ServiceRequest},
    http::{Method, Uri},
    rt::{
        System,
        signal::unix::{SignalKind, signal},
    },
    web,
};
use roscius::ports::{event_log::EventLog, run_store::RunStore};
use roscius_actors::{
    chat::Chat,
    machine::seal::SealKey,
    store::{memory_log::MemoryLog, memory_runs::MemoryRuns},
};
use serde_json::{Value, json};

use crate::scenario::Scenario;

const CHAT: &str = "/api/chat";
/// Runs that are open when the host is told to end get this long.
const DRAIN: Duration = Duration::from_secs(2);

/// The tools of a request; all of them when there are no names.
type ToolNames = Option<Vec<String>>;

/// The chats of a host: one for each set of tools that a request may have.
#[derive(Clone)]
struct Host {
    scenario: Scenario,
    chats: Arc<HashMap<ToolNames, (String, Chat)>>,
    next_request: Arc<AtomicUsize>,
}

impl Host {
    fn new(scenario: Scenario, trust_history: bool) -> Self {
        let key = match std::env::var("ROSCIUS_STATE_KEY") {
            Ok(text) => SealKey::from_base64(&text).expect("ROSCIUS_STATE_KEY is 32 bytes, base64"),
            Err(_) => SealKey::random(),
        };
        let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
        let runs: Arc<dyn RunStore> = Arc::new(MemoryRuns::new());
        let requests = scenario.server["requests"].as_array().map_or(0, Vec::len);
        let mut chats = HashMap::new();
        for number in 0..=requests {
            let names = scenario.tool_names(number);
            if chats.contains_key(&names) {
                continue;
            }
            let chat = scenario
                .chat(names.as_deref())
                .event_log(Arc::clone(&log))
                .run_store(Arc::clone(&runs))
                .state_key(key.clone())
                .trust_history(trust_history)
                .build()
                .expect("the tools of the scenario fit together");
            let path = format!("{CHAT}/{}", chats.len());
            chats.insert(names, (path, chat));
        }
        Self {
            scenario,
            chats: Arc::new(chats),
            next_request: Arc::new(AtomicUsize::new(1)),
        }
    }

    /// Sends a POST to the chat that has the tools of its number.
    fn direct(&self, request: &mut ServiceRequest) {
        if request.method() != Method::POST || request.path() != CHAT {
            return;
        }
        let number = self.next_request.fetch_add(1, Ordering::SeqCst);
        let names = self.scenario.tool_names(number);
        let (path, _) = &self.chats[&names];
        let uri: Uri = path.parse().expect("a path");
        request.match_info_mut().get_mut().update(&uri);
        request.head_mut().uri = uri;
    }

    fn routes(&self, config: &mut web::ServiceConfig) {
        for (path, chat) in self.chats.values() {
            config.configure(roscius::web::chat(path, chat));
        }
        let host = self.clone();
        let log = web::get().to(move || {
            let host = host.clone();
            async move { HttpResponse::Ok().json(host.happened()) }
        });
        let host = self.clone();
        let turn = web::post().to(move |body: web::Json<Value>| {
            let host = host.clone();
            async move {
                let number = |name: &str| body[name].as_u64().and_then(|n| usize::try_from(n).ok());
                host.scenario.model.set_next(number("index").unwrap_or(0));
                if let Some(request) = number("request") {
                    host.next_request.store(request, Ordering::SeqCst);
                }
                HttpResponse::NoContent().finish()
            }
        });
        let host = self.clone();
        let reset = web::post().to(move || {
            let host = host.clone();
            async move {
                host.scenario.log.clear();
                host.scenario.model.set_next(0);
                host.next_request.store(1, Ordering::SeqCst);
                HttpResponse::NoContent().finish()
            }
        });
        config
            .route("/fixture/log", log)
            .route("/fixture/turn", turn)
            .route("/fixture/reset", reset);
    }

    fn happened(&self) -> Value {
        let happened = self.scenario.log.get();
        json!({
            "toolRuns": happened.tool_runs,
            "modelCalls": happened.asked.len(),
            "problems": happened.problems,
            "closed": happened.closed,
        })
    }
}

fn main() -> std::io::Result<()> {
    let mut file = None;
    let mut trust_history = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--trust-history" => trust_history = true,
            _ => file = Some(argument),
        }
    }
    let file = file.expect("usage: fixture_host <scenario.server.json> [--trust-history]");
    System::new().block_on(serve(Host::new(Scenario::read(file), trust_history)))
}

async fn serve(host: Host) -> std::io::Result<()> {
    let served = host.clone();
    let server = HttpServer::new(move || {
        let (routes, direct) = (served.clone(), served.clone());
        App::new()
            .wrap_fn(move |mut request, service| {
                direct.direct(&mut request);
                service.call(request)
            })
            .configure(move |config| routes.routes(config))
    })
    .workers(1)
    .disable_signals()
    .shutdown_timeout(1)
    .tcp_nodelay(true)
    .h1_allow_half_closed(false)
    .bind("127.0.0.1:0")?;
    for address in server.addrs() {
        println!("http://{address}");
    }
    let server = server.run();
    let handle = server.handle();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let ending = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        for (_, chat) in host.chats.values() {
            chat.drain(DRAIN).await;
        }
        handle.stop(true).await;
    };
    let (ended, ()) = tokio::join!(server, ending);
    ended
}
