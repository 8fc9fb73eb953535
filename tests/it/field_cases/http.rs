//! The endpoint as HTTP: connections that break, pages of others, proxies, kinds of content.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use roscius::{prelude::*, web::McpRoutes};
use serde_json::{Value, json};

use super::world::{Host, MODES, Runs, raw, session, text};
use crate::{
    mcp_server::host::{Ask, MODERN, Served, Wire},
    mcp_sessions::client::{Client, Gate, NEWEST, builder, initialize, serve},
    served::{self, eventually},
};

/// B053: a client that is gone without a word frees what it held within a heartbeat, even where the
/// host lets connections be half closed.
#[test]
fn clients_that_are_gone_leave_nothing_open() {
    const CLIENTS: usize = 200;
    for half_closed in [false, true] {
        let gate = Gate::default();
        let server = builder(&gate).build().unwrap();
        let hosted = Host {
            half_closed,
            ..Host::default()
        }
        .serve(&server);
        let mut open = Vec::new();
        let call = json!({"name": "wait", "arguments": {}, "_meta": {"progressToken": 1}});
        let calls = Ask::modern("tools/call", call).bytes(hosted.addr);
        let get = {
            let mut wire = Wire::open(hosted.addr);
            wire.send(&Ask::post(initialize(NEWEST, "{}")).bytes(hosted.addr));
            let session = wire.reply().header("mcp-session-id").unwrap().to_owned();
            Ask::new("GET")
                .header("accept", "text/event-stream")
                .header("mcp-session-id", &session)
                .bytes(hosted.addr)
        };
        for _ in 0..CLIENTS {
            let mut wire = Wire::open(hosted.addr);
            wire.send(&calls);
            open.push(wire);
        }
        let mut stream = Wire::open(hosted.addr);
        stream.send(&get);
        assert!(stream.line().contains("200"));
        eventually("every call runs", || server.running_calls() == CLIENTS);
        // What was sent to them and not read makes the end of the connection a reset.
        drop((open, stream));
        eventually("no call runs", || server.running_calls() == 0);
        eventually("the place of the stream is free", || {
            let mut again = Wire::open(hosted.addr);
            again.send(&get);
            again.line().contains("200")
        });
        assert_eq!(gate.passed(), 0, "every call was cancelled");
    }
}

/// B054: sessions whose clients never come back end by themselves.
#[test]
fn sessions_that_nobody_uses_end_by_themselves() {
    const SESSIONS: usize = 1000;
    let idle = std::time::Duration::from_millis(300);
    let server = builder(&Gate::default()).session_limits(SessionLimits::new().idle(idle));
    let server = server.build().unwrap();
    let served = serve(&server);
    let body = initialize(NEWEST, "{}");
    let ask = Ask::post(body).bytes(served.addr);
    let mut wire = Wire::open(served.addr);
    let mut last = String::new();
    for _ in 0..SESSIONS {
        wire.send(&ask);
        last = wire.reply().header("mcp-session-id").unwrap().to_owned();
    }
    // Clients that do not even wait for the answer.
    for _ in 0..20 {
        Wire::open(served.addr).send(&ask);
    }
    eventually("all sessions have ended", || server.open_sessions() == 0);
    let gone = Client {
        served: &served,
        session: last,
        version: NEWEST,
    };
    assert_eq!(gone.ping(), 404);
}

/// B056: middleware that compresses holds no event back; what is no stream it compresses.
#[test]
fn an_application_that_compresses_holds_no_event_back() {
    let gate = Gate::default();
    let server = builder(&gate).build().unwrap();
    let host = Host {
        compress: true,
        ..Host::default()
    };
    let hosted = host.serve(&server);
    let call = json!({"name": "wait", "arguments": {}, "_meta": {"progressToken": 1}});
    let ask = Ask::modern("tools/call", call).header("accept-encoding", "gzip");
    let mut wire = Wire::open(hosted.addr);
    wire.send(&ask.bytes(hosted.addr));
    let mut head = vec![wire.line()];
    while head.last().is_some_and(|line| !line.is_empty()) {
        head.push(wire.line());
    }
    assert!(
        head.iter().any(|line| line == "content-encoding: identity"),
        "{head:?}"
    );
    // The tool produces the second event when the first one is here.
    let first = wire.chunk().unwrap();
    assert!(first.contains(r#""progress":1"#), "{first}");
    gate.open.notify_one();
    let mut rest = String::new();
    while let Some(chunk) = wire.chunk() {
        rest += &chunk;
    }
    assert!(
        rest.contains(r#""progress":2"#) && rest.contains("waited"),
        "{rest}"
    );
    let list = Ask::modern("tools/list", json!({})).header("accept-encoding", "gzip");
    let mut wire = Wire::open(hosted.addr);
    wire.send(&list.bytes(hosted.addr));
    let mut compressed = false;
    loop {
        let line = wire.line();
        if line.is_empty() {
            break;
        }
        compressed |= line == "content-encoding: gzip";
    }
    assert!(compressed, "a plain answer is compressed");
}

const EVIL: &str = "https://evil.test";

/// B058: what a page of another site or a rebound name sends is refused before anything runs.
#[test]
fn a_foreign_page_or_name_is_refused_before_anything_runs() {
    let runs = Runs::default();
    for mode in MODES {
        let served = runs.serve(mode);
        let call = json!({"name": "danger", "arguments": {}});
        for ask in [
            Ask::modern("tools/call", call.clone()),
            Ask::legacy("2025-11-25", "tools/call", call.clone()),
            Ask::new("GET").header("accept", "text/event-stream"),
            Ask::new("DELETE"),
            Ask::new("OPTIONS"),
        ] {
            for refused in [
                ask.clone().header("origin", EVIL),
                ask.clone().header("origin", "null"),
                ask.clone().header("origin", "http://localhost:1"),
                ask.clone().header("origin", ""),
                ask.clone().host("evil.test"),
                ask.clone().host("127.0.0.1.evil.test"),
            ] {
                let reply = refused.send(&served);
                assert_eq!(reply.status, 403, "{reply:?}");
                assert_eq!(reply.header("access-control-allow-origin"), None);
                assert_eq!(reply.error_code(), -32600);
            }
        }
        assert_eq!(runs.count(), 0);
        // No origin, or the own one, is let in.
        let ask = Ask::modern("tools/list", json!({}));
        assert_eq!(ask.send(&served).status, 200);
        let own = ask
            .clone()
            .header("origin", &format!("http://{}", served.addr));
        assert_eq!(own.send(&served).status, 200);
    }
    let routes = McpRoutes::new("/mcp", &runs.builder().build().unwrap());
    let served = Served::with(routes.allow_origins(["http://localhost:5173"]).routes());
    let ask = Ask::modern("tools/list", json!({}));
    let page = ask.header("origin", "http://localhost:5173").send(&served);
    assert_eq!(page.status, 200);
    let allowed = page.header("access-control-allow-origin");
    assert_eq!(allowed, Some("http://localhost:5173"));
}

/// Sends a request whose body nobody will read, and gives the status of its answer. The
/// connection has ended or serves the next request; what it does not do is hang.
fn large(addr: std::net::SocketAddr, path: &str) -> u16 {
    const BYTES: usize = 5 * 1024 * 1024;
    let mut socket = TcpStream::connect(addr).unwrap();
    socket.set_read_timeout(Some(served::PATIENCE)).unwrap();
    socket.set_write_timeout(Some(served::PATIENCE)).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {addr}\r\ncontent-type: application/json\r\ncontent-length: {BYTES}\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).unwrap();
    let mut writer = socket.try_clone().unwrap();
    let sending = std::thread::spawn(move || {
        // An error means that the server has closed, which is one of the two good ends.
        let _ = writer.write_all(&vec![b' '; BYTES]);
    });
    let mut first = [0; 12];
    socket.read_exact(&mut first).unwrap();
    sending.join().unwrap();
    let _ = socket.write_all(format!("GET {path} HTTP/1.1\r\nhost: {addr}\r\n\r\n").as_bytes());
    let mut rest = [0; 4096];
    // Another answer, the end, or a reset: anything but silence.
    let read = socket.read(&mut rest);
    let silent = matches!(&read, Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut));
    assert!(!silent, "{path}: {read:?}");
    String::from_utf8_lossy(&first[9..]).parse().unwrap()
}

/// How many connections of a port wait for our end to close them.
#[cfg(target_os = "linux")]
fn close_wait(port: u16) -> usize {
    const CLOSE_WAIT: &str = "08";
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let local = format!(":{port:04X}");
    let waits = |line: &&str| {
        let mut fields = line.split_whitespace().skip(1);
        let own = fields
            .next()
            .is_some_and(|address| address.ends_with(&local));
        own && fields.nth(1) == Some(CLOSE_WAIT)
    };
    table.lines().filter(waits).count()
}

/// B060: a large body that is refused by its head costs no connection.
#[cfg(target_os = "linux")]
#[test]
fn a_large_body_that_is_refused_leaves_no_connection() {
    let server = Runs::default().builder().auth(crate::server_auth::by_heart);
    let server = server.max_body_bytes(1024 * 1024).build().unwrap();
    let open = Runs::default()
        .builder()
        .max_body_bytes(1024 * 1024)
        .build()
        .unwrap();
    let (locked, open) = (Served::new(&server), Served::new(&open));
    for (served, path, status) in [
        (&locked, "/mcp", 401),
        (&locked, "/nowhere", 404),
        (&open, "/mcp", 413),
    ] {
        assert_eq!(large(served.addr, path), status, "{path}");
        eventually("no connection waits for its end", || {
            close_wait(served.addr.port()) == 0
        });
    }
}

/// B061: a notification has no answer, in every mode and version, and never a stream.
#[test]
fn a_notification_is_accepted_without_a_word() {
    for mode in MODES {
        let served = Runs::default().serve(mode);
        let id = (mode == Sessions::Memory).then(|| session(&served, "2025-11-25"));
        for method in [
            "notifications/initialized",
            "notifications/cancelled",
            "notifications/foo",
        ] {
            for params in ["", r#","params":{"requestId":1}"#] {
                let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}"{params}}}"#);
                for version in ["none", "2025-11-25", MODERN] {
                    let mut ask = raw(version, method, "", &body).without("mcp-name");
                    if let Some(id) = &id {
                        ask = ask.header("mcp-session-id", id);
                    }
                    let reply = ask.send(&served);
                    assert_eq!(
                        (reply.status, reply.body.as_str()),
                        (202, ""),
                        "{version} {body}"
                    );
                    assert_eq!(reply.header("content-type"), None);
                }
            }
        }
    }
    // One that cannot be taken is an error of HTTP, and belongs to no request.
    let served = Runs::default().serve(Sessions::Stateless);
    let body = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let reply = raw(MODERN, "notifications/foo", "", body)
        .without("mcp-name")
        .send(&served);
    assert_eq!((reply.status, reply.error_code()), (400, -32020));
    assert_eq!(reply.json().get("id"), None);
}

/// B063: a client gets the kind that it takes; only one that takes neither is refused.
#[test]
fn the_kinds_that_a_client_takes_are_read_as_http_means_them() {
    let served = Runs::default().serve(Sessions::Stateless);
    let params = json!({"name": "report", "arguments": {}, "_meta": {"progressToken": 1}});
    let (json, stream) = ("application/json", "text/event-stream");
    for ask in [
        Ask::modern("tools/call", params.clone()),
        Ask::legacy("2025-11-25", "tools/call", params),
    ] {
        for (accept, kind) in [
            (Some("*/*"), stream),
            (None, stream),
            (Some("application/json"), json),
            (Some("Application/JSON ; charset=utf-8"), json),
            (Some("application/*"), json),
            (Some("text/event-stream;q=0.5, application/json"), stream),
            (
                Some("application/json;q=0.9 , text/event-stream ; q=0.1"),
                stream,
            ),
            (Some("application/json, text/event-stream;q=0"), json),
            (Some("*/*, text/event-stream; q=0.0"), json),
        ] {
            let ask = ask.clone().without("accept");
            let ask = match accept {
                Some(accept) => ask.header("accept", accept),
                None => ask,
            };
            let reply = ask.send(&served);
            assert_eq!(reply.header("content-type"), Some(kind), "{accept:?}");
            let last: Value = if kind == stream {
                reply.events().pop().unwrap()
            } else {
                reply.json()
            };
            assert_eq!(text(&last), "done");
        }
        // Several lines are one list, in any order.
        for (lines, kind) in [
            (["text/event-stream", "application/json"], stream),
            (["application/json", "text/event-stream"], stream),
            (["application/json", "text/event-stream;q=0"], json),
        ] {
            let ask = lines
                .iter()
                .fold(ask.clone().without("accept"), |ask, line| {
                    ask.header("accept", line)
                });
            let reply = ask.send(&served);
            assert_eq!(reply.header("content-type"), Some(kind), "{lines:?}");
        }
        for accept in [
            "text/html",
            "text/event-stream",
            "application/json;q=0",
            "*/*;q=0",
        ] {
            let reply = ask.clone().with("accept", accept).send(&served);
            assert_eq!(reply.status, 406, "{accept}");
        }
    }
}

/// B038: the server's part of it: what is accepted has no body, not even an empty kind.
#[test]
fn an_accepted_message_has_no_body() {
    let served = Runs::default().serve(Sessions::Stateless);
    let mut wire = Wire::open(served.addr);
    let note = Ask::post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    wire.send(&note.bytes(served.addr));
    assert_eq!(wire.line(), "HTTP/1.1 202 Accepted");
    let mut head = Vec::new();
    loop {
        let line = wire.line();
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    assert!(
        head.iter().any(|line| line == "content-length: 0"),
        "{head:?}"
    );
    // The connection serves on.
    wire.send(&Ask::legacy("2025-11-25", "ping", json!({})).bytes(served.addr));
    assert_eq!(wire.reply().status, 200);
}
