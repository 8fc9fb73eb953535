//! What this client may be asked, in this request.

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use crate::{
    tool::{Asker, InputError, Question, QuestionKind},
    wire::{mcp::envelope::Obj, version::V2025_11_25},
};

/// The declared capabilities that questions need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientCapabilities {
    form: bool,
    url: bool,
    sampling: bool,
    /// The client's model may be given tools.
    sampling_tools: bool,
    /// The client may be asked to add what it knows from servers.
    sampling_context: bool,
    roots: bool,
    tasks: bool,
}

#[derive(Deserialize)]
struct Declared<'a> {
    #[serde(borrow, default)]
    elicitation: Option<Obj<Elicitation<'a>>>,
    #[serde(borrow, default)]
    sampling: Option<Obj<Sampling<'a>>>,
    #[serde(borrow, default)]
    roots: Option<&'a RawValue>,
    #[serde(borrow, default)]
    extensions: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Extensions<'a> {
    #[serde(rename = "io.modelcontextprotocol/tasks", borrow, default)]
    tasks: Option<&'a RawValue>,
}

impl Extensions<'_> {
    fn tasks(raw: &str) -> bool {
        let extensions = serde_json::from_str::<Obj<Extensions<'_>>>(raw);
        let settings = extensions.ok().and_then(|Obj(extensions)| extensions.tasks);
        settings.is_some_and(|settings| settings.get().starts_with('{'))
    }
}

#[derive(Deserialize)]
struct Elicitation<'a> {
    #[serde(borrow, default)]
    form: Option<&'a RawValue>,
    #[serde(borrow, default)]
    url: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Sampling<'a> {
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    context: Option<&'a RawValue>,
}

impl ClientCapabilities {
    /// Reads `ClientCapabilities`; what is malformed is not declared.
    pub(crate) fn read(raw: &str) -> Self {
        let Ok(Obj(declared)) = serde_json::from_str::<Obj<Declared<'_>>>(raw) else {
            return Self::default();
        };
        let elicitation = declared.elicitation.as_ref();
        let with = declared.sampling.as_deref();
        Self {
            // `{}` means forms.
            form: elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none()),
            url: elicitation.is_some_and(|modes| modes.url.is_some()),
            sampling: declared.sampling.is_some(),
            sampling_tools: with.is_some_and(|with| with.tools.is_some()),
            sampling_context: with.is_some_and(|with| with.context.is_some()),
            roots: declared.roots.is_some(),
            tasks: declared
                .extensions
                .is_some_and(|raw| Extensions::tasks(raw.get())),
        }
    }

    /// Reads what a client of a 2025 version declares in `initialize`. Pages came with 2025-11-25;
    /// before that, whatever stands in `elicitation` means forms.
    pub(crate) fn read_of(version: &str, raw: &str) -> Self {
        let read = Self::read(raw);
        if version == V2025_11_25 {
            return read;
        }
        Self {
            form: read.form || read.url,
            url: false,
            sampling_tools: false,
            // Before that nobody had to declare it.
            sampling_context: read.sampling,
            ..read
        }
    }

    /// Tells whether a client of 2026 can handle tasks.
    pub(crate) const fn tasks(self) -> bool {
        self.tasks
    }

    pub(crate) const fn allow(self, kind: QuestionKind) -> bool {
        match kind {
            QuestionKind::Form => self.form,
            QuestionKind::Url => self.url,
            QuestionKind::Sampling => self.sampling,
            QuestionKind::Roots => self.roots,
        }
    }
}

impl Asker for ClientCapabilities {
    fn admit(&self, question: &Question) -> Result<(), InputError> {
        let missing = |required| InputError::MissingCapability {
            key: question.key.clone().unwrap_or_default(),
            required,
        };
        if !self.allow(question.kind) {
            return Err(missing(question.kind.required_capabilities()));
        }
        if question.kind != QuestionKind::Sampling {
            return Ok(());
        }
        let given = |name: &str| {
            question
                .request
                .get(name)
                .is_some_and(|value| !value.is_null())
        };
        if (given("tools") || given("toolChoice")) && !self.sampling_tools {
            return Err(missing(json!({"sampling": {"tools": {}}})));
        }
        let context = question.request.get("includeContext");
        if context.is_some_and(|which| *which != "none") && !self.sampling_context {
            return Err(missing(json!({"sampling": {"context": {}}})));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_is_declared_by_an_object() {
        for (declared, tasks) in [
            ("{}", false),
            (r#"{"extensions":{}}"#, false),
            (
                r#"{"extensions":{"io.modelcontextprotocol/tasks":null}}"#,
                false,
            ),
            (
                r#"{"extensions":{"io.modelcontextprotocol/tasks":true}}"#,
                false,
            ),
            (
                r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
                true,
            ),
            (r#"{"extensions":5,"roots":{}}"#, false),
        ] {
            assert_eq!(
                ClientCapabilities::read(declared).tasks(),
                tasks,
                "{declared}"
            );
        }
        let read = ClientCapabilities::read(r#"{"extensions":5,"roots":{}}"#);
        assert!(read.allow(QuestionKind::Roots));
    }

    #[test]
    fn only_what_is_declared_may_be_asked() {
        use QuestionKind::{Form, Roots, Sampling, Url};
        for (declared, allowed) in [
            ("{}", vec![]),
            (r#"{"elicitation":{}}"#, vec![Form]),
            (r#"{"elicitation":{"form":{}}}"#, vec![Form]),
            (r#"{"elicitation":{"url":{}}}"#, vec![Url]),
            (r#"{"elicitation":{"form":{},"url":{}}}"#, vec![Form, Url]),
            (
                r#"{"sampling":{"tools":{}},"roots":{}}"#,
                vec![Sampling, Roots],
            ),
            (r#"{"elicitation":5}"#, vec![]),
            (r#"{"sampling":5}"#, vec![]),
        ] {
            let read = ClientCapabilities::read(declared);
            let asked = [Form, Url, Sampling, Roots].into_iter();
            let found: Vec<_> = asked.filter(|kind| read.allow(*kind)).collect();
            assert_eq!(found, allowed, "{declared}");
        }
    }

    #[test]
    fn older_clients_know_forms_only() {
        use crate::wire::version::V2025_06_18;
        let declared = r#"{"elicitation":{"url":{}},"sampling":{"tools":{}}}"#;
        let newest = ClientCapabilities::read_of(V2025_11_25, declared);
        assert_eq!(newest, ClientCapabilities::read(declared));
        let older = ClientCapabilities::read_of(V2025_06_18, declared);
        assert!(older.allow(QuestionKind::Form) && !older.allow(QuestionKind::Url));
        let nothing = ClientCapabilities::read_of(V2025_06_18, "{}");
        assert!(!nothing.allow(QuestionKind::Form));
    }

    #[test]
    fn tools_are_offered_to_a_model_only_where_they_are_declared() {
        let mut request = crate::tool::SampleRequest::new("Plan");
        request.extra.insert("tools".to_owned(), json!([]));
        let question = Question::sampling(request).key("plan");
        let plain = ClientCapabilities::read(r#"{"sampling":{}}"#);
        let error = plain.admit(&question).err();
        let required = json!({"sampling": {"tools": {}}});
        let key = "plan".to_owned();
        assert_eq!(error, Some(InputError::MissingCapability { key, required }));
        let able = ClientCapabilities::read(r#"{"sampling":{"tools":{}}}"#);
        assert_eq!(able.admit(&question), Ok(()));
    }

    #[test]
    fn a_model_hears_of_other_servers_only_where_that_is_declared() {
        use crate::wire::version::V2025_06_18;
        let asking = |which: &str| {
            let mut request = crate::tool::SampleRequest::new("Plan");
            request
                .extra
                .insert("includeContext".to_owned(), json!(which));
            Question::sampling(request).key("plan")
        };
        let plain = ClientCapabilities::read(r#"{"sampling":{}}"#);
        assert_eq!(plain.admit(&asking("none")), Ok(()));
        let error = plain.admit(&asking("thisServer")).err();
        let required = json!({"sampling": {"context": {}}});
        let key = "plan".to_owned();
        assert_eq!(error, Some(InputError::MissingCapability { key, required }));
        for able in [
            ClientCapabilities::read(r#"{"sampling":{"context":{}}}"#),
            ClientCapabilities::read_of(V2025_06_18, r#"{"sampling":{}}"#),
        ] {
            assert_eq!(able.admit(&asking("thisServer")), Ok(()));
        }
    }
}
