//! Lists: all pages, an end, and an answer where something is served.

use roscius::prelude::*;
use serde_json::{Value, json};

use super::world::versions;
use crate::mcp_server::host::{Ask, MODERN, Served};

const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resources"),
    ("prompts/list", "prompts"),
];

/// B127: what a server announces it answers, with an empty list if need be; what it does not
/// announce it does not know.
#[test]
fn a_list_is_answered_exactly_where_it_is_announced() {
    let one = || McpServer::new("one", "1");
    let servers = [
        one(),
        one().tool(Tool::new("t", || async { "" })),
        one().resource(Resource::new("a", "a://a", || async { "" })),
        one().resource(Resource::template("a://{b}", || async { "" })),
        one().prompt(Prompt::new("p", || async { "" })),
    ];
    for server in servers {
        let served = Served::new(&server.build().unwrap());
        let discover = Ask::modern("server/discover", json!({}))
            .send(&served)
            .json();
        let capabilities = &discover["result"]["capabilities"];
        for (method, capability) in LISTS {
            let announced = capabilities.get(capability).is_some();
            for (version, ask) in versions(method, &json!({})) {
                let reply = ask.send(&served);
                let message = reply.json();
                if announced {
                    assert!(
                        message["result"].is_object(),
                        "{version} {method}: {message}"
                    );
                    continue;
                }
                let status = if version == MODERN { 404 } else { 200 };
                assert_eq!(
                    (reply.status, reply.error_code()),
                    (status, -32601),
                    "{version} {method}"
                );
            }
        }
    }
}

/// B124, B125: every page comes once and the last one has no cursor, whatever the size of a page.
#[test]
fn every_walk_over_pages_ends() {
    for size in [1, 7, 20, 21, 22] {
        let tools = (0..21).map(|at| Tool::new(format!("t{at}"), || async { "" }));
        let server = McpServer::new("pages", "1").page_size(size).tools(tools);
        let served = Served::new(&server.build().unwrap());
        for version in [MODERN, "2025-11-25"] {
            let mut cursors: Vec<Value> = Vec::new();
            let mut names = 0;
            loop {
                let mut params = json!({});
                if let Some(cursor) = cursors.last() {
                    params["cursor"] = cursor.clone();
                }
                let ask = if version == MODERN {
                    Ask::modern("tools/list", params)
                } else {
                    Ask::legacy(version, "tools/list", params)
                };
                let page = ask.send(&served).json()["result"].take();
                let items = page["tools"].as_array().unwrap().len();
                assert!(items > 0, "no page is empty");
                names += items;
                let Some(cursor) = page.get("nextCursor") else {
                    break;
                };
                assert!(!cursors.contains(cursor), "a cursor leads on");
                cursors.push(cursor.clone());
            }
            assert_eq!(names, 21, "{size} {version}");
            assert_eq!(cursors.len(), 21_usize.div_ceil(size) - 1);
        }
    }
}
