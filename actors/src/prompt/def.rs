//! Definitions of prompts: what a server and its clients have in common.

use std::{any::TypeId, fmt, marker::PhantomData};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{IntoPrompt, Prompt, PromptRequest};
use crate::{
    handler::RequestParams,
    machine::schema,
    tool::{TakesAll, ToolFn},
};

/// The definition of a prompt: its name and the type of its arguments.
///
/// A server implements it and a client gets it, so neither can mistake a name or an argument.
/// `Args` is a struct of texts, numbers, booleans and enums, each perhaps an `Option`, or `()`.
///
/// ```
/// use roscius_actors::{prompt::PromptDef, tool::Args};
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// /// Reviews code
/// #[derive(Serialize, Deserialize, JsonSchema)]
/// struct Review {
///     language: String,
/// }
///
/// const REVIEW_CODE: PromptDef<Review> = PromptDef::new("review_code");
///
/// let prompt = REVIEW_CODE.implement(|Args(review): Args<Review>| async move {
///     format!("Review this {} code.", review.language)
/// });
/// assert_eq!(prompt.name(), "review_code");
/// ```
pub struct PromptDef<A> {
    name: &'static str,
    title: Option<&'static str>,
    description: Option<&'static str>,
    arguments: PhantomData<fn(A)>,
}

impl<A> PromptDef<A> {
    /// Defines a prompt by its name.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            title: None,
            description: None,
            arguments: PhantomData,
        }
    }

    /// Names the prompt for people.
    #[must_use]
    pub const fn title(mut self, title: &'static str) -> Self {
        self.title = Some(title);
        self
    }

    /// Says what the prompt is for; the doc comment of the arguments' type unless set.
    #[must_use]
    pub const fn description(mut self, text: &'static str) -> Self {
        self.description = Some(text);
        self
    }

    /// Gives the name that requests use.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<A: DeserializeOwned + JsonSchema + 'static> PromptDef<A> {
    /// Makes the prompt from an async function, as [`Prompt::new`] does. Its arguments are
    /// `Args<A>`.
    pub fn implement<P, H>(&self, render: H) -> Prompt
    where
        H: ToolFn<P>,
        P: RequestParams<PromptRequest> + TakesAll<A>,
        H::Out: IntoPrompt + 'static,
    {
        let nothing = TypeId::of::<A>() == TypeId::of::<()>();
        let made = (!nothing).then(schema::of_input::<A>);
        let mut prompt = Prompt::of(self.name.to_owned(), made, render);
        if let Some(title) = self.title {
            prompt = prompt.title(title);
        }
        match self.description {
            Some(text) => prompt.description(text),
            None => prompt,
        }
    }
}

impl<A> Clone for PromptDef<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for PromptDef<A> {}

impl<A> fmt::Debug for PromptDef<A> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("PromptDef")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::tool::Args;

    /// Reviews code
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "the type is only described")]
    struct Review {
        /// What it is written in
        language: String,
        lines: Option<u32>,
    }

    #[test]
    fn an_implementation_is_listed_as_the_definition_says() {
        const REVIEW: PromptDef<Review> = PromptDef::new("review").title("Review");
        let plain = Prompt::new("review", |_: Args<Review>| async { "" }).title("Review");
        let made = REVIEW.implement(|_: Args<Review>| async { "" });
        assert_eq!(made.listing(), plain.listing());
        assert_eq!(REVIEW.implement(|| async { "" }).listing(), plain.listing());

        const HELLO: PromptDef<()> = PromptDef::new("hello").description("Says hello");
        let plain = Prompt::new("hello", || async { "" }).description("Says hello");
        assert_eq!(HELLO.implement(|| async { "" }).listing(), plain.listing());
    }
}
