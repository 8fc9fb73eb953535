//! Every covered recording, played in this process through the public API and compared with what
//! was recorded, by section 4 of `tests/fixtures/agui/README.md`.

mod compare;
mod tables;

use std::{collections::HashSet, fs, path::PathBuf};

use futures_util::StreamExt;
use roscius_actors::{
    chat::{Chat, ChatRun},
    machine::run_input::{RunInputLimits, parse_run_input},
    ports::event_log::After,
    run::{Outcome, RunHandle},
};
use serde_json::{Value, json};

use self::{
    compare::{Differences, compare, known_texts},
    tables::{NOT_COVERED, differences},
};
use crate::scenario::Scenario;

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agui")
}

fn read(name: &str) -> Value {
    let path = fixtures().join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_str(&text).unwrap()
}

fn recorded_events(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(fixtures().join(name)).unwrap();
    text.split("\n\n")
        .filter_map(|frame| frame.strip_prefix("data: "))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Runs futures on a thread that actors can live on.
fn on_system<T>(work: impl Future<Output = T>) -> T {
    actix::System::new().block_on(work)
}

/// Posts a body as the endpoint would.
async fn post(chat: &Chat, body: &Value) -> RunHandle {
    let input = parse_run_input(body.to_string().as_bytes(), &RunInputLimits::default()).unwrap();
    chat.run(ChatRun::from_input(input)).await.unwrap()
}

/// When and how the run is cut short.
#[derive(Clone, Copy)]
enum Abort {
    Never,
    ByServer { after: u64 },
    ByClient { after: u64 },
}

/// Reads a run to its end.
async fn collect(run: &RunHandle, abort: Abort) -> Vec<Value> {
    let mut events = run.subscribe(After::Start);
    let mut seen = Vec::new();
    while let Some((_, event)) = events.next().await {
        seen.push(event.value());
        let count = seen.len() as u64;
        match abort {
            Abort::ByServer { after } if after == count => run.cancel(),
            Abort::ByClient { after } if after == count => {
                run.detach();
                break;
            }
            _ => {}
        }
    }
    seen
}

fn abort_of(scenario: &Scenario, number: usize) -> Abort {
    let of = |name: &str| {
        let abort = scenario.server.get(name)?;
        (abort["request"] == number).then(|| abort["afterEvents"].as_u64().unwrap())
    };
    match (of("serverAbort"), of("clientAbort")) {
        (Some(after), _) => Abort::ByServer { after },
        (None, Some(after)) => Abort::ByClient { after },
        (None, None) => Abort::Never,
    }
}

/// What the model was told, in the parts that a recording and we have in common.
fn told(messages: &Value) -> Value {
    let of = |message: &Value| {
        let calls: Vec<Value> = message["toolCalls"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|call| {
                json!([
                    call["id"],
                    call["function"]["name"],
                    call["function"]["arguments"]
                ])
            })
            .collect();
        let thinking = message.get("thinking").cloned().unwrap_or(json!([]));
        json!({
            "role": message["role"], "content": message["content"], "calls": calls,
            "toolCallId": message["toolCallId"], "thinking": thinking,
        })
    };
    messages.as_array().unwrap().iter().map(of).collect()
}

/// The same of a request to our model port.
fn asked(scenario: &Scenario) -> Vec<Value> {
    use roscius_actors::ports::model::{ModelContent, ModelRole};
    let happened = scenario.log.get();
    happened
        .asked
        .iter()
        .map(|request| {
            let messages = request.messages.iter().map(|message| {
                let role = match message.role {
                    ModelRole::System => "system",
                    ModelRole::User => "user",
                    ModelRole::Assistant => "assistant",
                    ModelRole::Tool => "tool",
                };
                let content = match &message.content {
                    ModelContent::None => Value::Null,
                    ModelContent::Text(text) => json!(text),
                    ModelContent::Parts(parts) => json!(parts),
                };
                let calls: Vec<Value> = message
                    .tool_calls
                    .iter()
                    .map(|call| json!([call.id, call.name, call.arguments]))
                    .collect();
                json!({
                    "role": role, "content": content, "calls": calls,
                    "toolCallId": message.tool_call_id, "thinking": message.thinking,
                })
            });
            messages.collect()
        })
        .collect()
}

async fn play(name: &str, problems: &mut Vec<String>) {
    let scenario = Scenario::read(fixtures().join(format!("{name}.server.json")));
    let recorded_calls = read(&format!("{name}.adapter-calls.json"));
    let mut recorded_calls = recorded_calls.as_array().unwrap().iter();
    for entry in scenario.server["requests"].as_array().unwrap() {
        let number = usize::try_from(entry["n"].as_u64().unwrap()).unwrap();
        let at = format!("{name}.{number}");
        let body = read(&format!("{at}.request.json"));
        let recorded = recorded_events(&format!("{at}.response.sse"));
        let expect = &entry["expect"];
        let model_calls = usize::try_from(expect["modelCalls"].as_u64().unwrap()).unwrap();

        // Each request alone, on a host that remembers nothing.
        scenario.log.clear();
        let first = entry["firstTurn"].as_u64().unwrap_or_default();
        scenario.model.set_next(usize::try_from(first).unwrap());
        let names = scenario.tool_names(number);
        let chat = scenario.chat(names.as_deref());
        let chat = chat.trust_history(true).build().unwrap();
        let run = post(&chat, &body).await;
        let abort = abort_of(&scenario, number);
        let seen = collect(&run, abort).await;
        let outcome = run.outcome().await;
        if matches!(abort, Abort::ByClient { .. }) {
            assert!(matches!(outcome, Outcome::Cancelled), "{at}: {outcome:?}");
        }

        let known = known_texts([&body, &scenario.server]);
        let excused = differences(name);
        problems.extend(
            compare(&recorded, &seen, &known, &excused)
                .into_iter()
                .map(|problem| format!("{at}: {problem}")),
        );
        let mut check = |what: &str, expected: &Value, actual: &Value| {
            if expected != actual {
                problems.push(format!("{at}: {what}: expected {expected}, got {actual}"));
            }
        };
        let asked = asked(&scenario);
        check("model calls", &json!(model_calls), &json!(asked.len()));
        let expected_calls = recorded_calls.by_ref().take(model_calls);
        for (call, asked) in expected_calls.zip(&asked) {
            let told = told(&call["messages"]);
            // Their words are not ours; the events have been compared.
            let foreign = ["Invalid input", "resource_link"];
            let told_text = told.to_string();
            if !foreign.iter().any(|words| told_text.contains(words)) {
                check("told the model", &told, asked);
            }
        }
        let happened = scenario.log.get();
        check("problems", &json!([]), &json!(happened.problems));
        check("tool runs", &expect["toolRuns"], &json!(happened.tool_runs));
        if let Some(closed) = expect.get("mcpClosed")
            && !excused.contains(&Differences::ClosesOnClash)
        {
            check("closed sources", closed, &json!(happened.closed));
        }
    }
}

#[test]
fn every_covered_recording_plays_as_it_was_recorded() {
    let mut names: Vec<String> = fs::read_dir(fixtures())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".server.json").map(str::to_owned))
        .collect();
    names.sort();
    assert!(names.len() >= 48, "only {} scenarios", names.len());
    let left_out: HashSet<&str> = NOT_COVERED.iter().map(|(name, _)| *name).collect();
    for name in &left_out {
        assert!(names.iter().any(|known| known == name), "{name} is gone");
    }
    let mut problems = Vec::new();
    let mut played = 0;
    on_system(async {
        for name in names
            .iter()
            .filter(|name| !left_out.contains(name.as_str()))
        {
            play(name, &mut problems).await;
            played += 1;
        }
    });
    assert_eq!(played + left_out.len(), names.len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_covered_row_of_bad_resume_is_answered_as_recorded() {
    let table = read("bad-resume.table.json");
    let cases = table["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 33);
    let mut problems = Vec::new();
    let mut played = 0;
    on_system(async {
        for case in cases {
            let name = case["case"].as_str().unwrap();
            if tables::needs_definitions(name) {
                continue;
            }
            played += 1;
            let scenario = Scenario::new(table["server"].clone());
            let chat = scenario.chat(None).trust_history(true).build().unwrap();
            let run = post(&chat, &case["request"]).await;
            let seen = collect(&run, Abort::Never).await;
            let recorded = case["events"].as_array().unwrap();
            let known = known_texts([&case["request"], &table["server"]]);
            let excused = differences("bad-resume");
            problems.extend(
                compare(recorded, &seen, &known, &excused)
                    .into_iter()
                    .map(|problem| format!("{name}: {problem}")),
            );
            let happened = scenario.log.get();
            let runs = json!(happened.tool_runs);
            if runs != case["toolRuns"] {
                problems.push(format!("{name}: ran {runs}"));
            }
            if case["modelCalls"] != happened.asked.len() {
                problems.push(format!("{name}: asked the model {}", happened.asked.len()));
            }
        }
    });
    assert_eq!(played, 25);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
