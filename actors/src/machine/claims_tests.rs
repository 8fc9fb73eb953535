use serde_json::json;

use super::*;

const NOW: u64 = 1_800_000_000;
const MCP: &str = "https://mcp.test/mcp";

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn rules() -> ClaimRules {
    ClaimRules {
        issuers: vec!["https://as.test/".to_owned()],
        audiences: vec![MCP.to_owned()],
        expires: true,
        leeway_seconds: 0,
    }
}

fn with(changes: Value) -> Map<String, Value> {
    let mut claims = map(
        json!({"iss": "https://as.test/", "aud": MCP, "exp": NOW + 60, "sub": "u", "client_id": "c"}),
    );
    for (name, value) in map(changes) {
        if value == json!("absent") {
            claims.remove(&name);
        } else {
            claims.insert(name, value);
        }
    }
    claims
}

fn checked(changes: Value) -> Result<(), String> {
    let checked = rules().check(&with(changes), NOW);
    checked.map_err(|error| error.description)
}

// B143
#[test]
fn one_member_of_the_audience_is_enough() {
    for (aud, passes) in [
        (json!(MCP), true),
        (json!(["other", MCP]), true),
        (json!([MCP]), true),
        (json!(["other"]), false),
        (json!("other"), false),
        (json!([]), false),
        (json!([[MCP]]), false),
        (json!({"a": MCP}), false),
        (json!(7), false),
        (json!("https://mcp.test/mcp/"), false),
    ] {
        assert_eq!(checked(json!({"aud": aud})).is_ok(), passes, "{aud}");
    }
}

// B143
#[test]
fn the_issuer_is_one_string() {
    for issuer in [
        json!(["https://as.test/"]),
        json!("https://as.test"),
        json!(null),
    ] {
        assert!(checked(json!({"iss": issuer})).is_err(), "{issuer}");
    }
}

// B144
#[test]
fn a_token_without_a_claim_that_is_checked_is_refused() {
    for claim in ["iss", "aud", "exp"] {
        let refused = checked(json!({claim: "absent"}));
        assert_eq!(refused, Err(format!("The token has no {claim} claim.")));
    }
}

// B145
#[test]
fn dates_are_numbers_and_may_have_fractions() {
    let soon = f64::from(u32::try_from(NOW).unwrap_or_default()) + 0.5;
    for (changes, passes) in [
        (json!({"exp": 4_102_444_800.5}), true),
        (json!({"exp": soon}), true),
        (json!({"exp": NOW}), false),
        (json!({"exp": NOW - 1}), false),
        (json!({"exp": -1}), false),
        (json!({"exp": 1e300}), true),
        (json!({"exp": (NOW + 60).to_string()}), false),
        (json!({"exp": true}), false),
        (json!({"nbf": NOW}), true),
        (json!({"nbf": NOW + 1}), false),
        (json!({"nbf": "0"}), false),
        (json!({"nbf": soon}), false),
    ] {
        assert_eq!(checked(changes.clone()).is_ok(), passes, "{changes}");
    }
}

// B145
#[test]
fn leeway_is_for_both_ends() {
    let lenient = ClaimRules {
        leeway_seconds: 30,
        ..rules()
    };
    let allows = |changes| lenient.check(&with(changes), NOW).is_ok();
    assert!(allows(json!({"exp": NOW - 29})));
    assert!(!allows(json!({"exp": NOW - 30})));
    assert!(allows(json!({"nbf": NOW + 30})));
    assert!(!allows(json!({"nbf": NOW + 31})));
}

// G13
#[test]
fn scopes_are_read_from_both_claims_in_both_forms() {
    for (claims, expected) in [
        (json!({"scope": "a b"}), vec!["a", "b"]),
        (json!({"scope": ["a", "b"]}), vec!["a", "b"]),
        (json!({"scp": "a  b"}), vec!["a", "b"]),
        (json!({"scp": ["a", "b"]}), vec!["a", "b"]),
        (json!({"scope": "a", "scp": ["b", "a"]}), vec!["a", "b"]),
        (json!({"scope": 7, "scp": [1, "a"]}), vec!["a"]),
        (json!({"scope": ""}), vec![]),
        (json!({}), vec![]),
    ] {
        assert_eq!(scopes(&map(claims.clone())), expected, "{claims}");
    }
}

#[test]
fn the_client_is_named_by_the_first_claim_that_is_there() {
    let names = CLIENT_ID_CLAIMS.map(ToOwned::to_owned);
    let read = |claims: Value, names: &[String]| caller("t".to_owned(), map(claims), names);
    for (claims, client) in [
        (json!({"client_id": "c", "azp": "a", "sub": "s"}), "c"),
        (json!({"azp": "a", "sub": "s"}), "a"),
        (json!({"sub": "s", "client_id": ""}), "s"),
    ] {
        let caller = read(claims.clone(), &names).expect("a caller");
        assert_eq!(caller.client_id, client, "{claims}");
        assert_eq!(caller.subject.as_deref(), Some("s"));
    }
    let nobody = read(json!({}), &names).expect_err("an error");
    assert_eq!(
        nobody.description,
        "The token has no client_id, azp, or sub claim."
    );
    let own = read(json!({"appid": "app"}), &["appid".to_owned()]).expect("a caller");
    assert_eq!(own.client_id, "app");
}

#[test]
fn a_caller_keeps_all_claims() {
    let names = CLIENT_ID_CLAIMS.map(ToOwned::to_owned);
    let claims = with(json!({"aud": [MCP, "x"], "exp": 4_102_444_800.5, "org": {"id": 7}}));
    let caller = caller("t".to_owned(), claims, &names).expect("a caller");
    assert_eq!(caller.resource.as_deref(), Some(MCP));
    assert_eq!(caller.expires_at, Some(4_102_444_800));
    assert_eq!(caller.extra["org"], json!({"id": 7}));
    assert_eq!(caller.extra["sub"], json!("u"));
}
