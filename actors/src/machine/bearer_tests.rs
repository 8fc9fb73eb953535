use super::*;

const PRM: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

fn gate() -> BearerGate {
    BearerGate::new()
        .required_scopes(["notes:read"])
        .resource_metadata(PRM)
}

fn caller(scopes: &[&str], expires_at: Option<u64>) -> AuthInfo {
    let mut caller = AuthInfo::new("t", "client").scopes(scopes.iter().copied());
    caller.expires_at = expires_at;
    caller
}

#[test]
fn a_token_is_read_whatever_the_case_of_the_scheme() {
    for (header, token) in [
        ("Bearer abc.def-_~+/=", "abc.def-_~+/="),
        ("bearer x", "x"),
        ("BEARER x", "x"),
        ("  Bearer   x ", "x"),
    ] {
        let read = gate().token(Some(header.as_bytes()));
        assert_eq!(read, Ok(token), "{header:?}");
    }
}

#[test]
fn a_header_that_holds_no_bearer_token_is_challenged() {
    let long = format!("Bearer {}", "x".repeat(MAX_TOKEN_BYTES + 1));
    for (header, description) in [
        (None, "Missing Authorization header"),
        (Some(""), "Missing Authorization header"),
        (Some("Bearer"), MALFORMED),
        (Some("Bearer "), MALFORMED),
        (Some("Basic dTpw"), MALFORMED),
        (Some("Bearer a b"), MALFORMED),
        (Some("Bearer,x"), MALFORMED),
        (Some("Bearer \u{e4}"), MALFORMED),
        (Some("\0"), MALFORMED),
        (Some(long.as_str()), TOO_LONG),
    ] {
        let denial = gate()
            .token(header.map(str::as_bytes))
            .expect_err("a denial");
        assert_eq!(denial.status, 401, "{header:?}");
        let challenge = format!(
            "Bearer error=\"invalid_token\", error_description=\"{description}\", scope=\"notes:read\", resource_metadata=\"{PRM}\""
        );
        assert_eq!(denial.challenge.as_deref(), Some(&*challenge), "{header:?}");
        assert_eq!(
            denial.body,
            format!(r#"{{"error":"invalid_token","error_description":"{description}"}}"#)
        );
    }
}

#[test]
fn a_challenge_names_only_what_is_configured() {
    let bare = BearerGate::new().token(None).expect_err("a denial");
    assert_eq!(
        bare.challenge.as_deref(),
        Some("Bearer error=\"invalid_token\", error_description=\"Missing Authorization header\"")
    );
}

#[test]
fn scopes_come_before_expiry() {
    let now = 1_000;
    for (caller, status, description) in [
        (caller(&["notes:read"], Some(1_000)), None, ""),
        (caller(&["x", "notes:read"], Some(2_000)), None, ""),
        (caller(&[], Some(2_000)), Some(403), TOO_WEAK),
        (caller(&["notes:reader"], Some(1)), Some(403), TOO_WEAK),
        (caller(&["notes:read"], None), Some(401), NO_EXPIRY),
        (caller(&["notes:read"], Some(999)), Some(401), EXPIRED),
    ] {
        let denial = gate().admit(&caller, now).err();
        assert_eq!(
            denial.as_ref().map(|denial| denial.status),
            status,
            "{caller:?}"
        );
        let Some(denial) = denial else { continue };
        assert!(denial.body.contains(description), "{denial:?}");
        if status == Some(403) {
            let challenge = format!(
                "Bearer error=\"insufficient_scope\", error_description=\"Insufficient scope\", scope=\"notes:read\", resource_metadata=\"{PRM}\""
            );
            assert_eq!(denial.challenge, Some(challenge));
            assert_eq!(
                denial.body,
                r#"{"error":"insufficient_scope","error_description":"Insufficient scope"}"#
            );
        }
    }
    let lenient = gate().leeway_seconds(5);
    let late = caller(&["notes:read"], Some(995));
    assert_eq!(lenient.admit(&late, now), Ok(()));
    assert!(lenient.admit(&late, now + 1).is_err());
}

#[test]
fn a_step_up_names_every_scope_of_the_operation() {
    let write = ["notes:write".to_owned()];
    let reader = caller(&["notes:read"], Some(u64::MAX));
    let denial = gate().step_up(Some(&reader), &write).expect_err("a denial");
    assert_eq!(denial.status, 403);
    let challenge = denial.challenge.unwrap_or_default();
    assert!(
        challenge.contains("scope=\"notes:read notes:write\""),
        "{challenge}"
    );
    let writer = caller(&["notes:write"], None);
    assert_eq!(gate().step_up(Some(&writer), &write), Ok(()));
    let nobody = gate().step_up(None, &write).expect_err("a denial");
    assert_eq!(nobody.status, 401);
}

#[test]
fn each_error_of_a_verifier_has_its_status() {
    for (error, status, challenged) in [
        (OAuthError::invalid_token("no"), 401, true),
        (OAuthError::insufficient_scope("no"), 403, true),
        (OAuthError::server_error("down"), 500, false),
        (
            OAuthError::new(OAuthErrorCode::InvalidRequest, "no"),
            400,
            false,
        ),
        (
            OAuthError::new(OAuthErrorCode::TooManyRequests, "no"),
            400,
            false,
        ),
    ] {
        let denial = gate().deny(&error);
        assert_eq!(denial.status, status, "{error:?}");
        assert_eq!(denial.challenge.is_some(), challenged, "{error:?}");
    }
}

#[test]
fn a_description_cannot_break_out_of_the_header() {
    let error = OAuthError::invalid_token("say \"hi\"\\ \r\nX: y \u{fc}");
    let challenge = gate().deny(&error).challenge.unwrap_or_default();
    assert!(
        challenge.contains(r#"error_description="say \"hi\"\\   X: y  ""#),
        "{challenge}"
    );
}
