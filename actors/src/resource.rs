//! Resources: plain async functions that a client reads by a URI.

mod def;
mod listing;
mod read;

use std::{borrow::Cow, sync::Arc};

use schemars::JsonSchema;
use serde_json::{Map, Value};

pub use self::{
    def::{ResourceDef, UriError},
    listing::{IntoListings, ListRequest},
    read::{IntoContents, ReadOutput, ReadRequest, Uri, Vars},
};
use crate::{
    handler::{CompleteRequest, Completers, IntoCompletion, RequestParams, Serve, function},
    machine::form::{self, FormError},
    tool::{Context, ToolFn},
    wire::{
        cache::CacheHint,
        resource::{Annotations, ResourceListing},
        uri_template::{UriTemplate, UriTemplateError, Variables, normalize},
    },
};

/// A resource, or all resources of a URI template, and the function that reads them. Cheap to
/// clone.
#[derive(Clone, Debug)]
pub struct Resource(Arc<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    address: Address,
    name: String,
    title: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
    size: Option<u64>,
    annotations: Option<Annotations>,
    icons: Option<Value>,
    meta: Option<Map<String, Value>>,
    cache: Option<CacheHint>,
    /// A type that was declared as a form and cannot be one.
    not_a_form: Option<FormError>,
    read: Arc<dyn Serve<ReadRequest, Option<ReadOutput>>>,
    list: Option<Arc<dyn Serve<ListRequest, Vec<ResourceListing>>>>,
    completers: Completers,
}

#[derive(Clone, Debug)]
enum Address {
    Fixed {
        uri: String,
        /// The form in which URIs are compared.
        normal: String,
    },
    Template {
        text: String,
        /// What is wrong is told when the server is built.
        template: Result<UriTemplate, UriTemplateError>,
    },
}

/// Why a resource cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceDefError {
    /// A URI begins with a scheme.
    #[error("`{0}` is no uri: it has no scheme")]
    NoUri(String),
    /// The template cannot be read.
    #[error("resource template `{template}`: {source}")]
    Template {
        /// The template.
        template: String,
        /// What is wrong.
        source: UriTemplateError,
    },
    /// Only the resources of a template are listed by a function.
    #[error("resource `{0}` has a fixed uri and needs no list")]
    ListOfOne(String),
    /// The template has no such variable.
    #[error("resource template `{template}` has no variable `{variable}` to complete")]
    UnknownVariable {
        /// The template.
        template: String,
        /// The variable.
        variable: String,
    },
    /// A type that it asks for cannot be a form.
    #[error("resource `{resource}`: {source}")]
    Form {
        /// The resource.
        resource: String,
        /// The field that cannot be.
        source: FormError,
    },
    /// A `Ctx<T>` parameter has no value.
    #[error("resource `{resource}` needs a `{ty}` that nobody has given")]
    MissingContext {
        /// The resource.
        resource: String,
        /// The type.
        ty: &'static str,
    },
}

impl Resource {
    /// Makes a resource with a fixed URI.
    ///
    /// The function takes up to four parameters, each [`Uri`], [`Ctx`](crate::tool::Ctx) or
    /// [`ToolCx`](crate::tool::ToolCx), and gives text, bytes or JSON.
    pub fn new<P, H>(name: impl Into<String>, uri: impl Into<String>, read: H) -> Self
    where
        H: ToolFn<P>,
        P: RequestParams<ReadRequest>,
        H::Out: IntoContents + 'static,
    {
        let uri = uri.into();
        let normal = normalize(&uri);
        Self::of(name.into(), Address::Fixed { uri, normal }, read)
    }

    /// Makes all resources of a URI template (RFC 6570), such as `notes://{id}`. Its name is the
    /// template until [`Resource::name`] sets one.
    ///
    /// The function takes the variables as [`Vars`] besides what [`Resource::new`] allows.
    /// `Ok(None)` says that there is no such resource.
    pub fn template<P, H>(template: impl Into<String>, read: H) -> Self
    where
        H: ToolFn<P>,
        P: RequestParams<ReadRequest>,
        H::Out: IntoContents + 'static,
    {
        let text = template.into();
        let address = Address::Template {
            template: UriTemplate::parse(&text),
            text: text.clone(),
        };
        Self::of(text, address, read)
    }

    fn of<P, H>(name: String, address: Address, read: H) -> Self
    where
        H: ToolFn<P>,
        P: RequestParams<ReadRequest>,
        H::Out: IntoContents + 'static,
    {
        Self(Arc::new(Inner {
            address,
            name,
            title: None,
            description: None,
            mime_type: None,
            size: None,
            annotations: None,
            icons: None,
            meta: None,
            cache: None,
            not_a_form: None,
            read: function(read, IntoContents::into_contents),
            list: None,
            completers: Completers::default(),
        }))
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Sets the function that lists the resources of a template. They stand in `resources/list`.
    #[must_use]
    pub fn list<P, H>(self, list: H) -> Self
    where
        H: ToolFn<P>,
        P: RequestParams<ListRequest>,
        H::Out: IntoListings + 'static,
    {
        self.with(|resource| resource.list = Some(function(list, IntoListings::into_listings)))
    }

    /// Sets the function that completes a variable of the template.
    #[must_use]
    pub fn complete<P, H>(self, variable: impl Into<Cow<'static, str>>, complete: H) -> Self
    where
        H: ToolFn<P>,
        P: RequestParams<CompleteRequest>,
        H::Out: IntoCompletion + 'static,
    {
        self.with(|resource| resource.completers.add(variable.into(), complete))
    }

    /// Declares that the function asks for this type with
    /// [`ToolCx::request_input_as`](crate::tool::ToolCx::request_input_as), so that one
    /// that cannot be a form is found when the server is built.
    #[must_use]
    pub fn asks<T: JsonSchema>(self) -> Self {
        self.with(|resource| {
            resource.not_a_form = resource.not_a_form.take().or(form::of::<T>().err())
        })
    }

    /// Sets the name that programs use.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        self.with(|resource| resource.name = name.into())
    }

    /// Names it for people.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        self.with(|resource| resource.title = Some(title.into()))
    }

    /// Says what it holds.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> Self {
        self.with(|resource| resource.description = Some(text.into()))
    }

    /// Says of what kind its contents are. Contents without a kind of their own get this one.
    #[must_use]
    pub fn mime_type(self, mime_type: impl Into<String>) -> Self {
        self.with(|resource| resource.mime_type = Some(mime_type.into()))
    }

    /// Says how long it is, in bytes. Templates are not listed with a size.
    #[must_use]
    pub fn size(self, bytes: u64) -> Self {
        self.with(|resource| resource.size = Some(bytes))
    }

    /// Says whom it is for.
    #[must_use]
    pub fn annotations(self, annotations: Annotations) -> Self {
        self.with(|resource| resource.annotations = Some(annotations))
    }

    /// Sets the icons of the listing: an array of MCP icons.
    #[must_use]
    pub fn icons(self, icons: Value) -> Self {
        self.with(|resource| resource.icons = Some(icons))
    }

    /// Sets `_meta` of the listing.
    #[must_use]
    pub fn meta(self, meta: Map<String, Value>) -> Self {
        self.with(|resource| resource.meta = Some(meta))
    }

    /// Says how long clients may keep what they read.
    #[must_use]
    pub fn cache(self, hint: CacheHint) -> Self {
        self.with(|resource| resource.cache = Some(hint))
    }

    /// Checks what can be known before the first request.
    ///
    /// # Errors
    /// [`ResourceDefError`] when it could never be read.
    pub fn check(&self, context: &Context) -> Result<(), ResourceDefError> {
        let own = || self.address().to_owned();
        match &self.0.address {
            Address::Fixed { uri, .. } => {
                if !has_scheme(uri) {
                    return Err(ResourceDefError::NoUri(own()));
                }
                if self.0.list.is_some() {
                    return Err(ResourceDefError::ListOfOne(own()));
                }
            }
            Address::Template { template, .. } => {
                template
                    .as_ref()
                    .map_err(|source| ResourceDefError::Template {
                        template: own(),
                        source: *source,
                    })?;
            }
        }
        let unknown = self
            .0
            .completers
            .names()
            .find(|name| !self.has_variable(name));
        if let Some(variable) = unknown {
            return Err(ResourceDefError::UnknownVariable {
                template: own(),
                variable: variable.to_owned(),
            });
        }
        if let Some(source) = self.0.not_a_form.clone() {
            return Err(ResourceDefError::Form {
                resource: own(),
                source,
            });
        }
        let list = self.0.list.as_ref();
        let missing = self
            .0
            .read
            .missing(context)
            .or_else(|| list.and_then(|list| list.missing(context)))
            .or_else(|| self.0.completers.missing(context));
        match missing {
            Some(ty) => Err(ResourceDefError::MissingContext {
                resource: own(),
                ty,
            }),
            None => Ok(()),
        }
    }

    /// Gives the URI or the template as it was written.
    #[must_use]
    pub fn address(&self) -> &str {
        match &self.0.address {
            Address::Fixed { uri, .. } => uri,
            Address::Template { text, .. } => text,
        }
    }

    /// Gives the template; none for a fixed URI.
    #[must_use]
    pub fn uri_template(&self) -> Option<&UriTemplate> {
        match &self.0.address {
            Address::Fixed { .. } => None,
            Address::Template { template, .. } => template.as_ref().ok(),
        }
    }

    /// Tells whether a template has this variable.
    #[must_use]
    pub fn has_variable(&self, name: &str) -> bool {
        self.uri_template()
            .is_some_and(|template| template.variables().any(|own| own == name))
    }

    /// Matches a URI in normal form and gives the variables.
    #[must_use]
    pub fn matches(&self, normal: &str) -> Option<Variables> {
        match &self.0.address {
            Address::Fixed { normal: own, .. } => (own == normal).then(Variables::new),
            Address::Template { template, .. } => template.as_ref().ok()?.matches_normal(normal),
        }
    }

    pub(crate) fn reader(&self) -> &Arc<dyn Serve<ReadRequest, Option<ReadOutput>>> {
        &self.0.read
    }

    pub(crate) fn lister(&self) -> Option<&Arc<dyn Serve<ListRequest, Vec<ResourceListing>>>> {
        self.0.list.as_ref()
    }

    /// Tells whether the function that reads can ask and report.
    #[must_use]
    pub fn uses_cx(&self) -> bool {
        self.0.read.uses_cx()
    }

    /// Tells whether some function completes.
    pub(crate) fn completes(&self) -> bool {
        !self.0.completers.is_empty()
    }

    pub(crate) fn completers(&self) -> &Completers {
        &self.0.completers
    }

    pub(crate) fn cache_hint(&self) -> Option<CacheHint> {
        self.0.cache
    }
}

fn has_scheme(uri: &str) -> bool {
    let Some((scheme, _)) = uri.split_once(':') else {
        return false;
    };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}
