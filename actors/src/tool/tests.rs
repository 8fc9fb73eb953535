#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is the test failing"
)]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::FutureExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;
use crate::wire::auth::AuthInfo;

/// Current weather for a city
#[derive(Deserialize, JsonSchema)]
struct City {
    /// City name
    city: String,
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    celsius: f32,
}

#[derive(Debug, thiserror::Error)]
#[error("no such city: {0}")]
struct NoCity(String);

struct Db(i32);

async fn get_weather(Args(q): Args<City>, Ctx(db): Ctx<Db>) -> Result<Json<Weather>, NoCity> {
    if q.city == "nowhere" {
        return Err(NoCity(q.city));
    }
    #[allow(clippy::cast_precision_loss, reason = "a small number")]
    Ok(Json(Weather {
        celsius: db.0 as f32,
    }))
}

async fn ask_city(cx: ToolCx) -> Result<String, ToolError> {
    let city = cx.request_input("Which city?").await?;
    Ok(format!("You chose {city}."))
}

fn run(tool: &Tool, arguments: &str, cx: ToolCx) -> ToolOutcome {
    tool.call(arguments, cx).now_or_never().unwrap()
}

fn plain() -> ToolCx {
    ToolCx::builder().build()
}

fn with_db() -> ToolCx {
    let context = Arc::new(Context::new().with(Db(7)));
    ToolCx::builder().context(context).build()
}

fn failure(outcome: ToolOutcome) -> ToolError {
    match outcome {
        ToolOutcome::Failed(error) => error,
        other => panic!("expected a failure, got {other:?}"),
    }
}

fn text(outcome: ToolOutcome) -> String {
    match outcome {
        ToolOutcome::Done(ToolOutput::Text(text)) => text,
        other => panic!("expected a text, got {other:?}"),
    }
}

fn questions(outcome: ToolOutcome) -> Vec<Question> {
    match outcome {
        ToolOutcome::NeedsInput(questions) => questions,
        other => panic!("expected questions, got {other:?}"),
    }
}

const fn assert_send_sync<T: Send + Sync>() {}
const _: () = assert_send_sync::<Tool>();
const _: () = assert_send_sync::<ToolCx>();

#[test]
fn types_give_the_listing() {
    let listing = Tool::new("get_weather", get_weather).read_only().listing();
    assert_eq!(
        serde_json::to_value(listing).unwrap(),
        json!({
            "name": "get_weather",
            "description": "Current weather for a city",
            "inputSchema": {"type": "object", "properties": {"city": {"description": "City name", "type": "string"}}, "required": ["city"]},
            "outputSchema": {"type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]},
            "annotations": {"readOnlyHint": true}
        })
    );
}

#[test]
fn arguments_and_context_reach_the_function() {
    let tool = Tool::new("get_weather", get_weather);
    let outcome = run(&tool, r#"{"city":"Oslo"}"#, with_db());
    let ToolOutcome::Done(output) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(output.to_value(), json!({"celsius": 7.0}));
    let error = failure(run(&tool, r#"{"city":"nowhere"}"#, with_db()));
    assert_eq!(error.message(), "no such city: nowhere");
}

#[test]
fn wrong_arguments_are_named_by_their_place() {
    let tool = Tool::new("get_weather", get_weather);
    for (arguments, place) in [
        (r#"{"city":5}"#, "/city: "),
        ("{}", "/city: is required"),
        (r#"["Oslo"]"#, "an object is expected"),
        ("{\"city\":", "EOF"),
        ("null", "an object is expected"),
    ] {
        let error = failure(run(&tool, arguments, with_db()));
        assert!(error.is_invalid_arguments());
        assert!(error.message().contains(place), "{arguments}: {error}");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Bounded {
    #[schemars(range(min = 1, max = 5))]
    stars: u8,
    inner: Option<City>,
}

#[test]
fn bounds_and_nested_positions_are_checked_before_the_function_runs() {
    let tool = Tool::new("rate", |Args(q): Args<Bounded>| async move {
        format!(
            "{} {}",
            q.stars,
            q.inner.map(|city| city.city).unwrap_or_default()
        )
    });
    let error = failure(run(&tool, r#"{"stars":6}"#, plain()));
    assert!(error.message().contains("/stars: "), "{error}");
    let error = failure(run(&tool, r#"{"stars":5,"inner":["x"]}"#, plain()));
    assert!(error.message().contains("/inner"), "{error}");
    assert_eq!(
        text(run(&tool, r#"{"stars":5,"inner":{"city":"x"}}"#, plain())),
        "5 x"
    );
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

#[test]
fn a_panic_is_a_failure_that_says_nothing() {
    let typed = Tool::new("typed", || async { panic!("secret") as () });
    let raw = Tool::raw("raw", json!({"type":"object"}), |_, _| {
        if true {
            panic!("secret");
        }
        std::future::ready(())
    });
    for tool in [typed, raw] {
        let error = failure(run(&tool, "{}", plain()));
        assert_eq!(error.message(), "tool failed");
        assert!(error.is_panic());
    }
}

#[test]
fn the_caller_wins_over_a_value_of_the_same_type() {
    let tool = Tool::new(
        "who",
        |who: Ctx<AuthInfo>| async move { who.client_id.clone() },
    );
    let context = Arc::new(Context::new().with(AuthInfo::new("t", "forged")));
    let builder = || ToolCx::builder().context(Arc::clone(&context));
    let cx = builder().auth(Arc::new(AuthInfo::new("t", "real"))).build();
    assert_eq!(text(run(&tool, "{}", cx)), "real");
    assert!(matches!(
        run(&tool, "{}", builder().build()),
        ToolOutcome::Failed(_)
    ));
}

#[test]
fn a_tool_that_could_never_be_called_is_refused() {
    let tool = Tool::new("get_weather", get_weather);
    assert!(matches!(
        tool.check(&Context::new()),
        Err(ToolDefError::MissingContext { .. })
    ));
    assert_eq!(tool.check(&Context::new().with(Db(1))), Ok(()));
    let bad = Tool::raw(
        "bad",
        json!({"type":"object","properties":{"a":{"type":"no"}}}),
        |_, _| async {},
    );
    assert!(matches!(
        bad.check(&Context::new()),
        Err(ToolDefError::Schema { .. })
    ));
    let scalar = Tool::raw("scalar", json!({"type":"string"}), |_, _| async {});
    assert!(matches!(
        scalar.check(&Context::new()),
        Err(ToolDefError::NotAnObject { .. })
    ));
}

#[test]
fn results_are_checked_against_a_schema_given_by_hand() {
    let tool = Tool::raw(
        "out",
        json!({"type":"object"}),
        |value, _| async move { value },
    )
    .output_schema(json!({"type":"object","required":["sum"]}));
    assert!(
        failure(run(&tool, "{}", plain()))
            .message()
            .contains("/sum")
    );
    assert!(matches!(
        run(&tool, r#"{"sum":1}"#, plain()),
        ToolOutcome::Done(_)
    ));
}

#[test]
fn reports_reach_the_sink() {
    let count = Arc::new(AtomicUsize::new(0));
    let sink = {
        let count = Arc::clone(&count);
        Arc::new(move |_: ToolNotice| {
            count.fetch_add(1, Ordering::Relaxed);
        })
    };
    let tool = Tool::new("busy", |cx: ToolCx| async move {
        cx.progress(1.0, Some(2.0), None);
        cx.emit("mine", json!(1));
    });
    let cx = ToolCx::builder().notices(sink).build();
    assert!(matches!(
        run(&tool, "{}", cx),
        ToolOutcome::Done(ToolOutput::Empty)
    ));
    assert_eq!(count.load(Ordering::Relaxed), 2);
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
