#![allow(
    clippy::unwrap_used,
    reason = "a failed expectation is the test failing"
)]

use serde_json::json;

use super::*;
use crate::machine::{
    interrupt::{InputKind, PendingQuestion, Wait},
    toolset::ToolSpec,
};

fn questions(count: usize) -> ToolEnd {
    let question = |nth: usize| PendingQuestion {
        key: Some(format!("k{nth}")),
        kind: InputKind::Form,
        request: json!({"message": "Which?", "mode": "form"}),
        reason: None,
    };
    ToolEnd::NeedsInput {
        questions: (0..count).map(question).collect(),
        request_state: None,
    }
}

fn phase(calls: usize, tools: &Toolset) -> Phase {
    let call = |nth: usize| {
        let pending = PendingCall {
            id: format!("c{nth}").into(),
            name: "ask".to_owned(),
            arguments: "{}".to_owned(),
            wait: Wait::Turn,
            progress: Progress::Waiting,
        };
        PhaseCall::new(pending, None, None, tools)
    };
    Phase::new((0..calls).map(call).collect())
}

/// Lets each call end with so many questions; gives how many calls wait, and for how many answers.
fn asked(each: usize, calls: usize) -> (usize, usize) {
    let tools = Toolset::new([ToolSpec::server("ask", None)]).unwrap();
    let mut phase = phase(calls, &tools);
    for _ in 0..calls {
        assert!(phase.next().is_some());
        assert!(phase.end(questions(each), &tools, 10).is_none());
    }
    let open = phase.calls.iter().map(PhaseCall::open_questions).sum();
    (phase.pending().len(), open)
}

#[test]
fn the_calls_of_a_turn_ask_no_more_than_can_be_answered_together() {
    assert_eq!(asked(32, 8), (8, MAX_ANSWERS));
    assert_eq!(asked(32, 9), (8, MAX_ANSWERS));
    assert_eq!(asked(30, 9), (8, 240));
    assert_eq!(asked(33, 1), (0, 0));
}

#[test]
fn a_call_whose_questions_are_too_many_fails_with_the_reason() {
    let tools = Toolset::new([ToolSpec::server("ask", None)]).unwrap();
    let mut phase = phase(9, &tools);
    for _ in 0..9 {
        phase.next().unwrap();
        phase.end(questions(32), &tools, 10);
    }
    let result = phase.calls.last().and_then(|call| call.result.as_ref());
    let text = format!("{:?}", result.unwrap());
    assert!(text.contains("more than 256 questions"), "{text}");
}
