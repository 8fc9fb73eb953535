//! Who comes in, and what the others are told, byte by byte.

use roscius::{
    auth::Introspection, prelude::*, prompt::Prompt, resource::Resource, web::McpRoutes,
    wire::auth::AuthInfo,
};
use serde_json::json;

use super::{Answer, PRM, bearer, by_heart, call, call_body, mounted, notes, send};
use crate::served::Served;

/// What the challenge of this server ends with.
fn tail() -> String {
    format!(r#", scope="notes:read", resource_metadata="{PRM}""#)
}

fn refused(answer: &Answer, status: u16, code: &str, description: &str) {
    assert_eq!(answer.status(), status, "{answer:?}");
    let challenge = format!(
        r#"Bearer error="{code}", error_description="{description}"{}"#,
        tail()
    );
    let challenge = matches!(status, 401 | 403).then_some(challenge);
    assert_eq!(answer.challenge(), challenge.as_deref(), "{answer:?}");
    assert_eq!(answer.head.header("content-type"), Some("application/json"));
    assert_eq!(
        answer.body,
        format!(r#"{{"error":"{code}","error_description":"{description}"}}"#)
    );
}

const MALFORMED: &str = "Invalid Authorization header format, expected 'Bearer TOKEN'";

// B148
#[test]
fn each_fault_of_a_token_has_its_challenge() {
    let served = Served::start(mounted(&notes(by_heart)));
    let table: [(Option<&str>, u16, &str, &str); 13] = [
        (None, 401, "invalid_token", "Missing Authorization header"),
        (
            Some(""),
            401,
            "invalid_token",
            "Missing Authorization header",
        ),
        (Some("Basic dTpw"), 401, "invalid_token", MALFORMED),
        (Some("Bearer"), 401, "invalid_token", MALFORMED),
        (
            Some("Bearer good, Bearer good"),
            401,
            "invalid_token",
            MALFORMED,
        ),
        (
            Some("Bearer bad"),
            401,
            "invalid_token",
            "The token is not active.",
        ),
        (
            Some("bearer x"),
            401,
            "invalid_token",
            "The token is not active.",
        ),
        (
            Some("Bearer forever"),
            401,
            "invalid_token",
            "Token has no expiration time",
        ),
        (
            Some("Bearer old"),
            401,
            "invalid_token",
            "Token has expired",
        ),
        (
            Some("Bearer weak"),
            403,
            "insufficient_scope",
            "Insufficient scope",
        ),
        (
            Some("Bearer weak-and-old"),
            403,
            "insufficient_scope",
            "Insufficient scope",
        ),
        (
            Some("Bearer down"),
            500,
            "server_error",
            "The key set could not be read: x",
        ),
        (Some("Bearer odd"), 400, "invalid_request", "odd"),
    ];
    for (authorization, status, code, description) in table {
        let answer = call(&served, authorization, "whoami");
        refused(&answer, status, code, description);
    }
}

// B148
#[test]
fn every_method_of_the_endpoint_is_behind_the_gate() {
    let served = Served::start(mounted(&notes(by_heart)));
    for method in ["GET", "DELETE", "PUT", "POST"] {
        let answer = send(&served, method, &[], "");
        refused(
            &answer,
            401,
            "invalid_token",
            "Missing Authorization header",
        );
        let weak = send(&served, method, &[("authorization", "Bearer weak")], "");
        refused(&weak, 403, "insufficient_scope", "Insufficient scope");
    }
    let let_in = send(&served, "GET", &[("authorization", "Bearer good")], "");
    assert_eq!(let_in.status(), 405);
}

#[test]
fn a_message_is_not_read_before_the_token() {
    let served = Served::start(mounted(&notes(by_heart)));
    let json = ("content-type", "application/json");
    let answer = send(&served, "POST", &[json], "no JSON");
    refused(
        &answer,
        401,
        "invalid_token",
        "Missing Authorization header",
    );
    let twice = [
        json,
        ("authorization", "Bearer good"),
        ("authorization", "Bearer good"),
    ];
    let answer = send(&served, "POST", &twice, &call_body("whoami"));
    refused(&answer, 401, "invalid_token", MALFORMED);
}

// B148
#[test]
fn the_verified_caller_reaches_the_tool() {
    let served = Served::start(mounted(&notes(by_heart)));
    for authorization in ["Bearer good", "bearer good", "BEARER good"] {
        let answer = call(&served, Some(authorization), "whoami");
        assert_eq!(
            answer.structured(),
            json!({
                "client": "client", "subject": "user",
                "scopes": ["notes:read"], "token": "good",
            })
        );
    }
}

#[test]
fn the_verified_caller_reaches_resources_and_prompts() {
    let who = |caller: Ctx<AuthInfo>| async move { caller.subject.clone().unwrap_or_default() };
    let server = McpServer::new("notes", "1")
        .resource(Resource::new("mine", "notes://mine", who))
        .prompt(Prompt::new("greet", who))
        .auth(by_heart)
        .build()
        .unwrap();
    let served = Served::start(mounted(&server));
    for (method, params, path) in [
        (
            "resources/read",
            json!({"uri": "notes://mine"}),
            "/result/contents/0/text",
        ),
        (
            "prompts/get",
            json!({"name": "greet"}),
            "/result/messages/0/content/text",
        ),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let ask = |token| {
            let headers = [
                ("content-type", "application/json"),
                ("authorization", token),
            ];
            send(&served, "POST", &headers, &body.to_string())
        };
        for (token, user) in [("Bearer good", "user"), ("Bearer other", "other")] {
            let answer = ask(token);
            assert_eq!(
                answer.json().pointer(path),
                Some(&json!(user)),
                "{answer:?}"
            );
        }
        assert_eq!(ask("Bearer bad").status(), 401);
    }
}

#[test]
fn a_challenge_names_only_what_is_configured() {
    let server = McpServer::new("bare", "1").auth(by_heart).build().unwrap();
    let served = Served::start(mounted(&server));
    let answer = call(&served, None, "whoami");
    assert_eq!(
        answer.challenge(),
        Some(r#"Bearer error="invalid_token", error_description="Missing Authorization header""#)
    );
}

/// B148: whatever a verifier says, the challenge is one header with each parameter in quotes, and
/// the body says it word for word.
#[test]
fn what_a_verifier_says_cannot_break_the_challenge() {
    let said = "say \"no\", scope=\"all\" \\ \u{fc}\r\nset-cookie: a=b";
    let verifier = move |_: String| async move {
        Err::<AuthInfo, _>(roscius::wire::oauth::OAuthError::invalid_token(said))
    };
    let served = Served::start(mounted(&notes(verifier)));
    let answer = bearer(&served, "x");
    assert_eq!(answer.status(), 401);
    assert_eq!(answer.head.header("set-cookie"), None);
    assert_eq!(answer.description(), said);
    let wanted = format!(
        r#"Bearer error="invalid_token", error_description="say \"no\", scope=\"all\" \\    set-cookie: a=b"{}"#,
        tail()
    );
    assert_eq!(answer.challenge(), Some(wanted.as_str()));
}

#[test]
fn a_page_may_read_the_challenge() {
    let server = notes(by_heart);
    let served = Served::start(move |config| {
        let routes = McpRoutes::new("/mcp", &server).allow_origins(["https://app.test"]);
        config.configure(routes.routes());
    });
    let answer = send(&served, "POST", &[("origin", "https://app.test")], "");
    assert_eq!(answer.status(), 401);
    let head = &answer.head;
    assert_eq!(
        head.header("access-control-allow-origin"),
        Some("https://app.test")
    );
    let exposed = head
        .header("access-control-expose-headers")
        .unwrap_or_default();
    assert!(exposed.contains("www-authenticate"), "{exposed}");
    let preflight = send(&served, "OPTIONS", &[("origin", "https://app.test")], "");
    assert_eq!(preflight.status(), 204, "a preflight carries no token");
    let foreign = send(&served, "POST", &[("origin", "https://evil.test")], "");
    assert_eq!(foreign.status(), 403);
    assert_eq!(foreign.challenge(), None);
}

#[test]
fn a_server_without_a_verifier_ignores_tokens() {
    let server = McpServer::new("open", "1")
        .tool(Tool::new("hi", || async { "hi" }))
        .build()
        .unwrap();
    let served = Served::start(mounted(&server));
    for authorization in [None, Some("Bearer x"), Some("Basic dTpw")] {
        assert_eq!(call(&served, authorization, "hi").status(), 200);
    }
}

#[test]
fn an_application_with_its_own_authentication_skips_the_gate() {
    let server = notes(by_heart);
    let served = Served::start(move |config| {
        let routes = McpRoutes::new("/mcp", &server).authorize(|request| async move {
            let known = request.headers().contains_key("x-user");
            // Nothing of this token would pass the gate: no scope, no expiry.
            let caller = AuthInfo::new("own", "app");
            Ok(if known {
                Options::new().auth_info(caller)
            } else {
                Options::new()
            })
        });
        config.configure(routes.routes());
    });
    let headers = [("content-type", "application/json"), ("x-user", "ada")];
    let own = send(&served, "POST", &headers, &call_body("whoami"));
    assert_eq!(own.structured()["client"], "app");
    assert_eq!(bearer(&served, "good").structured()["client"], "client");
    assert_eq!(call(&served, None, "whoami").status(), 401);
}

#[test]
fn a_server_that_could_never_check_a_token_is_not_built() {
    let builder = || McpServer::new("notes", "1");
    let plain = |url| Introspection::new(url, "id", "secret");
    let bad = [
        builder().required_scopes(["a"]).build(),
        builder().auth(plain("http://as.test/introspect")).build(),
        builder().auth(plain("as.test")).build(),
        #[cfg(feature = "jwt")]
        builder()
            .auth(roscius::auth::Jwt::jwks("https://as.test/jwks").issuer("https://as.test"))
            .build(),
        #[cfg(feature = "jwt")]
        builder()
            .auth(roscius::auth::Jwt::jwks("https://as.test/jwks").audience("https://mcp.test"))
            .build(),
        #[cfg(feature = "jwt")]
        builder()
            .auth(
                roscius::auth::Jwt::jwks("http://as.test/jwks")
                    .issuer("https://as.test")
                    .audience("https://mcp.test"),
            )
            .build(),
    ];
    for (at, built) in bad.into_iter().enumerate() {
        let error = built.err().unwrap_or_else(|| panic!("{at} was built"));
        assert!(error.to_string().starts_with("auth: "), "{at}: {error}");
    }
    for url in [
        "https://as.test/introspect",
        "http://127.0.0.1:1/introspect",
    ] {
        assert!(builder().auth(plain(url)).build().is_ok(), "{url}");
    }
    let inside = plain("http://as.internal/introspect").allow_http(true);
    assert!(builder().auth(inside).build().is_ok());
}
