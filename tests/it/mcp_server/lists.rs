//! Long lists in pages, and how long clients may keep what they got.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use roscius::{machine::seal::SealKey, prelude::*};
use serde_json::{Value, json};

use super::host::{Ask, Served};

fn server() -> roscius::server::McpServerBuilder {
    let mut builder = McpServer::new("long", "1.0.0").page_size(15);
    for at in 0..21 {
        builder = builder
            .tool(Tool::new(format!("t{at}"), || async { "" }))
            .prompt(Prompt::new(format!("p{at}"), || async { "" }))
            .resource(Resource::new(
                format!("r{at}"),
                format!("r://{at}"),
                || async { "" },
            ))
            .resource(Resource::template(format!("x://{at}/{{id}}"), || async {
                ""
            }));
    }
    builder
}

const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("prompts/list", "prompts", "name"),
    ("resources/list", "resources", "uri"),
    (
        "resources/templates/list",
        "resourceTemplates",
        "uriTemplate",
    ),
];

fn page(served: &Served, version: &str, method: &str, cursor: Option<&Value>) -> Value {
    let mut params = json!({});
    if let Some(cursor) = cursor {
        params["cursor"] = cursor.clone();
    }
    let ask = if version == "2026-07-28" {
        Ask::modern(method, params)
    } else {
        Ask::legacy(version, method, params)
    };
    let reply = ask.send(served);
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()
}

/// B124, B125: 21 items, 15 a page, in every list and both eras; the end is the absent cursor.
#[test]
fn a_long_list_comes_in_pages() {
    let served = Served::new(&server().build().unwrap());
    for (method, member, key) in LISTS {
        for version in ["2026-07-28", "2025-11-25"] {
            let first = page(&served, version, method, None)["result"].take();
            let second = page(&served, version, method, first.get("nextCursor"))["result"].take();
            let again = page(&served, version, method, first.get("nextCursor"))["result"].take();
            assert_eq!(second, again, "a cursor can be used twice");
            assert_eq!(second.get("nextCursor"), None);
            let items = |page: &Value| page[member].as_array().unwrap().clone();
            assert_eq!((items(&first).len(), items(&second).len()), (15, 6));
            let all: HashSet<String> = items(&first)
                .iter()
                .chain(&items(&second))
                .map(|item| item[key].to_string())
                .collect();
            assert_eq!(all.len(), 21);
        }
    }
}

#[test]
fn a_cursor_that_was_not_given_out_is_refused() {
    let served = Served::new(&server().build().unwrap());
    let given = page(&served, "2026-07-28", "tools/list", None)["result"]["nextCursor"].take();
    for (method, ..) in LISTS {
        // An empty text is a cursor, and one of another list is none of this.
        for cursor in [
            json!(""),
            json!("15"),
            json!("x".repeat(5000)),
            given.clone(),
            json!(5),
        ] {
            if method == "tools/list" && cursor == given {
                continue;
            }
            for version in ["2026-07-28", "2025-11-25"] {
                let message = page(&served, version, method, Some(&cursor));
                assert_eq!(
                    message["error"]["code"], -32602,
                    "{method} {cursor} {message}"
                );
            }
        }
    }
}

#[test]
fn nodes_that_share_a_key_take_each_others_cursors() {
    let node = || {
        let key = SealKey::from_bytes([7; 32]);
        Served::new(&server().state_key(key).build().unwrap())
    };
    let cursor = page(&node(), "2026-07-28", "tools/list", None)["result"]["nextCursor"].take();
    let second = page(&node(), "2026-07-28", "tools/list", Some(&cursor));
    assert_eq!(second["result"]["tools"].as_array().unwrap().len(), 6);
}

struct Names(Mutex<Vec<String>>);

#[test]
fn a_list_that_changes_between_two_pages_loses_and_repeats_nothing() {
    let names = Arc::new(Names(Mutex::new(
        ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
    )));
    let shared = Arc::clone(&names);
    let list = move || {
        let names = shared.0.lock().unwrap().clone();
        async move {
            let listing = |name: &String| ResourceListing::new(format!("n://{name}"), name.clone());
            names.iter().map(listing).collect::<Vec<_>>()
        }
    };
    let server = McpServer::new("changing", "1")
        .page_size(2)
        .resource(Resource::template("n://{name}", || async { "" }).list(list))
        .build()
        .unwrap();
    let served = Served::new(&server);
    let first = page(&served, "2026-07-28", "resources/list", None)["result"].take();
    names.0.lock().unwrap().insert(0, "new".to_owned());
    let second = page(
        &served,
        "2026-07-28",
        "resources/list",
        first.get("nextCursor"),
    );
    let listed: Vec<&Value> = second["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["name"])
        .collect();
    assert_eq!(listed, ["c", "d"]);
    assert_eq!(second["result"].get("nextCursor"), None);
    names.0.lock().unwrap().clear();
    let gone = page(
        &served,
        "2026-07-28",
        "resources/list",
        first.get("nextCursor"),
    );
    assert_eq!(gone["result"]["resources"], json!([]));
}

#[test]
fn clients_may_keep_what_the_configuration_says() {
    let minute = Duration::from_secs(60);
    let server = server()
        .cache(Cached::Discover, CacheHint::public(minute))
        .cache(Cached::Tools, CacheHint::public(minute))
        .cache(Cached::Resources, CacheHint::private(minute))
        .cache(Cached::Reads, CacheHint::private(minute))
        .resource(
            Resource::new("own", "own://x", || async { "" })
                .cache(CacheHint::public(Duration::from_millis(1500))),
        )
        .build()
        .unwrap();
    let served = Served::new(&server);
    let hint = |result: &Value| (result["ttlMs"].clone(), result["cacheScope"].clone());
    for (method, ttl_ms, scope) in [
        ("server/discover", 60_000, "public"),
        ("tools/list", 60_000, "public"),
        ("resources/list", 60_000, "private"),
        ("prompts/list", 0, "private"),
    ] {
        let result = page(&served, "2026-07-28", method, None)["result"].take();
        assert_eq!(hint(&result), (json!(ttl_ms), json!(scope)), "{method}");
        if let Some(cursor) = result.get("nextCursor") {
            // Every page of a list has the same scope.
            let second = page(&served, "2026-07-28", method, Some(cursor));
            assert_eq!(hint(&second["result"]), hint(&result));
        }
    }
    for (uri, ttl_ms, scope) in [("r://1", 60_000, "private"), ("own://x", 1500, "public")] {
        let read = Ask::modern("resources/read", json!({"uri": uri})).send(&served);
        assert_eq!(hint(&read.json()["result"]), (json!(ttl_ms), json!(scope)));
        let legacy = Ask::legacy("2025-11-25", "resources/read", json!({"uri": uri}));
        assert_eq!(legacy.send(&served).json()["result"].get("ttlMs"), None);
    }
}
