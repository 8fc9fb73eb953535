//! A scripted HTTP server: raw bytes on a port of its own, one thread a connection.
//!
//! With `MCP_SCHEMA_DIR` set, every message that it receives is held against the official schema
//! of the version it speaks.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::schema;

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) type Handler = dyn Fn(&Received) -> Answer + Send + Sync;

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// Counts the requests of this peer from 0.
    pub(crate) index: usize,
    pub(crate) verb: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Value,
}

impl Received {
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// A result for this request.
    pub(crate) fn result(&self, result: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result})
    }

    /// An error for this request.
    pub(crate) fn error(&self, code: i64, data: Value) -> Value {
        let mut error = json!({"code": code, "message": "scripted"});
        if !data.is_null() {
            error["data"] = data;
        }
        json!({"jsonrpc": "2.0", "id": self.body["id"], "error": error})
    }
}

/// What the peer does with a request.
pub(crate) enum Answer {
    /// Writes a whole response and reads on.
    Reply(Vec<u8>),
    /// Writes these bytes and waits until the client closes.
    Hold(Vec<u8>),
    /// Writes these bytes and closes.
    Cut(Vec<u8>),
}

pub(crate) fn json_reply(status: u16, body: &Value) -> Answer {
    reply(
        status,
        &[("content-type", "application/json")],
        &body.to_string(),
    )
}

pub(crate) fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut head = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    Answer::Reply(format!("{head}\r\n{body}").into_bytes())
}

/// The head of an event stream and some events; the stream stays open.
pub(crate) fn sse_open(events: &[Value]) -> Vec<u8> {
    let mut out =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_owned();
    for event in events {
        let frame = format!("event: message\ndata: {event}\n\n");
        out.push_str(&format!("{:x}\r\n{frame}\r\n", frame.len()));
    }
    out.into_bytes()
}

/// A whole event stream, with the comments and priming events that clients must shrug at.
pub(crate) fn sse_reply(events: &[Value]) -> Answer {
    let mut frames = ": hello\n\nid: 1\ndata:\n\n".to_owned();
    for event in events {
        frames.push_str(&format!("event: message\ndata: {event}\n\n"));
    }
    reply(
        200,
        &[("content-type", "text/event-stream; charset=utf-8")],
        &frames,
    )
}

pub(crate) fn accepted() -> Answer {
    reply(202, &[], "")
}

/// Does what every modern server does first.
pub(crate) fn discover(request: &Received, capabilities: &Value) -> Answer {
    json_reply(
        200,
        &request.result(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": capabilities, "instructions": "Ask before you guess.",
            "ttlMs": 0, "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "peer", "version": "1.0.0"}},
        })),
    )
}

/// A modern server whose `server/discover` is answered; `handler` does the rest.
pub(crate) fn modern(handler: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Peer {
    Peer::start(move |request| match request.method() {
        "server/discover" => discover(request, &json!({"tools": {}})),
        _ => handler(request),
    })
}

/// A 2025 server that refuses the probe and takes the handshake; `handler` does the rest.
pub(crate) fn legacy(
    session: Option<&'static str>,
    handler: impl Fn(&Received) -> Answer + Send + Sync + 'static,
) -> Peer {
    Peer::start(move |request| match request.method() {
        "server/discover" => reply(400, &[], ""),
        "initialize" => initialize(request, session),
        "notifications/initialized" => accepted(),
        _ => handler(request),
    })
}

pub(crate) fn initialize(request: &Received, session: Option<&str>) -> Answer {
    let body = request.result(json!({
        "protocolVersion": request.body["params"]["protocolVersion"],
        "capabilities": {"tools": {}}, "serverInfo": {"name": "old", "version": "0.9.0"},
        "instructions": "Be patient.",
    }));
    let mut headers = vec![("content-type", "application/json")];
    headers.extend(session.map(|session| ("mcp-session-id", session)));
    reply(200, &headers, &body.to_string())
}

/// A page of tools.
pub(crate) fn tools_page(request: &Received, tools: &Value, next_cursor: Option<&str>) -> Answer {
    let mut result = json!({
        "resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private",
    });
    if let Some(cursor) = next_cursor {
        result["nextCursor"] = cursor.into();
    }
    json_reply(200, &request.result(result))
}

pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object", "properties": {}}})
}

pub(crate) fn text_result(request: &Received, text: &str) -> Value {
    request.result(json!({
        "resultType": "complete", "content": [{"type": "text", "text": text}],
    }))
}

#[derive(Default)]
struct Seen {
    requests: Vec<Received>,
    /// Connections that the client closed while the peer held them.
    hung_up: usize,
}

struct State {
    seen: Mutex<Seen>,
    handler: Box<Handler>,
}

/// A running server.
pub(crate) struct Peer {
    pub(crate) url: String,
    state: Arc<State>,
}

impl Peer {
    pub(crate) fn start(handler: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let state = Arc::new(State {
            seen: Mutex::default(),
            handler: Box::new(handler),
        });
        let shared = Arc::downgrade(&state);
        thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                let Some(state) = shared.upgrade() else {
                    return;
                };
                thread::spawn(move || serve(socket, &state));
            }
        });
        Self { url, state }
    }

    pub(crate) fn requests(&self) -> Vec<Received> {
        self.state.seen.lock().unwrap().requests.clone()
    }

    /// The JSON-RPC methods in the order in which they came; other verbs by name.
    pub(crate) fn methods(&self) -> Vec<String> {
        let name = |request: &Received| match request.verb.as_str() {
            "POST" => request.method().to_owned(),
            verb => verb.to_owned(),
        };
        self.requests().iter().map(name).collect()
    }

    /// Requests of one method.
    pub(crate) fn of(&self, method: &str) -> Vec<Received> {
        let mut requests = self.requests();
        requests.retain(|request| request.method() == method);
        requests
    }

    /// Waits until the client has closed a connection that the peer held.
    pub(crate) async fn wait_for_hang_up(&self) {
        self.wait("a hang-up", |seen| seen.hung_up > 0).await;
    }

    /// Waits until a request of the method has come.
    pub(crate) async fn wait_for(&self, method: &str) {
        let came = |seen: &Seen| {
            seen.requests
                .iter()
                .any(|request| request.method() == method)
        };
        self.wait(method, came).await;
    }

    /// Waits on a condition without holding up the client, which runs on this thread.
    async fn wait(&self, what: &str, done: impl Fn(&Seen) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !done(&self.state.seen.lock().unwrap()) {
            assert!(Instant::now() < deadline, "waited for {what}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Lets the accepting thread see that nobody is left.
        let address = self
            .url
            .trim_start_matches("http://")
            .trim_end_matches("/mcp");
        let _ = TcpStream::connect(address);
        if !thread::panicking() {
            check(&self.requests());
        }
    }
}

fn serve(mut socket: TcpStream, state: &State) {
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    while let Some(mut request) = read(&mut reader) {
        {
            let mut seen = state.seen.lock().unwrap();
            request.index = seen.requests.len();
            seen.requests.push(request.clone());
        }
        match (state.handler)(&request) {
            Answer::Reply(bytes) => {
                if socket.write_all(&bytes).is_err() {
                    return;
                }
            }
            Answer::Cut(bytes) => {
                let _ = socket.write_all(&bytes);
                return;
            }
            Answer::Hold(bytes) => {
                let _ = socket.write_all(&bytes);
                let _ = reader.read(&mut [0]);
                state.seen.lock().unwrap().hung_up += 1;
                return;
            }
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut parts = line.split_whitespace();
    let (verb, path) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        let earlier = headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        assert_eq!(earlier, None, "header {name} is there twice");
    }
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Received {
        index: 0,
        verb,
        path,
        headers,
        body: match body.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&body).unwrap(),
        },
    })
}

/// Holds what the client sent against the official schemas.
fn check(requests: &[Received]) {
    for request in requests.iter().filter(|request| request.verb == "POST") {
        let asked = request.body["params"]["protocolVersion"].as_str();
        let version = request.header("mcp-protocol-version").or(asked).unwrap();
        let definition = match request.method() {
            "server/discover" => "DiscoverRequest",
            "tools/list" => "ListToolsRequest",
            "tools/call" => "CallToolRequest",
            "initialize" => "InitializeRequest",
            "notifications/initialized" => "InitializedNotification",
            "notifications/cancelled" => "CancelledNotification",
            "" if request.body.get("error").is_some() => match version {
                "2025-11-25" => "JSONRPCErrorResponse",
                _ => "JSONRPCError",
            },
            "" => "JSONRPCMessage",
            other => panic!("no definition for {other}"),
        };
        schema::assert_fits(version, definition, &request.body);
    }
}
