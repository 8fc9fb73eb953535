//! Resources and templates: lists, reads, what is not there, questions.

mod lists;

use actix_web::{HttpRequest, HttpResponse};
use roscius::{
    prelude::*,
    resource::{ReadOutput, ResourceDefError},
    server::ServerError,
    web::McpRoutes,
    wire::{auth::AuthInfo, resource::Annotations},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::host::{Ask, Reply, Served};

struct Notes {
    texts: Vec<&'static str>,
}

#[derive(Deserialize)]
struct Id {
    id: usize,
}

#[derive(Deserialize)]
struct Search {
    page: Option<u32>,
    limit: Option<u32>,
}

async fn read_note(Vars(note): Vars<Id>, notes: Ctx<Notes>) -> Option<&'static str> {
    notes.texts.get(note.id).copied()
}

async fn list_notes(notes: Ctx<Notes>) -> Vec<ResourceListing> {
    let ids = 0..notes.texts.len();
    ids.map(|id| ResourceListing::new(format!("notes://{id}"), format!("note {id}")))
        .collect()
}

async fn search(uri: Uri, Vars(search): Vars<Search>) -> Json<Value> {
    Json(json!({"uri": uri.0, "page": search.page, "limit": search.limit}))
}

async fn secret(cx: ToolCx) -> Result<String, ToolError> {
    let form =
        json!({"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]});
    let form = cx.request_form("password", "Password?", form).await?;
    Ok(format!("open after {}", form["word"]))
}

fn builder() -> roscius::server::McpServerBuilder {
    McpServer::new("library", "1.0.0")
        .context(Notes {
            texts: vec!["milk", "bread", "ünïcode"],
        })
        .resource(
            Resource::new("readme", "docs://readme", || async { "Read me." })
                .title("Read me")
                .description("What to know first")
                .mime_type("text/markdown")
                .size(8)
                .annotations(Annotations {
                    priority: Some(1.0),
                    ..Annotations::default()
                }),
        )
        .resource(
            Resource::new("logo", "docs://logo", || async { vec![0u8, 1, 254, 255] })
                .mime_type("image/png"),
        )
        .resource(Resource::new("raw", "docs://raw", || async {
            b"\x00".to_vec()
        }))
        .resource(Resource::new("facts", "docs://facts", || async {
            Json(json!({"a": 1}))
        }))
        .resource(Resource::new("folder", "docs://folder", || async {
            [("a", "first"), ("b", "second")]
                .map(|(name, text)| {
                    ResourceContents::text(text).uri(format!("docs://folder/{name}"))
                })
                .to_vec()
        }))
        .resource(Resource::new("view", "ui://view", || async {
            let meta = json!({"ui": {"csp": {"connectDomains": []}}});
            let contents = ResourceContents::text("<p>")
                .mime_type("text/html;profile=mcp-app")
                .meta(meta.as_object().cloned().unwrap());
            ReadOutput::new([contents]).meta(json!({"own": 1}).as_object().cloned().unwrap())
        }))
        .resource(Resource::new("empty", "docs://empty", || async {
            Vec::<ResourceContents>::new()
        }))
        .resource(Resource::new("broken", "docs://broken", || async {
            Err::<String, _>(std::io::Error::other("disk on fire"))
        }))
        .resource(Resource::new("panic", "docs://panic", || async {
            panic!("secret") as String
        }))
        .resource(Resource::new("secret", "docs://secret", secret))
        .resource(Resource::new(
            "slow",
            "docs://slow",
            |cx: ToolCx| async move {
                cx.progress(1.0, Some(2.0), Some("half"));
                "slow"
            },
        ))
        .resource(Resource::new(
            "who",
            "docs://who",
            |who: Ctx<AuthInfo>| async move { who.client_id.clone() },
        ))
        .resource(
            Resource::template("notes://{id}", read_note)
                .name("note")
                .description("A note")
                .mime_type("text/plain")
                .list(list_notes),
        )
        .resource(Resource::template("acme://products{?page,limit}", search).name("products"))
        .resource(
            Resource::template(
                "file:///{+path}",
                |Vars(vars): Vars<std::collections::HashMap<String, String>>| async move {
                    format!("any: {}", vars["path"])
                },
            )
            .name("any file"),
        )
        .resource(
            Resource::template(
                "file:///my docs/café/{name}",
                |Vars(vars): Vars<std::collections::HashMap<String, String>>| async move {
                    format!("coffee: {}", vars["name"])
                },
            )
            .name("coffee"),
        )
}

fn served() -> Served {
    Served::new(&builder().build().unwrap())
}

fn read(served: &Served, uri: &str) -> Reply {
    Ask::modern("resources/read", json!({"uri": uri})).send(served)
}

fn contents(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{reply:?}");
    let message = reply.json();
    let result = &message["result"];
    assert_eq!(result["resultType"], "complete", "{reply:?}");
    result["contents"].clone()
}

#[test]
fn a_resource_is_read_as_text_bytes_or_json() {
    let served = served();
    for (uri, wanted) in [
        (
            "docs://readme",
            json!([{"uri": "docs://readme", "mimeType": "text/markdown", "text": "Read me."}]),
        ),
        (
            "docs://logo",
            json!([{"uri": "docs://logo", "mimeType": "image/png", "blob": "AAH+/w=="}]),
        ),
        (
            "docs://raw",
            json!([{"uri": "docs://raw", "mimeType": "application/octet-stream", "blob": "AA=="}]),
        ),
        (
            "docs://facts",
            json!([{"uri": "docs://facts", "mimeType": "application/json", "text": "{\"a\":1}"}]),
        ),
        (
            "docs://folder",
            json!([{"uri": "docs://folder/a", "text": "first"}, {"uri": "docs://folder/b", "text": "second"}]),
        ),
        (
            "notes://1",
            json!([{"uri": "notes://1", "mimeType": "text/plain", "text": "bread"}]),
        ),
    ] {
        assert_eq!(contents(&read(&served, uri)), wanted);
        for version in ["2025-11-25", "2025-06-18", "2025-03-26"] {
            let reply = Ask::legacy(version, "resources/read", json!({"uri": uri})).send(&served);
            assert_eq!(reply.json()["result"], json!({"contents": wanted}));
        }
    }
}

/// B178: `_meta` of contents and of the result pass through untouched.
#[test]
fn metadata_stands_where_it_was_put() {
    let served = served();
    let result = read(&served, "ui://view").json()["result"].take();
    assert_eq!(
        result["contents"][0]["_meta"]["ui"]["csp"]["connectDomains"],
        json!([])
    );
    assert_eq!(result["_meta"]["own"], 1);
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "library"
    );
    let legacy = Ask::legacy("2025-11-25", "resources/read", json!({"uri": "ui://view"}));
    assert_eq!(
        legacy.send(&served).json()["result"]["_meta"],
        json!({"own": 1})
    );
}

#[test]
fn what_is_not_there_is_an_error_with_its_uri() {
    let served = served();
    // The last ones: a variable of another type, and contents that are empty.
    for uri in ["docs://nothing", "notes://7", "notes://x", "docs://empty"] {
        let reply = read(&served, uri);
        assert_eq!((reply.status, reply.error_code()), (200, -32602), "{uri}");
        assert_eq!(reply.json()["error"]["data"], json!({"uri": uri}));
        let legacy = Ask::legacy("2025-11-25", "resources/read", json!({"uri": uri})).send(&served);
        assert_eq!((legacy.status, legacy.error_code()), (200, -32002), "{uri}");
        assert_eq!(legacy.json()["error"]["data"], json!({"uri": uri}));
    }
    let long = format!("file:///{}", "a".repeat(9000));
    let legacy = Ask::legacy("2025-11-25", "resources/read", json!({"uri": long}));
    assert_eq!(legacy.send(&served).error_code(), -32002);
    for params in [json!({}), json!({"uri": 5}), json!({"uri": null})] {
        let legacy = Ask::legacy("2025-11-25", "resources/read", params);
        assert_eq!(legacy.send(&served).error_code(), -32602);
    }
}

#[test]
fn a_reader_that_fails_is_an_internal_error() {
    let served = served();
    let error = read(&served, "docs://broken").json()["error"].take();
    assert_eq!(error["code"], -32603);
    assert_eq!(error["message"], "disk on fire");
    let error = read(&served, "docs://panic").json()["error"].take();
    assert_eq!(error["code"], -32603);
    assert_eq!(error["message"], "the request failed");
    // Nobody has said who calls.
    assert_eq!(read(&served, "docs://who").error_code(), -32603);
}

/// B128: optional variables of a query in any order; a slash only where it may be; of several
/// templates the most specific one.
#[test]
fn a_uri_finds_its_template_and_variables() {
    let served = served();
    for (uri, page, limit) in [
        ("acme://products", Value::Null, Value::Null),
        ("acme://products?limit=5", Value::Null, json!(5)),
        ("acme://products?limit=5&page=2", json!(2), json!(5)),
    ] {
        let text = contents(&read(&served, uri))[0]["text"].clone();
        let found: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
        assert_eq!(found, json!({"uri": uri, "page": page, "limit": limit}));
    }
    for (uri, text) in [
        ("file:///a/b", "any: a/b"),
        ("file:///my%20docs/caf%C3%A9/x", "coffee: x"),
        ("file:///my%20docs/caf%c3%a9/x%2Fy", "coffee: x/y"),
    ] {
        assert_eq!(contents(&read(&served, uri))[0]["text"], text);
    }
    assert_eq!(read(&served, "notes://1/2").error_code(), -32602);
}

/// B130, B086: a URI as a person writes it, and the header that mirrors it.
#[test]
fn a_uri_with_blanks_and_letters_is_read_raw_and_encoded() {
    let served = served();
    let uri = "file:///my docs/café/x";
    let ask = Ask::modern("resources/read", json!({"uri": uri}));
    let encoded = "=?base64?ZmlsZTovLy9teSBkb2NzL2NhZsOpL3g=?=";
    let reply = ask.with("mcp-name", encoded).send(&served);
    assert_eq!(contents(&reply), json!([{"uri": uri, "text": "coffee: x"}]));
}

#[test]
fn the_header_names_the_uri() {
    let served = served();
    let ask = Ask::modern("resources/read", json!({"uri": "docs://readme"}));
    for wrong in [
        ask.clone().without("mcp-name"),
        ask.with("mcp-name", "docs://logo"),
    ] {
        let reply = wrong.send(&served);
        assert_eq!((reply.status, reply.error_code()), (400, -32020));
    }
}

#[test]
fn a_resource_may_ask_before_it_is_read() {
    let served = served();
    let result = read(&served, "docs://secret").json()["result"].take();
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(result.get("ttlMs"), None);
    assert_eq!(
        result["inputRequests"]["password"]["method"],
        "elicitation/create"
    );
    let answer = json!({"password": {"action": "accept", "content": {"word": "sesame"}}});
    let retry = |uri: &str, state: &Value| {
        let params = json!({"uri": uri, "inputResponses": answer, "requestState": state});
        Ask::modern("resources/read", params).send(&served)
    };
    let reply = retry("docs://secret", &result["requestState"]);
    assert_eq!(contents(&reply)[0]["text"], "open after \"sesame\"");
    // The state belongs to this resource.
    let tampered = retry("docs://readme", &result["requestState"]);
    assert_eq!(tampered.error_code(), -32602);
    let params = json!({"uri": "docs://secret"});
    let cannot = Ask::modern_as(json!({}), "resources/read", params.clone()).send(&served);
    assert_eq!((cannot.status, cannot.error_code()), (400, -32021));
    let legacy = Ask::legacy("2025-11-25", "resources/read", params).send(&served);
    assert_eq!(legacy.error_code(), -32603);
}

#[test]
fn a_reader_reports_to_who_wants_to_hear() {
    let served = served();
    let params = json!({"uri": "docs://slow", "_meta": {"progressToken": "p"}});
    let events = Ask::modern("resources/read", params).send(&served).events();
    assert_eq!(events.len(), 2);
    assert_eq!(
        events[0]["params"],
        json!({"progressToken": "p", "progress": 1, "total": 2, "message": "half"})
    );
    assert_eq!(events[1]["result"]["contents"][0]["text"], "slow");
    assert_eq!(contents(&read(&served, "docs://slow"))[0]["text"], "slow");
}

#[test]
fn the_verified_caller_reaches_readers_and_lists() {
    let mine = |who: Ctx<AuthInfo>| async move {
        [ResourceListing::new(
            format!("mine://{}", who.client_id),
            "mine",
        )]
    };
    let server = builder()
        .resource(Resource::template("mine://{id}", |uri: Uri| async move { uri.0 }).list(mine))
        .build()
        .unwrap();
    let routes = McpRoutes::new("/mcp", &server).authorize(|_: HttpRequest| async {
        let caller = AuthInfo::new("t", "anna");
        Ok::<_, HttpResponse>(Options::new().auth_info(caller))
    });
    let served = Served::with(routes.routes());
    assert_eq!(contents(&read(&served, "docs://who"))[0]["text"], "anna");
    let list = Ask::modern("resources/list", json!({}))
        .send(&served)
        .json();
    let listed = list["result"]["resources"]
        .as_array()
        .unwrap()
        .last()
        .cloned();
    assert_eq!(listed.unwrap()["uri"], "mine://anna");
}
