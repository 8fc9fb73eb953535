//! What a stream keeps, loses and gives again.

use std::task::Waker;

use serde_json::json;
use tokio::sync::oneshot;

use super::*;
use crate::{
    server::ClientCapabilities,
    session::{
        Greeting, SessionStore,
        actor::{Ask, AskError},
    },
    wire::{ids::Owner, version::V2025_11_25},
};

fn greeting() -> Greeting {
    Greeting {
        version: V2025_11_25,
        capabilities: ClientCapabilities::default(),
    }
}

fn session(limits: SessionLimits) -> Arc<Session> {
    Arc::new(Session::new(Owner::ANONYMOUS, greeting(), limits))
}

/// The ids of the events that are there; none at the end of the stream.
fn ids(reader: &mut Reader) -> Option<Vec<String>> {
    let mut cx = Context::from_waker(Waker::noop());
    let chunk = match reader.poll(&mut cx) {
        Poll::Ready(None) => return None,
        Poll::Ready(Some(chunk)) => chunk,
        Poll::Pending => return Some(Vec::new()),
    };
    let text = String::from_utf8_lossy(&chunk).into_owned();
    let ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
    Some(ids.map(str::to_owned).collect())
}

#[test]
fn event_ids_name_stream_and_message() {
    let id = EventId {
        lane: LaneId(3),
        seq: 12,
    };
    assert_eq!(EventId::read(b"3-12"), Some(id));
    for text in [
        "",
        "3",
        "3-",
        "-3",
        "a-1",
        "1-a",
        "+1-1",
        "1--1",
        "1-1-1",
        "99999999999-1",
        "\u{ff}",
    ] {
        assert_eq!(EventId::read(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn a_connection_that_comes_back_reads_what_it_has_not_seen() {
    let session = session(SessionLimits::new());
    let lane = session.lane(true);
    let mut first = lane.attach(0, &session);
    assert!(lane.is_attached() && !lane.is_known());
    lane.push(b"1");
    lane.push(b"2");
    assert_eq!(ids(&mut first).unwrap(), ["1-0", "1-1", "1-2"]);
    drop(first);
    assert!(!lane.is_attached() && lane.is_known());
    lane.push(b"3");
    let mut second = lane.attach(1, &session);
    assert_eq!(ids(&mut second).unwrap(), ["1-1", "1-2", "1-3"]);
    let mut third = lane.attach(3, &session);
    assert_eq!(ids(&mut second), None, "a newer connection has taken over");
    drop(second);
    assert!(
        lane.is_attached(),
        "the end of an older one changes nothing"
    );
    lane.end(b"4");
    assert_eq!(ids(&mut third).unwrap(), ["1-3", "1-4"]);
    assert_eq!(ids(&mut third), None);
}

#[test]
fn reports_beyond_the_bound_are_lost_and_answers_are_not() {
    let session = session(SessionLimits::new().replay(3, 10_000));
    let lane = session.lane(true);
    let mut reader = lane.attach(0, &session);
    let taken = (0..5).filter(|_| lane.report(b"r")).count();
    assert_eq!(taken, 3);
    lane.push(b"answer");
    assert_eq!(
        ids(&mut reader).unwrap(),
        ["1-0", "1-1", "1-2", "1-3", "1-4"]
    );
    lane.push(b"next");
    let mut again = lane.attach(0, &session);
    assert_eq!(
        ids(&mut again).unwrap(),
        ["1-0", "1-3", "1-4", "1-5"],
        "what was read is forgotten beyond the bound"
    );
}

#[test]
fn bytes_are_bounded_too() {
    let session = session(SessionLimits::new().replay(100, 100));
    let lane = session.lane(true);
    let mut reader = lane.attach(0, &session);
    let big = [b'x'; 200];
    lane.push(&big);
    assert!(!lane.report(b"r"), "nothing is added to what waits");
    assert_eq!(ids(&mut reader).unwrap().len(), 2);
    assert!(lane.report(b"r"));
    let mut again = lane.attach(0, &session);
    assert_eq!(ids(&mut again).unwrap(), ["1-0", "1-2"]);
}

#[test]
fn questions_that_nobody_reads_do_not_pile_up() {
    actix::System::new().block_on(async {
        let store = SessionStore::new(SessionLimits::new().replay(2, 10_000));
        let session = store.start(Owner::ANONYMOUS, greeting()).unwrap();
        let lane = session.lane(true);
        let mut reader = lane.attach(0, &session);
        let ask = || {
            let (answer, _) = oneshot::channel();
            session.actor().unwrap().send(Ask {
                method: "elicitation/create",
                params: json!({"message": "?"}),
                lane: Some(Arc::clone(&lane)),
                answer,
            })
        };
        assert_eq!(ask().await.unwrap(), Ok(0));
        assert_eq!(ask().await.unwrap(), Ok(1));
        assert_eq!(ask().await.unwrap(), Err(AskError::TooMany));
        assert_eq!(ids(&mut reader).unwrap().len(), 3);
        assert_eq!(ask().await.unwrap(), Ok(2), "there is room again");
    });
}
