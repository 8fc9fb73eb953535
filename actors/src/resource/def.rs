//! Definitions of resources: what a server and its clients have in common.

use std::{fmt, marker::PhantomData};

use serde::{Serialize, de::DeserializeOwned};

use super::{IntoContents, ReadRequest, Resource, Uri, Vars};
use crate::{
    handler::RequestParams,
    machine::text_args,
    tool::{Takes, TakesAll, ToolFn},
    wire::uri_template::{UriTemplate, UriTemplateError},
};

/// The definition of a resource with a fixed URI, or of all resources of a URI template: where
/// they are and the type of the variables.
///
/// A server implements it and a client reads it, so neither can mistake a URI or a variable. The
/// variables of a template are a struct of texts, numbers, booleans and enums, each perhaps an
/// `Option`; those of a fixed URI are `()`.
///
/// ```
/// use roscius_actors::resource::{ResourceDef, Vars};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct NoteId {
///     id: String,
/// }
///
/// const ABOUT: ResourceDef = ResourceDef::fixed("about", "notes-help://about");
/// const NOTE: ResourceDef<NoteId> = ResourceDef::template("notes://{id}").name("note");
///
/// let note = NOTE.implement(|Vars(note): Vars<NoteId>| async move { format!("note {}", note.id) });
/// assert_eq!(note.address(), "notes://{id}");
/// assert_eq!(NOTE.uri(&NoteId { id: "a b".to_owned() }).as_deref(), Ok("notes://a%20b"));
/// ```
pub struct ResourceDef<V = ()> {
    address: &'static str,
    is_template: bool,
    name: Option<&'static str>,
    title: Option<&'static str>,
    description: Option<&'static str>,
    mime_type: Option<&'static str>,
    variables: PhantomData<fn(V)>,
}

/// Why there is no URI for these variables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UriError {
    /// The template cannot be read.
    #[error(transparent)]
    Template(#[from] UriTemplateError),
    /// The variables are no struct of texts, numbers, booleans and enums.
    #[error("{0}")]
    NotTexts(String),
    /// The template could not give these values back: one is missing or empty, or they can be read
    /// in another way.
    #[error("the variables do not fit the template {template}: {uri} says something else")]
    Ambiguous {
        /// The template.
        template: &'static str,
        /// What it makes of them.
        uri: String,
    },
}

impl ResourceDef<()> {
    /// Defines a resource with a fixed URI.
    #[must_use]
    pub const fn fixed(name: &'static str, uri: &'static str) -> Self {
        Self::at(uri, false).name(name)
    }
}

impl<V> ResourceDef<V> {
    /// Defines all resources of a URI template (RFC 6570). Their name is the template unless
    /// [`ResourceDef::name`] sets one.
    #[must_use]
    pub const fn template(template: &'static str) -> Self {
        Self::at(template, true)
    }

    const fn at(address: &'static str, is_template: bool) -> Self {
        Self {
            address,
            is_template,
            name: None,
            title: None,
            description: None,
            mime_type: None,
            variables: PhantomData,
        }
    }

    /// Sets the name that programs use.
    #[must_use]
    pub const fn name(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    /// Names it for people.
    #[must_use]
    pub const fn title(mut self, title: &'static str) -> Self {
        self.title = Some(title);
        self
    }

    /// Says what it holds.
    #[must_use]
    pub const fn description(mut self, text: &'static str) -> Self {
        self.description = Some(text);
        self
    }

    /// Says of what kind its contents are.
    #[must_use]
    pub const fn mime_type(mut self, mime_type: &'static str) -> Self {
        self.mime_type = Some(mime_type);
        self
    }

    /// Gives the URI or the template.
    #[must_use]
    pub const fn address(&self) -> &'static str {
        self.address
    }

    /// Makes the URI for these variables.
    ///
    /// # Errors
    /// [`UriError`] when a server would not read the same variables from it.
    pub fn uri(&self, variables: &V) -> Result<String, UriError>
    where
        V: Serialize,
    {
        if !self.is_template {
            return Ok(self.address.to_owned());
        }
        let values = text_args::write(variables);
        let values = values.map_err(|error| UriError::NotTexts(error.to_string()))?;
        let template = UriTemplate::parse(self.address)?;
        let uri = template.expand(&values);
        if template.matches(&uri).as_ref() == Some(&values) {
            return Ok(uri);
        }
        Err(UriError::Ambiguous {
            template: self.address,
            uri,
        })
    }
}

impl<V: DeserializeOwned + 'static> ResourceDef<V> {
    /// Makes the resource from an async function, as [`Resource::new`] and [`Resource::template`]
    /// do. Its variables are `Vars<V>`.
    ///
    /// What a definition has no word for is set on the resource, such as its list or a completion.
    pub fn implement<P, H>(&self, read: H) -> Resource
    where
        H: ToolFn<P>,
        P: RequestParams<ReadRequest> + TakesAll<V>,
        H::Out: IntoContents + 'static,
    {
        let mut resource = if self.is_template {
            Resource::template(self.address, read)
        } else {
            Resource::new(self.address, self.address, read)
        };
        if let Some(name) = self.name {
            resource = resource.name(name);
        }
        if let Some(title) = self.title {
            resource = resource.title(title);
        }
        if let Some(text) = self.description {
            resource = resource.description(text);
        }
        if let Some(mime_type) = self.mime_type {
            resource = resource.mime_type(mime_type);
        }
        resource
    }
}

impl<V> Takes<V> for Vars<V> {}
impl<V> Takes<V> for Uri {}

impl<V> Clone for ResourceDef<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for ResourceDef<V> {}

impl<V> fmt::Debug for ResourceDef<V> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ResourceDef")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Page {
        book: String,
        number: u32,
        mark: Option<String>,
    }

    const PAGE: ResourceDef<Page> = ResourceDef::template("book://{book}/{number}{?mark}")
        .name("page")
        .title("Page")
        .description("A page of a book")
        .mime_type("text/plain");

    fn page(book: &str, mark: Option<&str>) -> Page {
        Page {
            book: book.to_owned(),
            number: 7,
            mark: mark.map(str::to_owned),
        }
    }

    #[test]
    fn variables_make_a_uri_that_a_server_reads_back() {
        let uri = |page| PAGE.uri(&page);
        assert_eq!(uri(page("rust", None)).as_deref(), Ok("book://rust/7"));
        assert_eq!(
            uri(page("a/b", Some("c d"))).as_deref(),
            Ok("book://a%2Fb/7?mark=c%20d")
        );
        let about: ResourceDef = ResourceDef::fixed("about", "help://about");
        assert_eq!(about.uri(&()).as_deref(), Ok("help://about"));
    }

    #[test]
    fn variables_that_would_be_read_as_others_make_no_uri() {
        let empty = PAGE.uri(&page("", None));
        assert!(
            matches!(empty, Err(UriError::Ambiguous { .. })),
            "{empty:?}"
        );
        let other: ResourceDef<Page> = ResourceDef::template("book://{book}");
        let unknown = other.uri(&page("rust", None));
        assert!(
            matches!(unknown, Err(UriError::Ambiguous { .. })),
            "{unknown:?}"
        );
        let broken: ResourceDef<Page> = ResourceDef::template("book://{book");
        let broken = broken.uri(&page("rust", None));
        assert!(matches!(broken, Err(UriError::Template(_))), "{broken:?}");
        let list: ResourceDef<Vec<u8>> = ResourceDef::template("book://{book}");
        let list = list.uri(&Vec::new());
        assert!(matches!(list, Err(UriError::NotTexts(_))), "{list:?}");
    }

    #[test]
    fn an_implementation_is_listed_as_the_definition_says() {
        let made = PAGE.implement(|Uri(uri): Uri| async { uri });
        let plain = Resource::template("book://{book}/{number}{?mark}", || async { "" });
        let plain = plain
            .name("page")
            .title("Page")
            .description("A page of a book");
        let plain = plain.mime_type("text/plain");
        assert_eq!(made.template_listing(), plain.template_listing());

        const ABOUT: ResourceDef = ResourceDef::fixed("about", "help://about");
        let made = ABOUT.implement(|| async { "" });
        let plain = Resource::new("about", "help://about", || async { "" });
        assert_eq!(made.listing(), plain.listing());
    }
}
