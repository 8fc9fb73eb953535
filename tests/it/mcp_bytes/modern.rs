//! 2026-07-28: each POST stands for itself.

use super::{
    BOTH, CONTENTS, Case, EVENTS, JSON, MESSAGES, QUESTION, REFUSED, TOOLS, builder, check,
    request, send,
};
use crate::mcp_server::host::Served;

pub(super) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}"#;
const INFO: &str =
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"weather","version":"1.0.0"}}"#;
pub(super) const CACHE: &str = r#""ttlMs":0,"cacheScope":"private""#;

/// The header lines of a method; `name` is what `Mcp-Name` repeats.
pub(super) fn headers(method: &str, name: &str) -> String {
    let name = if name.is_empty() {
        String::new()
    } else {
        format!("Mcp-Name: {name}\r\n")
    };
    format!("{BOTH}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}")
}

/// A message with these members of `params` before `_meta`.
pub(super) fn message(id: &str, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{comma}{META}}}}}"#
    )
}

fn ask(served: &Served, method: &str, name: &str, params: &str) -> String {
    request(
        served,
        "POST",
        &headers(method, name),
        &message("1", method, params),
    )
}

pub(super) fn complete(members: &str) -> String {
    format!(
        r#"200
{JSON}{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete",{members},{INFO}}}}}"#
    )
}

pub(super) fn error(status: u16, id: &str, code: i64, message: &str, data: &str) -> String {
    let id = if id.is_empty() {
        String::new()
    } else {
        format!(r#","id":{id}"#)
    };
    let data = if data.is_empty() {
        String::new()
    } else {
        format!(r#","data":{data}"#)
    };
    format!(
        r#"{status}
{JSON}{{"jsonrpc":"2.0"{id},"error":{{"code":{code},"message":"{message}"{data}}}}}"#
    )
}

/// Every result says its type and who the server is; lists, reads and discovery also say how long
/// they may be kept.
#[test]
fn results_of_2026_byte_by_byte() {
    let served = Served::new(&builder().build().unwrap());
    let case = |name, method: &str, mirror: &str, params: &str, members: &str| Case {
        name,
        bytes: ask(&served, method, mirror, params),
        answer: complete(members),
    };
    let listed = |members: &str| format!("{members},{CACHE}");
    let capabilities = r#"{"logging":{},"prompts":{"listChanged":false},"resources":{"subscribe":false,"listChanged":false},"tools":{"listChanged":false}}"#;
    check(
        &served,
        vec![
            case(
                "discover",
                "server/discover",
                "",
                "",
                &listed(&format!(
                    r#""supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{capabilities}"#
                )),
            ),
            case("tools", "tools/list", "", "", &listed(TOOLS)),
            case(
                "a call",
                "tools/call",
                "echo",
                r#""name":"echo","arguments":{"text":"hi"}"#,
                r#""content":[{"type":"text","text":"hi"}]"#,
            ),
            case(
                "a tool that fails",
                "tools/call",
                "boom",
                r#""name":"boom","arguments":{}"#,
                r#""content":[{"type":"text","text":"disk on fire"}],"isError":true"#,
            ),
            case(
                "bad arguments",
                "tools/call",
                "echo",
                r#""name":"echo","arguments":{}"#,
                r#""content":[{"type":"text","text":"invalid arguments for tool `echo`: /text: is required"}],"isError":true"#,
            ),
            case(
                "resources",
                "resources/list",
                "",
                "",
                &listed(
                    r#""resources":[{"uri":"docs://readme","name":"readme","mimeType":"text/plain"}]"#,
                ),
            ),
            case(
                "templates",
                "resources/templates/list",
                "",
                "",
                &listed(r#""resourceTemplates":[]"#),
            ),
            case(
                "a read",
                "resources/read",
                "docs://readme",
                r#""uri":"docs://readme""#,
                &listed(CONTENTS),
            ),
            case(
                "prompts",
                "prompts/list",
                "",
                "",
                &listed(r#""prompts":[{"name":"hello"}]"#),
            ),
            case(
                "a prompt",
                "prompts/get",
                "hello",
                r#""name":"hello""#,
                MESSAGES,
            ),
            case(
                "a name that had to be encoded",
                "tools/call",
                "=?base64?ZWNobw==?=",
                r#""name":"echo","arguments":{"text":"ü"}"#,
                r#""content":[{"type":"text","text":"ü"}]"#,
            ),
        ],
    );
}

/// What comes before the result makes the answer a stream of frames of two lines.
#[test]
fn a_stream_of_2026_byte_by_byte() {
    let served = Served::new(&builder().build().unwrap());
    let meta = META.replace(r#""_meta":{"#, r#""_meta":{"progressToken":"p/1","#);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"steps","arguments":{{}},{meta}}}}}"#
    );
    let bytes = request(&served, "POST", &headers("tools/call", "steps"), &body);
    let told = send(&served, &bytes).told();
    assert_eq!(
        told,
        format!(
            "200\n{EVENTS}event: message\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":\"p/1\",\"progress\":1,\"total\":2,\"message\":\"half\"}}}}\n\nevent: message\ndata: {{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{{\"resultType\":\"complete\",\"content\":[{{\"type\":\"text\",\"text\":\"done\"}}],{INFO}}}}}\n\n"
        )
    );
}

/// G6: a question ends the call; its answer comes with a new request, which may have another id.
#[test]
fn a_question_of_2026_byte_by_byte() {
    let served = Served::new(&builder().build().unwrap());
    let call = r#""name":"ask","arguments":{}"#;
    let told = send(&served, &ask(&served, "tools/call", "ask", call)).told();
    let (before, after) = told.split_once(r#""requestState":""#).unwrap();
    let (state, after) = after.split_once('"').unwrap();
    assert_eq!(
        before,
        format!(
            r#"200
{JSON}{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"input_required","inputRequests":{{"input":{{"method":"elicitation/create","params":{QUESTION}}}}},"#
        )
    );
    assert_eq!(after, format!(",{INFO}}}}}"));
    let retry = |answer: &str, state: &str| {
        let params = format!(r#"{call},"inputResponses":{{"input":{answer}}}{state}"#);
        ask(&served, "tools/call", "ask", &params)
    };
    let with = format!(r#","requestState":"{state}""#);
    let changed = format!(r#","requestState":"{state}x""#);
    let accepted = r#"{"action":"accept","content":{"value":"Paris"}}"#;
    let paris = r#""content":[{"type":"text","text":"Paris"}]"#;
    check(
        &served,
        vec![
            Case {
                name: "answered with the state",
                bytes: retry(accepted, &with),
                answer: complete(paris),
            },
            Case {
                name: "answered without it",
                bytes: retry(accepted, ""),
                answer: complete(paris),
            },
            Case {
                name: "declined",
                bytes: retry(r#"{"action":"decline"}"#, &with),
                answer: complete(REFUSED),
            },
            Case {
                name: "cancelled",
                bytes: retry(r#"{"action":"cancel"}"#, &with),
                answer: complete(REFUSED),
            },
            Case {
                name: "a changed state",
                bytes: retry(accepted, &changed),
                answer: error(
                    200,
                    "1",
                    -32602,
                    "requestState: the sealed text is malformed",
                    "",
                ),
            },
        ],
    );
}
