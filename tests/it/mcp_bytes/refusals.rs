//! What 2026-07-28 is refused with, and whom the server does not know.

use roscius::prelude::*;

use super::{
    Case, JSON, TOOLS, builder, check,
    modern::{CACHE, META, complete, error, headers, message},
    request, send,
};
use crate::mcp_server::host::Served;

/// Each refusal of 2026 has its status, its code, its data and the id if it could be read.
#[test]
fn refusals_of_2026_byte_by_byte() {
    let served = Served::new(&builder().build().unwrap());
    let list = message("1", "tools/list", "");
    let post = |name, headers: String, body: &str, answer: String| Case {
        name,
        bytes: request(&served, "POST", &headers, body),
        answer,
    };
    let own = || headers("tools/list", "");
    let call = message(
        "1",
        "tools/call",
        r#""name":"echo","arguments":{"text":"hi"}"#,
    );
    let nobody = META.replace(r#"{"elicitation":{"form":{}}}"#, "{}");
    let unable = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"ask","arguments":{{}},{nobody}}}}}"#
    );
    let newer = list.replace("2026-07-28", "2099-01-01");
    let unknown = own().replace("2026-07-28", "2099-01-01");
    let mismatch = |what: &str, header: &str, body: &str| {
        format!(r#"{{"mismatch":{{"name":"{what}","header":{header},"body":"{body}"}}}}"#)
    };
    let supported = r#"["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]"#;
    check(
        &served,
        vec![
            post(
                "no version header",
                own().replace("MCP-Protocol-Version: 2026-07-28\r\n", ""),
                &list,
                error(
                    400,
                    "1",
                    -32020,
                    "the headers and the body disagree: mcp-protocol-version is missing",
                    &mismatch("mcp-protocol-version", "null", "2026-07-28"),
                ),
            ),
            post(
                "another method",
                own().replace("tools/list", "tools/call"),
                &list,
                error(
                    400,
                    "1",
                    -32020,
                    "the headers and the body disagree: mcp-method differs from the body",
                    &mismatch("mcp-method", r#""tools/call""#, "tools/list"),
                ),
            ),
            post(
                "no name",
                headers("tools/call", ""),
                &call,
                error(
                    400,
                    "1",
                    -32020,
                    "the headers and the body disagree: mcp-name is missing",
                    &mismatch("mcp-name", "null", "echo"),
                ),
            ),
            post(
                "a version of the future",
                unknown,
                &newer,
                error(
                    400,
                    "1",
                    -32022,
                    "Unsupported protocol version: 2099-01-01",
                    &format!(r#"{{"supported":{supported},"requested":"2099-01-01"}}"#),
                ),
            ),
            post(
                "a capability that the client lacks",
                headers("tools/call", "ask"),
                &unable,
                error(
                    400,
                    "1",
                    -32021,
                    "the client does not declare the capability that the question `input` needs",
                    r#"{"requiredCapabilities":{"elicitation":{"form":{}}}}"#,
                ),
            ),
            post(
                "ping",
                headers("ping", ""),
                &message("1", "ping", ""),
                error(404, "1", -32601, "Method not found", ""),
            ),
            post(
                "listen",
                headers("subscriptions/listen", ""),
                &message("1", "subscriptions/listen", ""),
                error(404, "1", -32601, "Method not found", ""),
            ),
            post(
                "an unknown tool",
                headers("tools/call", "nope"),
                &message("1", "tools/call", r#""name":"nope""#),
                error(200, "1", -32602, "Tool nope not found", ""),
            ),
            post(
                "a missing resource",
                headers("resources/read", "docs://no"),
                &message("1", "resources/read", r#""uri":"docs://no""#),
                error(
                    200,
                    "1",
                    -32602,
                    "Resource not found: docs://no",
                    r#"{"uri":"docs://no"}"#,
                ),
            ),
            post(
                "an array",
                own(),
                &format!("[{list}]"),
                error(
                    400,
                    "",
                    -32600,
                    "one request or one notification is expected",
                    "",
                ),
            ),
            post(
                "a null id",
                own(),
                &list.replace(r#""id":1"#, r#""id":null"#),
                error(
                    400,
                    "",
                    -32600,
                    "the id is neither a string nor an integer",
                    "",
                ),
            ),
            post(
                "a notification",
                headers("notifications/cancelled", ""),
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
                "202\n\n".to_owned(),
            ),
            post(
                "another kind",
                own().replace("content-type: application/json", "content-type: text/plain"),
                &list,
                error(
                    415,
                    "",
                    -32600,
                    "Content-Type has to be application/json",
                    "",
                ),
            ),
            post(
                "neither kind is taken",
                own().replace("application/json, text/event-stream", "text/html"),
                &list,
                error(406, "", -32600, "Accept has to allow application/json", ""),
            ),
            post(
                "a foreign page",
                format!("{}Origin: https://evil.test\r\n", own()),
                &list,
                error(
                    403,
                    "",
                    -32600,
                    "requests from this Origin are not served: name it with allow_origins",
                    "",
                ),
            ),
            Case {
                name: "GET",
                bytes: request(&served, "GET", "MCP-Protocol-Version: 2026-07-28\r\n", ""),
                answer: error(405, "", -32000, "Method not allowed.", "").replacen(
                    "405\n",
                    "405\nallow: POST\n",
                    1,
                ),
            },
            Case {
                name: "DELETE",
                bytes: request(
                    &served,
                    "DELETE",
                    "MCP-Protocol-Version: 2026-07-28\r\n",
                    "",
                ),
                answer: error(405, "", -32000, "Method not allowed.", "").replacen(
                    "405\n",
                    "405\nallow: POST\n",
                    1,
                ),
            },
        ],
    );
    // What a parser says of broken JSON is not part of the wire; all that stands round it is.
    let broken = send(&served, &request(&served, "POST", &own(), "{")).told();
    let start = format!(
        r#"400
{JSON}{{"jsonrpc":"2.0","error":{{"code":-32700,"message":""#
    );
    assert!(
        broken.starts_with(&start) && broken.ends_with(r#""}}"#),
        "{broken}"
    );
}

/// G10: Host and Origin are looked at without being asked to; a page of the server itself, and a
/// client that is no page, are served.
#[test]
fn pages_and_names_byte_by_byte() {
    let served = Served::new(&builder().sessions(Sessions::Memory).build().unwrap());
    let list = message("1", "tools/list", "");
    let refusal = |what: &str, setting: &str| {
        error(
            403,
            "",
            -32600,
            &format!("requests {what} are not served: name it with {setting}"),
            "",
        )
    };
    let origin = refusal("from this Origin", "allow_origins");
    let host = refusal("to this Host", "allowed_hosts");
    let of = |name, origin: &str, answer: &str| Case {
        name,
        bytes: request(
            &served,
            "POST",
            &format!("{}Origin: {origin}\r\n", headers("tools/list", "")),
            &list,
        ),
        answer: answer.to_owned(),
    };
    let to = |name, host: &str, answer: &str| {
        let bytes = request(&served, "POST", &headers("tools/list", ""), &list);
        Case {
            name,
            bytes: bytes.replacen(&served.addr.to_string(), host, 1),
            answer: answer.to_owned(),
        }
    };
    let good = complete(&format!("{TOOLS},{CACHE}"));
    let port = served.addr.port();
    check(
        &served,
        vec![
            of("another site", "https://evil.test", &origin),
            of("no site", "null", &origin),
            of("another port", "http://127.0.0.1:1", &origin),
            of("its own page", &format!("http://{}", served.addr), &good),
            to("another name", "evil.test", &host),
            to("localhost", &format!("localhost:{port}"), &good),
            to("the address without a port", "127.0.0.1", &good),
            to("the other loopback", &format!("[::1]:{port}"), &good),
        ],
    );
}
