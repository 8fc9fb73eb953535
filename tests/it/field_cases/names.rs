//! Names of tools.

use std::collections::BTreeSet;

use roscius::{prelude::*, server::ServerError};
use serde_json::json;

use super::world::text;
use crate::mcp_server::host::{Ask, Served};

fn named(name: &str) -> Tool {
    Tool::new(name, || async { "ran" })
}

/// B114: a name that clients or models would stumble over is refused when the server is built, and
/// the error says which; what is allowed is listed and called under its own name.
#[test]
fn names_that_nobody_could_use_are_refused_and_named() {
    for name in [
        "user-profile/update",
        "Get blog post",
        "查询",
        "a:b",
        "a\n",
        &"x".repeat(129),
        "",
    ] {
        let error = McpServer::new("names", "1")
            .tool(named(name))
            .build()
            .unwrap_err();
        assert!(
            matches!(&error, ServerError::ToolName(wrong) if wrong == name),
            "{error}"
        );
        assert!(error.to_string().contains(name), "{error}");
    }
    let longest = "x".repeat(128);
    let names = ["a", "calendar.listEvents", "A-b_C.9", longest.as_str()];
    let server = McpServer::new("names", "1")
        .tools(names.map(named))
        .build()
        .unwrap();
    let served = Served::new(&server);
    let list = Ask::modern("tools/list", json!({})).send(&served).json();
    for (at, name) in names.into_iter().enumerate() {
        assert_eq!(list["result"]["tools"][at]["name"], name);
        let params = json!({"name": name, "arguments": {}});
        for ask in [
            Ask::modern("tools/call", params.clone()),
            Ask::legacy("2025-11-25", "tools/call", params),
        ] {
            assert_eq!(text(&ask.send(&served).json()), "ran");
        }
    }
    // A name is compared letter by letter.
    let other = Ask::modern("tools/call", json!({"name": "A"})).send(&served);
    assert_eq!(other.error_code(), -32602);
}

/// B116: no name is listed twice, on one page or on two.
#[test]
fn a_name_is_listed_once() {
    let twice = McpServer::new("names", "1").tools([named("search"), named("search")]);
    let error = twice.build().unwrap_err();
    assert!(matches!(&error, ServerError::DuplicateTool(name) if name == "search"));
    let tools = (0..21).map(|at| named(&format!("t{at}")));
    let served = Served::new(
        &McpServer::new("names", "1")
            .page_size(15)
            .tools(tools)
            .build()
            .unwrap(),
    );
    let mut seen = BTreeSet::new();
    let mut params = json!({});
    loop {
        let page = Ask::modern("tools/list", params).send(&served).json()["result"].take();
        for tool in page["tools"].as_array().unwrap() {
            assert!(seen.insert(tool["name"].to_string()), "{tool}");
        }
        let Some(cursor) = page.get("nextCursor") else {
            break;
        };
        params = json!({"cursor": cursor});
    }
    assert_eq!(seen.len(), 21);
}
