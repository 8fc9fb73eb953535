//! Definitions of tools: what a server and its clients have in common.

use std::{any::TypeId, fmt, marker::PhantomData};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{BlockingFn, IntoToolResult, Params, Returns, TakesAll, Tool, ToolFn};
use crate::{
    machine::schema::{self, LazyChecker, TypeSchema},
    wire::content::{CallToolResult, ToolAnnotations},
};

/// The definition of a tool: its name, its hints, and the types of its arguments and its result.
///
/// A server implements it and a client calls it, so neither can mistake a name or a type. It is
/// constant, so it can stand in a crate that both share.
///
/// `In` is an object for serde, or `()`. `Out` is what clients get as structured content; with
/// [`CallToolResult`] the tool declares no output and the client gets the result as it is.
///
/// ```
/// use roscius_actors::tool::{Args, Json, ToolDef};
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// /// Current weather for a city
/// #[derive(Serialize, Deserialize, JsonSchema)]
/// struct City {
///     city: String,
/// }
///
/// #[derive(Serialize, Deserialize, JsonSchema)]
/// struct Weather {
///     celsius: f32,
/// }
///
/// const GET_WEATHER: ToolDef<City, Weather> = ToolDef::new("get_weather").read_only();
///
/// let tool = GET_WEATHER.implement(|Args(_): Args<City>| async { Json(Weather { celsius: 7.0 }) });
/// assert_eq!(tool.name(), "get_weather");
/// ```
pub struct ToolDef<In, Out> {
    name: &'static str,
    title: Option<&'static str>,
    description: Option<&'static str>,
    read_only: Option<bool>,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    open_world: Option<bool>,
    types: PhantomData<fn(In) -> Out>,
}

impl<In, Out> ToolDef<In, Out> {
    /// Defines a tool by its name.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            title: None,
            description: None,
            read_only: None,
            destructive: None,
            idempotent: None,
            open_world: None,
            types: PhantomData,
        }
    }

    /// Names the tool for people.
    #[must_use]
    pub const fn title(mut self, title: &'static str) -> Self {
        self.title = Some(title);
        self
    }

    /// Says what the tool does, for the model; the doc comment of the arguments' type unless set.
    #[must_use]
    pub const fn description(mut self, text: &'static str) -> Self {
        self.description = Some(text);
        self
    }

    /// Hints that the tool changes nothing.
    #[must_use]
    pub const fn read_only(mut self) -> Self {
        self.read_only = Some(true);
        self
    }

    /// Hints whether the tool may destroy something.
    #[must_use]
    pub const fn destructive(mut self, destructive: bool) -> Self {
        self.destructive = Some(destructive);
        self
    }

    /// Hints that calling twice is as good as once.
    #[must_use]
    pub const fn idempotent(mut self) -> Self {
        self.idempotent = Some(true);
        self
    }

    /// Hints whether the tool reaches out into the world.
    #[must_use]
    pub const fn open_world(mut self, open: bool) -> Self {
        self.open_world = Some(open);
        self
    }

    /// Gives the name that calls use.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    fn hints(&self) -> Option<ToolAnnotations> {
        let hints = ToolAnnotations {
            title: None,
            read_only_hint: self.read_only,
            destructive_hint: self.destructive,
            idempotent_hint: self.idempotent,
            open_world_hint: self.open_world,
        };
        (hints != ToolAnnotations::default()).then_some(hints)
    }
}

impl<In, Out> ToolDef<In, Out>
where
    In: DeserializeOwned + JsonSchema + 'static,
    Out: Output,
{
    /// Makes the tool from an async function, as [`Tool::new`] does. Its arguments are `Args<In>`
    /// and it returns `Json<Out>`, or a `Result` of it.
    ///
    /// A text may be returned for `String` and `()` for `()` as it is; for [`CallToolResult`] also
    /// text and content blocks. What a definition has no word for is set on the tool, such as
    /// icons or scopes.
    pub fn implement<P, H>(&self, handler: H) -> Tool
    where
        H: ToolFn<P>,
        P: Params + TakesAll<In>,
        H::Out: IntoToolResult + Returns<Out>,
    {
        self.describe(Tool::new(self.name, handler), P::schema().is_some())
    }

    /// Makes the tool from a function that blocks, as [`Tool::blocking`] does.
    pub fn implement_blocking<P, H>(&self, handler: H) -> Tool
    where
        H: BlockingFn<P>,
        P: Params + TakesAll<In> + Send,
        H::Out: IntoToolResult + Returns<Out>,
    {
        self.describe(Tool::blocking(self.name, handler), P::schema().is_some())
    }

    fn describe(&self, tool: Tool, reads_arguments: bool) -> Tool {
        let nothing = TypeId::of::<In>() == TypeId::of::<()>();
        let made = schema::of_input::<In>();
        tool.with(|tool| {
            tool.input = LazyChecker::new(if nothing {
                schema::empty_object()
            } else {
                schema::with_object_root(made.schema)
            });
            // What the function does not read is checked all the same.
            tool.check_input = !nothing && (made.needs_validator || !reads_arguments);
            let own = self.description.map(str::to_owned);
            tool.description = own.or(made.description.filter(|_| !nothing));
            tool.title = self.title.map(str::to_owned);
            tool.output = Out::schema().map(|made| LazyChecker::new(made.schema));
            tool.annotations = self.hints();
        })
    }
}

impl<In, Out> Clone for ToolDef<In, Out> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<In, Out> Copy for ToolDef<In, Out> {}

impl<In, Out> fmt::Debug for ToolDef<In, Out> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ToolDef")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Why a result is not what its definition says.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub enum OutputError {
    /// The tool failed.
    Failed(Box<CallToolResult>),
    /// The result has another type.
    Mismatch(String),
}

/// What a defined tool gives: any type with a schema that serde reads, or [`CallToolResult`].
pub trait Output: Sized + 'static {
    /// Gives the schema of structured results; none if no output is declared.
    #[doc(hidden)]
    #[must_use]
    fn schema() -> Option<TypeSchema>;

    /// Reads it from a result. Servers of 2025 wrap what is no object into `{"result": …}`.
    #[doc(hidden)]
    fn from_result(result: CallToolResult, wraps: bool) -> Result<Self, OutputError>;
}

impl<T: DeserializeOwned + JsonSchema + 'static> Output for T {
    fn schema() -> Option<TypeSchema> {
        let made = schema::of_output::<T>();
        // Nothing is no structured content.
        (made.schema.get("type") != Some(&Value::from("null"))).then_some(made)
    }

    fn from_result(result: CallToolResult, wraps: bool) -> Result<Self, OutputError> {
        if result.is_error == Some(true) {
            return Err(OutputError::Failed(Box::new(result)));
        }
        let Some(structured) = result.structured_content else {
            return T::deserialize(Value::Null).map_err(|_| {
                OutputError::Mismatch("the result has no structured content".to_owned())
            });
        };
        let structured = if wraps {
            unwrapped::<T>(structured)
        } else {
            structured
        };
        T::deserialize(structured).map_err(|error| OutputError::Mismatch(error.to_string()))
    }
}

impl Output for CallToolResult {
    fn schema() -> Option<TypeSchema> {
        None
    }

    fn from_result(result: CallToolResult, _wraps: bool) -> Result<Self, OutputError> {
        Ok(result)
    }
}

/// Takes a value out of `{"result": …}`, unless its type is an object of its own.
fn unwrapped<T: JsonSchema>(structured: Value) -> Value {
    match structured {
        Value::Object(mut members)
            if members.len() == 1
                && members.contains_key("result")
                && !schema::is_object(&schema::of_output::<T>().schema) =>
        {
            members
                .get_mut("result")
                .map(Value::take)
                .unwrap_or_default()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;
    use crate::tool::{Args, Json, ToolError};

    /// Where it is
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Place {
        /// Its name
        name: String,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Found {
        result: u8,
    }

    const FIND: ToolDef<Place, Found> = ToolDef::new("find").title("Find").read_only();

    fn structured(value: Value) -> CallToolResult {
        CallToolResult {
            structured_content: Some(value),
            ..CallToolResult::default()
        }
    }

    #[test]
    fn an_implementation_is_listed_as_the_definition_says() {
        let plain = Tool::new("find", |Args(_): Args<Place>| async {
            Json(Found { result: 1 })
        });
        let plain = plain.title("Find").read_only();
        let made = FIND.implement(|Args(_): Args<Place>| async { Json(Found { result: 1 }) });
        assert_eq!(made.listing(), plain.listing());
        let blind = FIND.implement(|| async { Err::<Json<Found>, _>(ToolError::new("no")) });
        assert_eq!(blind.listing(), plain.listing());
        let blocking = FIND.implement_blocking(|Args(_): Args<Place>| Json(Found { result: 1 }));
        assert_eq!(blocking.listing(), plain.listing());
    }

    #[test]
    fn nothing_and_whole_results_declare_no_output() {
        const NOTHING: ToolDef<(), ()> = ToolDef::new("nothing");
        const RESULT: ToolDef<(), CallToolResult> = ToolDef::new("result");
        for listing in [
            NOTHING.implement(|| async {}).listing(),
            RESULT.implement(|| async { "text" }).listing(),
        ] {
            assert_eq!(listing.output_schema, None);
            let empty = json!({"type": "object", "properties": {}});
            assert_eq!(listing.input_schema, empty);
            assert_eq!(listing.description, None);
        }
    }

    #[test]
    fn what_2025_has_wrapped_is_taken_out_and_nothing_else() {
        let wrapped = structured(json!({"result": "Sunny"}));
        assert_eq!(String::from_result(wrapped, true).unwrap(), "Sunny");
        let plain = structured(json!("Sunny"));
        assert_eq!(String::from_result(plain, false).unwrap(), "Sunny");
        let object = structured(json!({"result": 3}));
        assert_eq!(
            Found::from_result(object, true).unwrap(),
            Found { result: 3 }
        );
        let value = structured(json!({"result": 3}));
        let kept = Value::from_result(value, false).unwrap();
        assert_eq!(kept, json!({"result": 3}));
    }

    #[test]
    fn a_result_of_another_type_is_none() {
        let mismatch = |result| match Found::from_result(result, false) {
            Err(OutputError::Mismatch(reason)) => reason,
            other => format!("{other:?}"),
        };
        let wrong = mismatch(structured(json!({"result": "x"})));
        assert!(wrong.contains("invalid type"), "{wrong}");
        let missing = mismatch(CallToolResult::text("7"));
        assert_eq!(missing, "the result has no structured content");
        let failed = Found::from_result(CallToolResult::error("no"), false);
        assert!(matches!(failed, Err(OutputError::Failed(_))));
        let whole = CallToolResult::from_result(CallToolResult::error("no"), false).unwrap();
        assert_eq!(whole.is_error, Some(true));
        assert!(<()>::from_result(CallToolResult::text(""), true).is_ok());
    }
}
