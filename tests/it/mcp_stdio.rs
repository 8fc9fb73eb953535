//! The server on a pair of pipes: what goes in and out, line by line.
#![cfg(feature = "stdio")]

mod goodbye;
mod kept;
mod listen;
mod sessions;
mod tasks;

use std::{
    future::Future,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use roscius::{
    prelude::*,
    server::{McpServerBuilder, ServerFault, serve_io},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex},
    sync::Notify,
};

const PATIENCE: Duration = Duration::from_secs(20);

/// The client's ends of the pipes.
pub(crate) struct Pipes {
    pub(crate) input: Option<DuplexStream>,
    pub(crate) output: BufReader<DuplexStream>,
}

impl Pipes {
    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes.as_ref()).await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.write(format!("{message}\n")).await;
    }

    /// The next line; nothing when the server has ended the output.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.output.read_line(&mut line);
        tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    pub(crate) async fn line(&mut self) -> Value {
        self.next().await.expect("the server goes on")
    }

    pub(crate) async fn ask(&mut self, message: Value) -> Value {
        let id = message["id"].clone();
        self.send(message).await;
        let answer = self.line().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Ends the input and gives what still comes.
    pub(crate) async fn end(&mut self) -> Vec<Value> {
        self.input = None;
        let mut rest = Vec::new();
        while let Some(line) = self.next().await {
            rest.push(line);
        }
        rest
    }
}

/// Serves while the client does something.
pub(crate) async fn serve<F: Future<Output = ()>>(
    server: McpServer,
    client: impl FnOnce(Pipes) -> F,
) -> io::Result<()> {
    let (input, theirs) = duplex(1 << 20);
    let (ours, output) = duplex(1 << 20);
    let pipes = Pipes {
        input: Some(input),
        output: BufReader::new(output),
    };
    let (served, ()) = tokio::join!(serve_io(server, theirs, ours), client(pipes));
    served
}

pub(crate) fn legacy(id: i64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn modern(id: i64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "progressToken": "p",
    });
    legacy(id, method, params)
}

pub(crate) fn initialize(version: &str) -> Value {
    let client = json!({"name": "c", "version": "1"});
    legacy(
        0,
        "initialize",
        json!({"protocolVersion": version, "capabilities": {"elicitation": {}}, "clientInfo": client}),
    )
}

fn cancelled(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

/// What a tool that never ends by itself has met.
#[derive(Default)]
struct Seen {
    started: Notify,
    dropped: Arc<AtomicBool>,
    token: Mutex<Option<tokio_util::sync::CancellationToken>>,
}

struct OnDrop(Arc<AtomicBool>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn builder(seen: &Arc<Seen>) -> McpServerBuilder {
    let seen = Arc::clone(seen);
    McpServer::new("pipes", "1.0.0")
        .tool(Tool::new("two_lines", || async { "one\ntwo" }))
        .tool(Tool::new("steps", |cx: ToolCx| async move {
            cx.progress(1.0, Some(2.0), None);
            cx.progress(2.0, Some(2.0), None);
            "done"
        }))
        .tool(Tool::new("city", |cx: ToolCx| async move {
            cx.request_input("Which city?").await
        }))
        .tool(Tool::new("forever", move |cx: ToolCx| {
            let seen = Arc::clone(&seen);
            async move {
                let _dropped = OnDrop(Arc::clone(&seen.dropped));
                *seen.token.lock().unwrap() = Some(cx.cancelled().clone());
                seen.started.notify_one();
                std::future::pending::<&str>().await
            }
        }))
}

fn server() -> McpServer {
    builder(&Arc::default()).build().unwrap()
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_default()
}

#[tokio::test]
async fn what_is_no_message_is_answered_and_the_next_line_is_served() {
    serve(server(), |mut pipes| async move {
        // B012: a byte order mark before the first message.
        pipes.write("\u{feff}").await;
        assert_eq!(
            pipes.ask(legacy(1, "ping", json!({}))).await["result"],
            json!({})
        );
        // B012, B013: never an id that could be one of a request. B066: what other programs print.
        // B077: framing of another kind.
        for (line, expected) in [
            ("not json", -32700),
            ("{", -32700),
            ("\u{fffd}\u{0}", -32700),
            ("Content-Length: 63", -32700),
            ("null", -32600),
            ("123", -32600),
            (r#"{"level":"info"}"#, -32600),
            ("[]", -32600),
        ] {
            pipes.write(format!("{line}\r\n\r\n")).await;
            let answer = pipes.line().await;
            assert_eq!(code(&answer), expected, "{line}: {answer}");
            assert_eq!(answer.get("id"), Some(&Value::Null), "{line}");
        }
        pipes.write(b"\xff\xfe\n").await;
        assert_eq!(code(&pipes.line().await), -32700);
        // B076: the first messages are not `initialize`.
        assert_eq!(
            code(&pipes.ask(legacy(2, "no/such", json!({}))).await),
            -32601
        );
        assert_eq!(
            pipes.ask(legacy(3, "ping", json!({}))).await["result"],
            json!({})
        );
        assert!(pipes.end().await.is_empty());
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn the_last_message_needs_no_end_of_line() {
    // B074
    serve(server(), |mut pipes| async move {
        let (first, second) = (legacy(1, "ping", json!({})), legacy(2, "ping", json!({})));
        pipes.write(format!("{first}\r\n\r\n{second}")).await;
        let answers = pipes.end().await;
        let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
        assert_eq!(ids, [1, 2]);
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_line_that_is_too_long_is_refused_and_the_rest_goes_on() {
    let faults = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&faults);
    let server = builder(&Arc::default())
        .max_body_bytes(1000)
        .on_error(move |fault| seen.lock().unwrap().push(fault.clone()))
        .build()
        .unwrap();
    serve(server, |mut pipes| async move {
        pipes.write(vec![b'x'; 300_000]).await;
        let answer = pipes.line().await;
        assert_eq!(code(&answer), -32600);
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("max_body_bytes")
        );
        pipes.write("x\n").await;
        pipes.ask(legacy(1, "ping", json!({}))).await;
    })
    .await
    .unwrap();
    let faults = faults.lock().unwrap();
    assert!(
        matches!(&faults[..], [ServerFault::Rejected { status: 413, .. }]),
        "{faults:?}"
    );
}

#[tokio::test]
async fn both_eras_are_served_by_one_process() {
    serve(server(), |mut pipes| async move {
        let discovered = pipes.ask(modern(1, "server/discover", json!({}))).await;
        assert_eq!(discovered["result"]["resultType"], "complete");
        let initialized = pipes.ask(initialize("2025-06-18")).await;
        assert_eq!(initialized["result"]["protocolVersion"], "2025-06-18");
        pipes
            .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        let call = json!({"name": "two_lines"});
        let old = pipes.ask(legacy(2, "tools/call", call.clone())).await;
        let new = pipes.ask(modern(3, "tools/call", call)).await;
        assert_eq!(old["result"].get("resultType"), None);
        assert_eq!(new["result"]["resultType"], "complete");
        for answer in [old, new] {
            assert_eq!(answer["result"]["content"][0]["text"], "one\ntwo");
        }
        // Arrays ended with 2025-03-26.
        pipes
            .write("[{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}]\n")
            .await;
        assert_eq!(code(&pipes.line().await), -32600);
        // A name is looked at where it stands: there are no headers that could repeat it.
        let asked = pipes
            .ask(modern(5, "tools/call", json!({"name": "no-such"})))
            .await;
        assert_eq!(code(&asked), -32602);
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn reports_come_before_the_answer() {
    serve(server(), |mut pipes| async move {
        pipes
            .send(modern(1, "tools/call", json!({"name": "steps"})))
            .await;
        for expected in [1, 2] {
            let report = pipes.line().await;
            assert_eq!(report["method"], "notifications/progress");
            assert_eq!(report["params"]["progressToken"], "p");
            assert_eq!(report["params"]["progress"], expected);
        }
        assert_eq!(pipes.line().await["result"]["content"][0]["text"], "done");
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_cancelled_request_ends_and_is_not_answered_while_others_go_on() {
    // B010, G21
    for request in [legacy as fn(i64, &str, Value) -> Value, modern] {
        let seen: Arc<Seen> = Arc::default();
        let server = builder(&seen).build().unwrap();
        serve(server, |mut pipes| async move {
            pipes
                .send(request(5, "tools/call", json!({"name": "forever"})))
                .await;
            seen.started.notified().await;
            // A request that runs does not hold up the next one, and its id is taken.
            pipes.ask(legacy(6, "ping", json!({}))).await;
            assert_eq!(code(&pipes.ask(legacy(5, "ping", json!({}))).await), -32600);
            assert!(!seen.dropped.load(Ordering::SeqCst));
            pipes.send(cancelled(99)).await;
            pipes.send(cancelled(5)).await;
            pipes.ask(legacy(7, "ping", json!({}))).await;
            tokio::time::timeout(PATIENCE, async {
                while !seen.dropped.load(Ordering::SeqCst) {
                    tokio::task::yield_now().await;
                }
            })
            .await
            .unwrap();
            let token = seen.token.lock().unwrap().take().unwrap();
            assert!(token.is_cancelled());
            // The id is free again.
            pipes.ask(legacy(5, "ping", json!({}))).await;
            assert!(pipes.end().await.is_empty());
        })
        .await
        .unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_ends_the_server_and_what_still_runs() {
    // B073
    let seen: Arc<Seen> = Arc::default();
    let server = builder(&seen).build().unwrap();
    let begun = tokio::time::Instant::now();
    serve(server, |mut pipes| {
        let seen = Arc::clone(&seen);
        async move {
            pipes.ask(initialize("2025-11-25")).await;
            pipes
                .send(legacy(1, "tools/call", json!({"name": "forever"})))
                .await;
            seen.started.notified().await;
            assert!(pipes.end().await.is_empty());
        }
    })
    .await
    .unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    assert!(seen.dropped.load(Ordering::SeqCst));
    assert!(seen.token.lock().unwrap().as_ref().unwrap().is_cancelled());
}
