//! Recorded chat streams: every event is understood and written again with the same meaning.

use std::{fs, path::PathBuf};

use bytes::BytesMut;
use roscius_actors::wire::agui::{BINDING_KEY, Event, EventKind, Outcome, RunAgentInput};
use serde_json::Value;

fn recordings(ending: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agui");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().ends_with(ending))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no recording ends with {ending}");
    paths
}

fn frames(path: &PathBuf) -> Vec<Value> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|json| serde_json::from_str(json).unwrap())
        .collect()
}

#[test]
fn every_recorded_event_is_read_and_written_with_the_same_meaning() {
    let mut seen = 0;
    for path in recordings(".response.sse") {
        for frame in frames(&path) {
            let event: Event = serde_json::from_value(frame.clone())
                .unwrap_or_else(|error| panic!("{}: {error}: {frame}", path.display()));
            assert_eq!(event.kind.name(), frame["type"]);
            let mut line = BytesMut::new();
            event.encode(&mut line).unwrap();
            let again: Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(again, frame, "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 800, "only {seen} recorded events were found");
}

#[test]
fn bindings_of_recorded_interrupts_are_understood_whole() {
    let mut seen = 0;
    for path in recordings(".response.sse") {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        // These were written by hand to show what the client makes of broken bindings.
        if name.starts_with("mcp-input-") {
            continue;
        }
        for frame in frames(&path) {
            let event: Event = serde_json::from_value(frame).unwrap();
            let EventKind::RunFinished {
                outcome: Some(Outcome::Interrupt { interrupts }),
                ..
            } = event.kind
            else {
                continue;
            };
            for interrupt in interrupts {
                let recorded = &interrupt.metadata.as_ref().unwrap()[BINDING_KEY];
                let binding = interrupt.binding().unwrap();
                assert_eq!(&serde_json::to_value(binding).unwrap(), recorded, "{name}");
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "only {seen} recorded interrupts were found");
}

#[test]
fn recorded_requests_are_read_with_rows_unchanged() {
    for path in recordings(".request.json") {
        let body: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let input: RunAgentInput = serde_json::from_value(body.clone())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(
            serde_json::to_string(&input.messages).unwrap(),
            serde_json::to_string(&body["messages"]).unwrap(),
            "{}: rows keep their members and their order",
            path.display()
        );
        assert_eq!(
            serde_json::to_value(&input.resume).unwrap(),
            body.get("resume")
                .cloned()
                .unwrap_or_else(|| serde_json::json!([])),
        );
    }
}
