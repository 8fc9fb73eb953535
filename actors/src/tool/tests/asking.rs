//! What a tool asks, and what it makes of the answers.

use super::*;

fn questions(outcome: ToolOutcome) -> Vec<Question> {
    match outcome {
        ToolOutcome::NeedsInput(questions) => questions,
        other => panic!("expected questions, got {other:?}"),
    }
}

async fn ask_city(cx: ToolCx) -> Result<String, ToolError> {
    let city = cx.request_input("Which city?").await?;
    Ok(format!("You chose {city}."))
}

#[test]
fn a_question_pauses_the_call_and_its_answer_lets_it_end() {
    let tool = Tool::new("ask_city", ask_city);
    let open = questions(run(&tool, "{}", plain()));
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].key.as_deref(), Some("input"));
    assert_eq!(
        open[0].request,
        json!({"message":"Which city?","mode":"form","requestedSchema":{"type":"object","properties":{"value":{"type":"string"}},"required":["value"]}})
    );
    let answered = |answer: Value| {
        ToolCx::builder()
            .answers(Answers::from([("input".to_owned(), answer)]))
            .build()
    };
    let cx = answered(json!({"action":"accept","content":{"value":"Paris"}}));
    assert_eq!(text(run(&tool, "{}", cx)), "You chose Paris.");
    for action in ["decline", "cancel"] {
        let error = failure(run(&tool, "{}", answered(json!({"action": action}))));
        assert_eq!(
            error.message(),
            "The user did not accept the input request."
        );
    }
    let cx = answered(json!({"action":"maybe"}));
    let error = failure(run(&tool, "{}", cx.clone()));
    assert!(error.message().contains("/action"), "{error}");
    assert!(matches!(cx.refused(), Some(InputError::Invalid { .. })));
    for unfit in [
        json!({"action":"accept","content":{"value":5}}),
        json!({"action":"accept","content":null}),
        json!({"action":"accept"}),
    ] {
        let open = questions(run(&tool, "{}", answered(unfit)));
        assert_eq!(open[0].key.as_deref(), Some("input"));
        let message = open[0].request["message"].as_str().unwrap();
        assert!(message.starts_with("Which city?"), "{message}");
        assert!(message.contains("/value: "), "{message}");
    }
}

#[test]
fn the_answer_of_a_chat_answers_the_first_question() {
    let tool = Tool::new("ask_city", ask_city);
    let cx = ToolCx::builder()
        .input_response(InputResponse::Resolved(json!({"value":"Rome"})))
        .build();
    assert_eq!(text(run(&tool, "{}", cx)), "You chose Rome.");
    let cx = ToolCx::builder()
        .input_response(InputResponse::Cancelled)
        .build();
    let error = failure(run(&tool, "{}", cx));
    assert_eq!(
        error.message(),
        "The user did not accept the input request."
    );
}

#[test]
fn a_swallowed_pause_is_a_result() {
    let tool = Tool::new("calm", |cx: ToolCx| async move {
        cx.request_input("Sure?")
            .await
            .unwrap_or_else(|_| "default".to_owned())
    });
    assert_eq!(text(run(&tool, "{}", plain())), "default");
}

#[test]
fn any_error_while_a_question_is_open_is_the_pause() {
    let tool = Tool::new("wrap", |cx: ToolCx| async move {
        cx.request_input("Sure?")
            .await
            .map_err(|error| NoCity(error.to_string()))
    });
    assert_eq!(questions(run(&tool, "{}", plain())).len(), 1);
}

#[test]
fn several_keyed_questions_are_asked_in_one_round() {
    let tool = Tool::new("trip", |cx: ToolCx| async move {
        let schema = json!({"type":"object"});
        let (from, to, plan) = futures_util::join!(
            cx.request_form("from", "From?", schema.clone()),
            cx.request_form("to", "To?", schema),
            cx.sample(SampleRequest::new("Plan it").key("plan")),
        );
        Ok::<_, ToolError>(format!("{} {} {}", from?, to?, plan?))
    });
    let open = questions(run(&tool, "{}", plain()));
    let keys: Vec<_> = open.iter().filter_map(|open| open.key.as_deref()).collect();
    assert_eq!(keys, ["from", "to", "plan"]);
}

#[test]
fn a_second_unkeyed_form_is_refused_where_only_one_is_allowed() {
    let tool = Tool::new("two", |cx: ToolCx| async move {
        let first = cx.request_input("One?").await?;
        let second = cx.request_input("Two?").await?;
        Ok::<_, ToolError>(first + &second)
    });
    let first = Answers::from([(
        "input".to_owned(),
        json!({"action":"accept","content":{"value":"1"}}),
    )]);
    let cx = ToolCx::builder()
        .answers(first.clone())
        .one_unkeyed()
        .build();
    let error = failure(run(&tool, "{}", cx));
    assert!(error.message().contains("key"), "{error}");
    let cx = ToolCx::builder().answers(first).build();
    let open = questions(run(&tool, "{}", cx));
    assert_eq!(open[0].key.as_deref(), Some("input:2"));
}

#[test]
fn an_error_can_carry_the_question_and_its_reason() {
    let tool = Tool::new("login", || async {
        Err::<String, _>(
            ToolError::needs_input(Input::form("Sign in", json!({"type":"object"})))
                .reason("auth_required"),
        )
    });
    let open = questions(run(&tool, "{}", plain()));
    assert_eq!(open[0].reason.as_deref(), Some("auth_required"));
    assert_eq!(open[0].key.as_deref(), Some("input"));
}

/// A place to sleep
#[derive(Deserialize, JsonSchema)]
struct Stay {
    #[schemars(regex(pattern = "^[A-Z]{3}$"))]
    code: String,
    nights: u8,
    breakfast: Option<bool>,
}

fn stay() -> Tool {
    Tool::new("stay", |cx: ToolCx| async move {
        let stay: Stay = cx.request_input_as("Where, and how long?").await?;
        let breakfast = stay.breakfast.unwrap_or_default();
        Ok::<_, ToolError>(format!("{} {} {breakfast}", stay.code, stay.nights))
    })
    .asks::<Stay>()
}

fn stays(content: Value) -> ToolCx {
    let answer = json!({"action": "accept", "content": content});
    let answers = Answers::from([("input".to_owned(), answer)]);
    ToolCx::builder().answers(answers).build()
}

#[test]
fn a_typed_question_is_asked_until_its_answer_fits_the_type() {
    let tool = stay();
    assert_eq!(tool.check(&Context::new()), Ok(()));
    let open = questions(run(&tool, "{}", plain()));
    assert_eq!(
        open[0].requested_schema(),
        Some(&json!({"type": "object", "properties": {
            "code": {"type": "string"},
            "nights": {"type": "integer", "minimum": 0, "maximum": 255},
            "breakfast": {"type": "boolean"},
        }, "required": ["code", "nights"]}))
    );
    for (content, place) in [
        (json!({"code": "ZRH", "nights": "2"}), "/nights: "),
        (json!({"code": "zrh", "nights": 2}), "/code: "),
        (json!({"code": "ZRH"}), "/nights: is required"),
        (json!({"code": "ZRH", "nights": 256}), "/nights: "),
    ] {
        let open = questions(run(&tool, "{}", stays(content)));
        let message = open[0].request["message"].as_str().unwrap();
        assert!(message.contains(place), "{message}");
    }
    let cx = stays(json!({"code": "ZRH", "nights": 2.0, "breakfast": true}));
    assert_eq!(text(run(&tool, "{}", cx)), "ZRH 2 true");
}

#[derive(Deserialize, JsonSchema)]
struct Nested {
    #[allow(dead_code, reason = "the type is only described")]
    stay: Stay,
}

#[test]
fn a_type_that_cannot_be_a_form_is_named() {
    let tool = Tool::new("nested", |cx: ToolCx| async move {
        let asked = cx.request_form_as::<Nested>("key", "Where?").await;
        Err::<(), ToolError>(asked.map(drop).unwrap_err().into())
    });
    let error = failure(run(&tool, "{}", plain()));
    assert!(error.message().contains("field `stay`"), "{error}");
    let checked = tool.asks::<Nested>().check(&Context::new());
    assert!(matches!(checked, Err(ToolDefError::Form { .. })));
    let message = checked.unwrap_err().to_string();
    assert!(message.contains("`nested`") && message.contains("`stay`"));
}

#[test]
fn the_question_of_an_error_is_asked_only_where_one_may_ask() {
    struct Nobody;
    impl Asker for Nobody {
        fn admit(&self, question: &Question) -> Result<(), InputError> {
            Err(InputError::MissingCapability {
                key: question.key.clone().unwrap_or_default(),
                required: question.kind.required_capabilities(),
            })
        }
    }
    let tool = Tool::new("login", || async {
        Err::<String, _>(ToolError::needs_input(Question::url(
            "Sign in",
            "https://a.test",
        )))
    });
    let cx = ToolCx::builder().ask(Arc::new(Nobody)).build();
    let error = failure(run(&tool, "{}", cx.clone()));
    assert!(error.message().contains("capability"), "{error}");
    assert!(matches!(
        cx.refused(),
        Some(InputError::MissingCapability { .. })
    ));
    let cx = ToolCx::builder().no_input("nobody is here").build();
    let error = failure(run(&tool, "{}", cx));
    assert_eq!(error.message(), "nobody is here");
    let declined = Answers::from([("input".to_owned(), json!({"action": "decline"}))]);
    let cx = ToolCx::builder().answers(declined).build();
    let error = failure(run(&tool, "{}", cx));
    assert_eq!(
        error.message(),
        "The user did not accept the input request."
    );
}
