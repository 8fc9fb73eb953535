//! Access tokens, as issuers in the field make them.

use roscius::prelude::*;
use serde_json::json;

use super::world::exchange;

use crate::{
    mcp_server::host::{Ask, MODERN, Served},
    server_auth::{PRM, by_heart},
};

fn served() -> Served {
    let server = McpServer::new("notes", "1")
        .sessions(Sessions::Memory)
        .tool(Tool::new("hi", || async { "hi" }))
        .auth(by_heart)
        .required_scopes(["notes:read"])
        .resource_metadata_url(PRM);
    Served::new(&server.build().unwrap())
}

/// B148: every method is told what it lacks, completely and in quotes; the scheme has no case.
#[test]
fn every_method_is_told_what_its_token_lacks() {
    let served = served();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let metadata = format!(r#"resource_metadata="{PRM}""#);
    for ask in [
        Ask::post(body),
        Ask::modern("tools/list", json!({})),
        Ask::new("GET").header("accept", "text/event-stream"),
        Ask::new("DELETE").header("mcp-session-id", "x"),
        Ask::new("GET").header("mcp-protocol-version", MODERN),
    ] {
        for (token, status, error) in [
            (None, 401, "invalid_token"),
            (Some("bearer x"), 401, "invalid_token"),
            (Some("Basic dTpw"), 401, "invalid_token"),
            (Some("Bearer old"), 401, "invalid_token"),
            (Some("Bearer weak"), 403, "insufficient_scope"),
        ] {
            let ask = match token {
                Some(token) => ask.clone().header("authorization", token),
                None => ask.clone(),
            };
            let reply = exchange(&served, &ask);
            assert_eq!(reply.status, status, "{token:?}: {reply:?}");
            let challenge = reply.header("www-authenticate").unwrap();
            assert!(challenge.starts_with("Bearer "), "{challenge}");
            for part in [
                &*format!(r#"error="{error}""#),
                r#"scope="notes:read""#,
                metadata.as_str(),
            ] {
                // B139: each parameter stands once.
                assert_eq!(challenge.matches(part).count(), 1, "{challenge}");
            }
        }
    }
    for scheme in ["bearer", "BEARER", "Bearer"] {
        let ask = Ask::modern("tools/list", json!({}));
        let reply = exchange(
            &served,
            &ask.header("authorization", &format!("{scheme} good")),
        );
        assert_eq!(reply.status, 200, "{scheme}");
    }
}

#[cfg(feature = "jwt")]
mod jwt {
    use super::*;
    use crate::{
        served,
        server_auth::{
            bearer,
            issuer::{AUDIENCE, ISSUER, Issuer, Signer, claims},
            mounted, notes,
        },
    };
    use roscius::auth::Jwt;

    /// B143, B144, B145: what a token says about its issuer and its audience has to be there and
    /// to be right, however it is signed.
    #[test]
    fn a_signed_token_needs_issuer_and_audience() {
        let issuer = Issuer::start();
        let ec = Signer::ec();
        issuer.keys([ec.jwk(Some("k"))]);
        let verifier = Jwt::jwks(issuer.url("/jwks"))
            .issuer(ISSUER)
            .audience(AUDIENCE);
        let served = served::Served::start(mounted(&notes(verifier)));
        for (changes, status) in [
            (json!({"aud": ["other", AUDIENCE]}), 200),
            (json!({"aud": [AUDIENCE]}), 200),
            (json!({"exp": 4_102_444_800.5}), 200),
            (json!({"aud": []}), 401),
            (json!({"aud": ["other"]}), 401),
            (json!({"aud": [AUDIENCE.to_uppercase()]}), 401),
            (json!({"aud": {"0": AUDIENCE}}), 401),
            (json!({"iss": [ISSUER]}), 401),
            // Only `sub` and `exp` are left.
            (
                json!({"aud": null, "iss": null, "client_id": null, "scope": null}),
                401,
            ),
            (json!({"exp": "4102444800"}), 401),
            (json!({"exp": -1}), 401),
            (json!({"nbf": 4_102_444_799_u64}), 401),
        ] {
            let token = ec.token("k", &claims(changes.clone()));
            let answer = bearer(&served, &token);
            assert_eq!(answer.status(), status, "{changes}: {answer:?}");
        }
        // A verifier that could not say for whom a token is meant is not built.
        for incomplete in [
            Jwt::jwks(issuer.url("/jwks")).issuer(ISSUER),
            Jwt::jwks(issuer.url("/jwks")).audience(AUDIENCE),
        ] {
            let error = McpServer::new("x", "1")
                .auth(incomplete)
                .build()
                .unwrap_err();
            assert!(error.to_string().starts_with("auth: "), "{error}");
        }
    }

    /// B147: unknown keys, one after the other and at once, cost the issuer a few questions.
    #[test]
    fn random_key_ids_cost_the_issuer_little() {
        let issuer = Issuer::start();
        let (old, new) = (Signer::ec(), Signer::ec());
        issuer.keys([old.jwk(Some("old"))]);
        let verifier = Jwt::jwks(issuer.url("/jwks"))
            .issuer(ISSUER)
            .audience(AUDIENCE);
        let served = served::Served::on_workers(2, mounted(&notes(verifier)));
        let good = claims(json!({}));
        assert_eq!(bearer(&served, &old.token("old", &good)).status(), 200);
        issuer.keys([old.jwk(Some("old")), new.jwk(Some("new"))]);
        assert_eq!(bearer(&served, &new.token("new", &good)).status(), 200);
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let (served, new, good) = (&served, &new, &good);
                scope.spawn(move || {
                    for at in 0..50 {
                        let token = new.token(&format!("random-{worker}-{at}"), good);
                        assert_eq!(bearer(served, &token).status(), 401);
                    }
                });
            }
        });
        assert!(issuer.reads() <= 3, "{}", issuer.reads());
        issuer.fails(Some((503, "down")));
        assert_eq!(bearer(&served, &new.token("new", &good)).status(), 200);
    }
}
