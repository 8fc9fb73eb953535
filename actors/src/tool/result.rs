//! What a tool returns: values, errors, and how a host sees them.

use std::{borrow::Cow, error::Error, fmt};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::ask::Question;
use crate::{
    machine::schema::{self, TypeSchema},
    wire::content::{CallToolResult, ContentBlock},
};

/// How a tool call ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolOutcome {
    /// With a result.
    Done(ToolOutput),
    /// With a failure that the model reads.
    Failed(ToolError),
    /// Not yet: somebody has to answer first. Every question has a key.
    NeedsInput(Vec<Question>),
}

/// The result of a tool in the form that costs least.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ToolOutput {
    /// Nothing.
    Empty,
    /// Text.
    Text(String),
    /// A JSON value.
    Json(Value),
    /// A value that was serialised once.
    Typed {
        /// The JSON text.
        json: Box<RawValue>,
        /// It is an object.
        object: bool,
    },
    /// A complete MCP result, sent as it is.
    Result(CallToolResult),
}

impl ToolOutput {
    /// Tells whether the tool itself says that it has failed.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::Result(result) if result.is_error == Some(true))
    }

    /// Gives the output as a JSON value: text as a string, nothing as null, of a complete result
    /// the structured content or else the serialised result.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Empty => Value::Null,
            Self::Text(text) => Value::from(text.as_str()),
            Self::Json(value) => value.clone(),
            Self::Typed { json, .. } => serde_json::from_str(json.get()).unwrap_or_default(),
            Self::Result(result) => match &result.structured_content {
                Some(structured) => structured.clone(),
                None => serde_json::to_value(result).unwrap_or_default(),
            },
        }
    }
}

/// Wraps a value that a tool returns as JSON; its schema becomes the output schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<W>(pub W);

/// A value that a tool can return inside `Ok`.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "this is not a tool result",
    note = "return `String`, `&'static str`, `()`, `serde_json::Value` or `CallToolResult`, or wrap it: `Json<{Self}>`"
)]
pub trait IntoToolOutput {
    /// Makes the output.
    ///
    /// # Errors
    /// [`ToolError`] when the value cannot be serialised.
    fn into_tool_output(self) -> Result<ToolOutput, ToolError>;

    /// Gives the schema of structured results.
    #[doc(hidden)]
    #[must_use]
    fn output_schema() -> Option<TypeSchema> {
        None
    }
}

/// What a tool function may return: an output, or `Result` of an output and an error.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "this is not a tool result",
    note = "return `String`, `&'static str`, `()`, `serde_json::Value`, `CallToolResult` or `Json<W>`, alone or in a `Result` whose error implements `std::error::Error`"
)]
pub trait IntoToolResult {
    /// Makes the result.
    ///
    /// # Errors
    /// [`ToolError`] when the tool failed.
    fn into_tool_result(self) -> Result<ToolOutput, ToolError>;

    /// Gives the schema of structured results.
    #[doc(hidden)]
    #[must_use]
    fn output_schema() -> Option<TypeSchema> {
        None
    }
}

macro_rules! output {
    ($($ty:ty, $value:ident => $make:expr;)*) => {$(
        impl IntoToolOutput for $ty {
            fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
                let $value = self;
                Ok($make)
            }
        }
        impl IntoToolResult for $ty {
            fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
                self.into_tool_output()
            }
        }
    )*};
}

output! {
    String, text => ToolOutput::Text(text);
    &'static str, text => ToolOutput::Text(text.to_owned());
    Cow<'static, str>, text => ToolOutput::Text(text.into_owned());
    (), _nothing => ToolOutput::Empty;
    Value, value => ToolOutput::Json(value);
    CallToolResult, result => ToolOutput::Result(result);
    ToolOutput, output => output;
    Vec<ContentBlock>, content => ToolOutput::Result(CallToolResult { content, ..CallToolResult::default() });
}

impl<W: Serialize + JsonSchema> IntoToolOutput for Json<W> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        let json = serde_json::value::to_raw_value(&self.0)?;
        let object = json.get().starts_with('{');
        Ok(ToolOutput::Typed { json, object })
    }

    fn output_schema() -> Option<TypeSchema> {
        Some(schema::of_output::<W>())
    }
}

impl<W: Serialize + JsonSchema> IntoToolResult for Json<W> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        self.into_tool_output()
    }

    fn output_schema() -> Option<TypeSchema> {
        <Self as IntoToolOutput>::output_schema()
    }
}

impl<T: IntoToolOutput> IntoToolOutput for Option<T> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        self.map_or(Ok(ToolOutput::Empty), T::into_tool_output)
    }
}

impl<T: IntoToolOutput> IntoToolResult for Option<T> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        self.into_tool_output()
    }
}

impl<T: IntoToolOutput, E: IntoToolError> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        match self {
            Ok(value) => value.into_tool_output(),
            Err(error) => Err(error.into_tool_error()),
        }
    }

    fn output_schema() -> Option<TypeSchema> {
        T::output_schema()
    }
}

/// A failure of a tool that the model reads, or a question that pauses the call.
///
/// Every `std::error::Error` becomes one, so `?` works on any error.
#[derive(Clone, Debug)]
pub struct ToolError {
    message: Cow<'static, str>,
    input: Option<Box<Question>>,
    kind: FailureKind,
}

/// What kind of failure it was, for logs and counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FailureKind {
    Tool,
    Arguments,
    Output,
    Internal,
    Panic,
    /// The application has not given a value of this type.
    Missing(&'static str),
}

impl ToolError {
    /// Makes a failure with the text that the model reads.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            message: message.into(),
            input: None,
            kind: FailureKind::Tool,
        }
    }

    /// Makes a failure of the server, not of the tool: an MCP client gets the JSON-RPC error -32603
    /// in the place of a result that the model could read.
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind: FailureKind::Internal,
            ..Self::new(message)
        }
    }

    /// Pauses the call until the question is answered. On a server the function needs a `ToolCx`
    /// parameter for that, and clients of 2025-11-25 get error -32042 for a page; other questions
    /// have to be put to 2025 clients with [`ToolCx::ask`](super::ToolCx::ask).
    #[must_use]
    pub fn needs_input(question: Question) -> Self {
        Self {
            input: Some(Box::new(question)),
            ..Self::new("the call waits for an answer")
        }
    }

    /// Says why a chat shows the question of [`ToolError::needs_input`].
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        if let Some(question) = &mut self.input {
            question.reason = Some(reason.into());
        }
        self
    }

    /// Makes the failure of arguments that do not fit.
    pub(crate) fn arguments(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind: FailureKind::Arguments,
            ..Self::new(message)
        }
    }

    /// Makes the failure of a result that does not fit.
    pub(crate) fn output(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind: FailureKind::Output,
            ..Self::new(message)
        }
    }

    /// Makes the failure of a tool that panicked; what it said stays in the process.
    pub(crate) fn panicked() -> Self {
        Self {
            kind: FailureKind::Panic,
            ..Self::new("tool failed")
        }
    }

    /// Makes the failure of a tool that needs a value of the application which nobody has given.
    pub(crate) fn missing(ty: &'static str) -> Self {
        Self {
            kind: FailureKind::Missing(ty),
            ..Self::new("tool failed")
        }
    }

    /// Gives the type of the value that the application has not given.
    pub(crate) const fn missing_type(&self) -> Option<&'static str> {
        match self.kind {
            FailureKind::Missing(ty) => Some(ty),
            _ => None,
        }
    }

    /// Gives the text that the model reads.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Gives the question of [`ToolError::needs_input`].
    #[must_use]
    pub fn question(&self) -> Option<&Question> {
        self.input.as_deref()
    }

    /// Tells whether the arguments did not fit, so that the tool did not run.
    #[must_use]
    pub fn is_invalid_arguments(&self) -> bool {
        self.kind == FailureKind::Arguments
    }

    /// Tells whether the tool ran and its result does not fit its schema.
    #[must_use]
    pub fn is_invalid_output(&self) -> bool {
        self.kind == FailureKind::Output
    }

    /// Tells whether the server failed, not the tool.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        self.kind == FailureKind::Internal
    }

    /// Tells whether the tool panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        self.kind == FailureKind::Panic
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl<E: Error + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

/// An error that a tool function may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "this is not an error of a tool",
    note = "implement `std::error::Error` for it, or return `ToolError`: `.map_err(|error| ToolError::new(error.to_string()))`"
)]
pub trait IntoToolError {
    /// Makes the tool error.
    fn into_tool_error(self) -> ToolError;
}

impl IntoToolError for ToolError {
    fn into_tool_error(self) -> ToolError {
        self
    }
}

impl<E: Error + 'static> IntoToolError for E {
    fn into_tool_error(self) -> ToolError {
        self.into()
    }
}
