//! The decision on a call that waits for a person.

use serde_json::Value;

use super::{Decision, Submission};
use crate::{
    machine::{
        schema_issue::{Issue, issues},
        toolset::ToolSpec,
    },
    wire::{
        agui::{ErrorSource, InterruptCode, InterruptError},
        ids::InterruptId,
    },
};

impl Submission<'_> {
    pub(super) fn approval(
        &self,
        id: &InterruptId,
        tool: &ToolSpec,
        payload: Option<&Value>,
    ) -> Result<Decision, Vec<InterruptError>> {
        let envelope = payload.and_then(Value::as_object);
        let approved = match payload {
            Some(Value::Bool(approved)) => Some(*approved),
            _ => envelope
                .and_then(|members| members.get("approved"))
                .and_then(Value::as_bool),
        };
        let Some(approved) = approved else {
            return Err(vec![self.invalid(
                id,
                format!("Approval {id} must be a boolean or decision envelope."),
            )]);
        };
        let branch = if approved {
            &tool.approve_schema
        } else {
            &tool.reject_schema
        };
        let said = envelope.and_then(|members| members.get("payload"));
        if let Some(schema) = branch {
            let Some(said) = said else {
                let name = if approved { "approve" } else { "reject" };
                return Err(vec![self.invalid(
                    id,
                    format!("Approval {id} requires a payload for the {name} decision."),
                )]);
            };
            self.none_of(
                id,
                InterruptCode::InvalidPayload,
                &format!("Approval {id} payload is invalid"),
                issues(schema, said),
            )?;
        }
        if !approved {
            return Ok(Decision::Declined(said.cloned()));
        }
        let edited = envelope.and_then(|members| members.get("editedArgs"));
        // `null` is how a page says that nothing was edited.
        let Some(edited) = edited.filter(|edited| !edited.is_null()) else {
            return Ok(Decision::Approved(None));
        };
        self.edited(id, tool, edited)?;
        Ok(Decision::Approved(Some(edited.clone())))
    }

    /// Holds edited arguments against the tool. Anything but an object would run the call with
    /// arguments that nobody has seen.
    fn edited(
        &self,
        id: &InterruptId,
        tool: &ToolSpec,
        edited: &Value,
    ) -> Result<(), Vec<InterruptError>> {
        let Some(schema) = tool.input_schema.as_deref() else {
            return Err(vec![self.item(
                id,
                InterruptCode::InvalidEditedArgs,
                ErrorSource::Client,
                format!("Approval {id} cannot edit arguments without an input schema."),
            )]);
        };
        let mut found = Vec::new();
        if tool.checked {
            found = issues(schema, edited);
        }
        if found.is_empty() && !edited.is_object() {
            found.push(Issue::root("arguments are an object"));
        }
        let lead = format!("Approval {id} edited arguments are invalid");
        self.none_of(id, InterruptCode::InvalidEditedArgs, &lead, found)
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn decided(checked: bool, edited: Value) -> Result<Decision, Vec<InterruptError>> {
        let schema = json!({"type": "object", "properties": {"id": {"type": "integer"}}});
        let tool = ToolSpec {
            checked,
            ..ToolSpec::server("delete", Some(Arc::new(schema)))
        };
        let submission = Submission {
            thread: &"t".into(),
            run: &"r".into(),
            parent: None,
            entries: &[],
        };
        let payload = json!({"approved": true, "editedArgs": edited});
        submission.approval(&"approval_c".into(), &tool, Some(&payload))
    }

    #[test]
    fn null_edits_nothing() {
        for checked in [false, true] {
            let decision = decided(checked, Value::Null).unwrap();
            assert_eq!(decision, Decision::Approved(None), "checked {checked}");
        }
    }

    #[test]
    fn arguments_that_are_no_object_are_refused_whoever_checks_the_tool() {
        for checked in [false, true] {
            for edited in [json!(5), json!("x"), json!([]), json!(false)] {
                let refused = decided(checked, edited.clone()).unwrap_err();
                let codes: Vec<_> = refused.iter().map(|error| &error.code).collect();
                assert_eq!(codes, [&InterruptCode::InvalidEditedArgs], "{edited}");
            }
        }
        let edited = json!({"id": 4});
        let decision = decided(false, edited.clone()).unwrap();
        assert_eq!(decision, Decision::Approved(Some(edited)));
    }
}
