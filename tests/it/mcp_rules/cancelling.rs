//! What ends a call, and what does not. Rules 13, SH-8, L-2 and L-11 of the reference.

use serde_json::{Value, json};

use super::params::exchange;
use crate::{
    mcp_server::host::{Ask, MODERN, Served, Wire},
    mcp_sessions::client::{Client, Gate, builder, serve},
    served::eventually,
};

/// 2026 over HTTP cancels by closing the connection: a message that names an id, which anybody could
/// guess, ends nothing.
#[test]
fn a_message_over_http_cancels_no_call_of_2026() {
    let gate = Gate::default();
    let server = builder(&gate).build().unwrap();
    let served = Served::new(&server);
    let mut call = Wire::open(served.addr);
    let params = json!({"name": "plain_wait", "arguments": {}});
    call.send(&Ask::modern("tools/call", params).bytes(served.addr));
    eventually("the call runs", || gate.entered() == 1);
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    for ask in [
        Ask::post(cancel.to_string()).header("mcp-protocol-version", MODERN),
        Ask::post(cancel.to_string())
            .header("mcp-protocol-version", MODERN)
            .header("mcp-method", "notifications/cancelled"),
    ] {
        let reply = exchange(&served, &ask);
        assert_eq!((reply.status, reply.body.as_str()), (202, ""));
    }
    assert_eq!(server.running_calls(), 1);
    gate.open.notify_one();
    let answer = call.reply().json();
    assert_eq!(answer["result"]["content"][0]["text"], "waited");
}

/// 13: what names no request of this client is ignored: ids that are unknown, over, or none.
#[test]
fn a_cancellation_of_nothing_is_ignored() {
    let gate = Gate::default();
    let server = builder(&gate).build().unwrap();
    let served = serve(&server);
    let client = Client::open(&served);
    let waiting = client.start("application/json", "a", json!({"name": "plain_wait"}));
    eventually("the call runs", || gate.entered() == 1);
    for request in [
        json!({}),
        json!({"requestId": null}),
        json!({"requestId": {}}),
        json!({"requestId": ["a"]}),
        json!({"requestId": "b"}),
        json!({"requestId": 0}),
        json!({"requestId": "a ", "reason": 5}),
        json!({"id": "a"}),
    ] {
        client.notify("notifications/cancelled", request);
    }
    assert_eq!(server.running_calls(), 1);
    // An id is its letters, however they are written.
    let (head, mut wire) = client.post(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0061"}}"#,
    );
    assert_eq!((head.status, wire.body(&head).as_str()), (202, ""));
    let mut waiting = waiting;
    assert_eq!(waiting.head().status, 202);
    assert_eq!((server.running_calls(), gate.passed()), (0, 0));
    assert_eq!(client.ping(), 200);
}

/// 21.1: requests of one session run at the same time; a slow one holds up no other.
#[test]
fn a_slow_call_holds_up_no_other_of_its_session() {
    let gate = Gate::default();
    let server = builder(&gate).build().unwrap();
    let served = serve(&server);
    let client = Client::open(&served);
    let waiting: Vec<_> = (1..=5)
        .map(|id| client.start("application/json", id, json!({"name": "plain_wait"})))
        .collect();
    eventually("all calls run", || gate.entered() == 5);
    assert_eq!(client.ping(), 200);
    for _ in 0..5 {
        gate.open.notify_one();
    }
    eventually("all calls have passed", || gate.passed() >= 1);
    gate.open.notify_waiters();
    eventually("all calls have ended", || {
        gate.open.notify_one();
        server.running_calls() == 0
    });
    for (id, mut wire) in (1..=5).zip(waiting) {
        let head = wire.head();
        let answer: Value = serde_json::from_str(&wire.body(&head)).unwrap();
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["content"][0]["text"], "waited");
    }
}
