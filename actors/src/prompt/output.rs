//! What a prompt's function returns.

use std::borrow::Cow;

use crate::{
    tool::{IntoToolError, ToolError},
    wire::{
        content::ContentBlock,
        prompt::{GetPromptResult, PromptMessage},
    },
};

/// What a prompt's function may return.
#[diagnostic::on_unimplemented(
    message = "a prompt cannot be `{Self}`",
    label = "these are not messages of a prompt",
    note = "return text (one message of the user), `PromptMessage`, a `Vec` or an array of them, or `GetPromptResult`, alone or in a `Result`"
)]
pub trait IntoPrompt {
    /// Makes the messages.
    ///
    /// # Errors
    /// [`ToolError`] when the function failed.
    fn into_prompt(self) -> Result<GetPromptResult, ToolError>;
}

fn of(messages: Vec<PromptMessage>) -> GetPromptResult {
    GetPromptResult {
        messages,
        ..GetPromptResult::default()
    }
}

macro_rules! prompt {
    ($($ty:ty, $value:ident => $make:expr;)*) => {$(
        impl IntoPrompt for $ty {
            fn into_prompt(self) -> Result<GetPromptResult, ToolError> {
                let $value = self;
                Ok($make)
            }
        }
    )*};
}

prompt! {
    String, text => of(vec![PromptMessage::user(text)]);
    &'static str, text => of(vec![PromptMessage::user(text)]);
    Cow<'static, str>, text => of(vec![PromptMessage::user(text.into_owned())]);
    ContentBlock, block => of(vec![PromptMessage::user(block)]);
    PromptMessage, message => of(vec![message]);
    Vec<PromptMessage>, messages => of(messages);
    GetPromptResult, result => result;
}

impl<const N: usize> IntoPrompt for [PromptMessage; N] {
    fn into_prompt(self) -> Result<GetPromptResult, ToolError> {
        Ok(of(self.into()))
    }
}

impl<T: IntoPrompt, E: IntoToolError> IntoPrompt for Result<T, E> {
    fn into_prompt(self) -> Result<GetPromptResult, ToolError> {
        self.map_err(IntoToolError::into_tool_error)?.into_prompt()
    }
}
