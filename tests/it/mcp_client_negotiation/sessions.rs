//! Sessions of 2025: carried along, ended, lost.

use super::*;

#[actix_web::test]
async fn a_session_goes_along_and_is_ended() {
    let peer = legacy(Some("s-1"), |request| match request.verb.as_str() {
        "DELETE" => reply(200, &[], ""),
        _ => tools_page(request, &json!([tool("a")]), None),
    });
    let client = McpClient::connect(Http::new(&peer.url).bearer("secret"))
        .await
        .unwrap();
    assert_eq!(client.instructions().as_deref(), Some("Be patient."));
    client.list_tools().await.unwrap();
    client.close().await;
    client.close().await;
    let expected = [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
        "DELETE",
    ];
    assert_eq!(peer.methods(), expected);
    let requests = peer.requests();
    assert_eq!(requests[1].header("mcp-session-id"), None);
    for request in &requests[2..] {
        assert_eq!(
            request.header("mcp-session-id"),
            Some("s-1"),
            "{}",
            request.verb
        );
        assert_eq!(request.header("mcp-protocol-version"), Some("2025-11-25"));
        assert_eq!(request.header("authorization"), Some("Bearer secret"));
    }
    assert_eq!(
        requests[3].body,
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}})
    );
}

#[actix_web::test]
async fn a_server_that_forgot_the_session_gets_a_new_handshake_and_the_call_once() {
    let lost = |request: &Received| {
        let session = request.header("mcp-session-id").map(str::to_owned);
        match (request.index, session.as_deref()) {
            (0..=4, Some("s-1")) => json_reply(
                404,
                &json!({"jsonrpc": "2.0", "id": null,
                "error": {"code": -32001, "message": "Session not found"}}),
            ),
            _ => json_reply(200, &text_result(request, "done")),
        }
    };
    let peer = Peer::start(move |request| match (request.method(), request.index) {
        ("server/discover", _) => reply(400, &[], ""),
        ("initialize", 0..=2) => initialize(request, Some("s-1")),
        ("initialize", _) => initialize(request, Some("s-2")),
        ("notifications/initialized", _) => accepted(),
        _ => lost(request),
    });
    let client = connect(&peer).await.unwrap();
    let result = client.call_tool("a", json!({})).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("done"));
    let calls = peer.of("tools/call");
    let sessions: Vec<_> = calls
        .iter()
        .map(|call| call.header("mcp-session-id"))
        .collect();
    assert_eq!(sessions, [Some("s-1"), Some("s-2")]);
    assert_eq!(peer.of("server/discover").len(), 1, "the era is known");
}

#[actix_web::test]
async fn a_session_that_is_lost_again_is_an_error() {
    let peer = legacy(Some("s-1"), |_| reply(404, &[], ""));
    let client = connect(&peer).await.unwrap();
    let error = client.call_tool("a", json!({})).await.unwrap_err();
    assert!(
        matches!(error, ClientError::Status { status: 404 }),
        "{error:?}"
    );
    assert_eq!(peer.of("initialize").len(), 2);
}
