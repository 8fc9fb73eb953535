//! A chat with the tools of an MCP server over HTTP that asks in the middle of a call.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use roscius_actors::{
    chat::{Chat, ChatRun, Mcp},
    client::McpClient,
    run::Outcome,
    server::McpServer,
    tool::{Tool, ToolCx, ToolError},
    transport::Http,
};
use serde_json::{Value, json};

use crate::{
    chat_world::{Paused, builder, events, is_completed, names, on_system, results, script},
    served::Served,
};

/// Counts how often a tool began and how often it came to its end.
#[derive(Clone, Default)]
struct Counted {
    begun: Arc<AtomicUsize>,
    done: Arc<AtomicUsize>,
}

impl Counted {
    fn get(&self) -> (usize, usize) {
        (
            self.begun.load(Ordering::SeqCst),
            self.done.load(Ordering::SeqCst),
        )
    }

    fn tool<Fut>(&self, name: &str, work: fn(ToolCx) -> Fut) -> Tool
    where
        Fut: Future<Output = Result<Value, ToolError>> + 'static,
    {
        let counted = self.clone();
        Tool::raw(
            name,
            json!({"type": "object"}),
            move |_: Value, cx: ToolCx| {
                let counted = counted.clone();
                async move {
                    counted.begun.fetch_add(1, Ordering::SeqCst);
                    let value = work(cx).await?;
                    counted.done.fetch_add(1, Ordering::SeqCst);
                    Ok::<_, ToolError>(value)
                }
            },
        )
    }
}

fn serve(tool: Tool) -> Served {
    let server = McpServer::new("world", "1.0.0")
        .tool(tool)
        .sample_from_client(true)
        .build()
        .unwrap();
    Served::start(move |config| {
        config.configure(roscius::web::mcp("/mcp", &server));
    })
}

async fn chat_with(served: &Served, tool: &str) -> (Chat, McpClient) {
    let url = format!("http://{}/mcp", served.addr);
    let client = McpClient::connect(Http::new(url))
        .prefix("w")
        .await
        .unwrap();
    let chat = builder(&script(&format!("w_{tool}")))
        .mcp(Mcp::clients([&client]).keep_alive())
        .build()
        .unwrap();
    (chat, client)
}

async fn ask_city(cx: ToolCx) -> Result<Value, ToolError> {
    let city = cx.request_input("Which city?").await?;
    Ok(json!({"city": city}))
}

async fn summarize(cx: ToolCx) -> Result<Value, ToolError> {
    Ok(json!(cx.sample("Sum it up").await?))
}

#[test]
fn a_question_of_a_server_pauses_the_run_and_its_answer_goes_back_in_one_call() {
    on_system(async {
        let counted = Counted::default();
        let served = serve(counted.tool("ask_city", ask_city));
        let (chat, client) = chat_with(&served, "ask_city").await;
        let paused = Paused::of(&chat).await;
        assert_eq!(counted.get(), (1, 0));
        let Outcome::Interrupted(asked) = paused.run.outcome().await else {
            panic!("it asks");
        };
        let question = &asked.interrupts[0];
        assert_eq!(question.id.as_str(), "mcp_input_c1");
        assert_eq!(question.reason, "mcp_input");
        assert_eq!(
            question.message.as_deref(),
            Some("Input required to run w_ask_city")
        );
        let shown = question.payload().unwrap();
        assert_eq!(shown["kind"], "form");
        assert_eq!(shown["request"]["message"], "Which city?");
        assert_eq!(shown["request"]["mode"], "form");

        let answer = paused.answer("mcp_input_c1", json!({"value": "Oslo"}));
        let child = chat.run(answer).await.unwrap();
        let seen = events(&child).await;
        assert_eq!(results(&seen), [r#"{"city":"Oslo"}"#]);
        assert!(is_completed(&child.outcome().await), "{seen:?}");
        assert_eq!(counted.get(), (2, 1));
        client.close().await;
    });
}

#[test]
fn a_question_of_a_server_outlives_a_restart_of_the_chat() {
    on_system(async {
        let counted = Counted::default();
        let served = serve(counted.tool("ask_city", ask_city));
        let (before, first) = chat_with(&served, "ask_city").await;
        let paused = Paused::of(&before).await;
        first.close().await;
        let (after, client) = chat_with(&served, "ask_city").await;
        let answer = || paused.answer("mcp_input_c1", json!({"value": "Oslo"}));
        for _ in 0..2 {
            let seen = events(&after.run(answer()).await.unwrap()).await;
            assert_eq!(results(&seen), [r#"{"city":"Oslo"}"#]);
        }
        assert_eq!(counted.get(), (2, 1));
        client.close().await;
    });
}

#[test]
fn a_refused_question_of_a_server_ends_its_call() {
    on_system(async {
        for (payload, refusals) in [(Some(json!({"action": "decline"})), 2), (None, 2)] {
            let counted = Counted::default();
            let served = serve(counted.tool("ask_city", ask_city));
            let (chat, client) = chat_with(&served, "ask_city").await;
            let paused = Paused::of(&chat).await;
            let answer = match payload {
                Some(payload) => paused.answer("mcp_input_c1", payload),
                None => ChatRun::resume(paused.run.id()).cancel("mcp_input_c1"),
            };
            let seen = events(&chat.run(answer).await.unwrap()).await;
            assert!(results(&seen)[0].starts_with(r#"{"error":"#), "{seen:?}");
            assert_eq!(counted.get(), (refusals, 0));
            client.close().await;
        }
    });
}

#[test]
fn a_sampling_request_of_a_server_is_answered_or_ends_its_call_without_another() {
    on_system(async {
        let counted = Counted::default();
        let served = serve(counted.tool("summarize", summarize));
        let (chat, client) = chat_with(&served, "summarize").await;
        let paused = Paused::of(&chat).await;
        let answer = paused.answer("mcp_input_c1", json!("short"));
        let seen = events(&chat.run(answer).await.unwrap()).await;
        assert_eq!(results(&seen), ["short"]);
        assert_eq!(counted.get(), (2, 1));

        let paused = Paused::of(&chat).await;
        let cancelled = ChatRun::resume(paused.run.id()).cancel("mcp_input_c1");
        let seen = events(&chat.run(cancelled).await.unwrap()).await;
        assert_eq!(
            results(&seen),
            [r#"{"error":"The user cancelled the MCP sampling request."}"#]
        );
        assert_eq!(counted.get(), (3, 1));
        assert_eq!(names(&seen).last(), Some(&"RUN_FINISHED"));
        client.close().await;
    });
}
