//! URIs and the templates that they match; content that is no text.

use std::collections::HashMap;

use roscius::prelude::*;
use serde_json::{Value, json};

use super::world::{exchange, versions};
use crate::mcp_server::host::{Ask, Served};

type Found = HashMap<String, String>;

fn template(name: &'static str, uri: &str) -> Resource {
    let tell = move |Vars(variables): Vars<Found>| async move {
        let sorted: std::collections::BTreeMap<_, _> = variables.into_iter().collect();
        format!("{name} {}", json!(sorted))
    };
    Resource::template(uri, tell).name(name)
}

fn served() -> Served {
    let server = McpServer::new("library", "1")
        .resource(template("page", "acme://products{?page,limit}"))
        .resource(template("query", "x://s?q={q}"))
        .resource(template("any", "file:///{+path}"))
        .resource(template("one", "file:///{name}"))
        .resource(template("cafe", "file:///my docs/café/{name}"))
        .resource(Resource::new("fixed", "file:///fixed", || async {
            "fixed"
        }))
        .resource(Resource::new("bytes", "b://b", || async { vec![0_u8, 1] }));
    Served::new(&server.build().unwrap())
}

/// What each version reads at a URI; `None` when there is nothing.
fn read(served: &Served, uri: &str) -> Option<String> {
    let mut answers: Vec<Option<String>> = versions("resources/read", &json!({"uri": uri}))
        .into_iter()
        .map(|(version, ask)| {
            let encoded = uri.bytes().any(|byte| !(0x21..0x7f).contains(&byte));
            let ask = if encoded && version == crate::mcp_server::host::MODERN {
                use base64::Engine as _;
                let text = base64::engine::general_purpose::STANDARD.encode(uri);
                ask.with("mcp-name", &format!("=?base64?{text}?="))
            } else {
                ask
            };
            // The answer names the URI as it was asked for, which may be no URI of the schema.
            let message = exchange(served, &ask).json();
            let text = message["result"]["contents"][0]["text"].as_str();
            assert!(
                text.is_some() || message["error"]["code"].is_i64(),
                "{message}"
            );
            text.map(str::to_owned)
        })
        .collect();
    answers.dedup();
    assert_eq!(answers.len(), 1, "{uri}: {answers:?}");
    answers.remove(0)
}

/// B128: variables of a query may be missing and stand in any order; a plain variable takes no
/// slash; what is fixed comes before what is a template, and the narrower template first.
#[test]
fn a_uri_is_read_by_the_template_that_fits_it_best() {
    let served = served();
    for (uri, wanted) in [
        ("acme://products", Some("page {}")),
        ("acme://products?limit=5", Some(r#"page {"limit":"5"}"#)),
        (
            "acme://products?limit=5&page=2",
            Some(r#"page {"limit":"5","page":"2"}"#),
        ),
        (
            "acme://products?page=2&limit=5",
            Some(r#"page {"limit":"5","page":"2"}"#),
        ),
        ("acme://products/1", None),
        ("x://s?q=a%20b", Some(r#"query {"q":"a b"}"#)),
        ("x://s", None),
        ("file:///fixed", Some("fixed")),
        ("file:///a", Some(r#"one {"name":"a"}"#)),
        ("file:///a/b", Some(r#"any {"path":"a/b"}"#)),
    ] {
        assert_eq!(read(&served, uri).as_deref(), wanted, "{uri}");
    }
}

/// B130: a URI with blanks and letters matches as it is listed and as a browser would write it.
#[test]
fn what_is_listed_raw_is_read_raw_and_encoded() {
    let served = served();
    let list = Ask::modern("resources/templates/list", json!({}))
        .send(&served)
        .json();
    let listed: Vec<&Value> = list["result"]["resourceTemplates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["uriTemplate"])
        .collect();
    assert!(
        listed.contains(&&json!("file:///my docs/café/{name}")),
        "{listed:?}"
    );
    for uri in [
        "file:///my docs/café/x",
        "file:///my%20docs/caf%C3%A9/x",
        "file:///my%20docs/caf%c3%a9/x",
        "file:///my docs/caf%C3%A9/x",
    ] {
        assert_eq!(
            read(&served, uri).as_deref(),
            Some(r#"cafe {"name":"x"}"#),
            "{uri}"
        );
    }
}

/// B131: bytes are base64, an image in a prompt stays an image, and a message is of the user or the
/// assistant.
#[test]
fn content_that_is_no_text_keeps_its_kind() {
    let served = served();
    let bytes = Ask::modern("resources/read", json!({"uri": "b://b"}))
        .send(&served)
        .json();
    let contents = &bytes["result"]["contents"][0];
    assert_eq!(
        (&contents["blob"], contents.get("text")),
        (&json!("AAE="), None)
    );
    let image = || async {
        let image = roscius::wire::content::ContentBlock::image("AA==", "image/png");
        [
            PromptMessage::assistant("Look:"),
            PromptMessage::user(image),
        ]
    };
    let server = McpServer::new("prompts", "1").prompt(Prompt::new("image", image));
    let served = Served::new(&server.build().unwrap());
    for (version, ask) in versions("prompts/get", &json!({"name": "image"})) {
        let message = ask.send(&served).json();
        assert_eq!(
            message["result"]["messages"],
            json!([
                {"role": "assistant", "content": {"type": "text", "text": "Look:"}},
                {"role": "user", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}},
            ]),
            "{version}"
        );
    }
}
