//! Pauses and their answers: once, twice, differently, late, forged, and after a restart.

mod history;

use roscius_actors::{
    chat::ChatRun,
    run::{Outcome, RunHandle},
    tool::{Tool, ToolCx, ToolError},
    wire::{
        agui::Row,
        ids::{Owner, RunId},
    },
};
use serde_json::{Value, json};

use crate::chat_world::{
    Gate, Paused, approving, builder, error_codes, events, is_completed, key, names, on_system,
    read_to, results, script, snapshot, until,
};

const RAN: &str = r#"{"ran":{"amount":1}}"#;

#[test]
fn a_pause_is_answered_by_a_child_run() {
    on_system(async {
        let gate = Gate::open();
        let chat = approving(&gate);
        let paused = Paused::of(&chat).await;
        assert_eq!(gate.begun(), 0);
        let child = chat
            .run(ChatRun::resume(paused.run.id()).answer("approval_c1", json!(true)))
            .await
            .unwrap();
        assert_eq!(child.parent(), Some(paused.run.id()));
        assert_eq!(child.thread().as_str(), "t");
        let seen = events(&child).await;
        assert_eq!(
            names(&seen),
            [
                "RUN_STARTED",
                "TOOL_CALL_RESULT",
                "TEXT_MESSAGE_START",
                "TEXT_MESSAGE_CONTENT",
                "TEXT_MESSAGE_END",
                "RUN_FINISHED",
            ]
        );
        assert_eq!(results(&seen), [RAN]);
        let Outcome::Completed(completed) = child.outcome().await else {
            panic!("{seen:?}");
        };
        assert_eq!(completed.text(), "Done.");
        assert_eq!(gate.done(), 1);
    });
}

#[test]
fn different_answers_at_once_run_the_tool_once_and_the_loser_is_told() {
    on_system(async {
        let gate = Gate::shut();
        let chat = approving(&gate);
        let paused = Paused::of(&chat).await;
        let first = chat.run(paused.approve()).await.unwrap();
        until("the tool has begun", || gate.begun() == 1).await;
        let deny = paused.answer("approval_c1", json!({"approved": false}));
        let second = chat.run(deny).await.unwrap();
        let refused = events(&second).await;
        assert_eq!(names(&refused), ["RUN_ERROR"]);
        assert_eq!(refused[0]["code"], "conflict");
        assert_eq!(error_codes(&refused), ["batch conflict"]);
        gate.let_pass(1);
        assert!(is_completed(&first.outcome().await));
        assert_eq!((gate.begun(), gate.done()), (1, 1));
        // And so it is after the first one has completed.
        let late = chat
            .run(paused.answer("approval_c1", json!({"approved": false})))
            .await
            .unwrap();
        assert_eq!(error_codes(&events(&late).await), ["batch conflict"]);
    });
}

#[test]
fn equal_answers_at_once_run_the_tool_once_and_both_complete() {
    on_system(async {
        let gate = Gate::shut();
        let chat = approving(&gate);
        let paused = Paused::of(&chat).await;
        let first = chat.run(paused.approve()).await.unwrap();
        until("the tool has begun", || gate.begun() == 1).await;
        let second = chat.run(paused.approve()).await.unwrap();
        gate.let_pass(5);
        assert!(is_completed(&first.outcome().await));
        let seen = events(&second).await;
        assert!(is_completed(&second.outcome().await), "{seen:?}");
        assert_eq!(results(&seen), [RAN]);
        assert_eq!(names(&seen).last(), Some(&"RUN_FINISHED"));
        let shown = snapshot(&seen);
        assert_eq!(shown.last().and_then(Row::content_text), Some("Done."));
        assert_eq!(gate.begun(), 1);
    });
}

/// Resumes, loses the connection when `cut` says so, and sends the same answers again.
async fn retried_after(gate: &Gate, cut: impl AsyncFn(&RunHandle)) -> Vec<Value> {
    let chat = approving(gate);
    let paused = Paused::of(&chat).await;
    let first = chat.run(paused.approve()).await.unwrap();
    cut(&first).await;
    first.detach();
    let second = chat.run(paused.approve()).await.unwrap();
    gate.let_pass(1);
    let seen = events(&second).await;
    assert!(is_completed(&second.outcome().await), "{seen:?}");
    assert!(first.is_over());
    seen
}

#[test]
fn a_retry_after_a_cut_runs_the_tool_once() {
    on_system(async {
        let gate = Gate::shut();
        let seen = retried_after(&gate, async |_| {}).await;
        assert_eq!(results(&seen), [RAN]);
        assert_eq!((gate.begun(), gate.done()), (1, 1));

        let gate = Gate::shut();
        let seen = retried_after(&gate, async |run| read_to(run, "RUN_STARTED").await).await;
        assert_eq!(results(&seen), [RAN]);
        assert_eq!((gate.begun(), gate.done()), (1, 1));

        let gate = Gate::open();
        let seen = retried_after(&gate, async |run| read_to(run, "TOOL_CALL_RESULT").await).await;
        assert_eq!(results(&seen), [RAN]);
        assert_eq!((gate.begun(), gate.done()), (1, 1));
    });
}

#[test]
fn a_reader_that_leaves_in_the_tool_phase_of_a_resumed_run_ends_it_after_that_phase() {
    on_system(async {
        let gate = Gate::shut();
        let chat = approving(&gate);
        let paused = Paused::of(&chat).await;
        let run = chat.run(paused.approve()).await.unwrap();
        until("the tool has begun", || gate.begun() == 1).await;
        run.detach();
        gate.let_pass(1);
        assert!(matches!(run.outcome().await, Outcome::Cancelled));
        assert_eq!(gate.done(), 1);
        let seen = events(&run).await;
        assert_eq!(results(&seen), [RAN]);
        assert_eq!(seen.last().unwrap()["code"], "aborted");
    });
}

#[test]
fn a_call_that_began_and_did_not_finish_is_not_repeated_unless_that_does_no_harm() {
    on_system(async {
        for (repeatable, begun) in [(false, 1), (true, 2)] {
            let gate = Gate::shut();
            let mut tool = gate.tool("transfer").needs_approval(true);
            if repeatable {
                tool = tool.idempotent();
            }
            let chat = builder(&script("transfer")).tool(tool).build().unwrap();
            let paused = Paused::of(&chat).await;
            let first = chat.run(paused.approve()).await.unwrap();
            until("the tool has begun", || gate.begun() == 1).await;
            // The tool does not look at its token; the run waits for it in time that stands still
            // until everybody waits.
            tokio::time::pause();
            first.cancel();
            assert!(matches!(first.outcome().await, Outcome::Cancelled));
            tokio::time::resume();
            gate.let_pass(2);
            let second = chat.run(paused.approve()).await.unwrap();
            let seen = events(&second).await;
            assert!(is_completed(&second.outcome().await), "{seen:?}");
            assert_eq!(gate.begun(), begun);
            let told = results(&seen).concat();
            assert_eq!(told.contains("may have run"), !repeatable, "{told}");
        }
    });
}

#[test]
fn another_answer_counts_after_an_attempt_that_did_not_complete() {
    on_system(async {
        // The first attempt fails in the model, after nothing has run.
        let gate = Gate::open();
        let fails = json!({"turns": [
            {"toolCalls": [{"id": "c1", "name": "transfer", "arguments": {"amount": 1}}]},
            {"throws": {"message": "socket hang up"}},
        ]});
        let tool = gate.tool("transfer").needs_approval(true);
        let chat = builder(&fails).tool(tool).build().unwrap();
        let paused = Paused::of(&chat).await;
        let first = chat
            .run(paused.answer("approval_c1", json!({"approved": false})))
            .await
            .unwrap();
        assert!(matches!(first.outcome().await, Outcome::Failed(_)));
        // The refusal stands: its call has a result and never runs.
        let second = chat.run(paused.approve()).await.unwrap();
        let seen = events(&second).await;
        assert_eq!(error_codes(&seen), Vec::<String>::new(), "{seen:?}");
        assert!(results(&seen)[0].contains("declined"));
        assert_eq!(gate.begun(), 0);
    });
}

#[test]
fn an_invalid_answer_consumes_nothing() {
    on_system(async {
        let gate = Gate::open();
        let chat = builder(&script("ask_city"))
            .tool(gate.asking("ask_city"))
            .build()
            .unwrap();
        let paused = Paused::of(&chat).await;
        let wrong = paused.answer("mcp_input_c1", json!({"value": 7}));
        let refused = events(&chat.run(wrong).await.unwrap()).await;
        assert_eq!(
            error_codes(&refused),
            ["item invalid-payload", "batch item-validation-failed"]
        );
        let errors = &refused[0]["metadata"]["tanstack"]["interruptErrors"];
        assert_eq!(errors[0]["path"], json!(["value"]));
        let right = paused.answer("mcp_input_c1", json!({"value": "Oslo"}));
        let seen = events(&chat.run(right).await.unwrap()).await;
        assert_eq!(results(&seen), [r#"{"city":"Oslo"}"#]);
        assert_eq!(gate.done(), 1);
    });
}

#[test]
fn a_pause_outlives_a_restart_with_the_same_key_and_runs_once_there_too() {
    on_system(async {
        let before = approving(&Gate::open());
        let paused = Paused::of(&before).await;
        let gate = Gate::shut();
        let after = approving(&gate);
        let first = after.run(paused.approve()).await.unwrap();
        until("the tool has begun", || gate.begun() == 1).await;
        let deny = paused.answer("approval_c1", json!({"approved": false}));
        let differs = events(&after.run(deny).await.unwrap()).await;
        assert_eq!(error_codes(&differs), ["batch conflict"]);
        let second = after.run(paused.approve()).await.unwrap();
        gate.let_pass(5);
        for run in [first, second] {
            let seen = events(&run).await;
            assert!(is_completed(&run.outcome().await), "{seen:?}");
            assert_eq!(results(&seen), [RAN]);
        }
        assert_eq!(gate.begun(), 1);
    });
}

#[test]
fn a_plain_request_over_a_pause_asks_again_and_moves_it() {
    on_system(async {
        let gate = Gate::open();
        let chat = approving(&gate);
        let paused = Paused::of(&chat).await;
        let again = chat
            .run(ChatRun::new(paused.rows.clone()).thread("t"))
            .await
            .unwrap();
        let seen = events(&again).await;
        assert_eq!(
            names(&seen),
            ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
        );
        // The old pause is answered no more, the new one is.
        let old = events(&chat.run(paused.approve()).await.unwrap()).await;
        assert_eq!(error_codes(&old), ["batch conflict"]);
        let moved = Paused {
            rows: snapshot(&seen),
            run: again,
        };
        let run = chat.run(moved.approve()).await.unwrap();
        assert!(is_completed(&run.outcome().await));
        assert_eq!(gate.begun(), 1);
    });
}

#[test]
fn a_run_id_is_used_once() {
    on_system(async {
        let gate = Gate::open();
        let chat = approving(&gate);
        let first = chat
            .run(ChatRun::new("go").run_id("run-1").thread("t"))
            .await
            .unwrap();
        let seen = events(&first).await;
        for _ in 0..2 {
            let again = chat
                .run(ChatRun::new("other").run_id("run-1").thread("t"))
                .await
                .unwrap();
            let refused = events(&again).await;
            assert_eq!(names(&refused), ["RUN_ERROR"]);
            assert_eq!(refused[0]["code"], "conflict");
        }
        assert_eq!(events(&first).await, seen);
        let foreign = ChatRun::new("go").run_id("run-1").owner(Owner::new("eve"));
        let run = chat.run(foreign).await.unwrap();
        assert!(matches!(run.outcome().await, Outcome::Interrupted(_)));
    });
}

#[test]
fn several_keyed_questions_are_answered_together_and_further_rounds_pause_again() {
    on_system(async {
        let tool = Tool::raw(
            "plan",
            json!({"type": "object"}),
            |_: Value, cx: ToolCx| async move {
                let text = || json!({"type": "object", "properties": {"it": {"type": "string"}}, "required": ["it"]});
                let city = cx.request_form("city", "Which city?", text()).await;
                let day = cx.request_form("day", "Which day?", text()).await;
                let (city, day) = (city?, day?);
                let hour = cx.request_form("hour", "Which hour?", text()).await?;
                Ok::<_, ToolError>(json!([city["it"], day["it"], hour["it"]]))
            },
        );
        let chat = builder(&script("plan")).tool(tool).build().unwrap();
        let paused = Paused::of(&chat).await;
        let one = paused.answer("mcp_input_c1", json!({"it": "Oslo"}));
        let refused = events(&chat.run(one).await.unwrap()).await;
        assert_eq!(error_codes(&refused)[0], "item unknown-interrupt");
        let both = paused
            .answer("mcp_input_c1", json!({"it": "Oslo"}))
            .answer("mcp_input_c1:2", json!({"it": "Monday"}));
        let second = chat.run(both).await.unwrap();
        let seen = events(&second).await;
        let Outcome::Interrupted(asked) = second.outcome().await else {
            panic!("{seen:?}");
        };
        assert_eq!(asked.interrupts.len(), 1);
        let hour = ChatRun::resume(second.id()).answer("mcp_input_c1", json!({"it": "noon"}));
        let seen = events(&chat.run(hour).await.unwrap()).await;
        assert_eq!(results(&seen), [r#"["Oslo","Monday","noon"]"#]);
    });
}

#[test]
fn a_retry_of_answers_that_led_to_another_pause_is_asked_that_again() {
    on_system(async {
        let tool = Tool::raw(
            "plan",
            json!({"type": "object"}),
            |_: Value, cx: ToolCx| async move {
                let schema = || json!({"type": "object"});
                let city = cx.request_form("city", "Which city?", schema()).await?;
                let day = cx.request_form("day", "Which day?", schema()).await?;
                Ok::<_, ToolError>(json!([city, day]))
            },
        );
        let chat = builder(&script("plan")).tool(tool).build().unwrap();
        let paused = Paused::of(&chat).await;
        let city = || paused.answer("mcp_input_c1", json!({"a": 1}));
        let first = chat.run(city()).await.unwrap();
        assert!(matches!(first.outcome().await, Outcome::Interrupted(_)));
        let second = chat.run(city()).await.unwrap();
        let Outcome::Interrupted(asked) = second.outcome().await else {
            panic!("{:?}", events(&second).await);
        };
        let shown = &asked.interrupts[0].metadata.as_ref().unwrap()["tanstack:interruptPayload"];
        assert_eq!(shown["request"]["message"], "Which day?");
        let day = |run: &RunId| ChatRun::resume(run).answer("mcp_input_c1", json!({"b": 2}));
        let lost = events(&chat.run(day(first.id())).await.unwrap()).await;
        assert_eq!(error_codes(&lost), ["batch conflict"]);
        let seen = events(&chat.run(day(second.id())).await.unwrap()).await;
        assert_eq!(results(&seen), [r#"[{"a":1},{"b":2}]"#]);
    });
}
