//! A client of one session, and the server it talks to.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use roscius::{
    prelude::*,
    server::McpServerBuilder,
    tool::{Question, SampleRequest},
    web,
    wire::mcp::LogLevel,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::served::{Head, Served, Wire, request};

pub(crate) const NEWEST: &str = "2025-11-25";
pub(crate) const EVERYTHING: &str = r#"{"elicitation":{},"sampling":{},"roots":{}}"#;
const BOTH: &str = "application/json, text/event-stream";

/// Lets a tool wait for its test, and the test see how far the tool is.
#[derive(Clone, Default)]
pub(crate) struct Gate {
    pub(crate) open: Arc<Notify>,
    pub(crate) entered: Arc<AtomicUsize>,
    pub(crate) passed: Arc<AtomicUsize>,
}

impl Gate {
    pub(crate) fn entered(&self) -> usize {
        self.entered.load(Ordering::SeqCst)
    }

    pub(crate) fn passed(&self) -> usize {
        self.passed.load(Ordering::SeqCst)
    }
}

pub(crate) fn builder(gate: &Gate) -> McpServerBuilder {
    let plain = gate.clone();
    let reporting = gate.clone();
    McpServer::new("sessions", "1.0.0")
        .sessions(Sessions::Memory)
        .keep_alive(Duration::from_millis(50))
        .tool(Tool::new("hi", || async { "hi" }))
        .tool(Tool::new("ask", |cx: ToolCx| async move {
            Ok::<_, ToolError>(cx.request_input("Which city?").await?)
        }))
        .tool(Tool::new("ask_twice", |cx: ToolCx| async move {
            cx.progress(1.0, None, None);
            let one = cx.request_input("One?").await?;
            let two = cx.request_input("Two?").await?;
            Ok::<_, ToolError>(format!("{one} {two}"))
        }))
        .tool(Tool::new("sample", |cx: ToolCx| async move {
            let answer = cx.sample(SampleRequest::new("Summarize")).await?;
            Ok::<_, ToolError>(answer)
        }))
        .tool(Tool::new("roots", |cx: ToolCx| async move {
            let answer = cx.ask(Question::roots()).await?;
            Ok::<_, ToolError>(answer["roots"][0]["uri"].to_string())
        }))
        .tool(Tool::new("close", |cx: ToolCx| async move {
            cx.close_stream();
            tokio::time::sleep(Duration::from_millis(20)).await;
            "closed"
        }))
        .tool(Tool::new("report", |cx: ToolCx| async move {
            cx.progress(1.0, None, None);
            cx.log(LogLevel::Info, "low");
            cx.log(LogLevel::Error, "high");
            "done"
        }))
        .tool(Tool::new("plain_wait", move || {
            let gate = plain.clone();
            async move {
                gate.entered.fetch_add(1, Ordering::SeqCst);
                gate.open.notified().await;
                gate.passed.fetch_add(1, Ordering::SeqCst);
                "waited"
            }
        }))
        .tool(Tool::new("wait", move |cx: ToolCx| {
            let gate = reporting.clone();
            async move {
                cx.progress(1.0, None, None);
                gate.entered.fetch_add(1, Ordering::SeqCst);
                gate.open.notified().await;
                cx.progress(2.0, None, None);
                gate.passed.fetch_add(1, Ordering::SeqCst);
                "waited"
            }
        }))
}

pub(crate) fn serve(server: &McpServer) -> Served {
    let routes = web::McpRoutes::new("/mcp", server);
    Served::start(move |config| {
        config.service(routes.clone());
    })
}

pub(crate) fn initialize(version: &str, capabilities: &str) -> String {
    let capabilities: Value = serde_json::from_str(capabilities).unwrap();
    let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string()
}

/// One session.
pub(crate) struct Client<'a> {
    pub(crate) served: &'a Served,
    pub(crate) session: String,
    pub(crate) version: &'static str,
}

impl<'a> Client<'a> {
    /// Opens a session whose client can answer every kind of question.
    pub(crate) fn open(served: &'a Served) -> Self {
        Self::open_as(served, NEWEST, EVERYTHING)
    }

    pub(crate) fn open_as(served: &'a Served, version: &'static str, capabilities: &str) -> Self {
        let (head, mut wire) = post(served, &[], &initialize(version, capabilities));
        assert_eq!(head.status, 200, "{}", wire.body(&head));
        let session = head.header("mcp-session-id").unwrap().to_owned();
        wire.body(&head);
        let client = Self {
            served,
            session,
            version,
        };
        client.notify("notifications/initialized", json!({}));
        client
    }

    fn headers<'h>(&'h self, more: &[(&'h str, &'h str)]) -> Vec<(&'h str, &'h str)> {
        let mut headers = vec![
            ("mcp-session-id", self.session.as_str()),
            ("mcp-protocol-version", self.version),
        ];
        headers.extend_from_slice(more);
        headers
    }

    pub(crate) fn post(&self, body: &str) -> (Head, Wire) {
        post(self.served, &self.headers(&[]), body)
    }

    pub(crate) fn notify(&self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        let (head, mut wire) = self.post(&message.to_string());
        assert_eq!((head.status, wire.body(&head).as_str()), (202, ""));
        assert_eq!(head.header("content-type"), None);
    }

    /// Sends the request of a call; its answer may be read later.
    pub(crate) fn start(&self, accept: &str, id: impl Into<Value>, params: Value) -> Wire {
        self.begin(accept, id, "tools/call", params)
    }

    /// Sends a request; its answer may be read later.
    pub(crate) fn begin(
        &self,
        accept: &str,
        id: impl Into<Value>,
        method: &str,
        params: Value,
    ) -> Wire {
        let id: Value = id.into();
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut headers = self.headers(&[("content-type", "application/json")]);
        headers.push(("accept", accept));
        let mut wire = self.served.connect();
        wire.send(&request(
            self.served.addr,
            "POST",
            "/mcp",
            &headers,
            &body.to_string(),
        ));
        wire
    }

    /// Calls a tool and reads the head of its answer.
    pub(crate) fn call(&self, id: u32, name: &str) -> (Head, Wire) {
        let mut wire = self.start(BOTH, id, json!({"name": name, "arguments": {}}));
        (wire.head(), wire)
    }

    /// Calls a tool with a progress token.
    pub(crate) fn call_with_progress(&self, id: u32, name: &str) -> (Head, Wire) {
        let params = json!({"name": name, "arguments": {}, "_meta": {"progressToken": "t"}});
        let mut wire = self.start(BOTH, id, params);
        (wire.head(), wire)
    }

    pub(crate) fn answer(&self, id: u64, result: Value) {
        let body = json!({"jsonrpc": "2.0", "id": id, "result": result});
        let (head, mut wire) = self.post(&body.to_string());
        assert_eq!((head.status, wire.body(&head).as_str()), (202, ""));
    }

    pub(crate) fn get(&self, more: &[(&str, &str)]) -> (Head, Wire) {
        let mut headers = self.headers(&[("accept", "text/event-stream")]);
        headers.extend_from_slice(more);
        self.served.request("GET", "/mcp", &headers, "")
    }

    pub(crate) fn delete(&self) -> Head {
        let (head, _) = self
            .served
            .request("DELETE", "/mcp", &self.headers(&[]), "");
        head
    }

    /// Tells how the server answers a ping.
    pub(crate) fn ping(&self) -> u16 {
        let (head, mut wire) = self.post(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
        wire.body(&head);
        head.status
    }
}

/// Posts JSON as a client that takes both kinds of answer.
pub(crate) fn post(served: &Served, headers: &[(&str, &str)], body: &str) -> (Head, Wire) {
    let mut all = vec![("content-type", "application/json"), ("accept", BOTH)];
    all.extend_from_slice(headers);
    served.request("POST", "/mcp", &all, body)
}

/// The one JSON answer of a request.
pub(crate) fn json_of((head, mut wire): (Head, Wire)) -> Value {
    let body = wire.body(&head);
    assert_eq!(head.header("content-type"), Some("application/json"));
    serde_json::from_str(&body).unwrap()
}

/// Status, code and id of a refusal.
pub(crate) fn refusal((head, mut wire): (Head, Wire)) -> (u16, i64, Value) {
    let body: Value = serde_json::from_str(&wire.body(&head)).unwrap();
    let code = body["error"]["code"].as_i64().unwrap();
    (head.status, code, body["id"].clone())
}

/// The messages of a piece of a stream.
pub(crate) fn messages(stream: &str) -> Vec<Value> {
    let data = stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    data.filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The ids of the events of a piece of a stream.
pub(crate) fn event_ids(stream: &str) -> Vec<&str> {
    stream
        .lines()
        .filter_map(|line| line.strip_prefix("id: "))
        .collect()
}
