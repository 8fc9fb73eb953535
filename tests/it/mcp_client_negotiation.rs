//! Which era a client finds, and what it says on the way.

mod sessions;

use std::{net::TcpListener, time::Duration};

use roscius_actors::{
    client::{ClientError, ConnectReason, Era, McpClient},
    ports::transport::TransportError,
    transport::Http,
};
use serde_json::{Value, json};

use crate::mcp_client_peer::{
    Answer, Peer, Received, accepted, discover, initialize, json_reply, legacy, modern, reply,
    sse_reply, text_result, tool, tools_page,
};

async fn connect(peer: &Peer) -> Result<McpClient, ClientError> {
    McpClient::connect(Http::new(&peer.url)).await
}

fn reason(error: &ClientError) -> &ConnectReason {
    error
        .connect_reason()
        .unwrap_or_else(|| panic!("{error:?}"))
}

#[actix_web::test]
async fn a_modern_server_is_found_by_one_request() {
    let peer = modern(|_| panic!("nothing else is asked"));
    let client = McpClient::connect(
        Http::new(&peer.url)
            .bearer("secret")
            .header("X-Tenant", "acme"),
    )
    .name("my-app")
    .version("2.1.0")
    .await
    .unwrap();
    let server = client.server().unwrap();
    assert_eq!((server.era, server.version), (Era::Modern, "2026-07-28"));
    assert_eq!(
        server.server_info,
        Some(json!({"name": "peer", "version": "1.0.0"}))
    );
    assert_eq!(
        client.instructions().as_deref(),
        Some("Ask before you guess.")
    );
    assert_eq!(Value::Object(client.capabilities()), json!({"tools": {}}));

    let requests = peer.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].body,
        json!({"jsonrpc": "2.0", "id": "server-discover-probe-1", "method": "server/discover",
        "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "my-app", "version": "2.1.0"},
            "io.modelcontextprotocol/clientCapabilities":
                {"elicitation": {"form": {}}, "sampling": {}},
        }}})
    );
    for (name, value) in [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "server/discover"),
        ("authorization", "Bearer secret"),
        ("x-tenant", "acme"),
    ] {
        assert_eq!(requests[0].header(name), Some(value), "{name}");
    }
    client.close().await;
    assert_eq!(
        peer.methods(),
        ["server/discover"],
        "a modern server has no session to end"
    );
}

/// Answers the probe with `probe`, and the handshake of 2025.
fn falls_back(probe: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Peer {
    Peer::start(move |request| match request.method() {
        "server/discover" => probe(request),
        "initialize" => initialize(request, None),
        _ => accepted(),
    })
}

#[actix_web::test]
async fn a_legacy_server_is_found_by_every_way_it_refuses_the_probe() {
    let html = [("content-type", "text/html")];
    let not_found = |request: &Received| request.error(-32601, Value::Null);
    let peers = [
        ("400 empty", falls_back(|_| reply(400, &[], ""))),
        (
            "404 page",
            falls_back(move |_| reply(404, &html, "<p>no</p>")),
        ),
        ("405", falls_back(|_| reply(405, &[], ""))),
        ("406", falls_back(|_| reply(406, &[], ""))),
        ("415", falls_back(|_| reply(415, &[], "text/plain please"))),
        (
            "400 -32000",
            falls_back(|request| json_reply(400, &request.error(-32000, Value::Null))),
        ),
        (
            "404 -32601",
            falls_back(move |request| json_reply(404, &not_found(request))),
        ),
        (
            "200 -32601 json",
            falls_back(move |request| json_reply(200, &not_found(request))),
        ),
        (
            "200 -32601 sse",
            falls_back(move |request| sse_reply(&[not_found(request)])),
        ),
        (
            "400 -32000 no id",
            falls_back(|_| {
                json_reply(
                    400,
                    &json!({"jsonrpc": "2.0", "id": null,
                "error": {"code": -32000, "message": "Bad Request: Server not initialized"}}),
                )
            }),
        ),
    ];
    for (name, peer) in peers {
        let client = connect(&peer)
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let server = client.server().unwrap();
        assert_eq!(
            (server.era, server.version),
            (Era::Legacy, "2025-11-25"),
            "{name}"
        );
        let expected = ["server/discover", "initialize", "notifications/initialized"];
        assert_eq!(peer.methods(), expected, "{name}");
        let requests = peer.requests();
        assert_eq!(
            requests[1].body["id"], 1,
            "{name}: the first numeric id is still there"
        );
        assert_eq!(requests[1].header("mcp-method"), None, "{name}");
        assert_eq!(requests[1].body["params"].get("_meta"), None, "{name}");
        assert_eq!(
            requests[2].header("mcp-protocol-version"),
            Some("2025-11-25"),
            "{name}"
        );
    }
}

#[actix_web::test]
async fn a_demand_for_authorization_is_no_evidence_of_an_era() {
    for status in [401, 403] {
        let peer = Peer::start(move |_| {
            reply(
                status,
                &[(
                    "www-authenticate",
                    "Bearer resource_metadata=\"https://a/b\"",
                )],
                "{}",
            )
        });
        let error = connect(&peer).await.unwrap_err();
        assert!(error.is_unauthorized());
        let ClientError::Unauthorized {
            status: got,
            www_authenticate,
        } = error
        else {
            panic!("not unauthorized");
        };
        assert_eq!(got, status);
        assert_eq!(
            www_authenticate.as_deref(),
            Some("Bearer resource_metadata=\"https://a/b\"")
        );
        assert_eq!(peer.methods(), ["server/discover"]);
    }
}

#[actix_web::test]
async fn a_server_that_fails_is_never_taken_for_an_old_one() {
    for status in [500, 502, 503] {
        let peer =
            Peer::start(move |request| json_reply(status, &request.error(-32601, Value::Null)));
        let error = connect(&peer).await.unwrap_err();
        assert!(error.is_connection());
        assert!(matches!(reason(&error), ConnectReason::Status { status: got } if *got == status));
        assert_eq!(peer.methods(), ["server/discover"]);
    }
}

#[actix_web::test]
async fn an_unreachable_server_is_a_connect_error() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp?key=secret", free.local_addr().unwrap());
    drop(free);
    let error = McpClient::connect(Http::new(&url)).await.unwrap_err();
    assert!(matches!(
        reason(&error),
        ConnectReason::Transport(TransportError::Unreachable(_))
    ));
    assert!(!error.to_string().contains("secret"), "{error}");

    let error = McpClient::connect(Http::new("ftp://127.0.0.1/mcp"))
        .await
        .unwrap_err();
    assert!(matches!(
        reason(&error),
        ConnectReason::Transport(TransportError::Config(_))
    ));
}

#[actix_web::test]
async fn a_socket_that_breaks_is_a_connect_error() {
    let peer = Peer::start(|_| Answer::Cut(b"HTTP/1.1 200".to_vec()));
    let error = connect(&peer).await.unwrap_err();
    assert!(matches!(
        reason(&error),
        ConnectReason::Transport(TransportError::Broken(_))
    ));
    assert_eq!(peer.methods(), ["server/discover"]);
}

#[actix_web::test]
async fn silence_is_a_connect_error_in_time() {
    let peer = Peer::start(|_| Answer::Hold(Vec::new()));
    let connecting =
        McpClient::connect(Http::new(&peer.url)).connect_timeout(Duration::from_millis(100));
    let error = connecting.await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert!(
        matches!(reason(&error), ConnectReason::Timeout { .. }),
        "{error:?}"
    );
    peer.wait_for_hang_up().await;
    assert_eq!(peer.methods(), ["server/discover"]);
}

#[actix_web::test]
async fn a_refused_version_is_tried_again_once_with_one_in_common() {
    let refuse = |request: &Received, supported: &[&str]| {
        let data = json!({"supported": supported, "requested": "2026-07-28"});
        json_reply(400, &request.error(-32022, data))
    };
    let peer = Peer::start(move |request| match request.index {
        0 => refuse(request, &["2026-07-28"]),
        _ => discover(request, &json!({})),
    });
    let client = connect(&peer).await.unwrap();
    assert_eq!(client.server().unwrap().version, "2026-07-28");
    assert_eq!(peer.methods(), ["server/discover", "server/discover"]);

    let peer = Peer::start(move |request| refuse(request, &["2026-07-28"]));
    let error = connect(&peer).await.unwrap_err();
    assert_eq!(error.rpc().unwrap().code, -32022);
    assert_eq!(peer.methods(), ["server/discover", "server/discover"]);

    let peer = Peer::start(move |request| refuse(request, &["2027-01-01"]));
    let error = connect(&peer).await.unwrap_err();
    assert!(
        matches!(reason(&error), ConnectReason::NoCommonVersion { offered } if *offered == ["2027-01-01"])
    );
    assert_eq!(peer.methods(), ["server/discover"]);
}

#[actix_web::test]
async fn a_server_that_lists_only_old_versions_gets_the_newest_of_them() {
    let peer = falls_back(|request| {
        let data = json!({"supported": ["2025-03-26", "2025-06-18"], "requested": "2026-07-28"});
        json_reply(400, &request.error(-32022, data))
    });
    let client = connect(&peer).await.unwrap();
    assert_eq!(client.server().unwrap().version, "2025-06-18");
    assert_eq!(
        peer.of("initialize")[0].body["params"]["protocolVersion"],
        "2025-06-18"
    );
}

#[actix_web::test]
async fn a_modern_server_that_refuses_the_probe_is_not_asked_to_initialize() {
    for code in [-32020, -32021] {
        let peer = Peer::start(move |request| json_reply(400, &request.error(code, Value::Null)));
        let error = connect(&peer).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().code, code);
        assert_eq!(peer.methods(), ["server/discover"]);
    }
}

#[actix_web::test]
async fn what_speaks_no_mcp_is_said_to_speak_none() {
    let page = |_: &Received| reply(200, &[("content-type", "text/html")], "<p>hello</p>");
    let peer = Peer::start(page);
    let error = connect(&peer).await.unwrap_err();
    assert!(
        matches!(reason(&error), ConnectReason::Malformed(_)),
        "{error:?}"
    );
    assert_eq!(peer.methods(), ["server/discover", "initialize"]);

    let peer = Peer::start(|request| match request.method() {
        "initialize" => json_reply(
            200,
            &request.result(json!({"protocolVersion": "1999-01-01"})),
        ),
        _ => reply(404, &[], ""),
    });
    let error = connect(&peer).await.unwrap_err();
    assert!(
        matches!(reason(&error), ConnectReason::NoCommonVersion { .. }),
        "{error:?}"
    );
}
