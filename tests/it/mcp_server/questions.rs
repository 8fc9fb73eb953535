//! Tools that ask: rounds, sealed state, capabilities.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse};
use roscius::{prelude::*, tool::QuestionKind, web::McpRoutes, wire::auth::AuthInfo};
use serde_json::{Value, json};

use super::host::{Ask, Reply, Served};

fn builder() -> roscius::server::McpServerBuilder {
    let name = || json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    McpServer::new("questions", "1.0.0")
        .sample_from_client(true)
        .tool(Tool::new("ask_city", |cx: ToolCx| async move {
            let city = cx.request_input("Which city?").await?;
            Ok::<_, ToolError>(format!("You chose {city}."))
        }))
        .tool(Tool::new("two_rounds", move |cx: ToolCx| async move {
            let first = cx.request_form("step1", "Name?", name()).await?;
            let second = cx.request_form("step2", "Colour?", name()).await?;
            Ok::<_, ToolError>(format!("{}-{}", first["name"], second["name"]))
        }))
        .tool(Tool::new("many", move |cx: ToolCx| async move {
            let form = cx.request_form("who", "Name?", json!({"type": "object"}));
            let (form, text) =
                futures_util::join!(form, cx.sample(SampleRequest::new("Sum").key("sum")));
            Ok::<_, ToolError>(format!("{} {}", form?, text?))
        }))
        .tool(Tool::new("two_unkeyed", |cx: ToolCx| async move {
            let one = cx.request_input("One?").await?;
            let two = cx.request_input("Two?").await?;
            Ok::<_, ToolError>(one + &two)
        }))
        .tool(Tool::new("endless", |cx: ToolCx| async move {
            for round in 0.. {
                cx.request_form(format!("k{round}"), "More?", json!({"type": "object"}))
                    .await?;
            }
            Ok::<_, ToolError>(())
        }))
        .tool(Tool::new("summarize", |cx: ToolCx| async move {
            Ok::<_, ToolError>(cx.sample("Summarize").await?)
        }))
        .tool(Tool::new("polite", |cx: ToolCx| async move {
            if cx.can_ask(QuestionKind::Form) {
                cx.request_input("Form?").await?;
            }
            Ok::<_, ToolError>(cx.sample("Summarize").await?)
        }))
        .tool(Tool::new("roots", |cx: ToolCx| async move {
            let roots = cx.ask(Question::roots()).await?;
            Ok::<_, ToolError>(roots["roots"].to_string())
        }))
}

fn server() -> McpServer {
    builder().build().unwrap()
}

pub(super) fn call(name: &str, more: Value) -> Ask {
    let mut params = json!({"name": name, "arguments": {}});
    params
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    Ask::modern("tools/call", params)
}

pub(super) fn asked(reply: &Reply) -> (Value, String) {
    let message = reply.json();
    let result = &message["result"];
    assert_eq!(result["resultType"], "input_required", "{reply:?}");
    assert_eq!(result.get("ttlMs"), None);
    let state = result["requestState"].as_str().unwrap().to_owned();
    (result["inputRequests"].clone(), state)
}

pub(super) fn text(reply: &Reply) -> String {
    let message = reply.json();
    assert_eq!(message["result"]["resultType"], "complete", "{reply:?}");
    message["result"]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn value(text: &str) -> Value {
    json!({"action": "accept", "content": {"value": text}})
}

#[test]
fn a_question_ends_the_call_and_its_answer_completes_it() {
    let served = Served::new(&server());
    let (requests, state) = asked(&call("ask_city", json!({})).send(&served));
    assert_eq!(
        requests,
        json!({"input": {"method": "elicitation/create", "params": {
            "message": "Which city?",
            "mode": "form",
            "requestedSchema": {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]},
        }}})
    );
    let retry = json!({"inputResponses": {"input": value("Paris")}, "requestState": state});
    assert_eq!(
        text(&call("ask_city", retry).send(&served)),
        "You chose Paris."
    );
    let cold = json!({"inputResponses": {"input": value("Rome"), "foreign": 5}});
    assert_eq!(
        text(&call("ask_city", cold).send(&served)),
        "You chose Rome."
    );
}

// B095: content is looked at only of an answer that was accepted.
#[test]
fn a_refused_question_is_a_failure() {
    let served = Served::new(&server());
    for refused in [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({"action": "decline", "content": null}),
        json!({"action": "cancel", "content": {"value": 5}}),
    ] {
        let answer = json!({"inputResponses": {"input": refused}});
        let reply = call("ask_city", answer).send(&served);
        assert_eq!(reply.json()["result"]["isError"], true);
        assert_eq!(text(&reply), "The user did not accept the input request.");
    }
}

#[test]
fn an_answer_that_is_missing_or_does_not_fit_is_asked_for_again() {
    let served = Served::new(&server());
    for again in [
        json!({"inputResponses": {"wrong": value("x")}}),
        json!({"inputResponses": null}),
        json!({"inputResponses": {"input": {"action": "accept", "content": {"value": 5}}}}),
        json!({"inputResponses": {"input": {"action": "accept", "content": {"other": "x"}}}}),
        json!({"inputResponses": {"input": {"action": "accept", "content": null}}}),
        json!({"inputResponses": {"input": {"action": "accept"}}}),
    ] {
        let (requests, state) = asked(&call("ask_city", again).send(&served));
        let message = requests["input"]["params"]["message"].as_str().unwrap();
        assert!(message.starts_with("Which city?"), "{message}");
        let fits = json!({"inputResponses": {"input": value("Paris")}, "requestState": state});
        let end = call("ask_city", fits).send(&served);
        assert_eq!(text(&end), "You chose Paris.");
    }
}

#[test]
fn an_answer_that_never_fits_is_asked_for_ten_times() {
    let served = Served::new(&server());
    let wrong = json!({"action": "accept", "content": {"value": 5}});
    let mut reply = call("ask_city", json!({})).send(&served);
    for _ in 0..10 {
        let (_, state) = asked(&reply);
        let answer = json!({"inputResponses": {"input": wrong}, "requestState": state});
        reply = call("ask_city", answer).send(&served);
    }
    assert_eq!(reply.json()["result"]["isError"], true);
    assert!(text(&reply).contains("10 rounds"), "{reply:?}");
}

#[test]
fn what_is_no_answer_at_all_is_an_error() {
    let served = Served::new(&server());
    for wrong in [
        json!(12345),
        json!({"action": "accept", "content": 5}),
        json!({"action": "maybe"}),
        json!({}),
    ] {
        let reply = call("ask_city", json!({"inputResponses": {"input": wrong}})).send(&served);
        assert_eq!(
            (reply.status, reply.error_code()),
            (200, -32602),
            "{reply:?}"
        );
    }
    let reply = call("ask_city", json!({"inputResponses": [1]})).send(&served);
    assert_eq!(reply.error_code(), -32602);
}

// G6
#[test]
fn each_round_remembers_the_ones_before() {
    let served = Served::new(&server());
    let name = |name: &str| json!({"action": "accept", "content": {"name": name}});
    let (first, state1) = asked(&call("two_rounds", json!({})).send(&served));
    assert!(first.get("step1").is_some() && first.get("step2").is_none());
    let answer = json!({"inputResponses": {"step1": name("Anna")}, "requestState": state1});
    let (second, state2) = asked(&call("two_rounds", answer).send(&served));
    assert!(second.get("step2").is_some() && second.get("step1").is_none());
    assert_ne!(state1, state2);
    let answer = json!({"inputResponses": {"step2": name("blue")}, "requestState": state2});
    assert_eq!(
        text(&call("two_rounds", answer).send(&served)),
        r#""Anna"-"blue""#
    );
}

// G6
#[test]
fn several_questions_go_in_one_round() {
    let served = Served::new(&server());
    let (requests, state) = asked(&call("many", json!({})).send(&served));
    assert_eq!(requests["who"]["method"], "elicitation/create");
    assert_eq!(requests["sum"]["method"], "sampling/createMessage");
    assert_eq!(
        requests["sum"]["params"]["messages"][0]["content"]["text"],
        "Sum"
    );
    let answers = json!({"inputResponses": {
        "who": {"action": "accept", "content": {"a": 1}},
        "sum": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "short"}},
    }, "requestState": state});
    assert_eq!(
        text(&call("many", answers).send(&served)),
        r#"{"a":1} short"#
    );
}

#[test]
fn a_second_question_without_a_key_is_a_failure() {
    let served = Served::new(&server());
    let reply = call(
        "two_unkeyed",
        json!({"inputResponses": {"input": value("1")}}),
    )
    .send(&served);
    assert_eq!(reply.json()["result"]["isError"], true);
    assert!(text(&reply).contains("request_form"));
}

#[test]
fn a_tool_that_asks_without_end_is_stopped() {
    let served = Served::new(&server());
    let mut reply = call("endless", json!({})).send(&served);
    for round in 0..10 {
        let (_, state) = asked(&reply);
        let mut answers = json!({});
        answers[format!("k{round}")] = json!({"action": "accept", "content": {}});
        reply = call(
            "endless",
            json!({"inputResponses": answers, "requestState": state}),
        )
        .send(&served);
    }
    assert_eq!(reply.json()["result"]["isError"], true);
    assert!(text(&reply).contains("10 rounds"));
}

// G6
#[test]
fn a_state_is_worth_nothing_elsewhere() {
    let served = Served::new(&server());
    let (_, state) = asked(&call("ask_city", json!({})).send(&served));
    let answer =
        |state: &str| json!({"inputResponses": {"input": value("x")}, "requestState": state});
    let mut strange = call("ask_city", answer(&state));
    assert_eq!(text(&strange.send(&served)), "You chose x.");
    for (name, state) in [
        ("ask_city", format!("{state}-TAMPERED")),
        ("ask_city", "nonsense".to_owned()),
        ("ask_city", String::new()),
        ("two_unkeyed", state.clone()),
    ] {
        let reply = call(name, answer(&state)).send(&served);
        assert_eq!((reply.status, reply.error_code()), (200, -32602), "{state}");
    }
    let params = json!({"name": "ask_city", "arguments": {"other": 1}, "requestState": state});
    strange = Ask::modern("tools/call", params);
    assert_eq!(strange.send(&served).error_code(), -32602);
    let other = Served::new(&server());
    assert_eq!(
        call("ask_city", answer(&state)).send(&other).error_code(),
        -32602
    );
}

#[test]
fn a_state_expires() {
    let served = Served::new(&builder().state_ttl(Duration::ZERO).build().unwrap());
    let (_, state) = asked(&call("ask_city", json!({})).send(&served));
    let reply = call("ask_city", json!({"requestState": state})).send(&served);
    assert_eq!(reply.error_code(), -32602);
    assert!(reply.body.contains("expired"), "{reply:?}");
}

#[test]
fn a_state_belongs_to_its_caller() {
    let hook = |request: HttpRequest| async move {
        let who = request
            .headers()
            .get("x-user")
            .and_then(|user| user.to_str().ok());
        let caller = AuthInfo::new("token", "app").subject(who.unwrap_or_default());
        Ok::<_, HttpResponse>(Options::new().auth_info(caller))
    };
    let served = Served::with(McpRoutes::new("/mcp", &server()).authorize(hook).routes());
    let ask = |user: &str, more: Value| call("ask_city", more).header("x-user", user).send(&served);
    let (_, state) = asked(&ask("anna", json!({})));
    let answer = json!({"inputResponses": {"input": value("x")}, "requestState": state});
    assert_eq!(ask("bert", answer.clone()).error_code(), -32602);
    assert_eq!(text(&ask("anna", answer)), "You chose x.");
}

// B099: nobody is asked what they have not declared.
#[test]
fn only_what_the_client_declares_is_asked() {
    let served = Served::new(&server());
    let params = |name: &str| json!({"name": name, "arguments": {}});
    for (name, declared, required) in [
        (
            "ask_city",
            json!({"sampling": {}}),
            json!({"elicitation": {"form": {}}}),
        ),
        (
            "ask_city",
            json!({"elicitation": {"url": {}}}),
            json!({"elicitation": {"form": {}}}),
        ),
        (
            "summarize",
            json!({"elicitation": {}}),
            json!({"sampling": {}}),
        ),
        (
            "many",
            json!({"sampling": {}}),
            json!({"elicitation": {"form": {}}}),
        ),
        ("roots", json!({}), json!({"roots": {}})),
    ] {
        let reply = Ask::modern_as(declared, "tools/call", params(name)).send(&served);
        assert_eq!((reply.status, reply.error_code()), (400, -32021), "{name}");
        assert_eq!(
            reply.json()["error"]["data"],
            json!({"requiredCapabilities": required})
        );
    }
    let polite = Ask::modern_as(json!({"sampling": {}}), "tools/call", params("polite"));
    let (requests, _) = asked(&polite.send(&served));
    assert_eq!(requests.as_object().unwrap().len(), 1);
    assert_eq!(requests["sample"]["method"], "sampling/createMessage");
    let roots = Ask::modern_as(json!({"roots": {}}), "tools/call", params("roots")).send(&served);
    assert_eq!(asked(&roots).0, json!({"roots": {"method": "roots/list"}}));
}

#[test]
fn a_sampler_of_its_own_answers_at_once() {
    let served = Served::new(
        &builder()
            .sample(|request: SampleRequest| async move { Ok::<_, ToolError>(request.text()) })
            .build()
            .unwrap(),
    );
    assert_eq!(
        text(&call("summarize", json!({})).send(&served)),
        "Summarize"
    );
    let nobody = Served::new(&builder().sample_from_client(false).build().unwrap());
    let reply = call("summarize", json!({})).send(&nobody);
    assert_eq!(reply.json()["result"]["isError"], true);
}
