//! One read of a resource: what was asked, and what came of it.

use std::{borrow::Cow, ops::Deref};

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    handler::{FromRequest, Rejection},
    machine::text_args,
    tool::{IntoToolError, Json, ToolCx, ToolError},
    wire::{cache::CacheHint, resource::ResourceContents, uri_template::Variables},
};

/// What a client wants to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadRequest {
    /// The URI as it was sent.
    pub uri: String,
    /// The variables of the template, decoded; empty for a resource with a fixed URI.
    pub variables: Variables,
}

/// The URI that was asked for, as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri(pub String);

impl Deref for Uri {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl FromRequest<ReadRequest> for Uri {
    fn from_request(request: &ReadRequest, _cx: &ToolCx) -> Result<Self, Rejection> {
        Ok(Self(request.uri.clone()))
    }
}

/// The variables of the template, read into a type: a struct of texts, numbers, booleans or enums,
/// or a map of texts. Variables that may be missing are `Option`s.
///
/// They come from outside. A path of files must not be made of them unchecked: a `..` or a `/` that
/// was encoded in the URI is in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vars<T>(pub T);

impl<T: DeserializeOwned + 'static> FromRequest<ReadRequest> for Vars<T> {
    fn from_request(request: &ReadRequest, _cx: &ToolCx) -> Result<Self, Rejection> {
        text_args::read(&request.variables)
            .map(Self)
            .map_err(|error| Rejection::Arguments(error.to_string()))
    }
}

/// What reading gave.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ReadOutput {
    /// The pieces; there is at least one.
    pub contents: Vec<ResourceContents>,
    /// How long clients may keep it, if other than the resource says.
    pub cache: Option<CacheHint>,
    /// `_meta` of the result.
    pub meta: Option<Map<String, Value>>,
}

impl ReadOutput {
    /// Makes an output of these pieces.
    pub fn new(contents: impl IntoIterator<Item = ResourceContents>) -> Self {
        Self {
            contents: contents.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Says how long clients may keep it.
    #[must_use]
    pub const fn cache(mut self, hint: CacheHint) -> Self {
        self.cache = Some(hint);
        self
    }

    /// Sets `_meta` of the result.
    #[must_use]
    pub fn meta(mut self, meta: Map<String, Value>) -> Self {
        self.meta = Some(meta);
        self
    }
}

impl From<ResourceContents> for ReadOutput {
    fn from(contents: ResourceContents) -> Self {
        Self::new([contents])
    }
}

/// What a function that reads may return inside `Ok` and `Some`.
#[diagnostic::on_unimplemented(
    message = "a resource cannot be read as `{Self}`",
    label = "these are not contents of a resource",
    note = "return text, `Vec<u8>`, `Bytes`, `serde_json::Value`, `Json<T>`, `ResourceContents` or a `Vec` of them; `Option` says that there is none, `Result` that reading failed"
)]
pub trait IntoContents {
    /// Makes the output; none if there is no such resource.
    ///
    /// # Errors
    /// [`ToolError`] when reading failed.
    fn into_contents(self) -> Result<Option<ReadOutput>, ToolError>;
}

macro_rules! contents {
    ($($ty:ty, $value:ident => $make:expr;)*) => {$(
        impl IntoContents for $ty {
            fn into_contents(self) -> Result<Option<ReadOutput>, ToolError> {
                let $value = self;
                Ok(Some(ReadOutput::from($make)))
            }
        }
    )*};
}

contents! {
    String, text => ResourceContents::text(text);
    &'static str, text => ResourceContents::text(text);
    Cow<'static, str>, text => ResourceContents::text(text.into_owned());
    Vec<u8>, bytes => ResourceContents::bytes(bytes);
    &'static [u8], bytes => ResourceContents::bytes(bytes);
    Bytes, bytes => ResourceContents::bytes(bytes);
    Value, value => json(value.to_string());
    ResourceContents, contents => contents;
    ReadOutput, output => output;
}

fn json(text: String) -> ResourceContents {
    ResourceContents::text(text).mime_type("application/json")
}

impl IntoContents for Vec<ResourceContents> {
    fn into_contents(self) -> Result<Option<ReadOutput>, ToolError> {
        Ok(Some(ReadOutput::new(self)))
    }
}

impl<W: Serialize> IntoContents for Json<W> {
    fn into_contents(self) -> Result<Option<ReadOutput>, ToolError> {
        let text = serde_json::to_string(&self.0)?;
        Ok(Some(json(text).into()))
    }
}

impl<T: IntoContents> IntoContents for Option<T> {
    fn into_contents(self) -> Result<Option<ReadOutput>, ToolError> {
        self.map_or(Ok(None), T::into_contents)
    }
}

impl<T: IntoContents, E: IntoToolError> IntoContents for Result<T, E> {
    fn into_contents(self) -> Result<Option<ReadOutput>, ToolError> {
        self.map_err(IntoToolError::into_tool_error)?
            .into_contents()
    }
}
