//! Questions with forms of types, and pages to open, asked of 2026 clients.

use std::collections::BTreeSet;

use roscius::{
    prelude::*, prompt::PromptDefError, resource::ResourceDefError, server::ServerError,
    tool::ToolDefError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    host::{Ask, Served},
    questions::{asked, call, text},
};

#[derive(Debug, Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Extra {
    /// Breakfast in the room
    Breakfast,
    /// A place in the garage
    Parking,
}

/// A stay
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Stay {
    /// Three capital letters
    #[schemars(regex(pattern = "^[A-Z]{3}$"))]
    code: String,
    #[schemars(range(min = 1, max = 14))]
    nights: u8,
    #[schemars(extend("format" = "email"))]
    mail: Option<String>,
    #[serde(default)]
    late: bool,
    #[serde(default)]
    extras: BTreeSet<Extra>,
}

impl Stay {
    pub(crate) fn words(&self) -> String {
        format!(
            "{} {} {:?} {} {:?}",
            self.code, self.nights, self.mail, self.late, self.extras
        )
    }
}

fn server() -> McpServer {
    McpServer::new("forms", "1.0.0")
        .tool(
            Tool::new("book", |cx: ToolCx| async move {
                let stay: Stay = cx.request_input_as("Where do you stay?").await?;
                Ok::<_, ToolError>(stay.words())
            })
            .asks::<Stay>(),
        )
        .tool(Tool::new("two", |cx: ToolCx| async move {
            let (to, back) = futures_util::join!(
                cx.request_form_as::<Stay>("to", "First?"),
                cx.request_form_as::<Stay>("back", "Then?"),
            );
            Ok::<_, ToolError>(format!("{} and {}", to?.words(), back?.words()))
        }))
        .tool(Tool::new("page", |cx: ToolCx| async move {
            let page = Question::url("Sign in", "https://app.test/in").elicitation_id("e-1");
            let answer = cx.ask(page).await?;
            Ok::<_, ToolError>(answer["action"].to_string())
        }))
        .tool(Tool::new("locked", |_: ToolCx| async {
            let page = Question::url("Sign in", "https://app.test/in");
            Err::<(), _>(ToolError::needs_input(page))
        }))
        .prompt(
            Prompt::new("plan", |cx: ToolCx| async move {
                let stay: Stay = cx.request_input_as("Where do you stay?").await?;
                Ok::<_, ToolError>(stay.words())
            })
            .asks::<Stay>(),
        )
        .resource(
            Resource::new("stay", "stay://now", |cx: ToolCx| async move {
                let stay: Stay = cx.request_input_as("Where do you stay?").await?;
                Ok::<_, ToolError>(stay.words())
            })
            .asks::<Stay>(),
        )
        .build()
        .unwrap()
}

pub(crate) fn requested() -> Value {
    json!({"type": "object", "properties": {
        "code": {"type": "string", "description": "Three capital letters"},
        "nights": {"type": "integer", "minimum": 1, "maximum": 14},
        "mail": {"type": "string", "format": "email"},
        "late": {"type": "boolean", "default": false},
        "extras": {
            "type": "array",
            "items": {"anyOf": [
                {"const": "breakfast", "title": "Breakfast in the room"},
                {"const": "parking", "title": "A place in the garage"},
            ]},
            "default": [],
        },
    }, "required": ["code", "nights"]})
}

fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

#[test]
fn a_type_becomes_a_form_and_its_answer_the_type() {
    let served = Served::new(&server());
    let (requests, state) = asked(&call("book", json!({})).send(&served));
    assert_eq!(requests["input"]["params"]["requestedSchema"], requested());
    assert_eq!(requests["input"]["params"]["mode"], "form");
    let stay = json!({"code": "ZRH", "nights": 2, "mail": "a@b.test", "extras": ["parking"]});
    let answer = json!({"inputResponses": {"input": accept(stay)}, "requestState": state});
    assert_eq!(
        text(&call("book", answer).send(&served)),
        r#"ZRH 2 Some("a@b.test") false {Parking}"#
    );
}

#[test]
fn an_answer_that_does_not_fit_the_type_is_asked_for_again() {
    let served = Served::new(&server());
    let mut state = asked(&call("book", json!({})).send(&served)).1;
    for (content, place) in [
        (json!({"code": "zrh", "nights": 2}), "/code: "),
        (json!({"code": "ZRH"}), "/nights: is required"),
        (json!({"code": "ZRH", "nights": 15}), "/nights: "),
        (
            json!({"code": "ZRH", "nights": 2, "mail": "nobody"}),
            "/mail: ",
        ),
        (
            json!({"code": "ZRH", "nights": 2, "extras": ["pool"]}),
            "/extras/0: ",
        ),
        (json!({"code": "ZRH", "nights": 2, "late": "no"}), "/late: "),
    ] {
        let answer = json!({"inputResponses": {"input": accept(content)}, "requestState": state});
        let (requests, next) = asked(&call("book", answer).send(&served));
        let params = &requests["input"]["params"];
        assert_eq!(params["requestedSchema"], requested());
        let message = params["message"].as_str().unwrap();
        assert!(message.starts_with("Where do you stay?"), "{message}");
        assert!(message.contains(place), "{message}");
        state = next;
    }
    let fits = accept(json!({"code": "ZRH", "nights": 14}));
    let answer = json!({"inputResponses": {"input": fits}, "requestState": state});
    assert_eq!(
        text(&call("book", answer).send(&served)),
        "ZRH 14 None false {}"
    );
}

#[test]
fn only_the_form_that_does_not_fit_is_asked_for_again() {
    let served = Served::new(&server());
    let (requests, state) = asked(&call("two", json!({})).send(&served));
    assert_eq!(requests.as_object().unwrap().len(), 2);
    let fits = accept(json!({"code": "ZRH", "nights": 1}));
    let unfit = accept(json!({"code": "ZRH", "nights": 0}));
    let answers = json!({"inputResponses": {"to": fits, "back": unfit}, "requestState": state});
    let (requests, state) = asked(&call("two", answers).send(&served));
    let keys: Vec<&String> = requests.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["back"]);
    // What has been answered stays as it was.
    let other = accept(json!({"code": "BER", "nights": 9}));
    let answers = json!({"inputResponses": {"to": other, "back": fits}, "requestState": state});
    assert_eq!(
        text(&call("two", answers).send(&served)),
        "ZRH 1 None false {} and ZRH 1 None false {}"
    );
}

#[test]
fn prompts_and_resources_ask_for_types_too() {
    let served = Served::new(&server());
    for (method, place) in [
        ("prompts/get", json!({"name": "plan"})),
        ("resources/read", json!({"uri": "stay://now"})),
    ] {
        let ask = |more: Value| {
            let mut params = place.clone();
            params
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            Ask::modern(method, params).send(&served)
        };
        let (_, state) = asked(&ask(json!({})));
        let unfit = accept(json!({"code": "ZRH", "nights": "2"}));
        let (requests, state) = asked(&ask(
            json!({"inputResponses": {"input": unfit}, "requestState": state}),
        ));
        assert_eq!(requests["input"]["params"]["requestedSchema"], requested());
        let tampered = format!("{state}A");
        let fits = accept(json!({"code": "ZRH", "nights": 2}));
        let answer =
            |state: &str| json!({"inputResponses": {"input": fits}, "requestState": state});
        assert_eq!(ask(answer(&tampered)).error_code(), -32602);
        let end = ask(answer(&state));
        assert!(end.body.contains("ZRH 2 None false {}"), "{end:?}");
        let reply = Ask::modern_as(json!({}), method, place.clone()).send(&served);
        assert_eq!((reply.status, reply.error_code()), (400, -32021));
    }
    // A state is worth nothing under another method.
    let (_, state) = asked(&Ask::modern("prompts/get", json!({"name": "plan"})).send(&served));
    let foreign = json!({"uri": "stay://now", "requestState": state});
    let reply = Ask::modern("resources/read", foreign).send(&served);
    assert_eq!(reply.error_code(), -32602);
}

#[test]
fn a_page_is_asked_for_in_the_words_of_2026() {
    let served = Served::new(&server());
    let able = json!({"elicitation": {"url": {}}});
    for name in ["page", "locked"] {
        let ask = |capabilities: &Value, more: Value| {
            let mut params = json!({"name": name, "arguments": {}});
            params
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            Ask::modern_as(capabilities.clone(), "tools/call", params).send(&served)
        };
        let (requests, state) = asked(&ask(&able, json!({})));
        let params = json!({"message": "Sign in", "mode": "url", "url": "https://app.test/in"});
        assert_eq!(
            requests,
            json!({"input": {"method": "elicitation/create", "params": params}})
        );
        let declined =
            json!({"inputResponses": {"input": {"action": "decline"}}, "requestState": state});
        let end = ask(&able, declined);
        assert_eq!(text(&end), "The user did not accept the input request.");
        let accepted =
            json!({"inputResponses": {"input": {"action": "accept"}}, "requestState": state});
        let end = ask(&able, accepted);
        if name == "page" {
            assert_eq!(text(&end), "\"accept\"");
        } else {
            // The function still finds that the page is not done.
            asked(&end);
        }
        for unable in [
            json!({}),
            json!({"elicitation": {}}),
            json!({"elicitation": {"form": {}}}),
        ] {
            let reply = ask(&unable, json!({}));
            assert_eq!((reply.status, reply.error_code()), (400, -32021), "{name}");
            assert_eq!(
                reply.json()["error"]["data"],
                json!({"requiredCapabilities": {"elicitation": {"url": {}}}})
            );
        }
    }
}

#[test]
fn a_type_that_cannot_be_a_form_is_refused_at_the_build() {
    #[derive(Deserialize, JsonSchema)]
    struct Party {
        #[expect(dead_code, reason = "only the shape matters")]
        guests: Vec<String>,
    }
    let builder = || McpServer::new("bad", "1");
    let nothing = || async { "" };
    let tool = builder().tool(Tool::new("t", nothing).asks::<Party>());
    let error = tool.build().unwrap_err();
    assert!(matches!(
        error,
        ServerError::Tool(ToolDefError::Form { .. })
    ));
    assert!(error.to_string().contains("`guests`"), "{error}");
    let prompt = builder().prompt(Prompt::new("p", nothing).asks::<Party>());
    assert!(matches!(
        prompt.build(),
        Err(ServerError::Prompt(PromptDefError::Form { .. }))
    ));
    let resource = builder().resource(Resource::new("r", "r://r", nothing).asks::<Party>());
    assert!(matches!(
        resource.build(),
        Err(ServerError::Resource(ResourceDefError::Form { .. }))
    ));
}

#[test]
fn a_function_that_could_not_know_its_client_asks_nobody() {
    let blind = Tool::new("blind", || async {
        Err::<(), _>(ToolError::needs_input(Question::text("Who?")))
    });
    let served = Served::new(&McpServer::new("b", "1").tool(blind).build().unwrap());
    let reply = call("blind", json!({})).send(&served);
    assert_eq!(reply.json()["result"]["isError"], true);
    assert!(text(&reply).contains("ToolCx"), "{reply:?}");
}
