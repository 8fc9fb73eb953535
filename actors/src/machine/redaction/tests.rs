//! What is told of arguments, and what is not.

use serde_json::json;

use super::*;

#[test]
fn a_shape_names_members_and_types_and_no_value() {
    let arguments = json!({
        "city": "Oslo", "days": 3, "deep": {"secret": 1}, "list": [1], "on": true, "none": null,
    });
    assert_eq!(
        Redaction::shape().tell(&arguments.to_string(), None),
        json!({
            "city": "string", "days": "number", "deep": "object", "list": "array",
            "on": "boolean", "none": "null",
        })
    );
    assert_eq!(Redaction::default().tell("[1, 2]", None), json!("array"));
    assert_eq!(Redaction::default().tell("", None), json!("null"));
    let many: Map<String, Value> = (0..70).map(|at| (at.to_string(), json!(at))).collect();
    let told = Redaction::shape().tell(&Value::Object(many).to_string(), None);
    assert_eq!(
        (told.as_object().map(Map::len), &told["…"]),
        (Some(65), &json!(6))
    );
    let long = json!({"ä".repeat(100): 1}).to_string();
    let told = Redaction::shape().tell(&long, None);
    assert_eq!(told, json!({"ä".repeat(64): "number"}));
}

#[test]
fn values_lack_what_pointers_name() {
    let arguments = json!({
        "card": {"number": "4111", "name": "A"}, "a/b": 1,
        "users": [{"name": "x", "password": "p"}, {"password": "q"}],
    });
    let redaction = Redaction::values().hide(["/card/number", "/users/*/password", "/a~1b"]);
    assert_eq!(
        redaction.tell(&arguments.to_string(), None),
        json!({
            "card": {"number": REDACTED, "name": "A"}, "a/b": REDACTED,
            "users": [{"name": "x", "password": REDACTED}, {"password": REDACTED}],
        })
    );
    let all = Redaction::values().hide([""]);
    assert_eq!(all.tell(&arguments.to_string(), None), json!(REDACTED));
}

#[test]
fn values_lack_what_the_schema_marks() {
    let secret = json!({"type": "string", "writeOnly": true});
    let schema = json!({
        "properties": {
            "password": {"type": "string", "format": "password"},
            "login": {"$ref": "#/$defs/login"},
            "choice": {"anyOf": [{"type": "null"}, {"allOf": [secret]}]},
            "pair": {"prefixItems": [{}, secret], "items": {"$ref": "#/$defs/login"}},
            "loop": {"$ref": "#/properties/loop"},
        },
        "patternProperties": {"^x-": {"properties": {"key": secret}}},
        "additionalProperties": {"properties": {"key": secret}},
        "$defs": {"login": {"properties": {"user": {}, "pin": secret}}},
    });
    let arguments = json!({
        "password": "a", "login": {"user": "b", "pin": 1}, "choice": "c",
        "pair": ["d", "e", {"pin": 2}], "loop": 1, "x-other": {"key": 3}, "more": {"key": 4, "seen": 5},
    });
    assert_eq!(
        Redaction::values().tell(&arguments.to_string(), Some(&schema)),
        json!({
            "password": REDACTED, "login": {"user": "b", "pin": REDACTED}, "choice": REDACTED,
            "pair": ["d", REDACTED, {"pin": REDACTED}], "loop": 1, "x-other": {"key": REDACTED},
            "more": {"key": REDACTED, "seen": REDACTED},
        })
    );
}

#[test]
fn large_arguments_are_told_by_their_shape() {
    let arguments = json!({"text": "x".repeat(MAX_VALUES_BYTES)}).to_string();
    let told = Redaction::values().tell(&arguments, None);
    assert_eq!(told, json!({"text": "string"}));
}

#[test]
fn a_secret_is_hidden_however_the_schema_leads_to_it() {
    let secret = json!({"type": "string", "writeOnly": true});
    let holds = json!({"properties": {"pin": secret}});
    for schema in [
        json!({"if": holds}),
        json!({"dependentSchemas": {"user": holds}}),
        json!({"unevaluatedProperties": secret}),
        json!({"not": {"not": holds}}),
    ] {
        let told = Redaction::values().tell(r#"{"user":1,"pin":"1234"}"#, Some(&schema));
        assert_eq!(told["pin"], json!(REDACTED), "{schema}");
    }
    for schema in [
        json!({"contains": secret}),
        json!({"unevaluatedItems": secret}),
    ] {
        let schema = json!({"properties": {"pins": schema}});
        let told = Redaction::values().tell(r#"{"pins":["1234"]}"#, Some(&schema));
        assert_eq!(told["pins"], json!([REDACTED]), "{schema}");
    }
}

/// A tool may declare an older dialect, which is honoured.
#[test]
fn a_secret_is_hidden_however_an_older_dialect_leads_to_it() {
    let secret = json!({"type": "string", "writeOnly": true});
    let holds = json!({"properties": {"pin": secret}});
    for (schema, arguments) in [
        (json!({"items": [{}, secret]}), r#"{"a":["seen","1234"]}"#),
        (
            json!({"items": [{}], "additionalItems": secret}),
            r#"{"a":["seen","1234"]}"#,
        ),
        (
            json!({"dependencies": {"user": holds}}),
            r#"{"a":{"user":"seen","pin":"1234"}}"#,
        ),
    ] {
        let schema = json!({"properties": {"a": schema}});
        let told = Redaction::values().tell(arguments, Some(&schema));
        let told = told.to_string();
        assert!(!told.contains("1234"), "{schema}: {told}");
        assert!(
            told.contains("seen") || told.contains(r#""user""#),
            "{told}"
        );
    }
    // What comes again below is bound where a value is checked.
    let schema = json!({"properties": {"pin": secret, "below": {"$recursiveRef": "#"}}});
    let told = Redaction::values().tell(r#"{"below":{"pin":"1234"}}"#, Some(&schema));
    assert_eq!(told, json!({"below": REDACTED}));
}

/// The path of a reference counts from the nearest base.
#[test]
fn a_secret_below_a_base_of_its_own_is_hidden() {
    for id in ["$id", "id"] {
        let mut inner =
            json!({"$ref": "#/definitions/p", "definitions": {"p": {"writeOnly": true}}});
        inner[id] = json!("https://example.com/inner");
        let schema = json!({
            "properties": {"pin": inner, "id": {"type": "string"}},
            "definitions": {"p": {"type": "string"}},
            "$id": "https://example.com/outer",
        });
        let told = Redaction::values().tell(r#"{"pin":"1234","id":"seen"}"#, Some(&schema));
        assert_eq!(told, json!({"pin": REDACTED, "id": "seen"}));
    }
}

#[test]
fn values_lack_what_no_schema_names() {
    let login = json!({
        "type": "object",
        "properties": {"user": {"type": "string"}, "pin": {"type": "string", "writeOnly": true}},
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "login": {"$ref": "#/$defs/login"},
            "either": {"anyOf": [{"$ref": "#/$defs/login"}, {"type": "null"}]},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "anything": {}, "free": true, "empty": {"type": "object"},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}], "items": false},
            "list": {"type": "array"}, "mode": {"enum": ["a", 1]}, "count": {"type": ["integer", "null"]},
            "by_pattern": {"patternProperties": {"^x-": {"type": "string"}}},
            "never": false,
        },
        "$defs": {"login": login},
    });
    let cases = [
        (json!({"passwrod": "s"}), json!({"passwrod": REDACTED})),
        (
            json!({"login": {"user": "u", "pni": "s"}}),
            json!({"login": {"user": "u", "pni": REDACTED}}),
        ),
        (json!({"login": ["u", "s"]}), json!({"login": REDACTED})),
        (json!({"login": "u:s"}), json!({"login": REDACTED})),
        (
            json!({"login": {"user": ["u", "s"]}}),
            json!({"login": {"user": REDACTED}}),
        ),
        (json!({"either": null}), json!({"either": null})),
        (json!({"either": "s"}), json!({"either": REDACTED})),
        (
            json!({"either": {"user": "u", "more": 1}}),
            json!({"either": {"user": "u", "more": REDACTED}}),
        ),
        (
            json!({"labels": {"a": "b", "c": {"pin": "s"}}}),
            json!({"labels": {"a": "b", "c": REDACTED}}),
        ),
        (
            json!({"anything": {"a": 1}, "free": [{"b": 2}], "empty": {"c": 3}}),
            json!({"anything": {"a": 1}, "free": [{"b": 2}], "empty": {"c": REDACTED}}),
        ),
        (
            json!({"pair": ["a", "s"]}),
            json!({"pair": ["a", REDACTED]}),
        ),
        (json!({"list": [1, "a"]}), json!({"list": [1, "a"]})),
        (
            json!({"mode": "a", "count": 3}),
            json!({"mode": "a", "count": 3}),
        ),
        (
            json!({"mode": ["s"], "count": "s"}),
            json!({"mode": REDACTED, "count": REDACTED}),
        ),
        (
            json!({"by_pattern": {"x-a": "b"}}),
            json!({"by_pattern": {"x-a": REDACTED}}),
        ),
        (json!({"never": "s"}), json!({"never": REDACTED})),
        (json!(["s"]), json!(REDACTED)),
    ];
    for (arguments, expected) in cases {
        let told = Redaction::values().tell(&arguments.to_string(), Some(&schema));
        assert_eq!(told, expected, "{arguments}");
    }
    // What the schema says of other members holds for all of them.
    for (others, told) in [
        (json!(true), json!("s")),
        (json!({}), json!("s")),
        (json!({"type": "string"}), json!("s")),
        (json!({"type": "number"}), json!(REDACTED)),
        (json!({"writeOnly": true}), json!(REDACTED)),
        (json!(false), json!(REDACTED)),
    ] {
        for keyword in OTHERS {
            let schema = json!({"properties": {"a": {}}, keyword: others});
            let seen = Redaction::values().tell(r#"{"b":"s"}"#, Some(&schema));
            assert_eq!(seen["b"], told, "{schema}");
        }
    }
}

#[test]
fn nothing_is_told_under_a_schema_that_is_not_found() {
    for schema in [
        json!({"$ref": "#login"}),
        json!({"$ref": "https://example.com/login"}),
        json!({"$dynamicRef": "#login"}),
    ] {
        let schema = json!({"properties": {"login": schema}});
        let told = Redaction::values().tell(r#"{"login":{"pin":"s"}}"#, Some(&schema));
        assert_eq!(told["login"], json!(REDACTED), "{schema}");
    }
}

#[test]
fn a_secret_of_the_last_of_many_alternatives_is_hidden() {
    let mut defs = Map::new();
    let mut alternatives = Vec::new();
    for at in 0..200 {
        let field = format!("pin{at}");
        let own = json!({"properties": {field: {"type": "string", "writeOnly": true}}});
        defs.insert(format!("of{at}"), own);
        alternatives.push(json!({"$ref": format!("#/$defs/of{at}")}));
    }
    let schema = json!({"oneOf": alternatives, "$defs": defs});
    for at in [0, 63, 64, 199] {
        let field = format!("pin{at}");
        let arguments = json!({field.clone(): "1234"}).to_string();
        let told = Redaction::values()
            .tell(&arguments, Some(&schema))
            .to_string();
        assert!(!told.contains("1234"), "{told}");
    }
}
