#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is the test failing"
)]

mod asking;

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

#[test]
fn a_tool_that_was_called_can_be_given_another_output_schema() {
    let needs = |member: &str| json!({"type":"object","required":[member]});
    let tool = Tool::raw(
        "out",
        json!({"type":"object"}),
        |value, _| async move { value },
    );
    let first = tool.output_schema(needs("other"));
    failure(run(&first, r#"{"sum":1}"#, plain()));
    let second = first.clone().output_schema(needs("sum"));
    assert!(matches!(
        run(&second, r#"{"sum":1}"#, plain()),
        ToolOutcome::Done(_)
    ));
}
