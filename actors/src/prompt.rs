//! Prompts: plain async functions that make messages from a few texts.

mod def;
mod output;

use std::{borrow::Cow, sync::Arc};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use self::{def::PromptDef, output::IntoPrompt};
use crate::{
    handler::{
        CompleteRequest, Completers, FromRequest, IntoCompletion, Rejection, RequestParams, Serve,
        Serving, function,
    },
    machine::{
        form::{self, FormError},
        schema::{self, LazyChecker, SchemaError, TypeSchema},
        text_args,
    },
    tool::{Args, Context, ToolCx, ToolFn},
    wire::{
        prompt::{GetPromptResult, PromptArgument, PromptListing},
        uri_template::Variables,
    },
};

/// What a client gives to a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptRequest {
    /// The texts by the name of their argument.
    pub arguments: Variables,
}

impl<T: DeserializeOwned + JsonSchema + 'static> FromRequest<PromptRequest> for Args<T> {
    fn schema() -> Option<TypeSchema> {
        Some(schema::of_input::<T>())
    }

    fn from_request(request: &PromptRequest, _cx: &ToolCx) -> Result<Self, Rejection> {
        text_args::read(&request.arguments)
            .map(Self)
            .map_err(|error| Rejection::Arguments(error.to_string()))
    }
}

/// A prompt: a name, arguments, and the function that makes its messages. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Prompt(Arc<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    name: Arc<str>,
    title: Option<String>,
    description: Option<String>,
    schema: Option<LazyChecker>,
    /// The schema says more than the type enforces.
    checked: bool,
    arguments: Vec<PromptArgument>,
    icons: Option<Value>,
    meta: Option<Map<String, Value>>,
    /// A type that was declared as a form and cannot be one.
    not_a_form: Option<FormError>,
    render: Arc<dyn Serve<PromptRequest, GetPromptResult>>,
    completers: Completers,
}

/// Why a prompt cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptDefError {
    /// Clients send a map of texts.
    #[error(
        "prompt `{0}`: the arguments have to be an object of texts, numbers, booleans or enums"
    )]
    NotTexts(String),
    /// Its schema does not compile.
    #[error("prompt `{prompt}`: {source}")]
    Schema {
        /// The prompt.
        prompt: String,
        /// What is wrong.
        source: SchemaError,
    },
    /// There is no such argument.
    #[error("prompt `{prompt}` has no argument `{argument}`")]
    UnknownArgument {
        /// The prompt.
        prompt: String,
        /// The argument.
        argument: String,
    },
    /// A type that it asks for cannot be a form.
    #[error("prompt `{prompt}`: {source}")]
    Form {
        /// The prompt.
        prompt: String,
        /// The field that cannot be.
        source: FormError,
    },
    /// A `Ctx<T>` parameter has no value.
    #[error("prompt `{prompt}` needs a `{ty}` that nobody has given")]
    MissingContext {
        /// The prompt.
        prompt: String,
        /// The type.
        ty: &'static str,
    },
}

impl Prompt {
    /// Makes a prompt from an async function with up to four parameters, each
    /// [`Args`], [`Ctx`](crate::tool::Ctx) or [`ToolCx`].
    ///
    /// The arguments come from the fields of the type in `Args`: their doc comments describe them,
    /// those that are no `Option` are required. Numbers, booleans and enums are read from the texts
    /// that clients send. The doc comment of the type is the description unless
    /// [`Prompt::description`] sets one.
    pub fn new<P, H>(name: impl Into<String>, render: H) -> Self
    where
        H: ToolFn<P>,
        P: RequestParams<PromptRequest>,
        H::Out: IntoPrompt + 'static,
    {
        Self::of(name.into(), P::schema(), render)
    }

    /// Makes a prompt whose arguments have this schema.
    fn of<P, H>(name: String, made: Option<TypeSchema>, render: H) -> Self
    where
        H: ToolFn<P>,
        P: RequestParams<PromptRequest>,
        H::Out: IntoPrompt + 'static,
    {
        let schema = made
            .as_ref()
            .map(|made| LazyChecker::new(schema::with_object_root(made.schema.clone())));
        let arguments = schema
            .as_ref()
            .map(|made| text_args::arguments_of(made.schema()));
        Self(Arc::new(Inner {
            name: Arc::from(name),
            title: None,
            checked: made.as_ref().is_some_and(|made| made.needs_validator),
            description: made.and_then(|made| made.description),
            schema,
            arguments: arguments.unwrap_or_default(),
            icons: None,
            meta: None,
            not_a_form: None,
            render: function(render, IntoPrompt::into_prompt),
            completers: Completers::default(),
        }))
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Names the prompt for people.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        self.with(|prompt| prompt.title = Some(title.into()))
    }

    /// Says what the prompt is for.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> Self {
        self.with(|prompt| prompt.description = Some(text.into()))
    }

    /// Sets the icons of the listing: an array of MCP icons.
    #[must_use]
    pub fn icons(self, icons: Value) -> Self {
        self.with(|prompt| prompt.icons = Some(icons))
    }

    /// Sets `_meta` of the listing.
    #[must_use]
    pub fn meta(self, meta: Map<String, Value>) -> Self {
        self.with(|prompt| prompt.meta = Some(meta))
    }

    /// Names an argument for people.
    #[must_use]
    pub fn argument_title(self, argument: &str, title: impl Into<String>) -> Self {
        self.with(|prompt| {
            let mut arguments = prompt.arguments.iter_mut();
            if let Some(found) = arguments.find(|own| own.name == argument) {
                found.title = Some(title.into());
            }
        })
    }

    /// Declares that the function asks for this type with [`ToolCx::request_input_as`], so that one
    /// that cannot be a form is found when the server is built.
    #[must_use]
    pub fn asks<T: JsonSchema>(self) -> Self {
        self.with(|prompt| prompt.not_a_form = prompt.not_a_form.take().or(form::of::<T>().err()))
    }

    /// Sets the function that completes an argument.
    #[must_use]
    pub fn complete<P, H>(self, argument: impl Into<Cow<'static, str>>, complete: H) -> Self
    where
        H: ToolFn<P>,
        P: RequestParams<CompleteRequest>,
        H::Out: IntoCompletion + 'static,
    {
        self.with(|prompt| prompt.completers.add(argument.into(), complete))
    }

    /// Checks what can be known before the first request.
    ///
    /// # Errors
    /// [`PromptDefError`] when it could never be rendered.
    pub fn check(&self, context: &Context) -> Result<(), PromptDefError> {
        let own = || self.name().to_owned();
        if let Some(schema) = &self.0.schema {
            if !text_args::is_flat(schema.schema()) {
                return Err(PromptDefError::NotTexts(own()));
            }
            schema.verify().map_err(|source| PromptDefError::Schema {
                prompt: own(),
                source,
            })?;
        }
        let mut completed = self.0.completers.names();
        if let Some(argument) = completed.find(|name| !self.has_argument(name)) {
            return Err(PromptDefError::UnknownArgument {
                prompt: own(),
                argument: argument.to_owned(),
            });
        }
        if let Some(source) = self.0.not_a_form.clone() {
            let prompt = own();
            return Err(PromptDefError::Form { prompt, source });
        }
        let missing = self.0.render.missing(context);
        match missing.or_else(|| self.0.completers.missing(context)) {
            Some(ty) => Err(PromptDefError::MissingContext { prompt: own(), ty }),
            None => Ok(()),
        }
    }

    /// Gives the name that requests use.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Tells whether the prompt has this argument.
    #[must_use]
    pub fn has_argument(&self, name: &str) -> bool {
        self.0.arguments.iter().any(|own| own.name == name)
    }

    /// Tells whether the function can ask and report.
    #[must_use]
    pub fn uses_cx(&self) -> bool {
        self.0.render.uses_cx()
    }

    /// Gives the prompt as MCP lists it.
    #[must_use]
    pub fn listing(&self) -> PromptListing {
        PromptListing {
            name: self.name().to_owned(),
            title: self.0.title.clone(),
            description: self.0.description.clone(),
            arguments: self.0.arguments.clone(),
            icons: self.0.icons.clone(),
            meta: self.0.meta.clone(),
            extra: Map::new(),
        }
    }

    /// Starts rendering. The arguments are read before this returns.
    pub(crate) fn render(
        &self,
        request: &PromptRequest,
        cx: ToolCx,
    ) -> Result<Serving<GetPromptResult>, Rejection> {
        let absent =
            self.0.arguments.iter().find(|own| {
                own.required == Some(true) && !request.arguments.contains_key(&own.name)
            });
        if let Some(argument) = absent {
            return Err(Rejection::Arguments(format!(
                "the argument `{}` is missing",
                argument.name
            )));
        }
        let schema = self.0.schema.as_ref().filter(|_| self.0.checked);
        if let Some((schema, Ok(checker))) = schema.map(|made| (made.schema(), made.get())) {
            let value = text_args::to_json(schema, &request.arguments);
            let checked = checker.check(&value);
            checked.map_err(|wrong| Rejection::Arguments(wrong.to_string()))?;
        }
        self.0.render.start(request, cx)
    }

    /// Gives the description that a result without one gets.
    pub(crate) fn description_text(&self) -> Option<&str> {
        self.0.description.as_deref()
    }

    /// Tells whether some function completes.
    pub(crate) fn completes(&self) -> bool {
        !self.0.completers.is_empty()
    }

    pub(crate) fn completers(&self) -> &Completers {
        &self.0.completers
    }
}
