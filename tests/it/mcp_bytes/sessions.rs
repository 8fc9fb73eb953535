//! 2025 sessions.

use std::time::Duration;

use roscius::prelude::*;

use super::{BOTH, Case, EVENTS, JSON, QUESTION, REFUSED, TOOLS, builder, check, request, send};
use crate::mcp_server::host::{Served, Wire};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn served() -> Served {
    let server = builder().sessions(Sessions::Memory);
    Served::new(&server.keep_alive(Duration::from_secs(60)).build().unwrap())
}

/// Opens a session and gives the header lines that its requests carry.
fn open(served: &Served) -> String {
    let reply = send(served, &request(served, "POST", BOTH, INITIALIZE));
    let id = reply.header("mcp-session-id").unwrap().to_owned();
    assert_eq!(
        reply.told(),
        format!(
            r#"200
content-type: application/json
mcp-session-id: {id}

{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-06-18","capabilities":{{"logging":{{}},"prompts":{{"listChanged":false}},"resources":{{"subscribe":false,"listChanged":false}},"tools":{{"listChanged":false}}}},"serverInfo":{{"name":"weather","version":"1.0.0"}}}}}}"#
        )
    );
    // 36 characters of a random UUID.
    assert_eq!((id.len(), id.matches('-').count()), (36, 4), "{id}");
    format!("mcp-session-id: {id}\r\nmcp-protocol-version: 2025-06-18\r\n")
}

fn error(status: u16, id: &str, code: i64, message: &str) -> String {
    format!(
        r#"{status}
{JSON}{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#
    )
}

fn answer(members: &str) -> String {
    format!(
        r#"200
{JSON}{{"jsonrpc":"2.0","id":1,"result":{members}}}"#
    )
}

fn post(served: &Served, session: &str, body: &str) -> String {
    request(served, "POST", &format!("{BOTH}{session}"), body)
}

/// A session answers in JSON from its first message on: it is ready when `initialize` is answered,
/// whether `notifications/initialized` comes or not.
#[test]
fn a_session_serves_before_its_client_says_that_it_is_ready() {
    let served = served();
    let session = open(&served);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}"#;
    let case = |name, body: &str, answer: String| Case {
        name,
        bytes: post(&served, &session, body),
        answer,
    };
    let tools = answer(&format!("{{{TOOLS}}}"));
    check(
        &served,
        vec![
            case("ping", PING, answer("{}")),
            case("tools", list, tools.clone()),
            case(
                "a call",
                call,
                answer(r#"{"content":[{"type":"text","text":"hi"}]}"#),
            ),
            case(
                "initialized",
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                "202\n\n".to_owned(),
            ),
            case(
                "any notification",
                r#"{"jsonrpc":"2.0","method":"notifications/foo"}"#,
                "202\n\n".to_owned(),
            ),
            case("tools again", list, tools),
        ],
    );
}

/// Each error of a session, and the end of it.
#[test]
fn refusals_of_a_session_byte_by_byte() {
    let served = served();
    let session = open(&served);
    let stranger = "mcp-session-id: 00000000-0000-4000-8000-000000000000\r\n";
    let unknown = error(404, "null", -32001, "Session not found");
    let required = error(
        400,
        "null",
        -32000,
        "Bad Request: Mcp-Session-Id header is required",
    );
    let version = error(
        400,
        "null",
        -32000,
        "Bad Request: Unsupported protocol version: 1999-01-01 (supported versions: 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05)",
    );
    let foreign = session.replace("2025-06-18", "1999-01-01");
    let not_allowed = |status: u16, code, message: &str, allow: &str| {
        let text = error(status, "null", code, message);
        text.replacen(
            &format!("{status}\n"),
            &format!("{status}\nallow: {allow}\n"),
            1,
        )
    };
    let get = "accept: text/event-stream\r\n";
    let case = |name, method: &str, headers: String, body: &str, answer: &str| Case {
        name,
        bytes: request(&served, method, &headers, body),
        answer: answer.to_owned(),
    };
    let mut stream = Wire::open(served.addr);
    stream.send(&request(&served, "GET", &format!("{get}{session}"), ""));
    assert_eq!(stream.line(), "HTTP/1.1 200 OK");
    check(
        &served,
        vec![
            case("no session: POST", "POST", BOTH.to_owned(), PING, &required),
            case("no session: GET", "GET", get.to_owned(), "", &required),
            case("no session: DELETE", "DELETE", String::new(), "", &required),
            case(
                "an unknown session: POST",
                "POST",
                format!("{BOTH}{stranger}"),
                PING,
                &unknown,
            ),
            case(
                "an unknown session: GET",
                "GET",
                format!("{get}{stranger}"),
                "",
                &unknown,
            ),
            case(
                "an unknown session: DELETE",
                "DELETE",
                stranger.to_owned(),
                "",
                &unknown,
            ),
            case(
                "a second initialize",
                "POST",
                format!("{BOTH}{session}"),
                INITIALIZE,
                &error(
                    400,
                    "null",
                    -32600,
                    "Invalid Request: Server already initialized",
                ),
            ),
            case(
                "a second stream",
                "GET",
                format!("{get}{session}"),
                "",
                &error(
                    409,
                    "null",
                    -32000,
                    "Conflict: Only one SSE stream is allowed per session",
                ),
            ),
            case(
                "a stream of another kind",
                "GET",
                format!("accept: application/json\r\n{session}"),
                "",
                &error(
                    406,
                    "null",
                    -32000,
                    "Not Acceptable: Client must accept text/event-stream",
                ),
            ),
            case(
                "an unknown version: POST",
                "POST",
                format!("{BOTH}{foreign}"),
                PING,
                &version,
            ),
            case(
                "an unknown version: GET",
                "GET",
                format!("{get}{foreign}"),
                "",
                &version,
            ),
            case(
                "an unknown version: DELETE",
                "DELETE",
                foreign.clone(),
                "",
                &version,
            ),
            case(
                "PUT",
                "PUT",
                session.clone(),
                "",
                &not_allowed(405, -32000, "Method not allowed.", "GET, POST, DELETE"),
            ),
            case(
                "a stream of 2026",
                "GET",
                format!("{get}mcp-protocol-version: 2026-07-28\r\n"),
                "",
                &not_allowed(405, -32000, "Method not allowed.", "POST")
                    .replace(r#""id":null,"#, ""),
            ),
            case("the end", "DELETE", session.clone(), "", "200\n\n"),
            case(
                "after the end: POST",
                "POST",
                format!("{BOTH}{session}"),
                PING,
                &unknown,
            ),
            case(
                "after the end: DELETE",
                "DELETE",
                session.clone(),
                "",
                &unknown,
            ),
        ],
    );
}

/// A head of what stays open, as one text.
fn head(wire: &mut Wire) -> String {
    let status = wire.line();
    let mut headers = Vec::new();
    loop {
        let line = wire.line();
        if line.is_empty() {
            break;
        }
        if !line.starts_with("date:") && !line.starts_with("transfer-encoding:") {
            headers.push(format!("{line}\n"));
        }
    }
    headers.sort();
    let status = status.split(' ').nth(1).unwrap().to_owned();
    format!("{status}\n{}\n", headers.concat())
}

/// G9: a question goes out on the stream of its own call, whatever other streams are open, and its
/// answer is a message of its own; a refusal of it ends the call.
#[test]
fn a_question_of_a_session_byte_by_byte() {
    let served = served();
    let session = open(&served);
    let call =
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"ask","arguments":{}}}"#;
    for (id, result, end) in [
        (
            0,
            r#"{"action":"accept","content":{"value":"Paris"}}"#,
            r#""content":[{"type":"text","text":"Paris"}]"#,
        ),
        (1, r#"{"action":"decline"}"#, REFUSED),
        (2, r#"{"action":"cancel"}"#, REFUSED),
    ] {
        let mut wire = Wire::open(served.addr);
        wire.send(&post(&served, &session, call));
        assert_eq!(head(&mut wire), format!("200\n{EVENTS}"));
        let mut asked = wire.chunk().unwrap();
        while !asked.contains("elicitation/create") {
            asked += &wire.chunk().unwrap();
        }
        let frame = format!(
            "event: message\ndata: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"elicitation/create\",\"params\":{QUESTION}}}\n\n"
        );
        assert!(asked.ends_with(&frame), "{asked}");
        let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        assert_eq!(
            send(&served, &post(&served, &session, &reply)).told(),
            "202\n\n"
        );
        let mut rest = String::new();
        while let Some(chunk) = wire.chunk() {
            rest += &chunk;
        }
        let last = format!(
            "event: message\ndata: {{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{{{end}}}}}\n\n"
        );
        assert!(rest.ends_with(&last), "{rest}");
    }
}

/// G9: a call that takes no stream asks on the one of its session, and is answered in JSON.
#[test]
fn a_question_on_the_stream_of_the_session_byte_by_byte() {
    let served = served();
    let session = open(&served);
    let mut stream = Wire::open(served.addr);
    stream.send(&request(
        &served,
        "GET",
        &format!("accept: text/event-stream\r\n{session}"),
        "",
    ));
    assert_eq!(head(&mut stream), format!("200\n{EVENTS}"));
    let call =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{}}}"#;
    let plain = BOTH.replace(", text/event-stream", "");
    let mut wire = Wire::open(served.addr);
    wire.send(&request(
        &served,
        "POST",
        &format!("{plain}{session}"),
        call,
    ));
    let mut asked = String::new();
    while !asked.contains("elicitation/create") {
        asked += &stream.chunk().unwrap();
    }
    let frame = format!(
        "event: message\ndata: {{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"elicitation/create\",\"params\":{QUESTION}}}\n\n"
    );
    assert!(asked.ends_with(&frame), "{asked}");
    let reply =
        r#"{"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"value":"Bern"}}}"#;
    assert_eq!(
        send(&served, &post(&served, &session, reply)).told(),
        "202\n\n"
    );
    assert_eq!(
        wire.reply().told(),
        answer(r#"{"content":[{"type":"text","text":"Bern"}]}"#)
    );
}

/// G11: one session more than the server may keep is told when to come again, and gets no id.
#[test]
fn a_session_too_many_byte_by_byte() {
    let limits = SessionLimits::new().max_sessions(1);
    let server = builder().sessions(Sessions::Memory).session_limits(limits);
    let served = Served::new(&server.build().unwrap());
    let session = open(&served);
    let full = error(503, "1", -32000, "too many sessions are open");
    check(
        &served,
        vec![
            Case {
                name: "one too many",
                bytes: post(&served, "", INITIALIZE),
                answer: full.replacen(
                    JSON,
                    "content-type: application/json\nretry-after: 30\n\n",
                    1,
                ),
            },
            Case {
                name: "the end of the other",
                bytes: request(&served, "DELETE", &session, ""),
                answer: "200\n\n".to_owned(),
            },
        ],
    );
    crate::served::eventually("a place is free", || {
        send(&served, &post(&served, "", INITIALIZE)).status == 200
    });
}
