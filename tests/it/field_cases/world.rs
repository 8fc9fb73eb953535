//! A server that counts what it runs, and requests of every version.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix_web::{
    App, HttpServer,
    dev::ServerHandle,
    middleware::{Compress, Condition},
};
use roscius::{prelude::*, server::McpServerBuilder, web, wire::mcp::LogLevel};
use serde_json::{Value, json};

use crate::mcp_server::host::{Ask, MODERN, Reply, Served, Wire};

pub(super) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
pub(super) const MODES: [Sessions; 3] = [Sessions::Stateless, Sessions::Memory, Sessions::Reject];

/// How often the tool `danger` has run.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs(Arc<AtomicUsize>);

impl Runs {
    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// A server with the tools `danger`, which counts, `safe_tool`, `echo` and `report`.
    pub(super) fn builder(&self) -> McpServerBuilder {
        let runs = self.clone();
        McpServer::new("field", "1.0.0")
            .keep_alive(Duration::from_millis(50))
            .tool(Tool::new("danger", move || {
                runs.0.fetch_add(1, Ordering::SeqCst);
                async { "done" }
            }))
            .tool(Tool::new("safe_tool", || async { "safe" }))
            .tool(Tool::raw(
                "echo",
                json!({"type": "object"}),
                |value, _| async move { value },
            ))
            .tool(Tool::new("report", |cx: ToolCx| async move {
                for step in [1.0, 2.0, 2.0, 3.0] {
                    cx.progress(step, None, None);
                }
                cx.log(LogLevel::Info, "only where it is wanted");
                "done"
            }))
            .tool(Tool::new("city", |cx: ToolCx| async move {
                Ok::<_, ToolError>(cx.request_input("Which city?").await?)
            }))
    }

    pub(super) fn serve(&self, sessions: Sessions) -> Served {
        Served::new(&self.builder().sessions(sessions).build().unwrap())
    }
}

/// Opens a session and gives its id.
pub(super) fn session(served: &Served, version: &str) -> String {
    let capabilities = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let reply = Ask::post(body.to_string()).send(served);
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.header("mcp-session-id").unwrap().to_owned()
}

/// One request in each version, to a server without sessions.
pub(super) fn versions(method: &str, params: &Value) -> Vec<(&'static str, Ask)> {
    let mut asks = vec![(MODERN, Ask::modern(method, params.clone()))];
    for version in LEGACY {
        asks.push((version, Ask::legacy(version, method, params.clone())));
    }
    asks
}

/// Posts bytes with the headers of a version; `none` has no version.
pub(super) fn raw(version: &str, method: &str, name: &str, body: &str) -> Ask {
    let ask = Ask::post(body);
    match version {
        "none" => ask,
        MODERN => ask
            .header("mcp-protocol-version", version)
            .header("mcp-method", method)
            .header("mcp-name", name),
        _ => ask.header("mcp-protocol-version", version),
    }
}

/// Sends a request whose answer no schema describes: a refusal of HTTP, or a URI as it was asked for.
pub(super) fn exchange(served: &Served, ask: &Ask) -> Reply {
    let mut wire = Wire::open(served.addr);
    wire.send(&ask.bytes(served.addr));
    wire.reply()
}

/// The text of a result.
pub(super) fn text(message: &Value) -> String {
    let text = message["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {message}"))
        .to_owned()
}

/// How a host differs from what the documentation tells embedders.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Host {
    /// Connections may be half closed, as they may without any setting.
    pub(super) half_closed: bool,
    /// How long a request head and an idle connection may take.
    pub(super) timeout: Option<Duration>,
    /// Everything is compressed on its way out, if the client likes.
    pub(super) compress: bool,
}

/// An application whose host is set up in another way; it ends with the value.
pub(super) struct Hosted {
    pub(super) addr: std::net::SocketAddr,
    handle: ServerHandle,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Host {
    pub(super) fn serve(self, server: &McpServer) -> Hosted {
        let (started, start) = std::sync::mpsc::channel();
        let server = server.clone();
        let thread = std::thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                let timeout = self.timeout.unwrap_or(Duration::from_secs(5));
                let running = HttpServer::new(move || {
                    App::new()
                        .wrap(Condition::new(self.compress, Compress::default()))
                        .configure(web::mcp("/mcp", &server))
                })
                .workers(1)
                .disable_signals()
                .shutdown_timeout(1)
                .client_request_timeout(timeout)
                .keep_alive(timeout)
                .h1_allow_half_closed(self.half_closed)
                .bind(("127.0.0.1", 0))
                .unwrap();
                let addr = running.addrs()[0];
                let running = running.run();
                started.send((addr, running.handle())).unwrap();
                running.await.unwrap();
            });
        });
        let (addr, handle) = start.recv_timeout(crate::served::PATIENCE).unwrap();
        Hosted {
            addr,
            handle,
            thread: Some(thread),
        }
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
