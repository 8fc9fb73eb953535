//! Arguments that headers repeat: `Mcp-Param-*`. Rules H-1 to H-7 and of the reference.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use roscius::prelude::*;
use serde_json::{Value, json};

use crate::mcp_server::host::{Ask, Reply, Served, Wire};

fn schema() -> Value {
    json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "deep": {"type": "object", "properties": {
            "flag": {"type": ["boolean", "null"], "x-flag": 1},
            "on": {"type": "boolean", "x-mcp-header": "On"},
        }},
        "plain": {"type": "string"},
    }})
}

/// A server whose tool counts how often it has run.
fn served(runs: &Arc<AtomicUsize>) -> Served {
    let runs = Arc::clone(runs);
    let tool = Tool::raw("mirror", schema(), move |value, _| {
        runs.fetch_add(1, Ordering::SeqCst);
        async move { value }
    });
    Served::new(&McpServer::new("params", "1").tool(tool).build().unwrap())
}

/// Sends a request whose answer no schema describes.
pub(super) fn exchange(served: &Served, ask: &Ask) -> Reply {
    let mut wire = Wire::open(served.addr);
    wire.send(&ask.bytes(served.addr));
    wire.reply()
}

/// Headers with their values.
type Mirrors = Vec<(&'static str, &'static str)>;

fn call(arguments: &Value, headers: &[(&str, &str)]) -> Ask {
    let params = json!({"name": "mirror", "arguments": arguments});
    let ask = Ask::modern("tools/call", params);
    headers
        .iter()
        .fold(ask, |ask, (name, value)| ask.header(name, value))
}

#[test]
fn mirrored_arguments_agree_by_their_type() {
    let runs = Arc::default();
    let served = served(&runs);
    let world = "=?base64?SGVsbG8sIOS4lueVjA==?=";
    let table: Vec<(Value, Mirrors, bool)> = vec![
        // H-5: integers compare as numbers.
        (json!({"count": 42}), vec![("mcp-param-count", "42")], true),
        (
            json!({"count": 42}),
            vec![("mcp-param-count", "42.0")],
            true,
        ),
        (
            json!({"count": 42.0}),
            vec![("mcp-param-count", "42")],
            true,
        ),
        (json!({"count": -7}), vec![("mcp-param-count", "-7")], true),
        (json!({"count": 42}), vec![("mcp-param-count", "43")], false),
        (json!({"count": 42}), vec![("mcp-param-count", "")], false),
        (json!({"count": 42}), vec![], false),
        // Beyond 53 bits no client may mirror.
        (json!({"count": 9_007_199_254_740_992_u64}), vec![], true),
        (
            json!({"count": 9_007_199_254_740_991_u64}),
            vec![("mcp-param-count", "9007199254740991")],
            true,
        ),
        (json!({"count": 9_007_199_254_740_991_u64}), vec![], false),
        // Booleans are words, and their letters count.
        (
            json!({"deep": {"on": true}}),
            vec![("mcp-param-on", "true")],
            true,
        ),
        (
            json!({"deep": {"on": false}}),
            vec![("mcp-param-on", "false")],
            true,
        ),
        (
            json!({"deep": {"on": true}}),
            vec![("mcp-param-on", "True")],
            false,
        ),
        (
            json!({"deep": {"on": true}}),
            vec![("mcp-param-on", "1")],
            false,
        ),
        (json!({"deep": {"on": true}}), vec![], false),
        // H-1, H-3: names have no case, texts have; what is no ASCII is encoded.
        (
            json!({"region": "eu"}),
            vec![("MCP-PARAM-REGION", "eu")],
            true,
        ),
        (
            json!({"region": "eu"}),
            vec![("mcp-param-region", "  eu  ")],
            true,
        ),
        (
            json!({"region": "eu"}),
            vec![("mcp-param-region", "EU")],
            false,
        ),
        (
            json!({"region": "Hello, 世界"}),
            vec![("mcp-param-region", world)],
            true,
        ),
        // H-6: null, absent and empty.
        (json!({"region": null}), vec![], true),
        (json!({}), vec![], true),
        (json!({"deep": {}}), vec![], true),
        (json!({"deep": null}), vec![], true),
        (json!({"region": ""}), vec![("mcp-param-region", "")], true),
        (json!({"region": ""}), vec![], false),
        // Nothing to compare with, so it is not looked at, unless it is no header value at all.
        (json!({}), vec![("mcp-param-region", "eu")], true),
        (
            json!({}),
            vec![("mcp-param-region", "eu"), ("mcp-param-region", "us")],
            false,
        ),
        (
            json!({"region": null}),
            vec![("mcp-param-region", "e\u{fc}")],
            false,
        ),
        // H-7: a header of no annotated argument is ignored.
        (json!({"plain": "a"}), vec![("mcp-param-plain", "b")], true),
        (json!({}), vec![("mcp-param-nobody", "x")], true),
        // A header that came twice could be read in two ways.
        (
            json!({"region": "eu"}),
            vec![("mcp-param-region", "eu"), ("mcp-param-region", "eu")],
            false,
        ),
    ];
    let mut ran = 0;
    for (arguments, headers, agree) in table {
        let reply = call(&arguments, &headers).send(&served);
        if agree {
            assert_eq!(reply.status, 200, "{arguments} {headers:?}: {reply:?}");
            let null = arguments.to_string().contains("null");
            ran += usize::from(!null);
            assert_eq!(reply.json()["result"]["isError"] == true, null, "{reply:?}");
        } else {
            assert_eq!(
                (reply.status, reply.error_code()),
                (400, -32020),
                "{arguments} {headers:?}"
            );
        }
        assert_eq!(runs.load(Ordering::SeqCst), ran, "{arguments} {headers:?}");
    }
}

/// SH-13: the headers come before the arguments are held against the schema.
#[test]
fn headers_are_looked_at_before_the_schema() {
    let runs = Arc::default();
    let served = served(&runs);
    let wrong = json!({"region": "eu", "count": "many"});
    let reply = call(&wrong, &[]).send(&served);
    assert_eq!((reply.status, reply.error_code()), (400, -32020));
    let reply = call(&wrong, &[("mcp-param-region", "eu")]).send(&served);
    // A text in the place of a number is mirrored as a text.
    assert_eq!((reply.status, reply.error_code()), (400, -32020));
    let headers = [("mcp-param-region", "eu"), ("mcp-param-count", "many")];
    let reply = call(&wrong, &headers).send(&served);
    assert_eq!(reply.json()["result"]["isError"], true, "{reply:?}");
    // H-11: so does the method before it is looked for.
    let unknown = Ask::modern("no/such", json!({})).with("mcp-method", "tools/list");
    assert_eq!(unknown.send(&served).error_code(), -32020);
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

/// 2025 has no such headers, and neither has a pipe.
#[test]
fn earlier_versions_do_not_look_at_them() {
    let runs = Arc::default();
    let served = served(&runs);
    for version in ["2025-11-25", "2025-06-18", "2025-03-26"] {
        let params = json!({"name": "mirror", "arguments": {"region": "eu"}});
        let ask = Ask::legacy(version, "tools/call", params);
        for ask in [ask.clone(), ask.header("mcp-param-region", "us")] {
            assert_eq!(ask.send(&served).json()["result"]["isError"], Value::Null);
        }
    }
    assert_eq!(runs.load(Ordering::SeqCst), 6);
}

/// a tool whose annotation no client could follow is not built, and is named.
#[test]
fn an_annotation_that_no_client_could_follow_fails_the_build() {
    let on = |property: Value| json!({"type": "object", "properties": {"p": property}});
    for schema in [
        on(json!({"type": "string", "x-mcp-header": ""})),
        on(json!({"type": "string", "x-mcp-header": "a b"})),
        on(json!({"type": "string", "x-mcp-header": "a:b"})),
        on(json!({"type": "string", "x-mcp-header": "é"})),
        on(json!({"type": "string", "x-mcp-header": 5})),
        on(json!({"type": "number", "x-mcp-header": "N"})),
        on(json!({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}})),
        on(json!({"anyOf": [{"type": "string", "x-mcp-header": "A"}]})),
        json!({"type": "object", "$defs": {"D": {"type": "string", "x-mcp-header": "A"}}}),
        json!({"type": "object", "properties": {
            "a": {"type": "string", "x-mcp-header": "Same"},
            "b": {"type": "string", "x-mcp-header": "same"},
        }}),
    ] {
        let tool = Tool::raw("mirror", schema.clone(), |_, _| async {});
        let built = McpServer::new("params", "1").tool(tool).build();
        let error = built.err().unwrap_or_else(|| panic!("{schema} was built"));
        assert!(error.to_string().contains("mirror"), "{error}");
    }
}
