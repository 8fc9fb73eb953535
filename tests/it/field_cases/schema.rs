//! Schemas of tools: what is listed, what is checked, what could never work.

use std::collections::BTreeMap;

use roscius::{prelude::*, server::ServerError, tool::ToolDefError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::world::{text, versions};
use crate::mcp_server::host::{Ask, Served};

fn echo(schema: Value) -> Tool {
    Tool::raw("echo", schema, |value, _| async move { value })
}

fn served(tools: impl IntoIterator<Item = Tool>) -> Served {
    let server = McpServer::new("schemas", "1").tools(tools);
    Served::new(&server.build().unwrap())
}

fn listed(served: &Served) -> Vec<Value> {
    let list = Ask::modern("tools/list", json!({})).send(served).json();
    list["result"]["tools"].as_array().unwrap().clone()
}

/// The structured result of a call, the same in every version; `None` when the tool refused.
fn called(served: &Served, name: &str, arguments: &Value) -> Option<Value> {
    let mut answers = Vec::new();
    for (version, ask) in versions("tools/call", &json!({"name": name, "arguments": arguments})) {
        let message = ask.send(served).json();
        let result = &message["result"];
        let refused = result["isError"] == true;
        if refused {
            assert!(text(&message).contains(name), "{version}: {message}");
        }
        answers.push((!refused).then(|| result["structuredContent"].clone()));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers.remove(0)
}

/// Every `$ref` of a schema leads somewhere within it.
fn assert_resolves(root: &Value, node: &Value) {
    match node {
        Value::Object(members) => {
            if let Some(Value::String(target)) = members.get("$ref") {
                let pointer = target.strip_prefix('#').unwrap();
                assert!(root.pointer(pointer).is_some(), "{target} in {root}");
            }
            members
                .values()
                .for_each(|value| assert_resolves(root, value));
        }
        Value::Array(items) => items.iter().for_each(|item| assert_resolves(root, item)),
        _ => {}
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Query {
    limit: Option<u32>,
    /// Beside the reference
    inner: Inner,
    all: Vec<Inner>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Inner {
    limit: i32,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Tree {
    name: String,
    children: Vec<Tree>,
}

/// B100: what a schema refers to is listed along with it.
#[test]
fn references_are_listed_with_what_they_mean() {
    let schema = json!({"type": "object", "properties": {"q": {"$ref": "#/$defs/Q", "description": "beside"}}, "required": ["q"], "$defs": {"Q": {"type": "object", "properties": {"limit": {"type": "integer", "default": 20}}}}});
    let typed = |Args(query): Args<Query>| async move { Json(query) };
    let tree = |Args(tree): Args<Tree>| async move { Json(tree) };
    let served = served([
        echo(schema.clone()),
        Tool::new("typed", typed),
        Tool::new("tree", tree),
    ]);
    let tools = listed(&served);
    assert_eq!(tools[0]["inputSchema"], schema);
    for tool in &tools {
        for member in ["inputSchema", "outputSchema"] {
            assert_resolves(&tool[member], &tool[member]);
        }
    }
    assert!(tools[1]["inputSchema"].to_string().contains("$ref"));
    assert_eq!(
        called(&served, "echo", &json!({"q": {"limit": 1}})),
        Some(json!({"q": {"limit": 1}}))
    );
    assert_eq!(called(&served, "echo", &json!({"q": {"limit": "1"}})), None);
}

/// B101: a schema may refer to itself, for arguments and for results.
#[test]
fn a_recursive_schema_is_listed_and_checked() {
    let node = json!({"type": "object", "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}, "required": ["name"]});
    let recursive = json!({"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}});
    let served = served([
        echo(json!({"type": "object"})).output_schema(recursive.clone()),
        Tool::new("tree", |Args(tree): Args<Tree>| async move { Json(tree) }),
    ]);
    let tools = listed(&served);
    assert_eq!(tools.len(), 2);
    assert_eq!(tools[0]["outputSchema"], recursive);
    let good = json!({"root": {"name": "a", "children": [{"name": "b"}]}});
    assert_eq!(called(&served, "echo", &good), Some(good.clone()));
    assert_eq!(
        called(
            &served,
            "echo",
            &json!({"root": {"name": "a", "children": [{}]}})
        ),
        None
    );
    let tree = json!({"name": "a", "children": [{"name": "b", "children": []}]});
    assert_eq!(called(&served, "tree", &tree), Some(tree.clone()));
    assert_eq!(
        called(
            &served,
            "tree",
            &json!({"name": "a", "children": [{"name": "b"}]})
        ),
        None
    );
}

/// B101, B104, B110, B112: a schema that could never be used is found when the server is built, and
/// the error names the tool; no client ever meets it.
#[test]
fn a_schema_that_cannot_be_used_is_found_at_the_build_with_the_name_of_its_tool() {
    let bad_input = [
        json!(null),
        json!(true),
        json!({}),
        json!([]),
        json!({"properties": {}}),
        json!({"type": "string"}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/Missing"}}}),
        json!({"type": "object", "properties": {"a": {"type": "any"}}}),
        json!({"type": "object", "properties": {"a": {"type": "number", "minimum": 0, "exclusiveMinimum": true}}}),
        json!({"type": "object", "properties": {"a": {"required": true}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "https://h.test/a.json"}}}),
    ];
    let good = || (0..9).map(|at| Tool::new(format!("good{at}"), || async { "ok" }));
    let build = |tool: Tool| McpServer::new("bad", "1").tools(good()).tool(tool).build();
    for schema in bad_input {
        let error = build(echo(schema.clone())).unwrap_err();
        assert!(error.to_string().contains("`echo`"), "{schema}: {error}");
    }
    for schema in [
        json!({"$ref": "#/$defs/Missing"}),
        json!({"type": "nonsense"}),
        json!(5),
    ] {
        let tool = echo(json!({"type": "object"})).output_schema(schema.clone());
        let error = build(tool).unwrap_err();
        assert!(
            matches!(error, ServerError::Tool(ToolDefError::Schema { .. })),
            "{schema}: {error}"
        );
        assert!(error.to_string().contains("`echo`"), "{error}");
    }
    assert_eq!(listed(&served(good())).len(), 9);
}

/// B110: a schema that says which dialect it is written in is read in that dialect.
#[test]
fn a_declared_dialect_is_honoured() {
    let schema = |dialect: &str| json!({"$schema": dialect, "type": "object", "properties": {"a": {"type": "number", "minimum": 0, "exclusiveMinimum": true}}});
    let old = served([echo(schema("http://json-schema.org/draft-04/schema#"))]);
    assert_eq!(
        called(&old, "echo", &json!({"a": 1})),
        Some(json!({"a": 1}))
    );
    assert_eq!(called(&old, "echo", &json!({"a": 0})), None);
    for dialect in [
        "https://json-schema.org/draft/2020-12/schema",
        "https://h.test/unknown",
    ] {
        let server = McpServer::new("bad", "1").tool(echo(schema(dialect)));
        let error = server.build().unwrap_err();
        assert!(error.to_string().contains("`echo`"), "{error}");
    }
}

/// B103, B104: every tool lists an object schema; what was given is listed as it was given.
#[test]
fn every_tool_lists_an_object_schema() {
    let nothing = Tool::new("nothing", || async { "ok" });
    let served = served([nothing, echo(json!({"type": "object"}))]);
    let tools = listed(&served);
    assert_eq!(
        tools[0]["inputSchema"],
        json!({"type": "object", "properties": {}})
    );
    assert_eq!(tools[1]["inputSchema"], json!({"type": "object"}));
    for arguments in [json!({}), json!({"any": [1]})] {
        assert_eq!(called(&served, "echo", &arguments), Some(arguments.clone()));
    }
    // Arguments that were left out are none.
    for (version, ask) in versions("tools/call", &json!({"name": "nothing"})) {
        assert_eq!(text(&ask.send(&served).json()), "ok", "{version}");
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Labels {
    labels: BTreeMap<String, String>,
}

/// B105, B106: a property without a type and a free-form map are listed as such and keep what they
/// hold.
#[test]
fn open_schemas_stay_open() {
    let any = json!({"type": "object", "properties": {"any": {}}, "required": ["any"]});
    let labels = |Args(labels): Args<Labels>| async move { Json(labels) };
    let served = served([echo(any.clone()), Tool::new("labels", labels)]);
    let tools = listed(&served);
    assert_eq!(tools[0]["inputSchema"], any);
    assert_eq!(
        tools[1]["inputSchema"]["properties"]["labels"],
        json!({"type": "object", "additionalProperties": {"type": "string"}})
    );
    for value in [json!(1), json!("a"), json!([null]), Value::Null] {
        let arguments = json!({"any": value});
        assert_eq!(called(&served, "echo", &arguments), Some(arguments.clone()));
    }
    assert_eq!(called(&served, "echo", &json!({})), None);
    let kept = json!({"labels": {"k": "v", "": "empty"}});
    assert_eq!(called(&served, "labels", &kept), Some(kept.clone()));
    assert_eq!(
        called(&served, "labels", &json!({"labels": {"k": 1}})),
        None
    );
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Nullable {
    optional_str: Option<String>,
    n: Option<i64>,
}

/// B108: a value that may be null may be null, whichever way the schema says it.
#[test]
fn a_value_may_be_null_where_the_schema_says_so() {
    let schema = json!({"type": "object", "properties": {"optionalStr": {"type": ["null", "string"]}, "n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}});
    let typed = |Args(values): Args<Nullable>| async move { Json(values) };
    let served = served([echo(schema.clone()), Tool::new("typed", typed)]);
    assert_eq!(listed(&served)[0]["inputSchema"], schema);
    for name in ["echo", "typed"] {
        for arguments in [
            json!({"optionalStr": "a", "n": null}),
            json!({"optionalStr": null, "n": 5}),
        ] {
            assert_eq!(called(&served, name, &arguments), Some(arguments.clone()));
        }
        assert_eq!(
            called(&served, name, &json!({"optionalStr": 5, "n": null})),
            None
        );
        assert_eq!(
            called(&served, name, &json!({"optionalStr": "a", "n": "5"})),
            None
        );
    }
}
