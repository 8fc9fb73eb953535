//! HTTP and the chat wire with nothing but sockets.

use std::{
    cell::Cell,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread::JoinHandle,
    time::Duration,
};

use serde_json::{Value, json};

use crate::process::Served;

/// Bounds each read: keep-alive comments come more often.
const READ: Duration = Duration::from_secs(30);

/// An answer, read to its end.
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.body))
    }
}

fn open(
    addr: &str,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &str,
) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(READ)).unwrap();
    let has_host = headers.iter().any(|header| header.starts_with("host:"));
    let host = if has_host {
        String::new()
    } else {
        format!("host: {addr}\r\n")
    };
    let extra: String = headers
        .iter()
        .map(|header| format!("{header}\r\n"))
        .collect();
    let head = format!(
        "{method} {path} HTTP/1.1\r\n{host}{extra}connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A server that refuses the head may close before the body is there.
    let _ = stream.write_all(body.as_bytes());
    BufReader::new(stream)
}

fn head(reader: &mut BufReader<TcpStream>) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line
        .split(' ')
        .nth(1)
        .unwrap_or_else(|| panic!("no status: {line:?}"));
    let status = status.parse().unwrap();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            return (status, headers);
        };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
}

pub(crate) fn send(addr: &str, method: &str, path: &str, headers: &[&str], body: &str) -> Response {
    let mut reader = open(addr, method, path, headers, body);
    let (status, headers) = head(&mut reader);
    let chunked = headers.iter().any(|(name, _)| name == "transfer-encoding");
    let mut bytes = Vec::new();
    if chunked {
        while let Some(chunk) = chunk(&mut reader) {
            bytes.extend(chunk);
        }
    } else {
        let _ = reader.read_to_end(&mut bytes);
    }
    let body = String::from_utf8(bytes).unwrap();
    Response {
        status,
        headers,
        body,
    }
}

/// Reads one chunk; none at the end of the body.
fn chunk(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let size =
        usize::from_str_radix(line.trim(), 16).unwrap_or_else(|_| panic!("a torn body: {line:?}"));
    let mut data = vec![0; size + 2];
    reader.read_exact(&mut data).unwrap();
    data.truncate(size);
    (size > 0).then_some(data)
}

/// The events of a run, as they come.
pub(crate) struct Events {
    reader: BufReader<TcpStream>,
    text: String,
    over: bool,
}

impl Events {
    pub(crate) fn post(addr: &str, body: &Value) -> Self {
        let headers = ["content-type: application/json"];
        let mut reader = open(addr, "POST", "/api/chat", &headers, &body.to_string());
        let (status, headers) = head(&mut reader);
        assert_eq!(status, 200, "{headers:?}");
        Self {
            reader,
            text: String::new(),
            over: false,
        }
    }

    /// Gives the next event; none when the stream has ended as it should.
    fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let data = frame.strip_prefix("data: ").map(str::to_owned);
                self.text = rest.to_owned();
                if let Some(data) = data {
                    return Some(serde_json::from_str(&data).unwrap());
                }
                continue;
            }
            if self.over {
                assert_eq!(self.text, "", "an unfinished frame");
                return None;
            }
            match chunk(&mut self.reader) {
                Some(bytes) => self.text.push_str(std::str::from_utf8(&bytes).unwrap()),
                None => self.over = true,
            }
        }
    }

    /// Reads up to an event of this type.
    pub(crate) fn until(&mut self, kind: &str) {
        while let Some(event) = self.next() {
            if event["type"] == json!(kind) {
                return;
            }
        }
        panic!("no {kind}");
    }

    /// Reads to the end.
    pub(crate) fn rest(mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

/// A run request with one message of the user.
pub(crate) fn body(thread: &str, run: &str, text: &str) -> Value {
    let message = json!({"id": format!("u-{run}"), "role": "user", "content": text});
    request(thread, run, json!([message]))
}

fn request(thread: &str, run: &str, messages: Value) -> Value {
    json!({
        "threadId": thread,
        "runId": run,
        "state": {},
        "messages": messages,
        "tools": [],
        "context": [],
        "forwardedProps": {},
    })
}

thread_local! {
    static RUNS: Cell<usize> = const { Cell::new(0) };
}

fn new_id(what: &str) -> String {
    let number = RUNS.get();
    RUNS.set(number + 1);
    format!("{what}-{}-{number}", std::process::id())
}

/// What a browser keeps between two requests.
#[derive(Clone)]
pub(crate) struct Kept {
    thread: String,
    run: String,
    messages: Value,
}

/// A conversation, as a browser holds it.
pub(crate) struct Chat<'served> {
    served: &'served Served,
    kept: Kept,
}

impl<'served> Chat<'served> {
    pub(crate) fn new(served: &'served Served) -> Self {
        let kept = Kept {
            thread: new_id("thread"),
            run: String::new(),
            messages: json!([]),
        };
        Self { served, kept }
    }

    pub(crate) const fn resumed(served: &'served Served, kept: Kept) -> Self {
        Self { served, kept }
    }

    pub(crate) fn kept(&self) -> Kept {
        self.kept.clone()
    }

    /// Says the first thing of the conversation.
    pub(crate) fn say(&mut self, text: &str) -> Vec<Value> {
        self.kept.run = new_id("run");
        let body = body(&self.kept.thread, &self.kept.run, text);
        self.post(&body)
    }

    /// Answers the question the conversation waits for.
    pub(crate) fn answer(&mut self, interrupt: &Value, payload: Value) -> Vec<Value> {
        let parent = std::mem::replace(&mut self.kept.run, new_id("run"));
        let mut body = request(
            &self.kept.thread,
            &self.kept.run,
            self.kept.messages.clone(),
        );
        body["parentRunId"] = json!(parent);
        body["resume"] =
            json!([{"interruptId": interrupt["id"], "status": "resolved", "payload": payload}]);
        self.post(&body)
    }

    fn post(&mut self, body: &Value) -> Vec<Value> {
        let events = Events::post(self.served.addr(), body).rest();
        let mut snapshots = events
            .iter()
            .filter(|event| event["type"] == json!("MESSAGES_SNAPSHOT"));
        if let Some(snapshot) = snapshots.next_back() {
            self.kept.messages = snapshot["messages"].clone();
        }
        events
    }
}

/// A model's provider that answers one request.
pub(crate) struct Provider {
    pub(crate) addr: String,
    asked: JoinHandle<(String, Value)>,
}

impl Provider {
    /// Answers with these events.
    pub(crate) fn start(events: &[Value]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        let frames: String = events
            .iter()
            .map(|event| format!("data: {event}\n\n"))
            .collect();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{frames}",
            frames.len()
        );
        let asked = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert_ne!(reader.read_line(&mut head).unwrap(), 0);
            }
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.unwrap().parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            (head, serde_json::from_slice(&body).unwrap())
        });
        Self { addr, asked }
    }

    /// Gives the head and the body of the request.
    pub(crate) fn asked(self) -> (String, Value) {
        self.asked.join().unwrap()
    }
}
