//! A run that pauses because a tool asks, and the child run that goes on with the answer.
//!
//! ```sh
//! cargo run --example resume_interrupt
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;

use futures_util::StreamExt as _;
use roscius::{model::Script, prelude::*};
use serde_json::json;

/// Asks which city is meant. Where the answer is missing, `?` is the pause.
async fn ask_city(cx: ToolCx) -> Result<String, ToolError> {
    let city = cx.request_input("Which city?").await?;
    Ok(format!("{city}: 7 degrees, cloudy"))
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // With a key: `Chat::builder(OpenAi::responses("gpt-5-mini").api_key(key))`.
    let model = ScriptedModel::from_script(Script::from_value(&json!({"turns": [
        {"text": ["I have to ask."], "toolCalls": [{"id": "call-1", "name": "ask_city", "arguments": {}}]},
        {"text": ["It is 7 degrees ", "in Paris."]},
    ]}))?);
    let chat = Chat::builder(model)
        .tool(Tool::new("ask_city", ask_city).description("Asks for a city"))
        .build()?;

    let run = chat
        .run(ChatRun::new("How warm is it?").thread("t-1"))
        .await?;
    println!("run {}", run.id());
    print_events(&run).await;
    let Outcome::Interrupted(paused) = run.outcome().await else {
        return Err("the run did not pause".into());
    };
    let question = paused.interrupts.first().ok_or("no question")?;
    let shown = question
        .payload()
        .and_then(|shown| shown.pointer("/request/message"));
    println!("asked {}: {}", question.id, shown.unwrap_or(&json!(null)));

    // Nothing of the first run is needed any more, only its id.
    let answers = ChatRun::resume(run.id()).answer(question.id.clone(), json!({"value": "Paris"}));
    let child = chat.run(answers).await?;
    println!("run {} goes on from {}", child.id(), run.id());
    print_events(&child).await;
    match child.outcome().await {
        Outcome::Completed(done) => println!("answer: {}", done.text()),
        other => return Err(format!("{other:?}").into()),
    }
    Ok(())
}

async fn print_events(run: &RunHandle) {
    let mut events = run.subscribe(After::Start);
    while let Some((offset, event)) = events.next().await {
        let detail = ["delta", "toolCallName", "content"]
            .iter()
            .find_map(|member| event.text(member))
            .unwrap_or_default();
        println!("  {offset:>2} {} {detail}", event.name());
    }
}
