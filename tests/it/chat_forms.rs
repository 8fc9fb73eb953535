//! Own tools of a chat that ask for a type.

use roscius_actors::{
    run::Outcome,
    tool::{Tool, ToolCx, ToolError},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::chat_world::{
    Paused, builder, events, is_completed, on_system, results, script, snapshot,
};

/// A stay
#[derive(Deserialize, JsonSchema)]
struct Stay {
    #[schemars(regex(pattern = "^[A-Z]{3}$"))]
    airport: String,
}

#[test]
fn a_chat_asks_again_for_what_only_the_type_refuses() {
    let tool = Tool::new("book", |cx: ToolCx| async move {
        let stay: Stay = cx.request_input_as("Where?").await?;
        Ok::<_, ToolError>(format!("near {}", stay.airport))
    });
    let chat = builder(&script("book"))
        .tool(tool.asks::<Stay>())
        .build()
        .unwrap();
    on_system(async {
        let paused = Paused::of(&chat).await;
        let unfit = paused.answer("mcp_input_c1", json!({"airport": "Zurich"}));
        let again = chat.run(unfit).await.unwrap();
        let seen = events(&again).await;
        let Outcome::Interrupted(asked) = again.outcome().await else {
            panic!("{seen:?}");
        };
        let question = serde_json::to_string(&*asked.interrupts).unwrap();
        assert!(question.contains("Where?"), "{question}");
        assert!(question.contains("/airport: "), "{question}");
        let paused = Paused {
            run: again,
            rows: snapshot(&seen),
        };
        let fits = paused.answer("mcp_input_c1", json!({"airport": "ZRH"}));
        let child = chat.run(fits).await.unwrap();
        let seen = events(&child).await;
        assert!(is_completed(&child.outcome().await), "{seen:?}");
        assert!(results(&seen)[0].contains("near ZRH"), "{seen:?}");
    });
}
