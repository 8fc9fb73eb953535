//! Prompts and completion.

use roscius::{
    prelude::*, prompt::PromptDefError, server::ServerError, wire::prompt::GetPromptResult,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::host::{Ask, Reply, Served};

/// Reviews code
#[derive(Deserialize, JsonSchema)]
struct Review {
    /// What it is written in
    language: String,
    /// Lines to look at
    lines: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct Bounded {
    #[schemars(length(max = 3))]
    word: String,
}

async fn review(Args(args): Args<Review>) -> Vec<PromptMessage> {
    let lines = args.lines.unwrap_or(10);
    vec![
        PromptMessage::user(format!("Review {lines} lines of {}", args.language)),
        PromptMessage::assistant("Show me."),
    ]
}

async fn ask(cx: ToolCx) -> Result<String, ToolError> {
    let name = cx.request_input("Who are you?").await?;
    Ok(format!("I am {name}"))
}

async fn languages(typed: Partial) -> Vec<String> {
    let rust = typed
        .arguments
        .get("lines")
        .is_some_and(|lines| lines == "1");
    if rust {
        return vec!["rust only".to_owned()];
    }
    typed.filter(["Rust", "Ruby", "Go"])
}

fn server() -> McpServer {
    McpServer::new("prompts", "1.0.0")
        .prompt(
            Prompt::new("review_code", review)
                .title("Review")
                .argument_title("language", "Language")
                .complete("language", languages),
        )
        .prompt(Prompt::new("plain", || async { "Say hello." }).description("Greets"))
        .prompt(Prompt::new("image", || async {
            let image = roscius::wire::content::ContentBlock::image("AA==", "image/png");
            [
                PromptMessage::user(image),
                PromptMessage::user("What is it?"),
            ]
        }))
        .prompt(Prompt::new("resource", || async {
            ResourceContents::text("x")
                .uri("test://x")
                .mime_type("text/plain")
                .into_message()
        }))
        .prompt(Prompt::new(
            "bounded",
            |Args(args): Args<Bounded>| async move { args.word },
        ))
        .prompt(Prompt::new("ask", ask))
        .prompt(Prompt::new("broken", || async {
            Err::<String, _>(std::io::Error::other("disk on fire"))
        }))
        .prompt(Prompt::new("whole", || async {
            GetPromptResult {
                description: Some("as it is".to_owned()),
                meta: json!({"own": 1}).as_object().cloned(),
                ..GetPromptResult::default()
            }
        }))
        .resource(
            Resource::template("notes://{id}/{part}", |uri: Uri| async move { uri.0 })
                .complete("id", |_: Partial| async {
                    (0..250).map(|id| id.to_string()).collect::<Vec<String>>()
                }),
        )
        .build()
        .unwrap()
}

trait IntoMessage {
    fn into_message(self) -> PromptMessage;
}

impl IntoMessage for ResourceContents {
    fn into_message(self) -> PromptMessage {
        PromptMessage::user(self)
    }
}

fn get(served: &Served, name: &str, arguments: Value) -> Reply {
    Ask::modern("prompts/get", json!({"name": name, "arguments": arguments})).send(served)
}

fn result(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{reply:?}");
    let mut message = reply.json();
    assert_eq!(message["result"]["resultType"], "complete", "{reply:?}");
    message["result"].take()
}

#[test]
fn the_fields_of_the_type_are_the_arguments() {
    let served = Served::new(&server());
    let list = result(&Ask::modern("prompts/list", json!({})).send(&served));
    assert_eq!(
        (&list["ttlMs"], &list["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    assert_eq!(
        list["prompts"][0],
        json!({
            "name": "review_code",
            "title": "Review",
            "description": "Reviews code",
            "arguments": [
                {"name": "language", "title": "Language", "description": "What it is written in", "required": true},
                {"name": "lines", "description": "Lines to look at"},
            ],
        })
    );
    // B123: what was not given is not there.
    assert_eq!(
        list["prompts"][1],
        json!({"name": "plain", "description": "Greets"})
    );
    let legacy = Ask::legacy("2025-03-26", "prompts/list", json!({})).send(&served);
    assert_eq!(legacy.json()["result"], json!({"prompts": list["prompts"]}));
}

#[test]
fn a_prompt_makes_messages_from_texts() {
    let served = Served::new(&server());
    let reviewed = result(&get(
        &served,
        "review_code",
        json!({"language": "Rust", "lines": "7"}),
    ));
    assert_eq!(
        reviewed["messages"],
        json!([
            {"role": "user", "content": {"type": "text", "text": "Review 7 lines of Rust"}},
            {"role": "assistant", "content": {"type": "text", "text": "Show me."}},
        ])
    );
    assert_eq!(reviewed["description"], "Reviews code");
    assert_eq!(reviewed.get("ttlMs"), None);
    let null = json!({"language": "Rust", "lines": null});
    assert_eq!(
        result(&get(&served, "review_code", null))["messages"][0]["content"]["text"],
        "Review 10 lines of Rust"
    );
    let legacy = Ask::legacy("2025-06-18", "prompts/get", json!({"name": "plain"})).send(&served);
    assert_eq!(
        legacy.json()["result"],
        json!({"description": "Greets", "messages": [
            {"role": "user", "content": {"type": "text", "text": "Say hello."}}]})
    );
    // B131: an image stays an image.
    assert_eq!(
        result(&get(&served, "image", json!({})))["messages"][0],
        json!({"role": "user", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}})
    );
    assert_eq!(
        result(&get(&served, "resource", json!({})))["messages"],
        json!([{"role": "user", "content": {"type": "resource", "resource": {
            "uri": "test://x", "mimeType": "text/plain", "text": "x"}}}])
    );
    let whole = result(&get(&served, "whole", json!({})));
    assert_eq!(
        (&whole["description"], &whole["_meta"]["own"]),
        (&json!("as it is"), &json!(1))
    );
    assert_eq!(whole["messages"], json!([]));
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let served = Served::new(&server());
    for (name, arguments, part) in [
        ("nobody", json!({}), "Prompt nobody not found"),
        ("review_code", json!({}), "`language` is missing"),
        (
            "review_code",
            json!({"language": null}),
            "`language` is missing",
        ),
        (
            "review_code",
            json!({"language": 5}),
            "`language` is not a text",
        ),
        ("review_code", json!(["Rust"]), "not an object"),
        (
            "review_code",
            json!({"language": "x", "lines": "many"}),
            "`lines` is not a whole number",
        ),
        ("bounded", json!({"word": "long"}), "/word"),
    ] {
        let reply = get(&served, name, arguments.clone());
        assert_eq!((reply.status, reply.error_code()), (200, -32602));
        let message = reply.json()["error"]["message"].to_string();
        assert!(message.contains(part), "{message}");
        let params = json!({"name": name, "arguments": arguments});
        let legacy = Ask::legacy("2025-11-25", "prompts/get", params).send(&served);
        assert_eq!((legacy.status, legacy.error_code()), (200, -32602));
    }
    assert_eq!(
        Ask::modern("prompts/get", json!({}))
            .send(&served)
            .error_code(),
        -32602
    );
    let broken = get(&served, "broken", json!({})).json()["error"].take();
    assert_eq!(
        (&broken["code"], &broken["message"]),
        (&json!(-32603), &json!("disk on fire"))
    );
}

#[test]
fn a_prompt_may_ask_before_it_is_made() {
    let served = Served::new(&server());
    let asked = get(&served, "ask", json!({})).json()["result"].take();
    assert_eq!(asked["resultType"], "input_required");
    let params = json!({
        "name": "ask", "arguments": {},
        "inputResponses": {"input": {"action": "accept", "content": {"value": "Anna"}}},
        "requestState": asked["requestState"],
    });
    let made = result(&Ask::modern("prompts/get", params).send(&served));
    assert_eq!(made["messages"][0]["content"]["text"], "I am Anna");
    let declined = json!({"name": "ask", "inputResponses": {"input": {"action": "decline"}}});
    assert_eq!(
        Ask::modern("prompts/get", declined)
            .send(&served)
            .error_code(),
        -32603
    );
}

fn complete(served: &Served, params: Value) -> Value {
    let modern = Ask::modern("completion/complete", params.clone())
        .send(served)
        .json();
    let legacy = Ask::legacy("2025-06-18", "completion/complete", params)
        .send(served)
        .json();
    assert_eq!(
        modern["result"]["completion"],
        legacy["result"]["completion"]
    );
    assert_eq!(modern["error"], legacy["error"]);
    let part = if modern["error"].is_null() {
        &modern["result"]["completion"]
    } else {
        &modern["error"]["code"]
    };
    part.clone()
}

#[test]
fn arguments_and_variables_are_completed() {
    let served = Served::new(&server());
    let review = json!({"type": "ref/prompt", "name": "review_code"});
    let note = json!({"type": "ref/resource", "uri": "notes://{id}/{part}"});
    let typed = |name: &str, value: &str| json!({"name": name, "value": value});
    let ask = |reference: &Value, argument: Value| {
        complete(&served, json!({"ref": reference, "argument": argument}))
    };
    assert_eq!(
        ask(&review, typed("language", "ru")),
        json!({"values": ["Rust", "Ruby"]})
    );
    assert_eq!(ask(&review, typed("lines", "1")), json!({"values": []}));
    assert_eq!(ask(&note, typed("part", "")), json!({"values": []}));
    let context = json!({"ref": review, "argument": typed("language", "x"), "context": {"arguments": {"lines": "1"}}});
    assert_eq!(complete(&served, context), json!({"values": ["rust only"]}));
    let many = ask(&note, typed("id", ""));
    assert_eq!(many["values"].as_array().unwrap().len(), 100);
    assert_eq!(
        (&many["total"], &many["hasMore"]),
        (&json!(250), &json!(true))
    );
    for (reference, argument) in [
        (review.clone(), typed("colour", "")),
        (note.clone(), typed("colour", "")),
        (
            json!({"type": "ref/prompt", "name": "nobody"}),
            typed("language", ""),
        ),
        (
            json!({"type": "ref/resource", "uri": "other://{id}"}),
            typed("id", ""),
        ),
        (json!({"type": "ref/tool", "name": "x"}), typed("id", "")),
        (json!(["ref/prompt"]), typed("id", "")),
        (review.clone(), json!({"name": "language"})),
        (review.clone(), json!("language")),
    ] {
        assert_eq!(
            ask(&reference, argument.clone()),
            -32602,
            "{reference} {argument}"
        );
    }
    assert_eq!(complete(&served, json!({})), -32602);
}

#[test]
fn completion_is_announced_where_something_completes() {
    let served = Served::new(&server());
    let discover = Ask::modern("server/discover", json!({}))
        .send(&served)
        .json();
    let capabilities = &discover["result"]["capabilities"];
    assert_eq!(capabilities["completions"], json!({}));
    assert_eq!(capabilities["prompts"], json!({"listChanged": false}));
    let plain = McpServer::new("plain", "1")
        .prompt(Prompt::new("a", || async { "a" }))
        .build()
        .unwrap();
    let served = Served::new(&plain);
    let discover = Ask::modern("server/discover", json!({}))
        .send(&served)
        .json();
    assert_eq!(
        discover["result"]["capabilities"],
        json!({"prompts": {"listChanged": false}})
    );
    let params =
        json!({"ref": {"type": "ref/prompt", "name": "a"}, "argument": {"name": "x", "value": ""}});
    let reply = Ask::modern("completion/complete", params).send(&served);
    assert_eq!((reply.status, reply.error_code()), (404, -32601));
}

#[test]
fn what_could_never_be_made_is_refused_at_the_build() {
    #[derive(Deserialize, JsonSchema)]
    struct Deep {
        #[expect(dead_code, reason = "only the shape matters")]
        list: Vec<String>,
    }
    let build = |prompts: Vec<Prompt>| {
        McpServer::new("bad", "1")
            .prompts(prompts)
            .build()
            .unwrap_err()
    };
    let nothing = || async { "" };
    assert_eq!(
        build(vec![Prompt::new("", nothing)]),
        ServerError::PromptName
    );
    assert!(matches!(
        build(vec![Prompt::new("a", nothing), Prompt::new("a", nothing)]),
        ServerError::DuplicatePrompt(_)
    ));
    assert!(matches!(
        build(vec![Prompt::new("a", |_: Args<Deep>| async { "" })]),
        ServerError::Prompt(PromptDefError::NotTexts(_))
    ));
    assert!(matches!(
        build(vec![
            Prompt::new("a", nothing).complete("b", |_: Partial| async { [""] })
        ]),
        ServerError::Prompt(PromptDefError::UnknownArgument { .. })
    ));
    assert!(matches!(
        build(vec![Prompt::new("a", |_: Ctx<Deep>| async { "" })]),
        ServerError::Prompt(PromptDefError::MissingContext { .. })
    ));
}
