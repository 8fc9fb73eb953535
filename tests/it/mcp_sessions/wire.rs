//! Who gets a session, who has one, and what everybody else is told.

use roscius::{prelude::*, web, wire::auth::AuthInfo};
use serde_json::{Value, json};

use super::client::{
    Client, EVERYTHING, Gate, NEWEST, builder, initialize, json_of, post, refusal, serve,
};
use crate::served::{Served, eventually};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn server() -> McpServer {
    builder(&Gate::default()).build().unwrap()
}

#[test]
fn initialize_opens_a_session_that_later_requests_name() {
    let served = serve(&server());
    for (asked, answered) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let (head, mut wire) = post(&served, &[], &initialize(asked, "{}"));
        assert_eq!(head.status, 200);
        assert_eq!(head.header("content-type"), Some("application/json"));
        let id = head.header("mcp-session-id").unwrap().to_owned();
        assert!(id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
        let body: Value = serde_json::from_str(&wire.body(&head)).unwrap();
        assert_eq!(body["result"]["protocolVersion"], answered);
        assert_eq!(body["result"]["capabilities"]["logging"], json!({}));
    }
    let client = Client::open(&served);
    let list = client.post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert_eq!(json_of(list)["result"]["tools"][0]["name"], "hi");
    let call = json_of(client.call(2, "hi"));
    assert_eq!(call["result"]["content"][0]["text"], "hi");
    assert_eq!(json_of(client.post(PING))["result"], json!({}));
}

#[test]
fn two_sessions_have_two_ids() {
    let server = server();
    let served = serve(&server);
    let (one, two) = (Client::open(&served), Client::open(&served));
    assert_ne!(one.session, two.session);
    assert_eq!(server.open_sessions(), 2);
}

#[test]
fn a_request_without_a_session_is_refused() {
    let served = serve(&server());
    for body in [
        PING,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":0,"result":{}}"#,
    ] {
        let refused = refusal(post(&served, &[], body));
        assert_eq!(refused, (400, -32000, Value::Null), "{body}");
    }
    let accept = [("accept", "text/event-stream")];
    for method in ["GET", "DELETE"] {
        let refused = refusal(served.request(method, "/mcp", &accept, ""));
        assert_eq!(refused, (400, -32000, Value::Null), "{method}");
    }
}

// B054: an id that is gone is answered with 404.
#[test]
fn an_unknown_session_is_not_found() {
    let served = serve(&server());
    let known = Client::open(&served).session;
    let upper = known.to_uppercase();
    for id in [
        "nonsense",
        "",
        "00000000-0000-4000-8000-000000000000",
        &known.replace('-', ""),
        &format!("{{{known}}}"),
    ] {
        let headers = [("mcp-session-id", id)];
        let refused = refusal(post(&served, &headers, PING));
        assert_eq!(refused, (404, -32001, Value::Null), "{id}");
        let refused = refusal(post(&served, &headers, &initialize(NEWEST, "{}")));
        assert_eq!(refused.0, 404, "{id}");
    }
    let get = [("mcp-session-id", "nonsense"), ("accept", "*/*")];
    assert_eq!(refusal(served.request("GET", "/mcp", &get, "")).0, 404);
    assert_eq!(refusal(served.request("DELETE", "/mcp", &get, "")).0, 404);
    let twice = [("mcp-session-id", &*known), ("mcp-session-id", &*upper)];
    assert_eq!(refusal(post(&served, &twice, PING)).0, 404);
}

#[test]
fn a_second_initialize_is_refused() {
    let served = serve(&server());
    let client = Client::open(&served);
    let again = client.post(&initialize(NEWEST, "{}"));
    assert_eq!(refusal(again), (400, -32600, Value::Null));
    assert_eq!(client.ping(), 200);
}

#[test]
fn delete_ends_a_session() {
    let server = server();
    let served = serve(&server);
    let client = Client::open(&served);
    let (_, mut stream) = client.get(&[]);
    let head = client.delete();
    assert_eq!((head.status, head.header("content-type")), (200, None));
    assert_eq!(client.ping(), 404);
    assert_eq!(client.delete().status, 404);
    assert_eq!(client.get(&[]).0.status, 404);
    while stream.chunk().is_some() {}
    eventually("the session is gone", || server.open_sessions() == 0);
}

#[test]
fn other_methods_and_kinds_are_refused() {
    let served = serve(&server());
    let client = Client::open(&served);
    let session = ("mcp-session-id", client.session.as_str());
    let (head, _) = served.request("PUT", "/mcp", &[session], "");
    assert_eq!(head.status, 405);
    assert_eq!(head.header("allow"), Some("GET, POST, DELETE"));
    // B063: what accepts one of the two kinds is served.
    let json = [session, ("content-type", "application/json")];
    for (accept, status) in [
        ("application/json", 200),
        ("*/*", 200),
        ("text/event-stream;q=0.5, application/json", 200),
        ("text/event-stream", 406),
        ("text/html", 406),
    ] {
        let mut headers = json.to_vec();
        headers.push(("accept", accept));
        let (head, _) = served.request("POST", "/mcp", &headers, PING);
        assert_eq!(head.status, status, "{accept}");
    }
    let get = [session, ("accept", "application/json")];
    let refused = refusal(served.request("GET", "/mcp", &get, ""));
    assert_eq!(refused, (406, -32000, Value::Null));
    let (head, _) = served.request(
        "GET",
        "/mcp",
        &[session, ("mcp-protocol-version", "2026-07-28")],
        "",
    );
    assert_eq!((head.status, head.header("allow")), (405, Some("POST")));
}

#[test]
fn an_unknown_version_is_refused_with_those_that_are_known() {
    let served = serve(&server());
    let client = Client::open(&served);
    let headers = [
        ("mcp-session-id", client.session.as_str()),
        ("mcp-protocol-version", "1999-01-01"),
        ("accept", "text/event-stream"),
    ];
    for answer in [
        post(&served, &headers[..2], PING),
        post(
            &served,
            &headers[..2],
            r#"{"jsonrpc":"2.0","method":"notifications/x"}"#,
        ),
        served.request("GET", "/mcp", &headers, ""),
        served.request("DELETE", "/mcp", &headers, ""),
    ] {
        let (head, mut wire) = answer;
        let body: Value = serde_json::from_str(&wire.body(&head)).unwrap();
        assert_eq!((head.status, &body["error"]["code"]), (400, &json!(-32000)));
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains("2025-11-25, 2025-06-18"), "{message}");
    }
    // Without the header the session says which version it is.
    let headers = [("mcp-session-id", client.session.as_str())];
    assert_eq!(post(&served, &headers, PING).0.status, 200);
}

#[test]
fn requests_of_2026_need_no_session() {
    let served = serve(&server());
    let params = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/list"),
    ];
    let list = json_of(post(&served, &headers, &body.to_string()));
    assert_eq!(list["result"]["resultType"], "complete");
}

// B061: notifications have no answer.
#[test]
fn what_needs_no_answer_is_accepted() {
    let served = serve(&server());
    let client = Client::open(&served);
    for method in [
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/roots/list_changed",
        "notifications/foo",
    ] {
        client.notify(method, json!({"requestId": 99}));
    }
    client.answer(77, json!({}));
    let unreadable = client.post(r#"{"jsonrpc":"2.0","id":null,"result":{}}"#);
    assert_eq!(refusal(unreadable), (400, -32600, Value::Null));
}

// G11
#[test]
fn a_session_beyond_the_bound_is_refused_until_one_ends() {
    let limits = SessionLimits::new().max_sessions(2);
    let server = builder(&Gate::default())
        .session_limits(limits)
        .build()
        .unwrap();
    let served = serve(&server);
    let first = Client::open(&served);
    let _second = Client::open(&served);
    let (head, mut wire) = post(&served, &[], &initialize(NEWEST, "{}"));
    let body: Value = serde_json::from_str(&wire.body(&head)).unwrap();
    assert_eq!((head.status, &body["error"]["code"]), (503, &json!(-32000)));
    assert!(head.header("retry-after").is_some());
    assert_eq!(head.header("mcp-session-id"), None);
    assert_eq!(first.delete().status, 200);
    eventually("a session is free", || server.open_sessions() == 1);
    Client::open(&served);
}

#[test]
fn a_session_is_found_from_every_thread() {
    let server = server();
    let (here, there) = (serve(&server), serve(&server));
    let client = Client::open(&here);
    let abroad = Client {
        served: &there,
        session: client.session.clone(),
        ..Client::open(&there)
    };
    assert_eq!(abroad.ping(), 200);
    // The question goes out here and is answered there.
    let (head, mut wire) = client.call(1, "ask");
    assert_eq!(head.status, 200);
    wire.until("elicitation/create");
    abroad.answer(
        0,
        json!({"action": "accept", "content": {"value": "Paris"}}),
    );
    wire.until("Paris");
    assert_eq!(abroad.delete().status, 200);
    assert_eq!(client.ping(), 404);
}

fn authorized(server: &McpServer) -> Served {
    let routes = web::McpRoutes::new("/mcp", server).authorize(|request| async move {
        let token = request.headers().get("authorization");
        let token = token.and_then(|token| token.to_str().ok()).unwrap_or("- -");
        let (client, user) = token.split_once(' ').unwrap();
        Ok(Options::new().auth_info(AuthInfo::new("secret", client).subject(user)))
    });
    Served::start(move |config| {
        config.service(routes.clone());
    })
}

#[test]
fn a_session_belongs_to_client_and_user() {
    let served = authorized(&server());
    let alice = ("authorization", "app alice");
    let (head, _) = post(&served, &[alice], &initialize(NEWEST, EVERYTHING));
    let session = head.header("mcp-session-id").unwrap();
    let session = ("mcp-session-id", session);
    for foreign in ["app bob", "other alice"] {
        let foreign = ("authorization", foreign);
        let refused = refusal(post(&served, &[foreign, session], PING));
        assert_eq!(refused, (404, -32001, Value::Null));
        let stream = [foreign, session, ("accept", "text/event-stream")];
        assert_eq!(refusal(served.request("GET", "/mcp", &stream, "")).0, 404);
        assert_eq!(
            refusal(served.request("DELETE", "/mcp", &stream, "")).0,
            404
        );
    }
    assert_eq!(post(&served, &[alice, session], PING).0.status, 200);
}

#[test]
fn replies_can_be_streams_of_one_event() {
    for sessions in [Sessions::Memory, Sessions::Stateless] {
        let server = builder(&Gate::default())
            .sessions(sessions)
            .reply(roscius::server::Reply::Sse)
            .build()
            .unwrap();
        let served = serve(&server);
        let (head, mut wire) = post(&served, &[], &initialize(NEWEST, "{}"));
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        let id = head.header("mcp-session-id").map(str::to_owned);
        assert_eq!(id.is_some(), sessions == Sessions::Memory);
        let body = wire.body(&head);
        assert!(body.starts_with("event: message\ndata: {") && body.ends_with("}\n\n"));
        let id = id.unwrap_or_default();
        let mut headers = vec![
            ("content-type", "application/json"),
            ("accept", "application/json"),
        ];
        if sessions == Sessions::Memory {
            headers.push(("mcp-session-id", &id));
        }
        let (head, _) = served.request("POST", "/mcp", &headers, PING);
        assert_eq!(head.header("content-type"), Some("application/json"));
    }
}
