use super::*;

fn property(schema: Value, required: bool) -> Value {
    let required = if required { json!(["p"]) } else { json!([]) };
    json!({"type": "object", "properties": {"p": schema}, "required": required})
}

#[test]
fn optional_properties_become_nullable() {
    let table = [
        (
            json!({"type": "string"}),
            json!({"type": ["string", "null"]}),
        ),
        (
            json!({"type": ["string", "integer"]}),
            json!({"type": ["string", "integer", "null"]}),
        ),
        (
            json!({"type": ["string", "null"]}),
            json!({"type": ["string", "null"]}),
        ),
        (
            json!({"type": "string", "enum": ["a"]}),
            json!({"type": ["string", "null"], "enum": ["a", null]}),
        ),
        (
            json!({"type": "string", "const": "a"}),
            json!({"anyOf": [{"type": "string", "const": "a"}, {"type": "null"}]}),
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "number"}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]}),
        ),
        (
            json!({"type": "string", "format": "uri", "default": "x"}),
            json!({"type": ["string", "null"]}),
        ),
        (
            json!({"type": "string", "format": "date"}),
            json!({"type": ["string", "null"], "format": "date"}),
        ),
    ];
    for (schema, expected) in table {
        let made = parameters(&property(schema.clone(), false));
        let whole = json!({"type": "object", "properties": {"p": expected}, "required": ["p"], "additionalProperties": false});
        assert_eq!(
            made,
            Parameters {
                schema: whole,
                strict: true
            },
            "{schema}"
        );
    }
}

#[test]
fn schemas_that_say_more_are_sent_as_they_are() {
    let table = [
        property(json!({}), true),
        property(json!({"oneOf": [{"type": "string"}]}), true),
        property(json!({"$ref": "#/$defs/a"}), true),
        property(json!({"type": "object"}), true),
        property(
            json!({"type": "object", "properties": {}, "additionalProperties": true}),
            true,
        ),
        property(
            json!({"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}}]}),
            true,
        ),
        property(json!({"type": "array", "items": {}}), true),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
    ];
    for schema in table {
        let made = parameters(&schema);
        assert_eq!(
            made,
            Parameters {
                schema,
                strict: false
            }
        );
    }
}

#[test]
fn only_forced_nulls_are_taken_out() {
    let schema = json!({"type": "object", "required": ["must", "inner", "list"], "properties": {
        "must": {"type": ["string", "null"]},
        "may": {"type": "string"},
        "nullable": {"type": ["string", "null"]},
        "inner": {"type": "object", "properties": {"may": {"type": "number"}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"may": {"type": "number"}}}},
    }});
    let input = json!({"must": null, "may": null, "nullable": null, "inner": {"may": null}, "list": [{"may": null}, {"may": 1}], "other": null});
    let expected = json!({"must": null, "nullable": null, "inner": {}, "list": [{}, {"may": 1}], "other": null});
    assert_eq!(without_forced_nulls(input, &schema), expected);
    let open = json!({"type": "object", "properties": {"may": {"type": "string"}, "any": {}}});
    let input = json!({"may": null});
    assert_eq!(without_forced_nulls(input.clone(), &open), input);
}

#[test]
fn a_property_called_format_is_no_format() {
    let schema = json!({"type": "object", "properties": {"format": {"type": "string", "format": "uri"}, "any": {}}});
    let expected =
        json!({"type": "object", "properties": {"format": {"type": "string"}, "any": {}}});
    assert_eq!(parameters(&schema).schema, expected);
}
