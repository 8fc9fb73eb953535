//! Lists and faults of 2025, byte by byte, without a session and in one.

use roscius::prelude::*;

use super::{BOTH, Case, JSON, builder, check, request, send};
use crate::mcp_server::host::Served;

fn answer(result: &str) -> String {
    format!("200\n{JSON}{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{{result}}}}}")
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

/// The header lines of a session.
fn opened(served: &Served, version: &str) -> String {
    let greeting = format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    );
    let reply = send(served, &request(served, "POST", BOTH, &greeting));
    let id = reply.header("mcp-session-id").unwrap();
    format!("mcp-session-id: {id}\r\n")
}

/// F24, F25, F30: what is listed, and what is wrong with a request, is the same in each version of
/// 2025 and with a session or without.
#[test]
fn lists_and_faults_of_2025_byte_by_byte() {
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        for sessions in [Sessions::Stateless, Sessions::Memory] {
            let served = Served::new(&builder().sessions(sessions).build().unwrap());
            let mut headers = format!("{BOTH}mcp-protocol-version: {version}\r\n");
            if sessions == Sessions::Memory {
                headers += &opened(&served, version);
            }
            let case = |name, method: &str, params: &str, answer: String| Case {
                name,
                bytes: request(
                    &served,
                    "POST",
                    &headers,
                    &format!(
                        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#
                    ),
                ),
                answer,
            };
            let failed = |text: &str| {
                answer(&format!(
                    r#""content":[{{"type":"text","text":"{text}"}}],"isError":true"#
                ))
            };
            let invalid = |message: &str| error(200, "1", -32602, message, "");
            check(
                &served,
                vec![
                    case(
                        "resources",
                        "resources/list",
                        "",
                        answer(
                            r#""resources":[{"uri":"docs://readme","name":"readme","mimeType":"text/plain"}]"#,
                        ),
                    ),
                    case(
                        "templates",
                        "resources/templates/list",
                        "",
                        answer(r#""resourceTemplates":[]"#),
                    ),
                    case(
                        "prompts",
                        "prompts/list",
                        "",
                        answer(r#""prompts":[{"name":"hello"}]"#),
                    ),
                    case(
                        "an unknown tool",
                        "tools/call",
                        r#""name":"nope""#,
                        invalid("Tool nope not found"),
                    ),
                    case("no name", "tools/call", "", invalid("name is required")),
                    case(
                        "an unknown prompt",
                        "prompts/get",
                        r#""name":"nope""#,
                        invalid("Prompt nope not found"),
                    ),
                    case("no uri", "resources/read", "", invalid("uri is required")),
                    case(
                        "a missing resource",
                        "resources/read",
                        r#""uri":"docs://no""#,
                        error(
                            200,
                            "1",
                            -32002,
                            "Resource not found: docs://no",
                            r#"{"uri":"docs://no"}"#,
                        ),
                    ),
                    case(
                        "bad arguments",
                        "tools/call",
                        r#""name":"echo","arguments":{}"#,
                        failed("invalid arguments for tool `echo`: /text: is required"),
                    ),
                    case(
                        "a tool that fails",
                        "tools/call",
                        r#""name":"boom""#,
                        failed("disk on fire"),
                    ),
                    case(
                        "a method of 2026",
                        "server/discover",
                        "",
                        error(200, "1", -32601, "Method not found", ""),
                    ),
                    case(
                        "a subscription of 2026",
                        "subscriptions/listen",
                        "",
                        error(200, "1", -32601, "Method not found", ""),
                    ),
                ],
            );
        }
    }
}

/// 3.3: a server for 2026 alone refuses what is no request of 2025 as well, and what cannot be read.
#[test]
fn a_server_without_2025_runs_nothing_of_it() {
    let served = Served::new(&builder().sessions(Sessions::Reject).build().unwrap());
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for body in [format!("[{list}]"), "[]".to_owned()] {
        for version in ["", "mcp-protocol-version: 2025-03-26\r\n"] {
            let headers = format!("{BOTH}{version}");
            let reply = send(&served, &request(&served, "POST", &headers, &body));
            assert!(reply.body.contains(r#""error""#), "{reply:?}");
            assert!(!reply.body.contains(r#""result""#), "{reply:?}");
        }
    }
    let broken = send(&served, &request(&served, "POST", BOTH, "{"));
    assert_eq!((broken.status, broken.error_code()), (400, -32700));
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let reply = send(&served, &request(&served, "POST", BOTH, answer));
    assert_eq!((reply.status, reply.body.as_str()), (202, ""));
}
