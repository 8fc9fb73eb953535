//! What this client may be asked, in this request.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    tool::{Asker, InputError, Question, QuestionKind},
    wire::mcp::envelope::Obj,
};

/// The declared capabilities that questions need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientCapabilities {
    form: bool,
    url: bool,
    sampling: bool,
    roots: bool,
}

#[derive(Deserialize)]
struct Declared<'a> {
    #[serde(borrow, default)]
    elicitation: Option<Obj<Elicitation<'a>>>,
    #[serde(borrow, default)]
    sampling: Option<&'a RawValue>,
    #[serde(borrow, default)]
    roots: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Elicitation<'a> {
    #[serde(borrow, default)]
    form: Option<&'a RawValue>,
    #[serde(borrow, default)]
    url: Option<&'a RawValue>,
}

impl ClientCapabilities {
    /// Reads `ClientCapabilities`; what is malformed is not declared.
    pub(crate) fn read(raw: &str) -> Self {
        let Ok(Obj(declared)) = serde_json::from_str::<Obj<Declared<'_>>>(raw) else {
            return Self::default();
        };
        let elicitation = declared.elicitation.as_ref();
        Self {
            // `{}` means forms.
            form: elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none()),
            url: elicitation.is_some_and(|modes| modes.url.is_some()),
            sampling: declared.sampling.is_some(),
            roots: declared.roots.is_some(),
        }
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
        if self.allow(question.kind) {
            return Ok(());
        }
        Err(InputError::MissingCapability {
            key: question.key.clone().unwrap_or_default(),
            required: question.kind.required_capabilities(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            let read = ClientCapabilities::read(declared);
            let asked = [Form, Url, Sampling, Roots].into_iter();
            let found: Vec<_> = asked.filter(|kind| read.allow(*kind)).collect();
            assert_eq!(found, allowed, "{declared}");
        }
    }
}
