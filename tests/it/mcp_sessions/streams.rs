//! The streams of a session: one of its own, those of its calls, and how to come back to them.

use roscius::prelude::*;
use serde_json::{Value, json};

use super::client::{Client, EVERYTHING, Gate, builder, event_ids, messages, refusal, serve};
use crate::served::{Served, eventually};

fn served(gate: &Gate) -> Served {
    serve(&builder(gate).build().unwrap())
}

// B057: nothing on the way may hold events back.
#[test]
fn a_stream_of_its_own_begins_with_an_event_without_data() {
    let served = served(&Gate::default());
    let client = Client::open(&served);
    let (head, mut get) = client.get(&[]);
    assert_eq!(head.status, 200);
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache, no-transform"),
        ("x-accel-buffering", "no"),
    ] {
        assert_eq!(head.header(name), Some(value));
    }
    assert_eq!(get.chunk().unwrap(), "id: 0-0\nretry: 1000\ndata: \n\n");
    assert_eq!(get.chunk().unwrap(), ": keep-alive\n\n");
    // Clients of earlier versions would read the empty data as JSON.
    let older = Client::open_as(&served, "2025-06-18", EVERYTHING);
    let (_, mut get) = older.get(&[]);
    assert_eq!(get.chunk().unwrap(), "id: 0-0\nretry: 1000\n\n");
}

#[test]
fn there_is_one_stream_of_its_own() {
    let served = served(&Gate::default());
    let client = Client::open(&served);
    let (head, get) = client.get(&[]);
    assert_eq!(head.status, 200);
    assert_eq!(refusal(client.get(&[])), (409, -32000, Value::Null));
    // B053: a connection that is gone frees its place.
    drop(get);
    eventually("the place is free", || client.get(&[]).0.status == 200);
}

#[test]
fn an_event_id_leads_back_to_the_stream_of_its_own() {
    let gate = Gate::default();
    let served = served(&gate);
    let client = Client::open(&served);
    let (_, mut get) = client.get(&[]);
    for _ in 0..2 {
        let _ = client.start("application/json", 1, json!({"name": "ask"}));
        get.until("elicitation/create");
    }
    // The client may know of a lost connection before the server does.
    let (head, mut again) = client.get(&[("last-event-id", "0-1")]);
    assert_eq!(head.status, 200);
    let read = again.chunk().unwrap() + &again.until("elicitation/create");
    assert_eq!(event_ids(&read), ["0-1", "0-2"]);
    while get.chunk().is_some() {}
    assert_eq!(refusal(client.get(&[])).0, 409);
}

#[test]
fn an_event_id_leads_back_to_the_stream_of_a_call() {
    let gate = Gate::default();
    let served = served(&gate);
    let client = Client::open(&served);
    let (head, mut wire) = client.call_with_progress(3, "wait");
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    let read = wire.until("progress");
    assert!(
        read.starts_with("id: 1-0\nretry: 1000\ndata: \n\n"),
        "{read}"
    );
    assert_eq!(event_ids(&read), ["1-0", "1-1"]);
    drop(wire);
    eventually("the call runs", || gate.entered() == 1);
    let (head, mut again) = client.get(&[("last-event-id", "1-1")]);
    assert_eq!(head.status, 200);
    gate.open.notify_one();
    let rest = again.body(&head);
    let all = messages(&rest);
    assert_eq!(event_ids(&rest), ["1-1", "1-2", "1-3"]);
    assert_eq!(all[0]["params"]["progress"], 2);
    assert_eq!(all[1]["result"]["content"][0]["text"], "waited");
    assert_eq!(all[1]["id"], 3);
    // What has ended is replayed too, and so is one that the call has lost its connection of.
    let (head, mut replay) = client.get(&[("last-event-id", "1-0")]);
    assert_eq!(event_ids(&replay.body(&head)), ["1-0", "1-1", "1-2", "1-3"]);
    // It takes no place of the session's own stream.
    assert_eq!(client.get(&[]).0.status, 200);
}

#[test]
fn a_question_survives_the_connection_of_its_call() {
    let served = served(&Gate::default());
    let client = Client::open(&served);
    let (_, mut wire) = client.call_with_progress(3, "ask_twice");
    wire.until("elicitation/create");
    drop(wire);
    client.answer(0, json!({"action": "accept", "content": {"value": "a"}}));
    let (head, mut again) = client.get(&[("last-event-id", "1-2")]);
    let asked = messages(&again.until("elicitation/create"));
    assert_eq!(asked.last().unwrap()["id"], 1);
    client.answer(1, json!({"action": "accept", "content": {"value": "b"}}));
    let end = messages(&again.body(&head)).pop().unwrap();
    assert_eq!(end["result"]["content"][0]["text"], "a b");
}

#[test]
fn a_call_can_close_its_stream_and_go_on() {
    let served = served(&Gate::default());
    let client = Client::open(&served);
    let (head, mut wire) = client.call(1, "close");
    assert_eq!(wire.body(&head), "id: 1-0\nretry: 1000\ndata: \n\n");
    let (head, mut again) = client.get(&[("last-event-id", "1-0")]);
    let rest = messages(&again.body(&head));
    assert_eq!(rest[0]["result"]["content"][0]["text"], "closed");
    // Clients of earlier versions would not come back.
    let older = Client::open_as(&served, "2025-06-18", EVERYTHING);
    let (head, _) = older.call(1, "close");
    assert_eq!(head.header("content-type"), Some("application/json"));
}

#[test]
fn an_unknown_event_is_refused() {
    let served = served(&Gate::default());
    let client = Client::open(&served);
    let (head, mut wire) = client.call_with_progress(1, "report");
    wire.body(&head);
    let other = Client::open(&served);
    for (client, id) in [
        (&client, "nonsense"),
        (&client, "9-1"),
        (&client, "1-x"),
        (&other, "1-1"),
    ] {
        let refused = refusal(client.get(&[("last-event-id", id)]));
        assert_eq!(refused, (400, -32000, Value::Null), "{id}");
    }
}

#[test]
fn streams_are_kept_within_a_bound() {
    let limits = SessionLimits::new().replay_streams(2);
    let server = builder(&Gate::default()).session_limits(limits).build();
    let served = serve(&server.unwrap());
    let client = Client::open(&served);
    for id in 1..=3 {
        let (head, mut wire) = client.call_with_progress(id, "report");
        let read = wire.body(&head);
        assert!(read.contains(&format!("id: {id}-2")), "{read}");
    }
    let status = |id| client.get(&[("last-event-id", id)]).0.status;
    assert_eq!(
        (status("1-0"), status("2-0"), status("3-0")),
        (400, 200, 200)
    );
}
