//! 2025 without sessions, and where it is not served.

use roscius::prelude::*;

use super::{BOTH, CONTENTS, Case, EVENTS, JSON, MESSAGES, TOOLS, builder, check, request};
use crate::mcp_server::host::Served;

fn answer(members: &str) -> String {
    format!(
        r#"200
{JSON}{{"jsonrpc":"2.0","id":1,"result":{members}}}"#
    )
}

fn error(status: u16, id: &str, code: i64, message: &str, data: &str) -> String {
    let data = if data.is_empty() {
        String::new()
    } else {
        format!(r#","data":{data}"#)
    };
    format!(
        r#"{status}
{JSON}{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"{data}}}}}"#
    )
}

fn post(served: &Served, version: &str, body: &str) -> String {
    let version = if version.is_empty() {
        String::new()
    } else {
        format!("mcp-protocol-version: {version}\r\n")
    };
    request(served, "POST", &format!("{BOTH}{version}"), body)
}

fn message(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#)
}

fn initialize(version: &str) -> String {
    message(
        "initialize",
        &format!(
            r#""protocolVersion":"{version}","capabilities":{{"elicitation":{{}}}},"clientInfo":{{"name":"c","version":"1"}}"#
        ),
    )
}

const NO_SESSION: &str =
    "a 2025 client can be asked only within a session, and this server keeps none";

/// Every request stands for itself: no session id, no handshake that would have to come first.
#[test]
fn requests_of_2025_without_a_session_byte_by_byte() {
    let served = Served::new(&builder().build().unwrap());
    let case = |name, version: &str, body: &str, answer: String| Case {
        name,
        bytes: post(&served, version, body),
        answer,
    };
    let opened = |version: &str| {
        answer(&format!(
            r#"{{"protocolVersion":"{version}","capabilities":{{"prompts":{{"listChanged":false}},"resources":{{"subscribe":false,"listChanged":false}},"tools":{{"listChanged":false}}}},"serverInfo":{{"name":"weather","version":"1.0.0"}}}}"#
        ))
    };
    let failed = |text: &str| {
        answer(&format!(
            r#"{{"content":[{{"type":"text","text":"{text}"}}],"isError":true}}"#
        ))
    };
    let none = |method, name| Case {
        name,
        bytes: request(&served, method, "accept: text/event-stream\r\n", ""),
        answer: error(405, "null", -32000, "Method not allowed.", "").replacen(
            "405\n",
            "405\nallow: POST\n",
            1,
        ),
    };
    let hi = message("tools/call", r#""name":"echo","arguments":{"text":"hi"}"#);
    let known = "2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05";
    check(
        &served,
        vec![
            case(
                "initialize, newest",
                "",
                &initialize("2025-11-25"),
                opened("2025-11-25"),
            ),
            case(
                "initialize, oldest",
                "",
                &initialize("2024-11-05"),
                opened("2024-11-05"),
            ),
            case(
                "initialize, unknown",
                "",
                &initialize("1999-01-01"),
                opened("2025-11-25"),
            ),
            case(
                "initialized",
                "2025-11-25",
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                "202\n\n".to_owned(),
            ),
            case(
                "any notification",
                "",
                r#"{"jsonrpc":"2.0","method":"notifications/foo"}"#,
                "202\n\n".to_owned(),
            ),
            case(
                "tools",
                "2025-11-25",
                &message("tools/list", ""),
                answer(&format!("{{{TOOLS}}}")),
            ),
            case(
                "a call",
                "2025-06-18",
                &hi,
                answer(r#"{"content":[{"type":"text","text":"hi"}]}"#),
            ),
            case(
                "a read",
                "2025-03-26",
                &message("resources/read", r#""uri":"docs://readme""#),
                answer(&format!("{{{CONTENTS}}}")),
            ),
            case(
                "a prompt",
                "",
                &message("prompts/get", r#""name":"hello""#),
                answer(&format!("{{{MESSAGES}}}")),
            ),
            case(
                "ping",
                "2024-11-05",
                r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
                answer("{}"),
            ),
            case(
                "a question",
                "2025-11-25",
                &message("tools/call", r#""name":"ask""#),
                failed(NO_SESSION),
            ),
            case(
                "sampling",
                "2025-11-25",
                &message("tools/call", r#""name":"sample""#),
                failed(
                    "nobody answers sample here: build the server with sample or sample_from_client",
                ),
            ),
            case(
                "a missing resource",
                "2025-11-25",
                &message("resources/read", r#""uri":"docs://no""#),
                error(
                    200,
                    "1",
                    -32002,
                    "Resource not found: docs://no",
                    r#"{"uri":"docs://no"}"#,
                ),
            ),
            case(
                "an unknown method",
                "2025-11-25",
                &message("no/such", ""),
                error(200, "1", -32601, "Method not found", ""),
            ),
            case(
                "an unknown version",
                "1999-01-01",
                &message("tools/list", ""),
                error(
                    400,
                    "1",
                    -32000,
                    &format!(
                        "Bad Request: Unsupported protocol version: 1999-01-01 (supported versions: {known})"
                    ),
                    "",
                ),
            ),
            none("GET", "GET"),
            none("DELETE", "DELETE"),
            none("PUT", "PUT"),
        ],
    );
}

/// Where replies are streams, each is one frame.
#[test]
fn replies_as_streams_byte_by_byte() {
    let server = builder()
        .reply(roscius::server::Reply::Sse)
        .build()
        .unwrap();
    let served = Served::new(&server);
    check(
        &served,
        vec![Case {
            name: "ping",
            bytes: post(
                &served,
                "2025-11-25",
                r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            ),
            answer: format!(
                "200\n{EVENTS}event: message\ndata: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{}}}}\n\n"
            ),
        }],
    );
}

/// A server for 2026 alone tells clients of 2025 which version it has.
#[test]
fn a_server_without_2025_byte_by_byte() {
    let served = Served::new(&builder().sessions(Sessions::Reject).build().unwrap());
    let unsupported = |version: &str| {
        error(
            400,
            "1",
            -32022,
            &format!("Unsupported protocol version: {version}"),
            &format!(r#"{{"supported":["2026-07-28"],"requested":"{version}"}}"#),
        )
    };
    let case = |name, version: &str, body: &str, answer: String| Case {
        name,
        bytes: post(&served, version, body),
        answer,
    };
    let none = |method, name| Case {
        name,
        bytes: request(&served, method, "accept: text/event-stream\r\n", ""),
        answer: error(405, "null", -32000, "Method not allowed.", "").replacen(
            "405\n",
            "405\nallow: POST\n",
            1,
        ),
    };
    check(
        &served,
        vec![
            case(
                "initialize",
                "",
                &initialize("2025-11-25"),
                unsupported("2025-11-25"),
            ),
            case(
                "tools",
                "2025-06-18",
                &message("tools/list", ""),
                unsupported("2025-06-18"),
            ),
            case(
                "no version",
                "",
                &message("tools/list", ""),
                error(
                    400,
                    "1",
                    -32022,
                    "Unsupported protocol version: the request did not name a protocol version",
                    r#"{"supported":["2026-07-28"]}"#,
                ),
            ),
            case(
                "a notification",
                "",
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                "202\n\n".to_owned(),
            ),
            none("GET", "GET"),
            none("DELETE", "DELETE"),
            none("PUT", "PUT"),
        ],
    );
}
