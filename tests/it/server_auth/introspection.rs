//! Opaque tokens, asked about over HTTP.

use std::{thread, time::Duration};

use roscius::auth::Introspection;
use serde_json::{Value, json};

use super::{
    FAR, bearer,
    issuer::{AUDIENCE, Issuer},
    mounted, notes,
};
use crate::served::Served;

fn introspection(issuer: &Issuer) -> Introspection {
    Introspection::new(issuer.url("/introspect"), "notes", "s:cret")
}

fn serve(verifier: Introspection) -> Served {
    Served::start(mounted(&notes(verifier)))
}

fn active(changes: Value) -> Value {
    let mut answer = json!({
        "active": true, "client_id": "client", "sub": "user", "scope": "notes:read", "exp": FAR,
    });
    for (name, value) in changes.as_object().into_iter().flatten() {
        answer[name] = value.clone();
    }
    answer
}

#[test]
fn the_endpoint_is_asked_as_rfc_7662_says() {
    let issuer = Issuer::start();
    issuer.knows("abc", active(json!({})));
    let served = serve(introspection(&issuer));
    let caller = bearer(&served, "abc").structured();
    assert_eq!(
        caller,
        json!({"client": "client", "subject": "user", "scopes": ["notes:read"], "token": "abc"})
    );
    let [asked] = issuer.asked().try_into().unwrap();
    // base64 of `notes:s:cret`
    assert_eq!(asked.authorization, "Basic bm90ZXM6czpjcmV0");
    assert_eq!(asked.accept, "application/json");
    assert_eq!(asked.content_type, "application/x-www-form-urlencoded");
    assert_eq!(asked.body, "token=abc");
    // Only what a form can carry stands in the body.
    assert_eq!(bearer(&served, "a&b=c+d/").status(), 401);
    assert_eq!(issuer.asked()[1].body, "token=a%26b%3Dc%2Bd%2F");
}

// G13
#[test]
fn only_an_active_token_is_let_in() {
    let issuer = Issuer::start();
    let served = serve(introspection(&issuer).audience(AUDIENCE));
    for (at, (answer, status, description)) in [
        (active(json!({"aud": AUDIENCE})), 200, ""),
        (active(json!({"aud": ["x", AUDIENCE]})), 200, ""),
        (
            active(json!({"aud": "other"})),
            401,
            "The token is meant for another audience.",
        ),
        (active(json!({})), 401, "The token has no aud claim."),
        (
            active(json!({"aud": AUDIENCE, "active": "true"})),
            401,
            "The token is not active.",
        ),
        (
            active(json!({"aud": AUDIENCE, "active": 1})),
            401,
            "The token is not active.",
        ),
        (
            active(json!({"aud": AUDIENCE, "active": false})),
            401,
            "The token is not active.",
        ),
        (json!({}), 401, "The token is not active."),
        (
            active(json!({"aud": AUDIENCE, "exp": 1})),
            401,
            "Token has expired",
        ),
        (
            active(json!({"aud": AUDIENCE, "exp": null})),
            401,
            "Token has no expiration time",
        ),
        (
            active(json!({"aud": AUDIENCE, "exp": "soon"})),
            401,
            "The exp claim of the token is no date.",
        ),
        (
            active(json!({"aud": AUDIENCE, "nbf": FAR})),
            401,
            "The token is not valid yet.",
        ),
        (
            active(json!({"aud": AUDIENCE, "scope": ""})),
            403,
            "Insufficient scope",
        ),
        (
            active(json!({"aud": AUDIENCE, "scope": "", "scp": "notes:read"})),
            200,
            "",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let token = format!("token-{at}");
        issuer.knows(&token, answer.clone());
        let reply = bearer(&served, &token);
        assert_eq!(reply.status(), status, "{answer}: {reply:?}");
        if status != 200 {
            assert_eq!(reply.description(), description, "{answer}");
        }
    }
}

#[test]
fn an_endpoint_that_fails_is_no_fault_of_the_token() {
    for (failure, description) in [
        ((503, ""), "The introspection endpoint answered 503."),
        ((401, ""), "The introspection endpoint answered 401."),
        (
            (200, "[]"),
            "The token could not be checked: the answer cannot be read",
        ),
        (
            (0, ""),
            "The token could not be checked: the endpoint did not answer in time",
        ),
    ] {
        let issuer = Issuer::start();
        issuer.fails(Some(failure));
        let served = serve(introspection(&issuer).deadline(Duration::from_millis(300)));
        let reply = bearer(&served, "abc");
        assert_eq!(reply.status(), 500, "{reply:?}");
        assert_eq!(reply.description(), description);
        issuer.fails(None);
        issuer.knows("abc", active(json!({})));
        assert_eq!(
            bearer(&served, "abc").status(),
            200,
            "a failure is not kept"
        );
    }
}

// G13
#[test]
fn a_good_answer_is_kept_and_a_bad_one_is_not() {
    let issuer = Issuer::start();
    issuer.knows("good", active(json!({})));
    let served = serve(introspection(&issuer));
    for _ in 0..5 {
        assert_eq!(bearer(&served, "good").status(), 200);
    }
    assert_eq!(issuer.asked().len(), 1);
    for _ in 0..2 {
        assert_eq!(bearer(&served, "bad").status(), 401);
    }
    assert_eq!(issuer.asked().len(), 3);
    let uncached = serve(introspection(&issuer).cache_ttl(Duration::ZERO));
    for _ in 0..2 {
        assert_eq!(bearer(&uncached, "good").status(), 200);
    }
    assert_eq!(issuer.asked().len(), 5);
}

#[test]
fn workers_share_one_question_a_token() {
    let issuer = Issuer::start();
    for token in ["a", "b"] {
        issuer.knows(token, active(json!({"client_id": token})));
    }
    let served = Served::on_workers(4, mounted(&notes(introspection(&issuer))));
    thread::scope(|scope| {
        let calls: Vec<_> = (0..24)
            .map(|at| {
                let token = if at % 2 == 0 { "a" } else { "b" };
                let served = &served;
                scope.spawn(move || (token, bearer(served, token).structured()))
            })
            .collect();
        for call in calls {
            let (token, caller) = call.join().unwrap();
            assert_eq!(caller["client"], token);
            assert_eq!(caller["token"], token);
        }
    });
    assert_eq!(issuer.asked().len(), 2);
}
