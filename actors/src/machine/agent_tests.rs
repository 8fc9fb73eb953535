#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is the test failing"
)]
use std::collections::HashMap;

use serde_json::json;

use super::*;
use crate::machine::{
    interrupt::{Answer, AnsweredQuestion, InputKind, InputWait, PendingQuestion},
    resume::Decisions,
    toolset::ToolSpec,
};

fn tools() -> Toolset {
    let approved = ToolSpec {
        needs_approval: true,
        ..ToolSpec::server("transfer", None)
    };
    let reads = ToolSpec {
        repeatable: true,
        ..ToolSpec::server("read", None)
    };
    Toolset::new([
        ToolSpec::server("weather", None),
        ToolSpec::client("color", None),
        approved,
        reads,
    ])
    .unwrap()
}

fn setup(rows: Value, open: OpenCalls) -> Setup {
    Setup {
        thread: "t".into(),
        run: "r".into(),
        parent: None,
        model: "m".to_owned(),
        rows: serde_json::from_value(rows).unwrap(),
        tools: tools(),
        open,
        decisions: Decisions::new(),
        posted: HashMap::new(),
        earlier: None,
        state: None,
        max_iterations: 5,
        max_input_rounds: 10,
    }
}

fn user() -> Value {
    json!([{"id": "u", "role": "user", "content": "go"}])
}

fn history(calls: &[(&str, &str)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(id, name)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}))
        .collect();
    json!([
        {"id": "u", "role": "user", "content": "go"},
        {"id": "a", "role": "assistant", "toolCalls": calls},
    ])
}

fn pending(id: &str, name: &str, wait: Wait) -> PendingCall {
    PendingCall {
        id: id.into(),
        name: name.to_owned(),
        arguments: "{}".to_owned(),
        wait,
        progress: Progress::Waiting,
    }
}

fn question(key: &str) -> PendingQuestion {
    PendingQuestion {
        key: Some(key.to_owned()),
        kind: InputKind::Form,
        request: json!({"message": "Which?", "mode": "form"}),
        reason: None,
    }
}

fn call(id: &str, name: &str) -> Vec<ModelEvent> {
    vec![
        ModelEvent::ToolCallStart {
            id: id.to_owned(),
            name: name.to_owned(),
            index: 0,
            metadata: None,
        },
        ModelEvent::ToolCallArgs {
            id: id.to_owned(),
            delta: "{}".to_owned(),
        },
        ModelEvent::ToolCallEnd {
            id: id.to_owned(),
            input: None,
        },
    ]
}

fn finished(reason: FinishReason) -> ModelEvent {
    ModelEvent::Finished {
        reason,
        usage: None,
    }
}

fn play(agent: &mut Agent, turn: Vec<Vec<ModelEvent>>, out: &mut Events) -> Step {
    let mut step = Step::Listen;
    for event in turn.into_iter().flatten() {
        step = agent.model_said(event, out);
    }
    step
}

fn names(out: &mut Events) -> Vec<&'static str> {
    out.drain().map(|event| event.kind.name()).collect()
}

fn results(out: &mut Events) -> Vec<(String, String)> {
    out.drain()
        .filter_map(|event| match event.kind {
            EventKind::ToolCallResult {
                tool_call_id,
                content,
                ..
            } => Some((tool_call_id.to_string(), content)),
            _ => None,
        })
        .collect()
}

fn started(step: Step) -> ToolStart {
    match step {
        Step::RunTool(start) => start,
        other => panic!("{other:?}"),
    }
}

fn paused(step: Step) -> Vec<(String, Wait)> {
    match step {
        Step::Pause { pending, .. } => pending
            .into_iter()
            .map(|call| (call.id.to_string(), call.wait))
            .collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_end_of_a_turn_is_held_back_until_its_tools_have_finished() {
    let mut agent = Agent::new(setup(user(), OpenCalls::Trusted));
    let mut out = Events::at(1);
    assert!(matches!(agent.begin(&mut out), Step::CallModel { .. }));
    let turn = vec![
        call("c1", "weather"),
        call("c2", "weather"),
        vec![finished(FinishReason::ToolCalls)],
    ];
    let step = play(&mut agent, turn, &mut out);
    assert_eq!(started(step).id.as_str(), "c1");
    agent.tool_said("p".to_owned(), json!({"n": 1}), &mut out);
    let step = agent.tool_ended(ToolEnd::Done(json!(1)), &mut out);
    assert_eq!(started(step).id.as_str(), "c2");
    let step = agent.tool_ended(ToolEnd::Failed("no".to_owned()), &mut out);
    assert!(matches!(step, Step::CallModel { .. }));
    assert_eq!(
        names(&mut out),
        [
            "RUN_STARTED",
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "CUSTOM",
            "RUN_FINISHED",
            "TOOL_CALL_RESULT",
            "TOOL_CALL_RESULT",
        ]
    );
}

#[test]
fn call_ids_that_cannot_serve_are_replaced_before_the_first_event() {
    let mut agent = Agent::new(setup(history(&[]), OpenCalls::Trusted));
    let mut out = Events::at(1);
    agent.begin(&mut out);
    let turn = vec![
        call("", "weather"),
        call("c", "weather"),
        call("c", "weather"),
        call(&"x".repeat(256), "weather"),
        call(&"y".repeat(257), "weather"),
        vec![finished(FinishReason::ToolCalls)],
    ];
    play(&mut agent, turn, &mut out);
    let ids: HashSet<String> = out
        .drain()
        .filter_map(|event| match event.kind {
            EventKind::ToolCallStart { tool_call_id, .. } => Some(tool_call_id.to_string()),
            EventKind::ToolCallArgs { tool_call_id, .. }
            | EventKind::ToolCallEnd { tool_call_id } => {
                assert!(!tool_call_id.as_str().is_empty());
                None
            }
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), 5);
    assert!(ids.contains("c") && !ids.contains(""));
    assert!(ids.contains(&"x".repeat(256)));
    assert!(ids.iter().all(|id| id.len() <= 256), "{ids:?}");
}

#[test]
fn nothing_of_a_turn_runs_before_the_decision_on_one_of_its_calls() {
    let rows = history(&[
        ("c1", "weather"),
        ("c2", "transfer"),
        ("c3", "color"),
        ("c4", "nope"),
    ]);
    let mut agent = Agent::new(setup(rows, OpenCalls::Trusted));
    let mut out = Events::at(1);
    let waits = paused(agent.begin(&mut out));
    assert_eq!(
        waits,
        [
            ("c1".to_owned(), Wait::Turn),
            ("c2".to_owned(), Wait::Approval),
            ("c3".to_owned(), Wait::Client),
        ]
    );
    assert_eq!(
        results(&mut out),
        [(
            "c4".to_owned(),
            r#"{"error":"Unknown tool: nope"}"#.to_owned()
        )]
    );
    let asked: Vec<String> = agent
        .announce(Some("SEAL"), &mut out)
        .into_iter()
        .map(|interrupt| interrupt.id.to_string())
        .collect();
    assert_eq!(asked, ["approval_c2", "client_tool_c3"]);
    let events: Vec<Event> = out.drain().collect();
    let EventKind::MessagesSnapshot { messages } = &events[0].kind else {
        panic!("{events:?}");
    };
    assert_eq!(messages[1].meta("roscius", "seal"), Some(&json!("SEAL")));
    assert_eq!(messages[2].id(), Some("snapshot_r_2"));
    assert_eq!(messages[2].error(), Some("Unknown tool: nope"));
}

#[test]
fn tools_of_the_server_run_before_the_browser_is_asked() {
    let rows = history(&[("c1", "color"), ("c2", "weather")]);
    let mut agent = Agent::new(setup(rows, OpenCalls::Trusted));
    let mut out = Events::at(1);
    assert_eq!(started(agent.begin(&mut out)).id.as_str(), "c2");
    let step = agent.tool_ended(ToolEnd::Done(json!("ok")), &mut out);
    assert_eq!(paused(step), [("c1".to_owned(), Wait::Client)]);
    assert_eq!(results(&mut out), [("c2".to_owned(), "ok".to_owned())]);
}

#[test]
fn decisions_lead_to_runs_and_results() {
    let rows = history(&[("c1", "transfer"), ("c2", "transfer"), ("c3", "transfer")]);
    let known = ["c1", "c2", "c3"]
        .map(|id| pending(id, "transfer", Wait::Approval))
        .to_vec();
    let mut setup = setup(rows, OpenCalls::Known(known));
    setup.decisions.extend([
        ("c1".into(), Decision::Declined(None)),
        ("c2".into(), Decision::Approved(Some(json!({"a": 1})))),
        ("c3".into(), Decision::Cancelled),
    ]);
    let mut agent = Agent::new(setup);
    let mut out = Events::at(1);
    let start = started(agent.begin(&mut out));
    assert_eq!(
        (start.id.as_str(), start.arguments),
        ("c2", json!({"a": 1}))
    );
    let step = agent.tool_ended(ToolEnd::Done(json!(2)), &mut out);
    assert!(matches!(step, Step::CallModel { .. }));
    let told: Vec<String> = results(&mut out)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(
        told,
        [
            r#"{"error":"User declined tool execution"}"#,
            "2",
            r#"{"error":"Tool execution cancelled"}"#
        ]
    );
}

#[test]
fn a_call_that_nothing_vouches_for_does_not_run() {
    let rows = history(&[("c1", "weather"), ("c2", "weather")]);
    let known = vec![pending("c2", "weather", Wait::Turn)];
    let mut agent = Agent::new(setup(rows, OpenCalls::Known(known)));
    let mut out = Events::at(1);
    assert_eq!(started(agent.begin(&mut out)).id.as_str(), "c2");
    agent.tool_ended(ToolEnd::Done(json!(2)), &mut out);
    assert_eq!(
        results(&mut out)[0].1,
        r#"{"error":"Tool execution cancelled"}"#
    );
}

#[test]
fn answers_reach_the_call_and_further_rounds_pause_again() {
    let wait = Wait::Input(InputWait {
        questions: vec![question("city"), question("day")],
        request_state: Some("S".to_owned()),
        round: 1,
        answered: Vec::new(),
    });
    let known = vec![pending("c1", "weather", wait)];
    let mut setup = setup(history(&[("c1", "weather")]), OpenCalls::Known(known));
    setup.max_input_rounds = 2;
    let answers = vec![
        Answer::Resolved(json!({"value": "Oslo"})),
        Answer::Cancelled,
    ];
    setup
        .decisions
        .insert("c1".into(), Decision::Answers(answers));
    let mut agent = Agent::new(setup);
    let mut out = Events::at(1);
    let given = started(agent.begin(&mut out)).answers.unwrap();
    assert_eq!(given.request_state.as_deref(), Some("S"));
    assert_eq!(
        given.round[1],
        AnsweredQuestion {
            question: Some(question("day")),
            answer: Answer::Cancelled
        }
    );
    let again = ToolEnd::NeedsInput {
        questions: vec![question("hour")],
        request_state: None,
    };
    let waits = paused(agent.tool_ended(again, &mut out));
    let Wait::Input(input) = &waits[0].1 else {
        panic!("{waits:?}");
    };
    assert_eq!((input.round, input.answered.len()), (2, 2));
}

#[test]
fn an_answer_known_from_the_history_alone_is_given_when_the_tool_asks() {
    let mut setup = setup(history(&[("c1", "weather")]), OpenCalls::Trusted);
    setup.decisions.insert(
        "c1".into(),
        Decision::Answers(vec![Answer::Resolved(json!({"value": "Oslo"}))]),
    );
    let mut agent = Agent::new(setup);
    let mut out = Events::at(1);
    assert!(started(agent.begin(&mut out)).answers.is_some());
    let asks = || ToolEnd::NeedsInput {
        questions: vec![question("city")],
        request_state: Some("S".to_owned()),
    };
    let again = started(agent.tool_ended(asks(), &mut out));
    assert_eq!(again.answers.unwrap().request_state.as_deref(), Some("S"));
    assert_eq!(paused(agent.tool_ended(asks(), &mut out)).len(), 1);
}

#[test]
fn more_questions_than_can_be_answered_are_no_pause() {
    for (count, pauses) in [(32, true), (33, false)] {
        let mut agent = Agent::new(setup(history(&[("c1", "weather")]), OpenCalls::Trusted));
        let mut out = Events::at(1);
        started(agent.begin(&mut out));
        let asks = ToolEnd::NeedsInput {
            questions: vec![question("city"); count],
            request_state: None,
        };
        let step = agent.tool_ended(asks, &mut out);
        assert_eq!(matches!(step, Step::Pause { .. }), pauses, "{count}");
    }
}

#[test]
fn a_retry_repeats_only_what_may_be_repeated() {
    let began = |id, name| PendingCall {
        progress: Progress::Started,
        ..pending(id, name, Wait::Turn)
    };
    let known = vec![began("c1", "weather"), began("c2", "read")];
    let rows = history(&[("c1", "weather"), ("c2", "read")]);
    let mut agent = Agent::new(setup(rows, OpenCalls::Known(known)));
    let mut out = Events::at(1);
    assert_eq!(started(agent.begin(&mut out)).id.as_str(), "c2");
    agent.tool_ended(ToolEnd::Done(json!(2)), &mut out);
    let told = results(&mut out);
    assert!(told[0].1.contains("may have run"), "{told:?}");
    assert_eq!(told[1].1, "2");
}

#[test]
fn the_last_turn_ends_with_length() {
    let mut setup = setup(user(), OpenCalls::Trusted);
    setup.max_iterations = 1;
    let mut agent = Agent::new(setup);
    let mut out = Events::at(1);
    agent.begin(&mut out);
    let turn = vec![
        call("c", "weather"),
        vec![finished(FinishReason::ToolCalls)],
    ];
    started(play(&mut agent, turn, &mut out));
    let step = agent.tool_ended(ToolEnd::Done(json!(1)), &mut out);
    assert!(matches!(step, Step::Completed(FinishReason::Length)));
    let last = out.drain().last().unwrap();
    assert_eq!(last.extra("finishReason"), Some(&json!("length")));
}

#[test]
fn a_stream_that_is_cut_is_closed_and_a_broken_one_is_an_error() {
    let mut agent = Agent::new(setup(user(), OpenCalls::Trusted));
    let mut out = Events::at(1);
    agent.begin(&mut out);
    agent.model_said(ModelEvent::TextDelta("a".to_owned()), &mut out);
    assert!(matches!(
        agent.model_ended(&mut out),
        Step::Completed(FinishReason::Stop)
    ));
    assert_eq!(names(&mut out).last(), Some(&"RUN_FINISHED"));
    let mut agent = Agent::new(setup_of_user());
    agent.begin(&mut out);
    agent.model_said(ModelEvent::TextDelta("a".to_owned()), &mut out);
    agent.model_broke(ModelError::aborted(), &mut out);
    let last = out.drain().last().unwrap();
    assert_eq!(
        last.kind,
        EventKind::RunError {
            message: "Request aborted".to_owned(),
            code: Some("aborted".to_owned()),
            usage: None
        }
    );
}

fn setup_of_user() -> Setup {
    setup(user(), OpenCalls::Trusted)
}

#[test]
fn results_that_the_client_posted_are_not_told_again() {
    let known = vec![
        pending("c1", "color", Wait::Client),
        pending("c2", "transfer", Wait::Approval),
    ];
    let rows = history(&[("c1", "color"), ("c2", "transfer")]);
    let mut setup = setup(rows, OpenCalls::Known(known));
    setup.decisions.extend([
        ("c1".into(), Decision::Output(json!("red"))),
        ("c2".into(), Decision::Declined(None)),
    ]);
    let denied = r#"{"approved":false,"message":"User denied this action"}"#;
    setup.posted.extend([
        ("c1".into(), "\"red\"".to_owned()),
        ("c2".into(), denied.to_owned()),
    ]);
    let mut agent = Agent::new(setup);
    let mut out = Events::at(1);
    assert!(matches!(agent.begin(&mut out), Step::CallModel { .. }));
    assert_eq!(names(&mut out), ["RUN_STARTED"]);
    assert_eq!(agent.rows()[2].content_text(), Some("red"));
    assert_eq!(agent.rows()[3].content_text(), Some(denied));
}
