//! Calls that end at once: listings and results of both kinds.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use actix_web::{HttpRequest, HttpResponse};
use roscius::{
    prelude::*, tool::Context, web::McpRoutes, wire::auth::AuthInfo, wire::content::CallToolResult,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::host::{Ask, Served};

#[derive(Deserialize, JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Total {
    sum: i64,
}

struct Greeting(&'static str);

async fn add(Args(q): Args<Sum>) -> Json<Total> {
    Json(Total { sum: q.a + q.b })
}

async fn greet(greeting: Ctx<Greeting>, who: Ctx<AuthInfo>) -> String {
    format!("{} {}", greeting.0.0, who.client_id)
}

async fn boom() -> Result<String, std::io::Error> {
    Err(std::io::Error::other("disk on fire"))
}

fn server() -> McpServer {
    let any = || json!({"type": "object"});
    McpServer::new("calls", "1.2.3")
        .title("Calls")
        .instructions("Ask before you guess.")
        .context(Greeting("hello"))
        .tool(
            Tool::new("text", || async { "sunny\n\"quoted\" ü" })
                .title("Text")
                .read_only(),
        )
        .tool(Tool::new("add", add).description("Adds"))
        .tool(Tool::new("count", || async { Json(5) }).description("Counts"))
        .tool(Tool::raw("list", any(), |_, _| async { json!([1, 2]) }))
        .tool(Tool::raw("echo", any(), |value, _| async move { value }))
        .tool(Tool::new("nothing", || async {}))
        .tool(Tool::new("boom", boom))
        .tool(Tool::new("panic", || async { panic!("secret") as String }))
        .tool(Tool::new("greet", greet))
        .tool(Tool::new("whole", || async {
            let mut result = CallToolResult::text("as it is");
            result.structured_content = Some(json!({"a": 1}));
            result.is_error = Some(true);
            result.meta = json!({"mine": 1}).as_object().cloned();
            result
        }))
        .build()
        .unwrap()
}

fn modern(served: &Served, name: &str, arguments: Value) -> Value {
    let reply =
        Ask::modern("tools/call", json!({"name": name, "arguments": arguments})).send(served);
    assert_eq!(reply.status, 200, "{reply:?}");
    let mut message = reply.json();
    let info = &message["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["name"], "calls", "{message}");
    message["result"]
        .as_object_mut()
        .unwrap()
        .shift_remove("_meta");
    message["result"].take()
}

fn legacy(served: &Served, name: &str, arguments: Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    let reply = Ask::legacy("2025-11-25", "tools/call", params).send(served);
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()["result"].take()
}

// G17
#[test]
fn discover_names_what_is_served() {
    let served = Served::new(&server());
    let result = Ask::modern("server/discover", json!({}))
        .send(&served)
        .json()["result"]
        .take();
    assert_eq!(
        result,
        json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            "capabilities": {"logging": {}, "tools": {"listChanged": false}},
            "instructions": "Ask before you guess.",
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "calls", "version": "1.2.3", "title": "Calls"}},
        })
    );
}

#[test]
fn the_list_keeps_the_order_of_the_tools_in_both_eras() {
    let served = Served::new(&server());
    let modern = Ask::modern("tools/list", json!({})).send(&served).json();
    let legacy = Ask::legacy("2025-06-18", "tools/list", json!({}))
        .send(&served)
        .json();
    assert_eq!(modern["result"]["resultType"], "complete");
    assert_eq!(modern["result"]["ttlMs"], 0);
    assert_eq!(modern["result"]["cacheScope"], "private");
    assert_eq!(legacy["result"].as_object().unwrap().len(), 1);
    let names = |list: &Value| -> Vec<String> {
        let tools = list["result"]["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let order = [
        "text", "add", "count", "list", "echo", "nothing", "boom", "panic", "greet", "whole",
    ];
    assert_eq!(names(&modern), order);
    assert_eq!(names(&legacy), order);
    let first = &modern["result"]["tools"][0];
    assert_eq!(first["title"], "Text");
    assert_eq!(first["annotations"], json!({"readOnlyHint": true}));
    assert_eq!(
        modern["result"]["tools"][2]["outputSchema"],
        json!({"type": "integer"})
    );
    assert_eq!(
        legacy["result"]["tools"][2]["outputSchema"],
        json!({"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]})
    );
}

#[test]
fn results_are_mapped_for_each_era() {
    let served = Served::new(&server());
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let table = [
        (
            "text",
            json!({}),
            json!({"content": text("sunny\n\"quoted\" ü")}),
            None,
        ),
        (
            "add",
            json!({"a": 2, "b": 3}),
            json!({"content": text(r#"{"sum":5}"#), "structuredContent": {"sum": 5}}),
            None,
        ),
        (
            "count",
            json!({}),
            json!({"content": text("5"), "structuredContent": 5}),
            Some(json!({"content": text("5"), "structuredContent": {"result": 5}})),
        ),
        ("list", json!({}), json!({"content": text("[1,2]")}), None),
        (
            "echo",
            json!({"x": [null]}),
            json!({"content": text(r#"{"x":[null]}"#), "structuredContent": {"x": [null]}}),
            None,
        ),
        ("nothing", json!({}), json!({"content": text("")}), None),
        (
            "boom",
            json!({}),
            json!({"content": text("disk on fire"), "isError": true}),
            None,
        ),
        (
            "panic",
            json!({}),
            json!({"content": text("tool failed"), "isError": true}),
            None,
        ),
    ];
    for (name, arguments, expected, expected_2025) in table {
        let mut result = modern(&served, name, arguments.clone());
        assert_eq!(
            result.as_object_mut().unwrap().shift_remove("resultType"),
            Some(json!("complete"))
        );
        assert_eq!(result, expected, "{name}");
        assert_eq!(
            legacy(&served, name, arguments),
            expected_2025.unwrap_or(expected),
            "{name}"
        );
    }
}

#[test]
fn a_whole_result_is_sent_as_it_is() {
    let served = Served::new(&server());
    let reply = Ask::modern("tools/call", json!({"name": "whole"}))
        .send(&served)
        .json();
    let result = &reply["result"];
    assert_eq!(result["structuredContent"], json!({"a": 1}));
    assert_eq!(result["isError"], true);
    assert_eq!(result["_meta"]["mine"], 1);
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "calls"
    );
    assert_eq!(
        legacy(&served, "whole", json!({}))["_meta"],
        json!({"mine": 1})
    );
}

#[test]
fn arguments_that_do_not_fit_are_a_failure_the_model_can_read() {
    let served = Served::new(&server());
    for (arguments, place) in [
        (json!({"a": 1}), "/b"),
        (json!({"a": 1, "b": "2"}), "/b"),
        (json!([1, 2]), "object"),
    ] {
        for result in [
            modern(&served, "add", arguments.clone()),
            legacy(&served, "add", arguments),
        ] {
            assert_eq!(result["isError"], true);
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("`add`") && text.contains(place), "{text}");
        }
    }
}

#[test]
fn the_hook_knows_the_caller_and_gives_values() {
    let routes = McpRoutes::new("/mcp", &server()).authorize(|request: HttpRequest| async move {
        match request.headers().get("authorization") {
            Some(token) if token == "Bearer good" => {
                let forged = AuthInfo::new("x", "forged");
                let caller = AuthInfo::new("good", "anna");
                Ok(Options::new()
                    .auth_info(caller)
                    .context(forged)
                    .context(Greeting("ahoy")))
            }
            _ => Err(HttpResponse::Unauthorized().finish()),
        }
    });
    let served = Served::with(routes.routes());
    let ask = Ask::modern("tools/call", json!({"name": "greet"}));
    assert_eq!(ask.send(&served).status, 401);
    let reply = ask
        .header("authorization", "Bearer good")
        .send(&served)
        .json();
    assert_eq!(reply["result"]["content"][0]["text"], "ahoy anna");
}

#[test]
fn a_server_that_could_not_serve_is_not_built() {
    let build = |tools: Vec<Tool>| McpServer::new("x", "1").tools(tools).build();
    let plain = |name: &str| Tool::new(name, || async {});
    assert!(build(vec![plain("a"), plain("a")]).is_err());
    for name in ["", "a b", "ü", &"x".repeat(129)] {
        assert!(build(vec![plain(name)]).is_err(), "{name}");
    }
    assert!(build(vec![Tool::client("browser", json!({"type": "object"}))]).is_err());
    assert!(build(vec![Tool::new("greet", greet)]).is_err());
    let number =
        json!({"type": "object", "properties": {"n": {"type": "number", "x-mcp-header": "N"}}});
    assert!(build(vec![Tool::raw("n", number, |_, _| async {})]).is_err());
    let promised = McpServer::new("x", "1")
        .request_context::<Greeting>()
        .tool(Tool::new("greet", greet));
    assert!(promised.build().is_ok());
    assert!(Context::new().is_empty());
}

#[test]
fn title_hints_icons_and_meta_are_listed_as_they_were_given() {
    let meta = json!({"ui": {"resourceUri": "ui://view"}, "own/key": [1, null]});
    let icons = json!([{"src": "https://h.test/i.png", "sizes": ["48x48"]}]);
    let tool = Tool::new("hinted", || async { "" })
        .title("Hinted")
        .read_only()
        .destructive(false)
        .idempotent()
        .open_world(false)
        .icons(icons.clone())
        .meta(meta.as_object().cloned().unwrap());
    let served = Served::new(&McpServer::new("hints", "1").tool(tool).build().unwrap());
    for ask in [
        Ask::modern("tools/list", json!({})),
        Ask::legacy("2025-11-25", "tools/list", json!({})),
    ] {
        let listed = ask.send(&served).json()["result"]["tools"][0].take();
        assert_eq!(listed["title"], "Hinted");
        assert_eq!(
            listed["annotations"],
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false})
        );
        assert_eq!((&listed["_meta"], &listed["icons"]), (&meta, &icons));
    }
}

#[test]
fn what_stands_before_a_question_runs_again_and_what_stands_after_runs_once() {
    let counts: Arc<[AtomicUsize; 2]> = Arc::default();
    let counted = Arc::clone(&counts);
    let ask = move |cx: ToolCx| {
        let counts = Arc::clone(&counted);
        async move {
            counts[0].fetch_add(1, Ordering::SeqCst);
            let city = cx.request_input("Which city?").await?;
            counts[1].fetch_add(1, Ordering::SeqCst);
            Ok::<_, ToolError>(city)
        }
    };
    let server = McpServer::new("counting", "1").tool(Tool::new("ask", ask));
    let served = Served::new(&server.build().unwrap());
    let asked = Ask::modern("tools/call", json!({"name": "ask", "arguments": {}})).send(&served);
    let params = json!({
        "name": "ask", "arguments": {},
        "inputResponses": {"input": {"action": "accept", "content": {"value": "Oslo"}}},
        "requestState": asked.json()["result"]["requestState"],
    });
    let answer = Ask::modern("tools/call", params).send(&served).json();
    assert_eq!(answer["result"]["content"][0]["text"], "Oslo");
    let runs = [0, 1].map(|at| counts[at].load(Ordering::SeqCst));
    assert_eq!(runs, [2, 1]);
}
