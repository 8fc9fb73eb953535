//! Ids, arrays, progress, cancellation, numbers.

use roscius::{prelude::*, wire::auth::AuthInfo};
use serde_json::{Value, json};

use super::world::{LEGACY, MODES, Runs, exchange, raw, session, text, versions};
use crate::{
    mcp_server::host::{Ask, MODERN, Reply, Served},
    mcp_sessions::client::{Client, Gate, builder, serve},
    served::eventually,
};

/// B001: an id that is there and null is neither an id nor the mark of a notification.
#[test]
fn an_id_of_null_is_refused_and_nothing_runs() {
    let runs = Runs::default();
    for mode in MODES {
        let served = runs.serve(mode);
        let session = (mode == Sessions::Memory).then(|| session(&served, "2025-11-25"));
        for method in ["tools/list", "tools/call"] {
            for params in ["", r#","params":{"name":"danger","arguments":{}}"#] {
                let body = format!(r#"{{"jsonrpc":"2.0","id":null,"method":"{method}"{params}}}"#);
                for version in ["none", "2025-11-25", "2025-03-26", MODERN] {
                    let mut ask = raw(version, method, "danger", &body);
                    if let Some(session) = &session {
                        ask = ask.header("mcp-session-id", session);
                    }
                    let reply = ask.send(&served);
                    assert_eq!(
                        (reply.status, reply.error_code()),
                        (400, -32600),
                        "{mode:?} {version} {body}"
                    );
                }
            }
        }
    }
    assert_eq!(runs.count(), 0);
}

/// B002: an id comes back with its digits, its letters and its JSON type.
#[test]
fn an_id_comes_back_as_it_was_sent() {
    let served = Runs::default().serve(Sessions::Stateless);
    for id in [
        "7",
        r#""7""#,
        r#""req-äß""#,
        "0",
        r#""""#,
        "-1",
        "9007199254740993",
    ] {
        let params = r#"{"name":"safe_tool","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
        let modern = raw(MODERN, "tools/call", "safe_tool", &body).send(&served);
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#);
        let legacy = raw("2025-11-25", "", "", &body).send(&served);
        for reply in [modern, legacy] {
            assert_eq!(reply.status, 200);
            assert!(
                reply
                    .body
                    .starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)),
                "{}",
                reply.body
            );
        }
    }
}

/// B002: `7` and `"7"` are two requests, which run and are cancelled apart.
#[test]
fn a_number_and_its_digits_are_two_ids() {
    let gate = Gate::default();
    let server = builder(&gate).build().unwrap();
    let served = serve(&server);
    let client = Client::open(&served);
    let params = json!({"name": "plain_wait"});
    let mut number = client.start("application/json", 7, params.clone());
    eventually("the first call runs", || gate.entered() == 1);
    let mut text = client.start("application/json", "7", params);
    eventually("both calls run", || gate.entered() == 2);
    client.notify("notifications/cancelled", json!({"requestId": "7"}));
    assert_eq!(text.head().status, 202);
    assert_eq!(server.running_calls(), 1);
    gate.open.notify_one();
    let head = number.head();
    let answer: Value = serde_json::from_str(&number.body(&head)).unwrap();
    assert_eq!((head.status, &answer["id"]), (200, &json!(7)));
}

/// B004: the id of a request is the one of the message, wherever it stands and whatever stands
/// before it.
#[test]
fn the_order_of_members_means_nothing() {
    let served = Runs::default().serve(Sessions::Stateless);
    let arguments = r#""arguments":{"params":[{"id":3,"value":1}]}"#;
    let meta = r#""_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    for (version, meta) in [(MODERN, format!(",{meta}")), ("2025-11-25", String::new())] {
        for body in [
            format!(
                r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"name":"echo",{arguments}{meta}}},"id":99999}}"#
            ),
            format!(
                r#"{{"params":{{{arguments}{meta},"name":"echo"}},"id":99999,"method":"tools/call","jsonrpc":"2.0"}}"#
            ),
        ] {
            let answer = raw(version, "tools/call", "echo", &body)
                .send(&served)
                .json();
            assert_eq!(answer["id"], 99999, "{answer}");
            assert_eq!(
                answer["result"]["structuredContent"],
                json!({"params": [{"id": 3, "value": 1}]})
            );
        }
    }
}

/// B006: a report that belongs to nothing is taken and does no harm.
#[test]
fn progress_of_an_unknown_token_changes_nothing() {
    let runs = Runs::default();
    for mode in [Sessions::Stateless, Sessions::Memory] {
        let served = runs.serve(mode);
        let session = (mode == Sessions::Memory).then(|| session(&served, "2025-11-25"));
        let own = |ask: Ask| match &session {
            Some(session) => ask.header("mcp-session-id", session),
            None => ask,
        };
        for token in [json!("nope"), json!(3), json!("3")] {
            let params = json!({"progressToken": token, "progress": 1});
            let body =
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
            for version in ["2025-11-25", MODERN] {
                let ask = raw(version, "notifications/progress", "", &body.to_string());
                let reply = own(ask.without("mcp-name")).send(&served);
                assert_eq!((reply.status, reply.body.as_str()), (202, ""));
            }
        }
        let after = own(Ask::legacy(
            "2025-11-25",
            "tools/call",
            json!({"name": "safe_tool"}),
        ));
        assert_eq!(text(&after.send(&served).json()), "safe");
    }
}

/// B007: progress goes to who asked for it, under the token that came, and ends with the answer.
#[test]
fn progress_carries_the_token_that_came_and_only_that() {
    for mode in [Sessions::Stateless, Sessions::Memory] {
        let served = Runs::default().serve(mode);
        let session = (mode == Sessions::Memory).then(|| session(&served, "2025-11-25"));
        let call = |version: &str, token: Option<&Value>| -> Reply {
            let mut params = json!({"name": "report", "arguments": {}});
            if let Some(token) = token {
                params["_meta"] = json!({"progressToken": token});
            }
            if version == MODERN {
                return Ask::modern("tools/call", params).send(&served);
            }
            let ask = Ask::legacy(version, "tools/call", params);
            match &session {
                Some(session) => ask.header("mcp-session-id", session).send(&served),
                None => ask.send(&served),
            }
        };
        for version in [MODERN, "2025-11-25"] {
            assert_eq!(text(&call(version, None).json()), "done");
            for token in [json!(0), json!("p/1"), json!("0")] {
                let events = call(version, Some(&token)).events();
                let (last, reports) = events.split_last().unwrap();
                assert_eq!(text(last), "done");
                let told: Vec<&Value> = reports.iter().map(|one| &one["params"]).collect();
                let wanted =
                    [1, 2, 3].map(|step| json!({"progressToken": token, "progress": step}));
                assert_eq!(told, wanted.iter().collect::<Vec<_>>(), "{version}");
            }
        }
    }
}

const ARRAY: &str = r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"danger","arguments":{}}}]"#;

/// B011: an array is no way past the rules; only 2025-03-26 has arrays at all.
#[test]
fn an_array_of_a_version_without_arrays_runs_nothing() {
    let runs = Runs::default();
    for mode in MODES {
        let served = runs.serve(mode);
        for version in ["2025-11-25", "2025-06-18", "2024-11-05", MODERN] {
            let id =
                (mode == Sessions::Memory && version != MODERN).then(|| session(&served, version));
            for body in [ARRAY, "[]", "[[]]"] {
                let mut ask = raw(version, "tools/call", "danger", body);
                if let Some(id) = &id {
                    ask = ask.header("mcp-session-id", id);
                }
                let reply = ask.send(&served);
                assert_eq!(
                    (reply.status, reply.error_code()),
                    (400, -32600),
                    "{mode:?} {version} {body}"
                );
            }
        }
        assert_eq!(Ask::post("[]").send(&served).status, 400, "{mode:?}");
    }
    // Nobody has a session, and 2025 is not served.
    for mode in [Sessions::Memory, Sessions::Reject] {
        let reply = Ask::post(ARRAY).send(&runs.serve(mode));
        assert!(!reply.body.contains("result"), "{reply:?}");
    }
    assert_eq!(runs.count(), 0);
}

/// B011: the token of an array is looked at as that of any other message, and so are the scopes
/// of each tool in it.
#[test]
fn an_array_passes_the_gate_like_any_message() {
    let runs = Runs::default();
    let reader = |token: String| async move {
        Ok::<_, roscius::wire::oauth::OAuthError>(
            AuthInfo::new(token, "client").expires_at(crate::server_auth::FAR),
        )
    };
    let scoped = Tool::new("scoped", || async { "written" }).required_scopes(["notes:write"]);
    let server = runs.builder().tool(scoped).auth(reader).build().unwrap();
    let served = Served::new(&server);
    for body in [ARRAY, "[]"] {
        assert_eq!(exchange(&served, &Ask::post(body)).status, 401);
    }
    let hidden = ARRAY.replace(
        "tools/list",
        "tools/call\",\"params\":{\"name\":\"scoped\"},\"x\":\"",
    );
    let with_token = Ask::post(hidden).header("authorization", "Bearer t");
    assert_eq!(exchange(&served, &with_token).status, 403);
    assert_eq!(runs.count(), 0);
}

/// B015: an error says what is wrong as JSON-RPC, whatever the status.
#[test]
fn every_refusal_of_a_request_is_a_json_rpc_error_with_its_id() {
    let prompt = Prompt::new("known", || async { "hi" });
    let server = Runs::default().builder().prompt(prompt).build().unwrap();
    let served = Served::new(&server);
    let unknown = json!({"name": "x"});
    for (ask, status, code) in [
        (Ask::modern("prompts/get", unknown.clone()), 200, -32602),
        (
            Ask::legacy("2025-11-25", "prompts/get", unknown),
            200,
            -32602,
        ),
        (Ask::modern("no/such", json!({})), 404, -32601),
        (
            Ask::modern("tools/list", json!({})).without("mcp-method"),
            400,
            -32020,
        ),
        (
            Ask::modern_as(json!({}), "tools/call", json!({"name": "city"})),
            400,
            -32021,
        ),
        (
            Ask::legacy("1999-01-01", "tools/list", json!({})),
            400,
            -32000,
        ),
    ] {
        let reply = ask.send(&served);
        assert_eq!(
            (reply.status, reply.error_code()),
            (status, code),
            "{reply:?}"
        );
        let message = reply.json();
        assert_eq!(
            (&message["jsonrpc"], &message["id"]),
            (&json!("2.0"), &json!(1))
        );
        assert!(!message["error"]["message"].as_str().unwrap().is_empty());
    }
}

/// B016: whole numbers of 64 bits keep their digits on the way in and out.
#[test]
fn large_numbers_keep_their_digits() {
    let served = Runs::default().serve(Sessions::Stateless);
    for digits in [
        "9007199254740993",
        "1915883588174806058",
        "18446744073709551615",
        "-9223372036854775808",
    ] {
        let value: Value = serde_json::from_str(digits).unwrap();
        for (version, ask) in versions(
            "tools/call",
            &json!({"name": "echo", "arguments": {"id": value}}),
        ) {
            let reply = ask.send(&served);
            let structured = format!(r#""structuredContent":{{"id":{digits}}}"#);
            let text = format!(r#""text":"{{\"id\":{digits}}}""#);
            assert!(
                reply.body.contains(&structured) && reply.body.contains(&text),
                "{version} {}",
                reply.body
            );
        }
    }
}

/// B016: what has more than 64 bits is no integer here: a tool that reads JSON sees the nearest
/// double, one that wants an integer says so.
#[test]
fn larger_numbers_are_doubles_or_refused() {
    let whole = |Args(value): Args<std::collections::HashMap<String, u64>>| async move {
        value["id"].to_string()
    };
    let server = Runs::default().builder().tool(Tool::new("whole", whole));
    let served = Served::new(&server.build().unwrap());
    let call = |name: &str| {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","arguments":{{"id":18446744073709551617}}}}}}"#
        );
        raw("2025-11-25", "", "", &body).send(&served)
    };
    let double = r#""structuredContent":{"id":1.8446744073709552e+19}"#;
    let echoed = call("echo");
    assert!(echoed.body.contains(double), "{}", echoed.body);
    let refused = call("whole").json();
    assert_eq!(refused["result"]["isError"], true, "{refused}");
}

/// B001, B002: the same on every version that has sessions or none.
#[test]
fn a_fraction_or_an_object_is_no_id() {
    let served = Runs::default().serve(Sessions::Stateless);
    for id in ["true", "{}", "[]", "1.5"] {
        for version in LEGACY {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#);
            let reply = raw(version, "", "", &body).send(&served);
            assert_eq!((reply.status, reply.error_code()), (400, -32600), "{id}");
        }
    }
}
