//! A served application, and a client that writes and reads bytes.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::mpsc,
    thread::JoinHandle,
    time::Duration,
};

use actix_web::{App, HttpServer, dev::ServerHandle, web::ServiceConfig};
use roscius::{prelude::*, web};
use serde_json::{Value, json};

use crate::schema::assert_answer_fits;

pub(crate) const MODERN: &str = "2026-07-28";
const PATIENCE: Duration = Duration::from_secs(10);

/// An application on a port of its own; it ends with the value.
pub(crate) struct Served {
    pub(crate) addr: SocketAddr,
    handle: ServerHandle,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    pub(crate) fn new(server: &McpServer) -> Self {
        Self::with(web::mcp("/mcp", server))
    }

    pub(crate) fn with<C>(configure: C) -> Self
    where
        C: FnOnce(&mut ServiceConfig) + Clone + Send + 'static,
    {
        let (started, start) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                let server = HttpServer::new(move || App::new().configure(configure.clone()))
                    .workers(1)
                    .tcp_nodelay(true)
                    .h1_allow_half_closed(false)
                    .disable_signals()
                    .shutdown_timeout(1)
                    .bind(("127.0.0.1", 0))
                    .unwrap();
                let addr = server.addrs()[0];
                let server = server.run();
                started.send((addr, server.handle())).unwrap();
                server.await.unwrap();
            });
        });
        let (addr, handle) = start.recv_timeout(PATIENCE).unwrap();
        Self {
            addr,
            handle,
            thread: Some(thread),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // The command is sent when the future is made; the thread carries it out.
        drop(self.handle.stop(false));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    /// Headers that say when an answer was sent and where it ends.
    const FRAMING: [&str; 4] = ["date", "content-length", "transfer-encoding", "connection"];

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        assert_eq!(
            self.header("content-type"),
            Some("application/json"),
            "{self:?}"
        );
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Everything that came but for the date and what frames the body: status, headers in order of
    /// their names, body.
    pub(crate) fn told(&self) -> String {
        let mut headers: Vec<String> = self
            .headers
            .iter()
            .filter(|(name, _)| !Self::FRAMING.contains(&name.as_str()))
            .map(|(name, value)| format!("{name}: {value}\n"))
            .collect();
        headers.sort();
        format!("{}\n{}\n{}", self.status, headers.concat(), self.body)
    }

    pub(crate) fn error_code(&self) -> i64 {
        self.json()["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("no error: {self:?}"))
    }

    /// The messages of a stream, each of one `data:` line; an event without data is none.
    pub(crate) fn events(&self) -> Vec<Value> {
        assert_eq!(
            self.header("content-type"),
            Some("text/event-stream"),
            "{self:?}"
        );
        let data = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        data.filter(|line| !line.is_empty())
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// A connection that speaks bytes.
pub(crate) struct Wire(pub(crate) BufReader<TcpStream>);

impl Wire {
    pub(crate) fn open(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    pub(crate) fn send(&mut self, bytes: &str) {
        self.0.get_mut().write_all(bytes.as_bytes()).unwrap();
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn reply(&mut self) -> Reply {
        let status = self.line();
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut reply = Reply {
            status: status.expect("a status line"),
            headers,
            body: String::new(),
        };
        if reply.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk() {
                reply.body.push_str(&chunk);
            }
        } else {
            let length = reply
                .header("content-length")
                .map_or(0, |text| text.parse().unwrap());
            let mut body = vec![0; length];
            self.0.read_exact(&mut body).unwrap();
            reply.body = String::from_utf8(body).unwrap();
        }
        reply
    }

    /// One chunk of a chunked body; nothing at its end.
    pub(crate) fn chunk(&mut self) -> Option<String> {
        let length = usize::from_str_radix(&self.line(), 16).unwrap();
        let mut chunk = vec![0; length];
        self.0.read_exact(&mut chunk).unwrap();
        assert_eq!(self.line(), "");
        (length > 0).then(|| String::from_utf8(chunk).unwrap())
    }
}

/// Tells whether a message names its version in `_meta`, as 2026 does.
fn names_version(message: &Value) -> bool {
    let meta = &message["params"]["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"].is_string()
}

/// A request that is changed line by line before it is sent.
#[derive(Clone)]
pub(crate) struct Ask {
    method: &'static str,
    host: Option<String>,
    headers: Vec<(String, String)>,
    body: String,
}

impl Ask {
    pub(crate) fn new(method: &'static str) -> Self {
        Self {
            method,
            host: None,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    /// A POST of a body, with the headers that every client sends.
    pub(crate) fn post(body: impl Into<String>) -> Self {
        let mut ask = Self::new("POST")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        ask.body = body.into();
        ask
    }

    /// A 2026 request with all its headers.
    pub(crate) fn modern(method: &str, params: Value) -> Self {
        Self::modern_as(
            json!({"elicitation": {"form": {}}, "sampling": {}}),
            method,
            params,
        )
    }

    /// A 2026 request of a client with these capabilities.
    pub(crate) fn modern_as(capabilities: Value, method: &str, mut params: Value) -> Self {
        let mirrored = match method {
            "resources/read" => "uri",
            "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
            _ => "name",
        };
        let name = params
            .get(mirrored)
            .and_then(Value::as_str)
            .map(str::to_owned);
        if params.get("_meta").is_none() {
            params["_meta"] = json!({});
        }
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let ask = Self::post(body.to_string())
            .header("mcp-protocol-version", MODERN)
            .header("mcp-method", method);
        match name {
            Some(name) => ask.header("mcp-name", &name),
            None => ask,
        }
    }

    pub(crate) fn legacy(version: &str, method: &str, params: Value) -> Self {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        Self::post(body.to_string()).header("mcp-protocol-version", version)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self
    }

    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).header(name, value)
    }

    pub(crate) fn host(mut self, host: &str) -> Self {
        self.host = Some(host.to_owned());
        self
    }

    pub(crate) fn bytes(&self, addr: SocketAddr) -> String {
        let host = self.host.clone().unwrap_or_else(|| addr.to_string());
        let mut bytes = format!("{} /mcp HTTP/1.1\r\nhost: {host}\r\n", self.method);
        for (name, value) in &self.headers {
            bytes.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.method == "POST" {
            bytes.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        bytes + "\r\n" + &self.body
    }

    /// Sends the request on a connection of its own, reads the answer and holds it against the
    /// schema.
    pub(crate) fn send(&self, served: &Served) -> Reply {
        let mut wire = Wire::open(served.addr);
        wire.send(&self.bytes(served.addr));
        let reply = wire.reply();
        self.check(&reply);
        reply
    }

    fn check(&self, reply: &Reply) {
        let request: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let method = request["method"].as_str().unwrap_or_default();
        let header = self
            .headers
            .iter()
            .find(|(name, _)| name == "mcp-protocol-version");
        let version = match header.map(|(_, version)| version.as_str()) {
            Some(known @ ("2025-11-25" | "2025-06-18" | "2025-03-26")) => known,
            None if names_version(&request) => MODERN,
            Some("2024-11-05") | None => "2025-03-26",
            Some(_) => MODERN,
        };
        match reply.header("content-type") {
            Some("application/json") if !reply.body.starts_with('[') => {
                assert_answer_fits(version, method, &reply.json());
            }
            Some("text/event-stream") => {
                for event in reply.events() {
                    assert_answer_fits(version, method, &event);
                }
            }
            _ => {}
        }
    }
}
