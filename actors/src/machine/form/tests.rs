#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    dead_code,
    reason = "a failed expectation is the test failing; the types are only described"
)]

use std::collections::BTreeSet;

use serde::Deserialize;

use super::*;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Class {
    Economy,
    Business,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Meal {
    /// No meat, no fish
    Vegetarian,
    /// Fish of the day
    Fish,
    None,
}

const fn one() -> u8 {
    1
}

const fn yes() -> bool {
    true
}

/// A trip
#[derive(Deserialize, JsonSchema)]
struct Trip {
    /// Who travels
    #[schemars(length(min = 1, max = 40))]
    name: String,
    #[schemars(extend("format" = "email"))]
    mail: String,
    #[schemars(regex(pattern = r"^[A-Z]{3}$"))]
    airport: Option<String>,
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 9))]
    seats: u8,
    #[schemars(extend("exclusiveMinimum" = 0))]
    days: i32,
    budget: Option<f64>,
    #[serde(default = "yes")]
    insured: bool,
    class: Class,
    meal: Option<Meal>,
    #[schemars(length(min = 1, max = 2))]
    #[serde(default)]
    classes: BTreeSet<Class2>,
    meals: Option<Vec<Meal>>,
}

#[derive(Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
enum Class2 {
    A,
    B,
}

#[test]
fn a_type_becomes_a_flat_form() {
    let form = of::<Trip>().unwrap();
    let titled = json!([
        {"const": "none", "title": "none"},
        {"const": "vegetarian", "title": "No meat, no fish"},
        {"const": "fish", "title": "Fish of the day"},
    ]);
    assert_eq!(
        form.requested,
        json!({"type": "object", "properties": {
            "name": {"type": "string", "description": "Who travels", "minLength": 1, "maxLength": 40},
            "mail": {"type": "string", "format": "email"},
            "airport": {"type": "string"},
            "seats": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
            "days": {"type": "integer", "minimum": 1},
            "budget": {"type": "number"},
            "insured": {"type": "boolean", "default": true},
            "class": {"type": "string", "enum": ["economy", "business"]},
            "meal": {"type": "string", "oneOf": titled},
            "classes": {
                "type": "array",
                "minItems": 1,
                "maxItems": 2,
                "items": {"type": "string", "enum": ["A", "B"]},
                "default": [],
            },
            "meals": {"type": "array", "items": {"anyOf": titled}},
        }, "required": ["name", "mail", "days", "class"]})
    );
}

#[test]
fn what_mcp_has_no_words_for_is_still_checked() {
    let form = of::<Trip>().unwrap();
    let airport = form.checked.pointer("/properties/airport/pattern");
    assert_eq!(airport, Some(&json!("^[A-Z]{3}$")));
}

#[derive(Deserialize, JsonSchema)]
struct Nested {
    inner: Inner,
}

#[derive(Deserialize, JsonSchema)]
struct Inner {
    a: String,
}

#[derive(Deserialize, JsonSchema)]
struct Texts {
    texts: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Endless {
    next: Option<Box<Endless>>,
}

#[derive(Deserialize, JsonSchema)]
struct Either {
    either: Data,
}

#[derive(Deserialize, JsonSchema)]
enum Data {
    One(String),
    Two { a: u8 },
}

#[derive(Deserialize, JsonSchema)]
struct Anything {
    any: Value,
}

#[test]
fn what_no_form_can_have_is_named() {
    let member = |error: FormError| match error {
        FormError::Member { member, .. } => member,
        FormError::NotAnObject => String::new(),
    };
    assert_eq!(member(of::<Nested>().unwrap_err()), "inner");
    assert_eq!(member(of::<Texts>().unwrap_err()), "texts");
    assert_eq!(member(of::<Endless>().unwrap_err()), "next");
    assert_eq!(member(of::<Either>().unwrap_err()), "either");
    assert_eq!(member(of::<Anything>().unwrap_err()), "any");
    assert_eq!(of::<String>().unwrap_err(), FormError::NotAnObject);
    assert_eq!(of::<Class>().unwrap_err(), FormError::NotAnObject);
    assert_eq!(
        of::<Nested>().unwrap_err().to_string(),
        "the field `inner` cannot stand in a form: objects cannot be nested"
    );
}

#[test]
fn the_older_version_gets_names_beside_choices() {
    #[derive(Deserialize, JsonSchema)]
    struct Order {
        meal: Meal,
        #[serde(default = "one")]
        seats: u8,
        #[serde(default = "yes")]
        insured: bool,
    }
    let mut form = of::<Order>().unwrap().requested;
    of_2025_06_18(&mut form).unwrap();
    assert_eq!(
        form["properties"],
        json!({
            "meal": {
                "type": "string",
                "enum": ["none", "vegetarian", "fish"],
                "enumNames": ["none", "No meat, no fish", "Fish of the day"],
            },
            "seats": {"type": "integer", "minimum": 0, "maximum": 255},
            "insured": {"type": "boolean", "default": true},
        })
    );
    let error = of_2025_06_18(&mut of::<Trip>().unwrap().requested).unwrap_err();
    assert!(error.to_string().contains("`classes`"), "{error}");
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Tagged {
    Train { seat: String },
    Plane { airport: String },
}

#[derive(Deserialize, JsonSchema)]
struct Flat {
    name: String,
    #[serde(flatten)]
    trip: Tagged,
}

#[derive(Deserialize, JsonSchema)]
struct Optional {
    name: String,
    #[serde(flatten)]
    trip: Option<Inner>,
}

#[test]
fn a_type_that_no_answer_could_fit_is_no_form() {
    for error in [
        of::<Tagged>().err(),
        of::<Flat>().err(),
        of::<std::collections::HashMap<String, String>>().err(),
        of::<std::collections::BTreeMap<String, Value>>().err(),
    ] {
        assert_eq!(error, Some(FormError::NotAnObject));
    }
}

#[test]
fn odd_fields_are_forms() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}

    #[derive(Deserialize, JsonSchema)]
    struct Rest {
        name: String,
        #[serde(flatten)]
        rest: std::collections::HashMap<String, Value>,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Odd {
        twice: Option<Option<u8>>,
        boxed: Option<Box<Meal>>,
        large: i128,
        larger: u128,
        letter: char,
        one: [Class2; 1],
        both: Option<Option<Vec<Meal>>>,
    }
    let form = of::<Odd>().unwrap().requested;
    let kinds = [
        ("twice", "integer"),
        ("boxed", "string"),
        ("large", "integer"),
        ("larger", "integer"),
        ("letter", "string"),
        ("one", "array"),
        ("both", "array"),
    ];
    for (name, kind) in kinds {
        assert_eq!(form["properties"][name]["type"], kind, "{name}");
    }
    assert_eq!(
        form["required"],
        json!(["large", "larger", "letter", "one"])
    );
    let rest = of::<Rest>().unwrap().requested;
    assert_eq!(rest["properties"], json!({"name": {"type": "string"}}));
    let optional = of::<Optional>().unwrap().requested;
    assert_eq!(optional["properties"]["a"], json!({"type": "string"}));
    assert_eq!(optional["required"], json!(["name"]));
    assert_eq!(of::<Nothing>().unwrap().requested["properties"], json!({}));
}
