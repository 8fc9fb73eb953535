//! JWTs against a key set that is read over HTTP.

use std::{thread, time::Duration};

use jsonwebtoken::{Algorithm, EncodingKey};
use roscius::auth::{Jwt, JwtAlgorithm};
use serde_json::{Value, json};

use super::{
    bearer,
    issuer::{AUDIENCE, ISSUER, Issuer, Signer, base64url, claims},
    mounted, notes,
};
use crate::served::Served;

fn jwt(issuer: &Issuer) -> Jwt {
    Jwt::jwks(issuer.url("/jwks"))
        .issuer(ISSUER)
        .audience(AUDIENCE)
}

fn serve(verifier: Jwt) -> Served {
    Served::start(mounted(&notes(verifier)))
}

// B143
#[test]
fn a_token_of_the_issuer_is_let_in() {
    let issuer = Issuer::start();
    let (ec, rsa) = (Signer::ec(), Signer::rsa());
    issuer.keys([
        json!({"kty": "new"}),
        ec.jwk(Some("ec")),
        rsa.jwk(Some("rsa")),
    ]);
    let served = serve(jwt(&issuer));
    for (name, token) in [
        ("ES256", ec.token("ec", &claims(json!({})))),
        ("RS256", rsa.token("rsa", &claims(json!({})))),
        (
            "a list",
            ec.token("ec", &claims(json!({"aud": ["other", AUDIENCE]}))),
        ),
        (
            "a fraction",
            ec.token("ec", &claims(json!({"exp": 4_102_444_800.5}))),
        ),
        (
            "scp",
            ec.token(
                "ec",
                &claims(json!({"scope": null, "scp": ["x", "notes:read"]})),
            ),
        ),
        (
            "no key id",
            ec.token_with(&json!({"alg": "ES256"}), &claims(json!({}))),
        ),
    ] {
        let caller = bearer(&served, &token).structured();
        assert_eq!(caller["client"], "client", "{name}");
        assert_eq!(caller["subject"], "user", "{name}");
        assert_eq!(caller["token"], json!(token), "{name}");
    }
    let azp = ec.token("ec", &claims(json!({"client_id": null, "azp": "app"})));
    assert_eq!(bearer(&served, &azp).structured()["client"], "app");
    let weak = ec.token("ec", &claims(json!({"scope": "notes:reader"})));
    assert_eq!(bearer(&served, &weak).status(), 403);
    assert_eq!(issuer.reads(), 1, "the key set is read once");
}

// B143, B144, B145
#[test]
fn a_token_that_says_the_wrong_thing_is_refused() {
    let issuer = Issuer::start();
    let ec = Signer::ec();
    issuer.keys([ec.jwk(Some("k"))]);
    let served = serve(jwt(&issuer));
    for (changes, description) in [
        (json!({"aud": null}), "The token has no aud claim."),
        (json!({"aud": []}), "The token has no aud claim."),
        (
            json!({"aud": "https://mcp.test/"}),
            "The token is meant for another audience.",
        ),
        (json!({"iss": null}), "The token has no iss claim."),
        (json!({"iss": [ISSUER]}), "The token has no iss claim."),
        (
            json!({"iss": "https://as.test"}),
            "The token comes from another issuer.",
        ),
        (json!({"exp": null}), "The token has no exp claim."),
        (
            json!({"exp": "4102444800"}),
            "The exp claim of the token is no date.",
        ),
        (json!({"exp": 1}), "Token has expired"),
        (
            json!({"nbf": 4_102_444_799_u64}),
            "The token is not valid yet.",
        ),
        (
            json!({"client_id": null, "sub": null}),
            "The token has no client_id, azp, or sub claim.",
        ),
    ] {
        let answer = bearer(&served, &ec.token("k", &claims(changes.clone())));
        assert_eq!(answer.status(), 401, "{changes}: {answer:?}");
        assert_eq!(answer.description(), description, "{changes}");
        let challenge = answer.challenge().unwrap_or_default();
        assert!(
            challenge.starts_with(r#"Bearer error="invalid_token""#),
            "{challenge}"
        );
    }
}

#[test]
fn a_token_that_is_not_signed_by_the_issuer_is_refused() {
    let issuer = Issuer::start();
    let (ec, foreign, rsa) = (Signer::ec(), Signer::ec(), Signer::rsa());
    let public = ec.jwk(Some("k"));
    let secret = json!({"kty": "oct", "kid": "secret", "k": base64url("shared"), "alg": "HS256"});
    issuer.keys([public.clone(), rsa.jwk(Some("r")), secret]);
    let served = serve(jwt(&issuer));
    let good = claims(json!({}));
    let hmac = |kid: &str, key: &[u8]| {
        let mut header = jsonwebtoken::Header::new(Algorithm::HS256);
        header.kid = Some(kid.to_owned());
        jsonwebtoken::encode(&header, &good, &EncodingKey::from_secret(key).unwrap()).unwrap()
    };
    let part = |value: &Value| base64url(value.to_string());
    let unsigned = format!(
        "{}.{}.",
        part(&json!({"alg": "none", "kid": "k"})),
        part(&good)
    );
    let real = ec.token("k", &good);
    let (message, signature) = real.rsplit_once('.').unwrap();
    let forged = claims(json!({"sub": "admin"}));
    let header = message.split('.').next().unwrap();
    for (name, token) in [
        ("none", unsigned),
        ("no signature", format!("{message}.")),
        (
            "other claims",
            format!("{header}.{}.{signature}", part(&forged)),
        ),
        ("a foreign key", foreign.token("k", &good)),
        ("a key of another kind", ec.token("r", &good)),
        (
            "a lie about the algorithm",
            ec.token_with(&json!({"alg": "RS256", "kid": "k"}), &good),
        ),
        (
            "the public key as a secret",
            hmac("k", public.to_string().as_bytes()),
        ),
        ("a secret of the set", hmac("secret", b"shared")),
        (
            "an unknown crit",
            ec.token_with(
                &json!({"alg": "ES256", "kid": "k", "crit": ["x"], "x": 1}),
                &good,
            ),
        ),
        (
            "its own key",
            foreign.token_with(&json!({"alg": "ES256", "jwk": foreign.jwk(None)}), &good),
        ),
        ("no JWT", "opaque".to_owned()),
        ("an encrypted one", "a.b.c.d.e".to_owned()),
    ] {
        let answer = bearer(&served, &token);
        assert_eq!(answer.status(), 401, "{name}: {answer:?}");
        assert_eq!(answer.json()["error"], "invalid_token", "{name}");
    }
    assert_eq!(bearer(&served, &real).status(), 200);
}

#[test]
fn only_allowed_algorithms_are_taken() {
    let issuer = Issuer::start();
    let (ec, rsa) = (Signer::ec(), Signer::rsa());
    issuer.keys([ec.jwk(Some("ec")), rsa.jwk(Some("rsa"))]);
    let served = serve(jwt(&issuer).algorithms([JwtAlgorithm::Rs256]));
    assert_eq!(
        bearer(&served, &rsa.token("rsa", &claims(json!({})))).status(),
        200
    );
    assert_eq!(
        bearer(&served, &ec.token("ec", &claims(json!({})))).status(),
        401
    );
}

#[test]
fn a_token_without_a_key_id_needs_a_set_with_one_fitting_key() {
    let issuer = Issuer::start();
    let (first, second) = (Signer::ec(), Signer::ec());
    issuer.keys([first.jwk(None), second.jwk(None)]);
    let served = serve(jwt(&issuer));
    let token = first.token_with(&json!({"alg": "ES256"}), &claims(json!({})));
    assert_eq!(bearer(&served, &token).status(), 401);
}

// B145
#[test]
fn clocks_may_differ_as_far_as_is_configured() {
    let issuer = Issuer::start();
    let ec = Signer::ec();
    issuer.keys([ec.jwk(Some("k"))]);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap().as_secs();
    let late = ec.token("k", &claims(json!({"exp": now - 30})));
    let early = ec.token("k", &claims(json!({"nbf": now + 60})));
    let strict = serve(jwt(&issuer));
    let lenient = serve(jwt(&issuer).leeway(Duration::from_secs(120)));
    for token in [late, early] {
        assert_eq!(bearer(&strict, &token).status(), 401);
        assert_eq!(bearer(&lenient, &token).status(), 200);
    }
    let later = ec.token("k", &claims(json!({"exp": now - 130})));
    assert_eq!(bearer(&lenient, &later).status(), 401);
    let unbounded = serve(jwt(&issuer).leeway(Duration::MAX));
    let yesterday = ec.token("k", &claims(json!({"exp": now - 86_400})));
    assert_eq!(bearer(&unbounded, &yesterday).status(), 401);
}

// B147
#[test]
fn a_rotated_key_is_found_and_unknown_ones_do_not_flood_the_issuer() {
    let issuer = Issuer::start();
    let (old, new) = (Signer::ec(), Signer::ec());
    issuer.keys([old.jwk(Some("old"))]);
    let served = serve(jwt(&issuer));
    assert_eq!(
        bearer(&served, &old.token("old", &claims(json!({})))).status(),
        200
    );
    issuer.keys([new.jwk(Some("new"))]);
    let rotated = new.token("new", &claims(json!({})));
    assert_eq!(bearer(&served, &rotated).status(), 200);
    assert_eq!(issuer.reads(), 2);
    for at in 0..200 {
        let unknown = new.token(&format!("unknown-{at}"), &claims(json!({})));
        assert_eq!(bearer(&served, &unknown).status(), 401);
    }
    assert_eq!(issuer.reads(), 2);
    assert_eq!(
        bearer(&served, &old.token("old", &claims(json!({})))).status(),
        401
    );
    assert_eq!(bearer(&served, &rotated).status(), 200);
}

// B147
#[test]
fn a_known_key_stays_good_while_the_issuer_is_down() {
    let issuer = Issuer::start();
    let (known, unknown) = (Signer::ec(), Signer::ec());
    issuer.keys([known.jwk(Some("known"))]);
    // The set is old at once, so that each token wants to read it again.
    let served = serve(jwt(&issuer).max_age(Duration::ZERO));
    let token = known.token("known", &claims(json!({})));
    assert_eq!(bearer(&served, &token).status(), 200);
    issuer.fails(Some((503, "down")));
    for _ in 0..5 {
        assert_eq!(bearer(&served, &token).status(), 200);
    }
    let before = issuer.reads();
    let answer = bearer(&served, &unknown.token("unknown", &claims(json!({}))));
    assert_eq!(answer.status(), 500, "{answer:?}");
    assert_eq!(
        answer.body,
        r#"{"error":"server_error","error_description":"The key set could not be read: the endpoint answered 503"}"#
    );
    assert!(issuer.reads() <= before + 1, "the issuer is left alone");
}

#[test]
fn a_key_set_that_cannot_be_read_is_no_fault_of_the_token() {
    for (failure, reason) in [
        ((404, ""), "the endpoint answered 404"),
        ((302, ""), "the endpoint answered 302"),
        ((200, "<html>"), "the answer cannot be read"),
        ((200, r#"{"keys":7}"#), "the answer cannot be read"),
        ((200, &*" ".repeat(300 * 1024)), "the answer is too large"),
        ((0, ""), "the endpoint did not answer in time"),
    ] {
        let issuer = Issuer::start();
        issuer.fails(Some(failure));
        let served = serve(jwt(&issuer).deadline(Duration::from_millis(300)));
        let answer = bearer(&served, &Signer::ec().token("k", &claims(json!({}))));
        assert_eq!(answer.status(), 500, "{answer:?}");
        assert_eq!(answer.challenge(), None);
        assert_eq!(
            answer.description(),
            format!("The key set could not be read: {reason}")
        );
    }
}

// B147
#[test]
fn workers_share_one_reading() {
    let issuer = Issuer::start();
    let (first, second) = (Signer::ec(), Signer::ec());
    issuer.keys([first.jwk(Some("first"))]);
    let served = Served::on_workers(4, mounted(&notes(jwt(&issuer))));
    let all = |token: &str| {
        thread::scope(|scope| {
            let calls: Vec<_> = (0..24)
                .map(|_| scope.spawn(|| bearer(&served, token).status()))
                .collect();
            for call in calls {
                assert_eq!(call.join().unwrap(), 200);
            }
        });
    };
    all(&first.token("first", &claims(json!({}))));
    assert_eq!(issuer.reads(), 1);
    issuer.keys([second.jwk(Some("second"))]);
    all(&second.token("second", &claims(json!({}))));
    assert_eq!(issuer.reads(), 2);
}
