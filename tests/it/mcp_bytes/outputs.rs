//! What tools give back, byte by byte in both eras: every kind of content, and results that are no
//! objects.

use roscius::{prelude::*, wire::content::CallToolResult};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Case, check, modern::headers, request};
use crate::mcp_server::host::{Ask, Served};

const INFO: &str = r#""io.modelcontextprotocol/serverInfo":{"name":"outputs","version":"1.0.0"}"#;

/// A whole result as a tool may give it: each kind of block with what may stand beside it.
const WHOLE: &str = r#""content":[{"type":"text","text":"hi","annotations":{"audience":["user"],"priority":0.5},"_meta":{"k":1}},{"type":"image","data":"AA==","mimeType":"image/png","annotations":{"lastModified":"2026-01-01T00:00:00Z"}},{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource_link","uri":"docs://a","name":"a","title":"A","mimeType":"text/plain","size":3},{"type":"resource","resource":{"uri":"docs://a","mimeType":"text/plain","text":"A","_meta":{"k":2}}},{"type":"resource","resource":{"uri":"docs://b","mimeType":"application/octet-stream","blob":"AA=="}}],"structuredContent":{"z":1,"a":null},"isError":true"#;

#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Sky {
    Clear,
    Clouds { percent: u8 },
}

#[derive(Serialize, JsonSchema)]
struct Folder {
    name: String,
    folders: Vec<Folder>,
}

fn server() -> McpServer {
    let whole: CallToolResult =
        serde_json::from_str(&format!(r#"{{{WHOLE},"_meta":{{"own":1}}}}"#)).unwrap();
    let tree = json!({"type": "array", "items": {"$ref": "#"}});
    let any = || json!({"type": "object"});
    McpServer::new("outputs", "1.0.0")
        .tool(Tool::new("sunny", || async { Json("Sun\"ny") }))
        .tool(Tool::new("flag", || async { Json(true) }))
        .tool(Tool::new("list", || async { Json(vec![1, 2]) }))
        .tool(Tool::new("nothing", || async { Json(None::<String>) }))
        .tool(Tool::new("sky", || async {
            Json(Sky::Clouds { percent: 5 })
        }))
        .tool(Tool::new("clear", || async { Json(Sky::Clear) }))
        .tool(Tool::new("folders", || async {
            let inner = Folder {
                name: "b".to_owned(),
                folders: Vec::new(),
            };
            Json(vec![Folder {
                name: "a".to_owned(),
                folders: vec![inner],
            }])
        }))
        .tool(
            Tool::raw("text", any(), |_, _| async { "Sunny" })
                .output_schema(json!({"type": "string"})),
        )
        .tool(Tool::raw("tree", any(), |_, _| async { json!([[], [[]]]) }).output_schema(tree))
        .tool(Tool::raw("whole", any(), move |_, _| {
            let whole = whole.clone();
            async move { whole }
        }))
        .build()
        .unwrap()
}

fn cases(served: &Served, name: &'static str, modern: &str, legacy: &str) -> [Case; 2] {
    let call = format!(r#""name":"{name}","arguments":{{}}"#);
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let body = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{params}}}}}"#)
    };
    let answer = |result: &str| {
        format!(
            "200\ncontent-type: application/json\n\n{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{{result}}}}}"
        )
    };
    let old = "content-type: application/json\r\nmcp-protocol-version: 2025-06-18\r\n";
    [
        Case {
            name,
            bytes: request(
                served,
                "POST",
                &headers("tools/call", name),
                &body(&format!("{call},{meta}")),
            ),
            answer: answer(&format!(r#""resultType":"complete",{modern}"#)),
        },
        Case {
            name,
            bytes: request(served, "POST", old, &body(&call)),
            answer: answer(legacy),
        },
    ]
}

/// F28: a whole result goes out as it was given, with every kind of content in it.
#[test]
fn a_whole_result_byte_by_byte() {
    let served = Served::new(&server());
    let modern = format!(r#"{WHOLE},"_meta":{{"own":1,{INFO}}}"#);
    let legacy = format!(r#"{WHOLE},"_meta":{{"own":1}}"#);
    check(&served, cases(&served, "whole", &modern, &legacy).into());
}

/// F29: what is no object goes out as it is in 2026 and in `result` in 2025; text is text, without
/// the quotes of JSON.
#[test]
fn results_that_are_no_objects_byte_by_byte() {
    let served = Served::new(&server());
    let mut all = Vec::new();
    for (name, text, value) in [
        ("sunny", r#"Sun\"ny"#, r#""Sun\"ny""#),
        ("text", "Sunny", r#""Sunny""#),
        ("flag", "true", "true"),
        ("list", "[1,2]", "[1,2]"),
        ("nothing", "null", "null"),
        ("tree", "[[],[[]]]", "[[],[[]]]"),
        (
            "sky",
            r#"{\"kind\":\"clouds\",\"percent\":5}"#,
            r#"{"kind":"clouds","percent":5}"#,
        ),
        ("clear", r#"{\"kind\":\"clear\"}"#, r#"{"kind":"clear"}"#),
    ] {
        let content =
            format!(r#""content":[{{"type":"text","text":"{text}"}}],"structuredContent":"#);
        let modern = format!(r#"{content}{value},"_meta":{{{INFO}}}"#);
        let legacy = format!(r#"{content}{{"result":{value}}}"#);
        all.extend(cases(&served, name, &modern, &legacy));
    }
    check(&served, all);
}

/// F29: the schema that is listed is that of what goes out, in either era; a reference in it leads
/// where it led.
#[test]
fn listed_schemas_fit_what_goes_out_in_each_era() {
    let served = Served::new(&server());
    for modern in [true, false] {
        let ask = |method: &str, params: Value| {
            if modern {
                Ask::modern(method, params)
            } else {
                Ask::legacy("2025-11-25", method, params)
            }
        };
        let list = ask("tools/list", json!({})).send(&served).json();
        let mut checked = 0;
        for tool in list["result"]["tools"].as_array().unwrap() {
            let Some(schema) = tool.get("outputSchema") else {
                continue;
            };
            assert!(modern || schema["type"] == "object", "{tool}");
            let validator = jsonschema::validator_for(schema).unwrap();
            let name = &tool["name"];
            let result = ask("tools/call", json!({"name": name, "arguments": {}}))
                .send(&served)
                .json()["result"]
                .take();
            let structured = &result["structuredContent"];
            assert!(validator.is_valid(structured), "{schema} {structured}");
            let wrong = if modern {
                json!({"no": "fit"})
            } else {
                json!({"result": {"no": "fit"}})
            };
            assert!(!validator.is_valid(&wrong), "{schema} takes anything");
            checked += 1;
        }
        assert_eq!(checked, 9);
    }
}
