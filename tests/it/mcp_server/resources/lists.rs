//! What is listed and announced, and what a build refuses.

use super::*;

#[test]
fn fixed_resources_are_listed_before_those_that_functions_list() {
    let served = served();
    let result = Ask::modern("resources/list", json!({}))
        .send(&served)
        .json()["result"]
        .take();
    assert_eq!(result["resultType"], "complete");
    assert_eq!(
        (&result["ttlMs"], &result["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    assert_eq!(
        result["resources"][0],
        json!({
            "uri": "docs://readme", "name": "readme", "title": "Read me",
            "description": "What to know first", "mimeType": "text/markdown", "size": 8,
            "annotations": {"priority": 1.0},
        })
    );
    let resources = result["resources"].as_array().unwrap();
    let uris: Vec<&str> = resources
        .iter()
        .map(|item| item["uri"].as_str().unwrap())
        .collect();
    assert_eq!(uris.len(), 15);
    assert_eq!(uris[12..], ["notes://0", "notes://1", "notes://2"]);
    assert_eq!(
        resources[12],
        json!({"uri": "notes://0", "name": "note 0", "mimeType": "text/plain"})
    );
    let legacy = Ask::legacy("2025-06-18", "resources/list", json!({})).send(&served);
    assert_eq!(
        legacy.json()["result"],
        json!({"resources": result["resources"]})
    );
}

#[test]
fn templates_are_listed_in_their_order() {
    let served = served();
    let result = Ask::modern("resources/templates/list", json!({}))
        .send(&served)
        .json()["result"]
        .take();
    let templates = result["resourceTemplates"].as_array().unwrap();
    assert_eq!(
        templates[0],
        json!({
            "uriTemplate": "notes://{id}", "name": "note", "description": "A note",
            "mimeType": "text/plain",
        })
    );
    let names: Vec<&Value> = templates.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["note", "products", "any file", "coffee"]);
    assert_eq!(result["cacheScope"], "private");
}

/// B127: a server with resources answers for templates; one without answers for neither.
#[test]
fn only_what_is_served_is_announced_and_answered() {
    let capabilities = |server: &McpServer| {
        let served = Served::new(server);
        let discover = Ask::modern("server/discover", json!({})).send(&served);
        let list = Ask::modern("resources/templates/list", json!({})).send(&served);
        let legacy = Ask::legacy("2025-11-25", "resources/list", json!({})).send(&served);
        let code = list.json()["error"]["code"].clone();
        let legacy = legacy.json()["error"]["code"].clone();
        let discovered = discover.json()["result"]["capabilities"].take();
        (discovered, list.status, code, legacy)
    };
    let with = McpServer::new("one", "1")
        .resource(Resource::new("a", "a://a", || async { "a" }))
        .build()
        .unwrap();
    assert_eq!(
        capabilities(&with),
        (
            json!({"resources": {"subscribe": false, "listChanged": false}}),
            200,
            Value::Null,
            Value::Null
        )
    );
    let without = McpServer::new("none", "1").build().unwrap();
    assert_eq!(
        capabilities(&without),
        (json!({}), 404, json!(-32601), json!(-32601))
    );
}

#[test]
fn what_could_never_be_read_is_refused_at_the_build() {
    let nothing = || async { "" };
    let build = |resources: Vec<Resource>| {
        let server = McpServer::new("bad", "1").resources(resources).build();
        match server.unwrap_err() {
            ServerError::Resource(error) => error,
            other => panic!("{other}"),
        }
    };
    assert!(matches!(
        build(vec![Resource::new("a", "no scheme", nothing)]),
        ResourceDefError::NoUri(_)
    ));
    assert!(matches!(
        build(vec![Resource::template("a://{b", nothing)]),
        ResourceDefError::Template { .. }
    ));
    assert!(matches!(
        build(vec![
            Resource::new("a", "a://a", nothing).list(|| async { [] })
        ]),
        ResourceDefError::ListOfOne(_)
    ));
    let complete = |typed: Partial| async move { vec![typed.value] };
    assert!(matches!(
        build(vec![
            Resource::template("a://{b}", nothing).complete("c", complete)
        ]),
        ResourceDefError::UnknownVariable { .. }
    ));
    assert!(matches!(
        build(vec![Resource::new("a", "a://a", |_: Ctx<Notes>| async {
            ""
        })]),
        ResourceDefError::MissingContext { .. }
    ));
    let twice = McpServer::new("twice", "1")
        .resource(Resource::new("a", "a://caf%C3%A9", nothing))
        .resource(Resource::new("b", "a://café", nothing))
        .build();
    assert!(matches!(twice, Err(ServerError::DuplicateResource(_))));
}
