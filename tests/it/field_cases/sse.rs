//! Event streams as bytes: what stands in a frame, how long a stream lives, who is primed.

use std::{io::Write as _, time::Duration};

use roscius::{prelude::*, server::Changes};
use serde_json::{Value, json};

use super::world::{Host, Runs, session, text};
use crate::{
    mcp_server::host::{Ask, Served, Wire},
    mcp_sessions::client::{Client, EVERYTHING, Gate, builder, messages, serve},
    served::eventually,
};

/// B021: a character that comes in two pieces is one character.
#[test]
fn a_body_may_be_cut_at_every_byte() {
    let served = Runs::default().serve(Sessions::Stateless);
    let words = "那北🔥é";
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"t": words}}});
    let bytes = Ask::post(body.to_string()).bytes(served.addr);
    let head = bytes.find("\r\n\r\n").unwrap() + 4;
    let mut wire = Wire::open(served.addr);
    wire.0.get_mut().set_nodelay(true).unwrap();
    for at in head..bytes.len() {
        let socket = wire.0.get_mut();
        socket.write_all(&bytes.as_bytes()[..at]).unwrap();
        std::thread::yield_now();
        socket.write_all(&bytes.as_bytes()[at..]).unwrap();
        let answer = wire.reply().json();
        assert_eq!(
            answer["result"]["structuredContent"]["t"], words,
            "cut at {at}"
        );
    }
}

/// A tool that reports once and gives back this text.
fn telling(words: &'static str) -> McpServer {
    let tell = move |cx: ToolCx| async move {
        cx.progress(1.0, None, Some(words));
        words
    };
    let server = Runs::default().builder().sessions(Sessions::Memory);
    server.tool(Tool::new("tell", tell)).build().unwrap()
}

fn tell(token: bool) -> Value {
    let meta = if token {
        json!({"progressToken": "p"})
    } else {
        json!({})
    };
    json!({"name": "tell", "arguments": {}, "_meta": meta})
}

/// B022, B024: whatever a tool says, one message is one line of data, so that no client has to put
/// lines together or know more than one end of a line.
#[test]
fn a_message_is_one_line_of_data() {
    let words = "a\r\nb\rc\n\nd\u{2028}e\u{85}f\0\u{feff}data: g";
    let served = Served::new(&telling(words));
    let session = session(&served, "2025-11-25");
    let modern = Ask::modern("tools/call", tell(true));
    let legacy = Ask::legacy("2025-11-25", "tools/call", tell(true));
    for ask in [modern, legacy.header("mcp-session-id", &session)] {
        let reply = ask.send(&served);
        assert!(!reply.body.contains('\r'), "{}", reply.body);
        let events = reply.events();
        let frames = reply.body.split_terminator("\n\n");
        for frame in frames {
            let data = frame.lines().filter(|line| line.starts_with("data:"));
            assert_eq!(data.count(), 1, "{frame}");
            let known = |line: &str| {
                ["id: ", "event: message", "retry: ", "data: "]
                    .iter()
                    .any(|field| line.starts_with(field))
            };
            assert!(frame.lines().all(known), "{frame}");
        }
        assert_eq!(events[0]["params"]["message"], words);
        assert_eq!(text(events.last().unwrap()), words);
    }
}

/// B025: only clients of 2025-11-25 get an event without data; older ones would read it as JSON.
#[test]
fn clients_of_earlier_versions_are_not_primed() {
    let served = serve(&builder(&Gate::default()).build().unwrap());
    for (version, primed) in [
        ("2025-11-25", true),
        ("2025-06-18", false),
        ("2025-03-26", false),
        ("2024-11-05", false),
    ] {
        let client = Client::open_as(&served, version, EVERYTHING);
        let (_, mut stream) = client.get(&[]);
        let first = stream.chunk().unwrap();
        assert_eq!(first.contains("data:"), primed, "{version} {first:?}");
        let (head, mut call) = client.call_with_progress(1, "report");
        let body = call.body(&head);
        let empty = body
            .lines()
            .filter(|line| line.trim_end() == "data:")
            .count();
        assert_eq!(empty, usize::from(primed), "{version} {body:?}");
        assert_eq!(messages(&body).last().unwrap()["id"], 1);
    }
}

/// B030: an event has no bound of its own.
#[test]
fn a_result_of_two_megabytes_is_one_event() {
    let large = |cx: ToolCx| async move {
        cx.progress(1.0, None, None);
        "x".repeat(2 * 1024 * 1024)
    };
    let server = Runs::default().builder().tool(Tool::new("tell", large));
    let served = Served::new(&server.build().unwrap());
    for ask in [
        Ask::modern("tools/call", tell(true)),
        Ask::legacy("2025-06-18", "tools/call", tell(true)),
    ] {
        let reply = ask.send(&served);
        let events = reply.events();
        assert_eq!(events.len(), 2);
        assert_eq!(text(&events[1]).len(), 2 * 1024 * 1024);
    }
}

/// A call that reports once and then waits.
fn waiting(served: std::net::SocketAddr, ask: &Ask) -> Wire {
    let mut wire = Wire::open(served);
    wire.send(&ask.bytes(served));
    assert!(wire.line().contains("200"));
    wire
}

fn headers(wire: &mut Wire) -> Vec<String> {
    let mut headers = Vec::new();
    loop {
        let line = wire.line();
        if line.is_empty() {
            return headers;
        }
        headers.push(line);
    }
}

/// B032, B057: every stream that stays open says that it lives, and its head keeps proxies from
/// holding it back.
#[test]
fn every_open_stream_says_that_it_lives_and_is_not_held_back() {
    let silent = |cx: ToolCx| async move {
        cx.progress(1.0, None, None);
        std::future::pending::<&str>().await
    };
    let changes = Changes::new();
    let build = |sessions| {
        let server = Runs::default()
            .builder()
            .sessions(sessions)
            .changes(&changes);
        server.tool(Tool::new("silent", silent)).build().unwrap()
    };
    let (stateless, memory) = (build(Sessions::Stateless), build(Sessions::Memory));
    let (stateless, memory) = (Served::new(&stateless), Served::new(&memory));
    let id = session(&memory, "2025-11-25");
    let call = json!({"name": "silent", "arguments": {}, "_meta": {"progressToken": 1}});
    let listen = json!({"notifications": {"toolsListChanged": true}});
    for (what, served, ask) in [
        (
            "a call of 2026",
            &stateless,
            Ask::modern("tools/call", call.clone()),
        ),
        (
            "a call without a session",
            &stateless,
            Ask::legacy("2025-11-25", "tools/call", call.clone()),
        ),
        (
            "a call in a session",
            &memory,
            Ask::legacy("2025-11-25", "tools/call", call).header("mcp-session-id", &id),
        ),
        (
            "the stream of a session",
            &memory,
            Ask::new("GET")
                .header("accept", "text/event-stream")
                .header("mcp-session-id", &id),
        ),
        (
            "a subscription",
            &stateless,
            Ask::modern("subscriptions/listen", listen),
        ),
    ] {
        let mut wire = waiting(served.addr, &ask);
        let head = headers(&mut wire);
        for wanted in [
            "content-type: text/event-stream",
            "x-accel-buffering: no",
            "cache-control: no-cache, no-transform",
        ] {
            assert!(head.iter().any(|line| line == wanted), "{what}: {head:?}");
        }
        for _ in 0..2 {
            while wire.chunk().unwrap() != ": keep-alive\n\n" {}
        }
    }
}

/// B033: no clock of the host or of ours ends a stream that carries something.
#[test]
fn a_stream_outlives_every_timeout_of_its_connection() {
    let timeout = Duration::from_millis(500);
    let steps = |cx: ToolCx| async move {
        for step in 1..=20 {
            cx.progress(f64::from(step), None, None);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        "done"
    };
    let server = McpServer::new("long", "1").tool(Tool::new("steps", steps));
    let host = Host {
        timeout: Some(timeout),
        ..Host::default()
    };
    let hosted = host.serve(&server.build().unwrap());
    let params = json!({"name": "steps", "arguments": {}, "_meta": {"progressToken": 1}});
    let mut wire = Wire::open(hosted.addr);
    wire.send(&Ask::modern("tools/call", params).bytes(hosted.addr));
    let events = wire.reply().events();
    assert_eq!(events.len(), 21, "{events:?}");
    assert_eq!(text(&events[20]), "done");
}

/// B035: a client whose stream was cut opens a new one, without an event id, and hears what comes.
#[test]
fn a_cut_stream_is_opened_again_without_an_event_id() {
    let changes = Changes::new();
    let server = builder(&Gate::default()).changes(&changes).build().unwrap();
    let served = serve(&server);
    for version in ["2025-11-25", "2025-06-18"] {
        let client = Client::open_as(&served, version, EVERYTHING);
        let (head, mut stream) = client.get(&[]);
        assert_eq!(head.status, 200);
        stream.chunk().unwrap();
        drop(stream);
        let again = std::cell::Cell::new(None);
        eventually("the place is free", || {
            let (head, stream) = client.get(&[]);
            again.set((head.status == 200).then_some(stream));
            head.status == 200
        });
        let mut again = again.take().unwrap();
        changes.tools_list_changed();
        again.until("notifications/tools/list_changed");
    }
}

/// B028: every field that we write has the form that the simplest reader takes.
#[test]
fn frames_have_the_simplest_form() {
    let served = Served::new(&telling("hi"));
    let reply = Ask::modern("tools/call", tell(true)).send(&served);
    for frame in reply.body.split_terminator("\n\n") {
        let (event, data) = frame.split_once('\n').unwrap();
        assert_eq!(event, "event: message");
        assert!(data.starts_with("data: {"), "{data}");
    }
}
