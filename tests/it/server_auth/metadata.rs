//! The documents at the root of the application.

use roscius::{
    machine::resource_metadata::{ProtectedResource, UrlError},
    web::oauth_metadata,
};
use serde_json::{Value, json};

use super::Answer;
use crate::served::Served;

const PATH: &str = "/.well-known/oauth-protected-resource/mcp";
const AS_PATH: &str = "/.well-known/oauth-authorization-server";

fn get(served: &Served, method: &str, path: &str) -> Answer {
    let (head, mut wire) = served.request(method, path, &[("origin", "https://any.test")], "");
    let body = if method == "HEAD" {
        String::new()
    } else {
        wire.body(&head)
    };
    Answer { head, body }
}

fn served(resource: &ProtectedResource) -> Served {
    let configure = oauth_metadata(resource).unwrap();
    Served::start(move |config| {
        config.configure(configure.clone());
    })
}

#[test]
fn the_documents_are_served_to_everybody() {
    let issuer = json!({"issuer": "https://as.test/", "token_endpoint": "https://as.test/t", "x": [1, null]});
    let resource = ProtectedResource::with_authorization_server(
        "https://mcp.test/mcp",
        issuer.as_object().cloned().unwrap(),
    )
    .unwrap()
    .scopes(["notes:read"])
    .name("Notes");
    assert_eq!(resource.url().unwrap(), super::PRM);
    let served = served(&resource);
    let document = get(&served, "GET", PATH);
    assert_eq!(document.status(), 200);
    assert_eq!(
        document.body,
        r#"{"resource":"https://mcp.test/mcp","authorization_servers":["https://as.test/"],"scopes_supported":["notes:read"],"resource_name":"Notes"}"#
    );
    assert_eq!(get(&served, "GET", AS_PATH).body, issuer.to_string());
    for path in [PATH, AS_PATH] {
        for (method, status) in [
            ("GET", 200),
            ("HEAD", 200),
            ("OPTIONS", 204),
            ("POST", 405),
            ("DELETE", 405),
        ] {
            let answer = get(&served, method, path);
            let head = &answer.head;
            assert_eq!(answer.status(), status, "{method} {path}");
            assert_eq!(
                head.header("access-control-allow-origin"),
                Some("*"),
                "{method}"
            );
            match status {
                200 => assert_eq!(head.header("content-type"), Some("application/json")),
                405 => {
                    assert_eq!(head.header("allow"), Some("GET, HEAD, OPTIONS"));
                    assert_eq!(answer.json()["error"], "method_not_allowed");
                }
                _ => {
                    let allowed = head
                        .header("access-control-allow-headers")
                        .unwrap_or_default();
                    assert!(allowed.contains("mcp-protocol-version"), "{allowed}");
                    assert_eq!(answer.body, "");
                }
            }
        }
    }
}

#[test]
fn only_the_document_of_the_resource_is_there() {
    let served = served(&ProtectedResource::new(
        "https://mcp.test/mcp",
        "https://as.test",
    ));
    for path in [
        "/.well-known/oauth-protected-resource",
        AS_PATH,
        "/.well-known/oauth-protected-resource/mcp/x",
    ] {
        assert_eq!(get(&served, "GET", path).status(), 404, "{path}");
    }
    let document: Value = get(&served, "GET", PATH).json();
    assert_eq!(
        document["authorization_servers"],
        json!(["https://as.test"])
    );
}

#[test]
fn a_resource_at_the_root_has_its_document_at_the_bare_path() {
    let resource = ProtectedResource::new("https://mcp.test", "https://as.test")
        .documentation("https://mcp.test/help");
    assert_eq!(
        resource.url().unwrap(),
        "https://mcp.test/.well-known/oauth-protected-resource"
    );
    let served = served(&resource);
    let document = get(&served, "GET", "/.well-known/oauth-protected-resource");
    assert_eq!(
        document.body,
        r#"{"resource":"https://mcp.test","authorization_servers":["https://as.test"],"resource_documentation":"https://mcp.test/help"}"#
    );
    assert_eq!(get(&served, "GET", PATH).status(), 404);
}

#[test]
fn an_issuer_has_to_be_https() {
    let made = |issuer: &str| {
        oauth_metadata(&ProtectedResource::new("https://mcp.test/mcp", issuer)).err()
    };
    assert_eq!(made("http://localhost:9000"), None);
    assert_eq!(
        made("http://as.test"),
        Some(UrlError::NotHttps("http://as.test".to_owned()))
    );
    assert!(matches!(made("https://as.test?x"), Some(UrlError::Tail(_))));
    assert!(matches!(
        made("https://as.test/#x"),
        Some(UrlError::Tail(_))
    ));
}
