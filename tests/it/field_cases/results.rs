//! Results of tools, and what is left out of every result.

use roscius::{
    prelude::*,
    wire::content::{CallToolResult, ContentBlock},
};
use serde_json::{Value, json};

use super::world::{text, versions};
use crate::mcp_server::host::{Ask, MODERN, Served};

fn any() -> Value {
    json!({"type": "object"})
}

fn giving(name: &str, result: CallToolResult) -> Tool {
    Tool::raw(name, any(), move |_, _| {
        let result = result.clone();
        async move { result }
    })
}

/// What was promised: an object with the text `ok`.
fn promised() -> Value {
    json!({"type": "object", "properties": {"ok": {"type": "string"}}, "required": ["ok"]})
}

/// The result of a call in every version, without what 2026 adds.
fn results(served: &Served, name: &str) -> Vec<Value> {
    versions("tools/call", &json!({"name": name, "arguments": {}}))
        .into_iter()
        .map(|(version, ask)| {
            let reply = ask.send(served);
            assert_eq!(reply.status, 200, "{version}: {reply:?}");
            let mut result = reply.json()["result"].take();
            let members = result.as_object_mut().unwrap();
            members.shift_remove("resultType");
            members.shift_remove("_meta");
            result
        })
        .collect()
}

/// B118: a failure is not held against the schema of results, and keeps the data that explains it.
#[test]
fn a_failure_is_sent_as_it_is_whatever_was_promised() {
    let failure = |content: Vec<ContentBlock>| CallToolResult {
        content,
        structured_content: Some(json!({"code": "RATE"})),
        is_error: Some(true),
        ..CallToolResult::default()
    };
    let thrown = || async { Err::<Json<Vec<String>>, _>(std::io::Error::other("quota")) };
    let server = McpServer::new("results", "1")
        .tool(giving("told", failure(vec![ContentBlock::text("quota")])).output_schema(promised()))
        .tool(giving("silent", failure(Vec::new())).output_schema(promised()))
        .tool(Tool::new("thrown", thrown).output_schema(promised()));
    let served = Served::new(&server.build().unwrap());
    let quota = json!([{"type": "text", "text": "quota"}]);
    for (name, wanted) in [
        (
            "told",
            json!({"content": quota, "structuredContent": {"code": "RATE"}, "isError": true}),
        ),
        (
            "silent",
            json!({"content": [], "structuredContent": {"code": "RATE"}, "isError": true}),
        ),
        ("thrown", json!({"content": quota, "isError": true})),
    ] {
        for result in results(&served, name) {
            assert_eq!(result, wanted, "{name}");
        }
    }
}

/// B119: what was promised as data has to be there as data; text that says the same is not it.
#[test]
fn a_result_without_the_promised_data_is_a_failure() {
    let only_text = CallToolResult::text(r#"{"ok":"yes"}"#);
    let loose = json!({"type": "object", "properties": {"ok": {"type": "string"}}});
    let server = McpServer::new("results", "1")
        .tool(giving("strict", only_text.clone()).output_schema(promised()))
        .tool(giving("loose", only_text).output_schema(loose.clone()))
        .tool(Tool::raw("text", any(), |_, _| async { "plain" }).output_schema(loose))
        .tool(
            Tool::raw("wrong", any(), |_, _| async { json!({"ok": 5}) }).output_schema(promised()),
        )
        .tool(
            Tool::raw("good", any(), |_, _| async { json!({"ok": "yes"}) })
                .output_schema(promised()),
        );
    let served = Served::new(&server.build().unwrap());
    for name in ["strict", "loose", "text", "wrong"] {
        for result in results(&served, name) {
            assert_eq!(result["isError"], true, "{name}: {result}");
            assert_eq!(result.get("structuredContent"), None, "{name}: {result}");
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.contains(&format!("`{name}`")), "{text}");
        }
    }
    for result in results(&served, "good") {
        assert_eq!(result["structuredContent"], json!({"ok": "yes"}));
    }
}

/// B120: a result always has its list of content, and data is never lost for want of text.
#[test]
fn a_result_without_text_still_is_one() {
    let empty = CallToolResult::default();
    let data = CallToolResult {
        structured_content: Some(json!({"ok": true})),
        ..CallToolResult::default()
    };
    let server = McpServer::new("results", "1")
        .tool(giving("empty", empty))
        .tool(giving("data", data))
        .tool(giving("blank", CallToolResult::text("")))
        .tool(Tool::new("nothing", || async {}))
        .tool(Tool::raw("value", any(), |_, _| async {
            json!({"ok": true})
        }));
    let served = Served::new(&server.build().unwrap());
    let blank = json!([{"type": "text", "text": ""}]);
    for (name, wanted) in [
        ("empty", json!({"content": []})),
        (
            "data",
            json!({"content": [], "structuredContent": {"ok": true}}),
        ),
        ("blank", json!({"content": blank})),
        ("nothing", json!({"content": blank})),
        (
            "value",
            json!({"content": [{"type": "text", "text": r#"{"ok":true}"#}], "structuredContent": {"ok": true}}),
        ),
    ] {
        for result in results(&served, name) {
            assert_eq!(result, wanted, "{name}");
        }
    }
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
struct Debugged {
    city: String,
}

/// B122: a model reads what was meant, never how Rust would print it.
#[test]
fn nothing_of_the_language_reaches_the_model() {
    let image = || {
        vec![
            ContentBlock::text("hi"),
            ContentBlock::image("AA==", "image/png"),
        ]
    };
    let broken = || async { Err::<String, _>("x".parse::<u8>().unwrap_err()) };
    let server = McpServer::new("results", "1")
        .tool(Tool::new("text", || async { "hi" }))
        .tool(Tool::new("blocks", move || async move { image() }))
        .tool(Tool::new("typed", || async {
            Json(Debugged {
                city: "Bern".to_owned(),
            })
        }))
        .tool(Tool::new("broken", broken));
    let served = Served::new(&server.build().unwrap());
    let hi = json!({"type": "text", "text": "hi"});
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    let bern = json!([{"type": "text", "text": r#"{"city":"Bern"}"#}]);
    let said = json!([{"type": "text", "text": "invalid digit found in string"}]);
    for (name, wanted) in [
        ("text", json!([hi])),
        ("blocks", json!([hi, image])),
        ("typed", bern),
        ("broken", said),
    ] {
        for result in results(&served, name) {
            assert_eq!(result["content"], wanted, "{name}");
        }
    }
}

/// Fails when a member of an object is null.
fn assert_no_null(what: &str, value: &Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                assert!(!value.is_null(), "{what}: {name} is null");
                assert_no_null(what, value);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| assert_no_null(what, item)),
        _ => {}
    }
}

/// B123: what was not given is left out, in every result of every version.
#[test]
fn no_result_has_a_member_that_is_null() {
    let ask = |cx: ToolCx| async move { cx.request_input("?").await };
    let list = || async { [ResourceListing::new("n://1", "one")] };
    let server = McpServer::new("results", "1")
        .page_size(1)
        .tool(Tool::new("plain", || async { "hi" }))
        .tool(Tool::new("ask", ask))
        .tool(giving("whole", CallToolResult::default()))
        .resource(Resource::new("a", "a://a", || async { "a" }))
        .resource(
            Resource::template("n://{id}", || async { "n" })
                .list(list)
                .complete("id", |_: Partial| async { ["1"] }),
        )
        .prompt(Prompt::new("p", || async { "p" }));
    let served = Served::new(&server.build().unwrap());
    let reference = json!({"type": "ref/resource", "uri": "n://{id}"});
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "plain"})),
        ("tools/call", json!({"name": "whole"})),
        ("tools/call", json!({"name": "ask"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "a://a"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "p"})),
        (
            "completion/complete",
            json!({"ref": reference, "argument": {"name": "id", "value": ""}}),
        ),
    ] {
        for (version, ask) in versions(method, &params) {
            let message = ask.send(&served).json();
            assert!(message.get("result").is_some(), "{method}: {message}");
            assert_no_null(&format!("{method} {version}"), &message);
        }
    }
    for (version, initialize) in versions(
        "initialize",
        &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}),
    ) {
        if version != MODERN {
            assert_no_null("initialize", &initialize.send(&served).json());
        }
    }
    assert_no_null(
        "discover",
        &Ask::modern("server/discover", json!({}))
            .send(&served)
            .json(),
    );
    assert_eq!(
        text(
            &Ask::modern("tools/call", json!({"name": "plain"}))
                .send(&served)
                .json()
        ),
        "hi"
    );
}
