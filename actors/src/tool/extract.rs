//! Parameters of tool functions: each is taken from the call by its type.

use std::{
    any::{TypeId, type_name},
    future::Future,
    ops::Deref,
    sync::Arc,
};

use schemars::JsonSchema;
use serde::{de::DeserializeOwned, de::IgnoredAny};
use serde_json::Value;

use super::{Context, ToolCx};
use crate::{
    machine::schema::{self, TypeSchema},
    wire::auth::AuthInfo,
};

/// The arguments of the call, read into a type.
///
/// The schema of the type is the tool's input schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args<T>(pub T);

/// A value of the application, shared. `Ctx<AuthInfo>` is always the verified caller.
#[derive(Debug)]
pub struct Ctx<T>(pub Arc<T>);

impl<T> Clone for Ctx<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Ctx<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Why a parameter could not be made.
#[derive(Debug)]
#[doc(hidden)]
pub enum ExtractError {
    /// The arguments do not fit the type.
    Arguments(serde_json::Error),
    /// There is no value of this type.
    Missing(&'static str),
}

/// One parameter of a tool function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a tool",
    label = "this is not taken from a call",
    note = "wrap what the caller sends: `Args<{Self}>`; wrap a value of the application: `Ctx<{Self}>`; `ToolCx` is the call itself"
)]
pub trait FromCall: Sized + 'static {
    /// The parameter needs the call itself, so it can ask, report and be cancelled.
    #[doc(hidden)]
    const USES_CX: bool = false;
    /// The parameter reads context or caller.
    #[doc(hidden)]
    const USES_CONTEXT: bool = false;
    /// The parameter reads the arguments.
    #[doc(hidden)]
    const USES_ARGUMENTS: bool = false;

    /// Gives the schema of the arguments.
    #[doc(hidden)]
    #[must_use]
    fn schema() -> Option<TypeSchema> {
        None
    }

    /// Names the type whose value is missing in the context of every call.
    #[doc(hidden)]
    #[must_use]
    fn missing(context: &Context) -> Option<&'static str> {
        let _ = context;
        None
    }

    /// Takes the parameter from the call.
    #[doc(hidden)]
    fn from_call(arguments: &str, cx: &ToolCx) -> Result<Self, ExtractError>;
}

impl<T: DeserializeOwned + JsonSchema + 'static> FromCall for Args<T> {
    const USES_ARGUMENTS: bool = true;

    fn schema() -> Option<TypeSchema> {
        Some(schema::of_input::<T>())
    }

    fn from_call(arguments: &str, _cx: &ToolCx) -> Result<Self, ExtractError> {
        serde_json::from_str(arguments)
            .or_else(|error| with_whole_numbers(arguments).ok_or(error))
            .map(Self)
            .map_err(ExtractError::Arguments)
    }
}

/// Reads arguments that serde has refused once more: for a schema `1.0` is an integer, for serde it
/// is none.
fn with_whole_numbers<T: DeserializeOwned>(arguments: &str) -> Option<T> {
    let mut value: Value = serde_json::from_str(arguments).ok()?;
    // serde reads members by their order, too, which no schema allows.
    value.is_object().then(|| make_whole(&mut value))?;
    serde_json::from_value(value).ok()
}

/// Reads a JSON value as [`Args`] reads its text.
pub(super) fn from_value<T: DeserializeOwned>(mut value: Value) -> Result<T, serde_json::Error> {
    T::deserialize(&value).or_else(|error| {
        make_whole(&mut value);
        T::deserialize(&value).map_err(|_| error)
    })
}

fn make_whole(value: &mut Value) {
    /// Above this a double does not know its neighbours.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Array(items) => items.iter_mut().for_each(make_whole),
        Value::Object(members) => members.values_mut().for_each(make_whole),
        Value::Number(number) if number.is_f64() => {
            let exact = number.as_f64().filter(|number| number.abs() <= EXACT);
            let whole = exact.filter(|number| number.fract() == 0.0);
            if let Some(whole) = whole.and_then(|whole| format!("{whole:.0}").parse::<i64>().ok()) {
                *number = whole.into();
            }
        }
        _ => {}
    }
}

impl<T: Send + Sync + 'static> FromCall for Ctx<T> {
    const USES_CONTEXT: bool = true;

    fn missing(context: &Context) -> Option<&'static str> {
        let known = TypeId::of::<T>() == TypeId::of::<AuthInfo>() || context.contains::<T>();
        (!known).then(type_name::<T>)
    }

    fn from_call(_arguments: &str, cx: &ToolCx) -> Result<Self, ExtractError> {
        cx.context_value::<T>()
            .map(Self)
            .ok_or(ExtractError::Missing(type_name::<T>()))
    }
}

impl FromCall for ToolCx {
    const USES_CX: bool = true;

    fn from_call(_arguments: &str, cx: &ToolCx) -> Result<Self, ExtractError> {
        Ok(cx.clone())
    }
}

/// All parameters of a tool function: up to four, each of which implements [`FromCall`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the parameters of a tool",
    note = "a tool takes up to four of `Args<T>`, `Ctx<T>` and `ToolCx`"
)]
pub trait Params: Sized + 'static {
    /// One of them needs the call itself.
    #[doc(hidden)]
    const USES_CX: bool;
    /// One of them reads context or caller.
    #[doc(hidden)]
    const USES_CONTEXT: bool;

    /// Gives the schema of the arguments.
    #[doc(hidden)]
    #[must_use]
    fn schema() -> Option<TypeSchema>;

    /// Names a type whose value is missing in the context of every call.
    #[doc(hidden)]
    #[must_use]
    fn missing(context: &Context) -> Option<&'static str>;

    /// Takes the parameters from the call.
    #[doc(hidden)]
    fn from_call(arguments: &str, cx: &ToolCx) -> Result<Self, ExtractError>;
}

/// An async function that can be a tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool function",
    label = "not a tool function",
    note = "a tool is an `async fn` (or a closure that returns a future) of up to four parameters, each `Args<T>`, `Ctx<T>` or `ToolCx`, and it is `Send + Sync + 'static`"
)]
pub trait ToolFn<P>: Send + Sync + 'static {
    /// What the function returns.
    type Out;
    /// The future of the function; it stays on its thread.
    type Fut: Future<Output = Self::Out> + 'static;

    /// Calls the function.
    #[doc(hidden)]
    fn call(&self, params: P) -> Self::Fut;
}

macro_rules! arity {
    ($($param:ident),*) => {
        impl<$($param: FromCall),*> Params for ($($param,)*) {
            const USES_CX: bool = false $(|| $param::USES_CX)*;
            const USES_CONTEXT: bool = false $(|| $param::USES_CONTEXT)*;

            fn schema() -> Option<TypeSchema> {
                let schemas: Vec<Option<TypeSchema>> = vec![$($param::schema()),*];
                schemas.into_iter().flatten().next()
            }

            #[allow(unused_variables, reason = "a function without parameters misses nothing")]
            fn missing(context: &Context) -> Option<&'static str> {
                let missing: Option<&'static str> = None;
                $(let missing = missing.or_else(|| $param::missing(context));)*
                missing
            }

            #[allow(unused_variables, reason = "a function without parameters reads nothing")]
            fn from_call(arguments: &str, cx: &ToolCx) -> Result<Self, ExtractError> {
                if !(false $(|| $param::USES_ARGUMENTS)*) {
                    // The text may come from a model: what no parameter reads is still JSON.
                    serde_json::from_str::<IgnoredAny>(arguments).map_err(ExtractError::Arguments)?;
                }
                Ok(($($param::from_call(arguments, cx)?,)*))
            }
        }

        #[allow(non_snake_case, reason = "the type parameters name the values as well")]
        impl<F, Fut, $($param),*> ToolFn<($($param,)*)> for F
        where
            F: Fn($($param),*) -> Fut + Send + Sync + 'static,
            Fut: Future + 'static,
        {
            type Out = Fut::Output;
            type Fut = Fut;

            fn call(&self, ($($param,)*): ($($param,)*)) -> Fut {
                self($($param),*)
            }
        }
    };
}

arity!();
arity!(A);
arity!(A, B);
arity!(A, B, C);
arity!(A, B, C, D);

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize, JsonSchema)]
    struct Wanted {
        count: u32,
        share: f64,
        more: Vec<i64>,
    }

    #[test]
    fn a_number_without_a_fraction_is_an_integer_however_it_is_written() {
        let read = |arguments: &str| {
            let cx = ToolCx::builder().build();
            Args::<Wanted>::from_call(arguments, &cx).map(|Args(wanted)| wanted)
        };
        let expected = Wanted {
            count: 1,
            share: 2.0,
            more: vec![3, -4],
        };
        let written = r#"{"count":1.0,"share":2.0,"more":[3e0,-4.0]}"#;
        assert_eq!(read(written).unwrap(), expected);
        assert!(read(r#"{"count":1.5,"share":2.0,"more":[]}"#).is_err());
        assert!(read(r#"{"count":-1.0,"share":2.0,"more":[]}"#).is_err());
    }
}
