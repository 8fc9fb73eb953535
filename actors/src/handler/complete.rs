//! Completion: proposals for an argument of a prompt or a variable of a template.

use std::{borrow::Cow, sync::Arc};

use super::{FromRequest, Rejection, RequestParams, Serve, function};
use crate::{
    tool::{Context, IntoToolError, ToolCx, ToolError, ToolFn},
    wire::{prompt::Completion, uri_template::Variables},
};

/// The most proposals of one answer; the spec allows no more.
pub const MAX_PROPOSALS: usize = 100;

/// What a client wants completed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompleteRequest {
    /// The argument or variable.
    pub argument: String,
    /// What has been typed so far.
    pub value: String,
    /// Arguments that are settled already.
    pub arguments: Variables,
}

/// What has been typed so far, and what is settled already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partial {
    /// The text so far; may be empty.
    pub value: String,
    /// The other arguments by name, as far as the client knows them.
    pub arguments: Variables,
}

impl Partial {
    /// Keeps the proposals that begin with what has been typed, in any case.
    pub fn filter<T: Into<String>>(&self, proposals: impl IntoIterator<Item = T>) -> Vec<String> {
        let typed = self.value.to_lowercase();
        proposals
            .into_iter()
            .map(Into::into)
            .filter(|proposal| proposal.to_lowercase().starts_with(&typed))
            .collect()
    }
}

impl FromRequest<CompleteRequest> for Partial {
    fn from_request(request: &CompleteRequest, _cx: &ToolCx) -> Result<Self, Rejection> {
        Ok(Self {
            value: request.value.clone(),
            arguments: request.arguments.clone(),
        })
    }
}

/// What a function that completes may return.
#[diagnostic::on_unimplemented(
    message = "a completion cannot be `{Self}`",
    label = "these are not proposals",
    note = "return a `Vec` or an array of texts, or `Completion`, alone or in a `Result`"
)]
pub trait IntoCompletion {
    /// Makes the proposals.
    ///
    /// # Errors
    /// [`ToolError`] when the function failed.
    fn into_completion(self) -> Result<Completion, ToolError>;
}

impl IntoCompletion for Completion {
    fn into_completion(self) -> Result<Completion, ToolError> {
        Ok(self)
    }
}

impl<T: Into<String>> IntoCompletion for Vec<T> {
    fn into_completion(self) -> Result<Completion, ToolError> {
        Ok(Completion {
            values: self.into_iter().map(Into::into).collect(),
            ..Completion::default()
        })
    }
}

impl<T: Into<String>, const N: usize> IntoCompletion for [T; N] {
    fn into_completion(self) -> Result<Completion, ToolError> {
        Vec::from(self).into_completion()
    }
}

impl<T: IntoCompletion, E: IntoToolError> IntoCompletion for Result<T, E> {
    fn into_completion(self) -> Result<Completion, ToolError> {
        self.map_err(IntoToolError::into_tool_error)?
            .into_completion()
    }
}

/// Cuts proposals down to what one answer may hold, and says how many there are.
pub(crate) fn bounded(mut completion: Completion) -> Completion {
    let found = completion.values.len();
    if found > MAX_PROPOSALS {
        completion.values.truncate(MAX_PROPOSALS);
        completion.total.get_or_insert(found as u64);
        completion.has_more = Some(true);
    }
    completion
}

/// A function that completes one argument.
pub(crate) type Completer = Arc<dyn Serve<CompleteRequest, Completion>>;

/// The functions that complete, by argument.
#[derive(Clone, Debug, Default)]
pub(crate) struct Completers(Vec<(Cow<'static, str>, Completer)>);

impl Completers {
    pub(crate) fn add<P, H>(&mut self, argument: Cow<'static, str>, handler: H)
    where
        H: ToolFn<P>,
        P: RequestParams<CompleteRequest>,
        H::Out: IntoCompletion + 'static,
    {
        self.0
            .push((argument, function(handler, IntoCompletion::into_completion)));
    }

    pub(crate) fn get(&self, argument: &str) -> Option<&Completer> {
        let found = self.0.iter().find(|(name, _)| name == argument);
        found.map(|(_, complete)| complete)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    pub(crate) fn missing(&self, context: &Context) -> Option<&'static str> {
        self.0.iter().find_map(|(_, one)| one.missing(context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_holds_a_hundred_proposals_and_says_that_there_are_more() {
        let many = |count: usize| Completion {
            values: vec![String::from("x"); count],
            ..Completion::default()
        };
        assert_eq!(bounded(many(100)), many(100));
        let cut = bounded(many(101));
        assert_eq!(cut.values.len(), 100);
        assert_eq!((cut.total, cut.has_more), (Some(101), Some(true)));
        let known = Completion {
            total: Some(5000),
            ..many(200)
        };
        assert_eq!(bounded(known).total, Some(5000));
    }

    #[test]
    fn proposals_are_filtered_by_what_was_typed() {
        let typed = Partial {
            value: "r".to_owned(),
            ..Partial::default()
        };
        assert_eq!(typed.filter(["Rust", "Go", "ruby"]), ["Rust", "ruby"]);
    }
}
