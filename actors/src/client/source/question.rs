//! Which questions of a server a chat can answer: those that the client has declared, if an answer
//! can be checked.

use serde_json::{Map, Value};

use crate::{
    client::InputKind, machine::answers::can_be_checked, ports::tool_source::InputRequest,
};

/// Says what is unsupported about a question, if anything is.
pub(super) fn unsupported(
    question: &InputRequest,
    declared: &Map<String, Value>,
) -> Option<String> {
    let method = &question.method;
    let params = question.params.as_object();
    let Some(params) = params.filter(|_| method.as_str() != "roots/list") else {
        return Some(method.clone());
    };
    let of = |capability: &str| declared.get(capability).and_then(Value::as_object);
    let elicitation = of("elicitation");
    let sampling = of("sampling");
    let declares = |members: Option<&Map<String, Value>>, name: &str| {
        members.is_some_and(|members| members.contains_key(name))
    };
    match InputKind::of(question) {
        // An empty capability means forms.
        InputKind::Form
            if elicitation.is_some_and(|modes| modes.is_empty() || modes.contains_key("form")) =>
        {
            let schema = params.get("requestedSchema");
            schema
                .is_some_and(|schema| !can_be_checked(schema))
                .then(|| "a form whose answers cannot be checked".to_owned())
        }
        InputKind::Url if declares(elicitation, "url") => {
            let url = params
                .get("url")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let opens = url.starts_with("https://") || url.starts_with("http://");
            (!opens).then(|| format!("{method} with an address that is no page"))
        }
        InputKind::Url => Some(format!("{method} in mode url")),
        InputKind::Sampling if sampling.is_some() => {
            let uses_tools = params.contains_key("tools") || params.contains_key("toolChoice");
            (uses_tools && !declares(sampling, "tools")).then(|| format!("{method} with tools"))
        }
        _ => Some(method.clone()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use serde_json::json;

    use super::*;

    fn refused(method: &str, params: Value, declared: Value) -> bool {
        let question = InputRequest {
            method: method.to_owned(),
            params,
        };
        let declared = serde_json::from_value(declared).unwrap();
        unsupported(&question, &declared).is_some()
    }

    const FORM: &str = "elicitation/create";
    const SAMPLE: &str = "sampling/createMessage";

    #[test]
    fn only_what_was_declared_may_be_asked() {
        let both = json!({"elicitation": {"form": {}}, "sampling": {}});
        let form = json!({"message": "m", "requestedSchema": {"type": "object"}});
        let page = json!({"mode": "url", "message": "m", "url": "https://h/"});
        let text = json!({"messages": []});
        let with_tools = json!({"messages": [], "tools": []});
        assert!(!refused(FORM, form.clone(), both.clone()));
        assert!(!refused(FORM, form.clone(), json!({"elicitation": {}})));
        assert!(refused(FORM, form, json!({"sampling": {}})));
        assert!(refused(FORM, page.clone(), both.clone()));
        assert!(!refused(FORM, page, json!({"elicitation": {"url": {}}})));
        assert!(!refused(SAMPLE, text.clone(), both.clone()));
        assert!(refused(SAMPLE, text, json!({})));
        assert!(refused(SAMPLE, with_tools.clone(), both.clone()));
        assert!(!refused(
            SAMPLE,
            with_tools,
            json!({"sampling": {"tools": {}}})
        ));
        assert!(refused("roots/list", json!({}), both.clone()));
        assert!(refused(FORM, Value::Null, both));
    }

    #[test]
    fn what_no_answer_could_satisfy_is_no_question() {
        let declared = json!({"elicitation": {"form": {}, "url": {}}});
        for schema in [
            json!(5),
            json!({"type": "nothing"}),
            json!({"$ref": "http://127.0.0.1:9/schema"}),
            json!({"properties": {"a": {"pattern": "("}}}),
        ] {
            let params = json!({"message": "m", "requestedSchema": schema});
            assert!(refused(FORM, params, declared.clone()), "{schema}");
        }
        let script = json!({"mode": "url", "message": "m", "url": "javascript:alert(1)"});
        assert!(refused(FORM, script, declared));
    }
}
