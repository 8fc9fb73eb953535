//! How a client on a pipe goes away, and what the server makes of it.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    pin::Pin,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use roscius::{
    prelude::*,
    server::{ServerFault, serve_io, serve_stdio},
};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWriteExt as _, ReadBuf, duplex};

use super::{PATIENCE, Seen, builder, initialize, legacy};
use crate::served::pause;

type Faults = Arc<Mutex<Vec<ServerFault>>>;

/// A server, and what its application hears of faults.
fn server() -> (McpServer, Faults) {
    let faults = Faults::default();
    let told = Arc::clone(&faults);
    let server = builder(&Arc::<Seen>::default())
        .on_error(move |fault| told.lock().unwrap().push(fault.clone()))
        .build()
        .unwrap();
    (server, faults)
}

fn lines(messages: &[Value]) -> String {
    messages
        .iter()
        .map(|message| format!("{message}\n"))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_no_more_is_a_fault() {
    let (server, faults) = server();
    let (mut input, theirs) = duplex(1 << 16);
    let (ours, output) = duplex(1 << 16);
    drop(output);
    let ping = lines(&[legacy(1, "ping", json!({}))]);
    input.write_all(ping.as_bytes()).await.unwrap();
    let served = tokio::time::timeout(PATIENCE, serve_io(server, theirs, ours));
    let error = served.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    drop(input);
    assert!(matches!(
        &faults.lock().unwrap()[..],
        [ServerFault::Transport(_)]
    ));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_closes_both_pipes_is_no_fault() {
    // Before its answers are written, and while a call still runs.
    for calls in [0, 1] {
        let (server, faults) = server();
        let (mut input, theirs) = duplex(1 << 16);
        let (ours, output) = duplex(1 << 16);
        let mut messages = vec![legacy(1, "ping", json!({}))];
        for id in 0..calls {
            let forever = json!({"name": "forever"});
            messages.push(legacy(10 + id, "tools/call", forever));
        }
        let messages = lines(&messages);
        input.write_all(messages.as_bytes()).await.unwrap();
        drop((input, output));
        let served = tokio::time::timeout(PATIENCE, serve_io(server, theirs, ours));
        served.await.unwrap().unwrap();
        assert_eq!(*faults.lock().unwrap(), []);
    }
}

/// The end comes within the second that the spec leaves, though the output is closed first.
#[tokio::test(start_paused = true)]
async fn the_input_may_end_a_little_after_the_output() {
    let (server, faults) = server();
    let (mut input, theirs) = duplex(1 << 16);
    let (ours, output) = duplex(1 << 16);
    drop(output);
    let client = async {
        let ping = lines(&[legacy(1, "ping", json!({}))]);
        input.write_all(ping.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
        input.write_all(ping.as_bytes()).await.unwrap();
        drop(input);
    };
    let served = tokio::time::timeout(PATIENCE, serve_io(server, theirs, ours));
    let (served, ()) = tokio::join!(served, client);
    served.unwrap().unwrap();
    assert_eq!(*faults.lock().unwrap(), []);
}

/// An input that breaks.
struct Broken(io::ErrorKind);

impl AsyncRead for Broken {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Ready(Err(self.0.into()))
    }
}

#[tokio::test(start_paused = true)]
async fn an_input_that_breaks_is_a_fault_unless_it_was_closed() {
    for (kind, fault) in [
        (io::ErrorKind::Other, true),
        (io::ErrorKind::TimedOut, true),
        (io::ErrorKind::ConnectionReset, false),
    ] {
        let (server, faults) = server();
        let (ours, _output) = duplex(1 << 16);
        let served = serve_io(server, Broken(kind), ours).await;
        assert_eq!(served.is_err(), fault, "{kind}");
        assert_eq!(faults.lock().unwrap().len(), usize::from(fault), "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_ends_the_input_and_reads_nothing_is_a_fault() {
    let (server, _faults) = server();
    let (mut input, theirs) = duplex(1 << 16);
    // The answer does not fit, and nobody takes it.
    let (ours, _output) = duplex(16);
    let ping = lines(&[legacy(1, "ping", json!({}))]);
    input.write_all(ping.as_bytes()).await.unwrap();
    drop(input);
    let error = serve_io(server, theirs, ours).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

const CHILD: &str = "ROSCIUS_STDIO_CHILD";

/// This test, in a process of its own, is the server. It says what `serve_stdio` gave as a `main`
/// does that ends with it.
#[expect(
    clippy::disallowed_methods,
    reason = "a runtime that ends waits for the read of an input that is still open"
)]
fn serve_as_a_child() {
    actix_web::rt::System::new().block_on(async {
        let long = Tool::new("long", || async { "x".repeat(4 << 20) });
        let server = builder(&Arc::<Seen>::default()).tool(long).build().unwrap();
        let served = serve_stdio(server).await;
        std::process::exit(i32::from(served.is_err()));
    })
}

fn child() -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "mcp_stdio::goodbye::a_process_ends_well"])
        .arg("--nocapture")
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

fn end_of(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the server does not end");
        }
        pause(Duration::from_millis(5));
    }
}

#[test]
fn a_process_ends_well() {
    if std::env::var_os(CHILD).is_some() {
        return serve_as_a_child();
    }
    let long = legacy(1, "tools/call", json!({"name": "long"}));
    for (name, messages, output_first, ended_well) in [
        ("nothing runs", vec![], false, true),
        ("an answer is written", vec![long.clone()], false, true),
        ("the output first", vec![long.clone()], true, true),
        ("the output alone", vec![long], true, false),
    ] {
        let mut server = child();
        let mut input = server.stdin.take().unwrap();
        let mut output = BufReader::new(server.stdout.take().unwrap());
        input
            .write_all(lines(&[initialize("2025-11-25")]).as_bytes())
            .unwrap();
        let mut line = String::new();
        // What the test harness says comes before.
        while !line.contains("\"jsonrpc\"") {
            line.clear();
            assert_ne!(output.read_line(&mut line).unwrap(), 0, "{name}");
        }
        // So much of an answer is read that the rest waits for its reader.
        if !messages.is_empty() {
            input.write_all(lines(&messages).as_bytes()).unwrap();
            assert!(!output.fill_buf().unwrap().is_empty(), "{name}");
        }
        let mut input = Some(input);
        if !output_first {
            input = None;
        }
        drop(output);
        if ended_well {
            input = None;
        }
        let status = end_of(&mut server);
        assert_eq!(status.success(), ended_well, "{name}: {status}");
        drop(input);
    }
}
