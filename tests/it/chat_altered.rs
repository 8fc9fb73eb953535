//! History that a client sends back other than it was shown.

use roscius_actors::{chat::ChatRun, wire::agui::Row};
use serde_json::{Value, json};

use super::chat_world::{Gate, Paused, approving, events, on_system, results, snapshot};

const RAN: &str = r#"{"ran":{"amount":1}}"#;

/// The rows of a pause with its call told several times: as a row of its own, twice in one row,
/// and under other arguments.
fn repeated(rows: &[Row]) -> Vec<Row> {
    let mut rows: Vec<Value> = rows.iter().map(|row| json!(row)).collect();
    let call = rows[1]["toolCalls"][0].clone();
    let mut other = rows[1].clone();
    other["id"] = json!("other");
    other["toolCalls"][0]["function"]["arguments"] = json!(r#"{"amount":1000}"#);
    rows[1]["toolCalls"] = json!([call, call]);
    rows.push(other);
    serde_json::from_value(Value::Array(rows)).unwrap()
}

#[test]
fn a_call_that_is_posted_several_times_runs_once() {
    on_system(async {
        for restarted in [false, true] {
            let gate = Gate::open();
            let mut chat = approving(&gate);
            let paused = Paused::of(&chat).await;
            if restarted {
                chat = approving(&gate);
            }
            let posted = paused.approve().messages(repeated(&paused.rows));
            let seen = events(&chat.run(posted).await.unwrap()).await;
            assert_eq!(results(&seen), [RAN], "restarted {restarted}");
            assert_eq!(gate.begun(), 1, "restarted {restarted}");
        }
    });
}

#[test]
fn a_call_that_is_posted_several_times_is_asked_for_once() {
    on_system(async {
        let gate = Gate::open();
        let chat = approving(&gate);
        let paused = Paused::of(&chat).await;
        let again = chat
            .run(ChatRun::new(repeated(&paused.rows)).thread("t"))
            .await
            .unwrap();
        let seen = events(&again).await;
        let end = seen.last().unwrap();
        assert_eq!(end["outcome"]["interrupts"].as_array().unwrap().len(), 1);
        let moved = Paused {
            rows: snapshot(&seen),
            run: again,
        };
        let seen = events(&chat.run(moved.approve()).await.unwrap()).await;
        assert_eq!(results(&seen), [RAN]);
        assert_eq!(gate.begun(), 1);
    });
}
