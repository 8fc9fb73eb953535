//! How functions fit the types of a definition.

use std::borrow::Cow;

use serde_json::Value;

use super::{Args, Ctx, IntoToolError, Json, ToolCx, ToolOutput};
use crate::wire::content::{CallToolResult, ContentBlock};

/// A parameter of a function that implements a definition of `In`: it carries `In`, or nothing of
/// what the caller sends.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what the definition takes",
    label = "this definition takes `{In}`",
    note = "the parameter of what the caller sends is `Args<{In}>`, for a resource `Vars<{In}>`; `Ctx<T>` and `ToolCx` may stand beside it"
)]
pub trait Takes<In> {}

impl<In> Takes<In> for Args<In> {}
impl<In, T> Takes<In> for Ctx<T> {}
impl<In> Takes<In> for ToolCx {}

/// All parameters of a function that implements a definition of `In`.
pub trait TakesAll<In> {}

macro_rules! arity {
    ($($param:ident),*) => {
        impl<In, $($param: Takes<In>),*> TakesAll<In> for ($($param,)*) {}
    };
}

arity!();
arity!(A);
arity!(A, B);
arity!(A, B, C);
arity!(A, B, C, D);

/// What a function returns that implements a definition with the result `Out`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the result of the definition",
    label = "this definition gives `{Out}`",
    note = "return `Json<{Out}>`, alone or in a `Result` whose error implements `std::error::Error`"
)]
pub trait Returns<Out> {}

impl<Out> Returns<Out> for Json<Out> {}
impl<Out, T: Returns<Out>, E: IntoToolError> Returns<Out> for Result<T, E> {}

macro_rules! returns {
    ($($out:ty: $($ty:ty),+;)*) => {$($(impl Returns<$out> for $ty {})+)*};
}

returns! {
    (): ();
    String: String, &'static str, Cow<'static, str>;
    Value: Value;
    CallToolResult: CallToolResult, ToolOutput, Vec<ContentBlock>, String, &'static str, Cow<'static, str>, ();
}
