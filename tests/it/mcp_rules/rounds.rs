//! Who may ask, how often and under which key. Rules MR-S1 to MR-S6 of the reference.

use roscius::prelude::*;
use serde_json::{Value, json};

use crate::mcp_server::host::{Ask, Reply, Served};

fn form() -> Value {
    json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
}

fn server() -> McpServer {
    let sampling = |member: &'static str, value: Value| {
        move |cx: ToolCx| {
            let value = value.clone();
            async move {
                let mut request = SampleRequest::new("Sum");
                request.extra.insert(member.to_owned(), value);
                cx.sample(request).await
            }
        }
    };
    let listing = |cx: ToolCx| async move {
        cx.request_input("Which list?").await?;
        Ok::<_, ToolError>([ResourceListing::new("n://1", "one")])
    };
    let completing = |cx: ToolCx| async move {
        cx.request_input("Which word?").await?;
        Ok::<_, ToolError>(vec!["one".to_owned()])
    };
    McpServer::new("rounds", "1.0.0")
        .sample_from_client(true)
        .tool(Tool::new("tools", sampling("tools", json!([]))))
        .tool(Tool::new(
            "context",
            sampling("includeContext", json!("thisServer")),
        ))
        .tool(Tool::new("twice", |cx: ToolCx| async move {
            let (one, two) = futures_util::join!(
                cx.request_form("k", "One?", form()),
                cx.request_form("k", "Two?", form()),
            );
            Ok::<_, ToolError>(format!("{}{}", one?["a"], two?["a"]))
        }))
        .tool(Tool::new("plain", || async { "plain" }))
        .resource(
            Resource::template("n://{id}", || async { "n" })
                .list(listing)
                .complete("id", completing),
        )
        .build()
        .unwrap()
}

fn call(name: &str, capabilities: Value) -> Ask {
    let params = json!({"name": name, "arguments": {}});
    Ask::modern_as(capabilities, "tools/call", params)
}

/// MR-S1: calls, reads and prompts may ask; nothing else does, not even by mistake.
#[test]
fn nothing_but_calls_reads_and_prompts_asks() {
    let served = Served::new(&server());
    let reference = json!({"type": "ref/resource", "uri": "n://{id}"});
    for (method, params) in [
        ("resources/list", json!({})),
        (
            "completion/complete",
            json!({"ref": reference, "argument": {"name": "id", "value": ""}}),
        ),
    ] {
        let answer = json!({"input": {"action": "accept", "content": {"value": "x"}}});
        let mut answered = params.clone();
        answered["inputResponses"] = answer;
        for ask in [
            Ask::modern(method, params.clone()),
            Ask::modern(method, answered),
            Ask::legacy("2025-11-25", method, params),
        ] {
            let reply = ask.send(&served);
            assert_eq!(
                (reply.status, reply.error_code()),
                (200, -32603),
                "{method}"
            );
            assert!(!reply.body.contains("inputRequests"), "{reply:?}");
        }
    }
}

fn required(reply: &Reply) -> Value {
    assert_eq!(
        (reply.status, reply.error_code()),
        (400, -32021),
        "{reply:?}"
    );
    reply.json()["error"]["data"]["requiredCapabilities"].take()
}

/// MR-S3: the parts of sampling that have a name of their own are asked for only where they are
/// declared.
#[test]
fn parts_of_sampling_have_to_be_declared() {
    let served = Served::new(&server());
    for (name, part) in [("tools", "tools"), ("context", "context")] {
        let mut with = json!({"sampling": {}});
        let refused = call(name, with.clone()).send(&served);
        with["sampling"][part] = json!({});
        assert_eq!(required(&refused), with);
        assert_eq!(
            required(&call(name, json!({})).send(&served)),
            json!({"sampling": {}})
        );
        let asked = call(name, with).send(&served);
        let result = asked.json()["result"].take();
        assert_eq!(result["resultType"], "input_required", "{result}");
        assert_eq!(
            result["inputRequests"]["sample"]["method"],
            "sampling/createMessage"
        );
    }
}

/// MR-S2: a key stands once in a round. Two questions under one key are one question, or an error;
/// never is one of them lost.
#[test]
fn a_key_is_asked_once_in_a_round() {
    let served = Served::new(&server());
    let reply = call("twice", json!({"elicitation": {}})).send(&served);
    let result = reply.json()["result"].take();
    assert_eq!(
        reply.body.matches(r#""k":"#).count(),
        usize::from(result["isError"] != true),
        "{result}"
    );
    let refused = result["isError"] == true;
    assert!(
        refused || result["resultType"] == "input_required",
        "{result}"
    );
}

/// MR-S5: answers that nobody waits for are ignored.
#[test]
fn answers_to_nothing_are_ignored() {
    let served = Served::new(&server());
    let answers = json!({"other": {"action": "accept", "content": {}}, "more": 5});
    let params = json!({"name": "plain", "arguments": {}, "inputResponses": answers});
    let reply = Ask::modern("tools/call", params).send(&served).json();
    assert_eq!(reply["result"]["content"][0]["text"], "plain");
    let list = json!({"inputResponses": answers, "requestState": "made up"});
    assert_eq!(Ask::modern("tools/list", list).send(&served).status, 200);
}

/// CA-1, MR-S7: how long something may be kept is said of lists, reads and discovery, and of nothing
/// else; a question is never kept.
#[test]
fn only_lists_and_reads_say_how_long_they_may_be_kept() {
    let served = Served::new(&server());
    let reference = json!({"type": "ref/resource", "uri": "n://{id}"});
    for (method, params, kept) in [
        ("server/discover", json!({}), true),
        ("tools/list", json!({}), true),
        ("resources/templates/list", json!({}), true),
        ("resources/read", json!({"uri": "n://1"}), true),
        ("tools/call", json!({"name": "plain"}), false),
        ("tools/call", json!({"name": "twice"}), false),
        (
            "completion/complete",
            json!({"ref": reference, "argument": {"name": "id", "value": ""}}),
            false,
        ),
    ] {
        let body = Ask::modern(method, params).send(&served).body;
        for member in ["ttlMs", "cacheScope"] {
            assert_eq!(body.contains(member), kept, "{method}: {body}");
        }
    }
}
