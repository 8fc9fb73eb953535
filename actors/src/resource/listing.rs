//! How resources are listed, and the functions that list those of a template.

use super::{Address, ReadOutput, Resource};
use crate::{
    tool::{IntoToolError, ToolError},
    wire::resource::{ResourceListing, ResourceTemplateListing},
};

/// A client wants to see the resources of a template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListRequest;

/// What a function that lists may return.
#[diagnostic::on_unimplemented(
    message = "a list of resources cannot be `{Self}`",
    label = "these are not items of a list of resources",
    note = "return a `Vec<ResourceListing>`, alone or in a `Result`"
)]
pub trait IntoListings {
    /// Makes the items.
    ///
    /// # Errors
    /// [`ToolError`] when the function failed.
    fn into_listings(self) -> Result<Vec<ResourceListing>, ToolError>;
}

impl IntoListings for Vec<ResourceListing> {
    fn into_listings(self) -> Result<Vec<ResourceListing>, ToolError> {
        Ok(self)
    }
}

impl<const N: usize> IntoListings for [ResourceListing; N] {
    fn into_listings(self) -> Result<Vec<ResourceListing>, ToolError> {
        Ok(self.into())
    }
}

impl<T: IntoListings, E: IntoToolError> IntoListings for Result<T, E> {
    fn into_listings(self) -> Result<Vec<ResourceListing>, ToolError> {
        self.map_err(IntoToolError::into_tool_error)?
            .into_listings()
    }
}

impl Resource {
    /// Gives a resource with a fixed URI as MCP lists it.
    #[must_use]
    pub fn listing(&self) -> Option<ResourceListing> {
        let Address::Fixed { uri, .. } = &self.0.address else {
            return None;
        };
        let own = &*self.0;
        Some(ResourceListing {
            uri: uri.clone(),
            name: own.name.clone(),
            title: own.title.clone(),
            description: own.description.clone(),
            mime_type: own.mime_type.clone(),
            size: own.size,
            annotations: own.annotations.clone(),
            icons: own.icons.clone(),
            meta: own.meta.clone(),
            extra: serde_json::Map::new(),
        })
    }

    /// Gives a template as MCP lists it.
    #[must_use]
    pub fn template_listing(&self) -> Option<ResourceTemplateListing> {
        let Address::Template { text, .. } = &self.0.address else {
            return None;
        };
        let own = &*self.0;
        Some(ResourceTemplateListing {
            uri_template: text.clone(),
            name: own.name.clone(),
            title: own.title.clone(),
            description: own.description.clone(),
            mime_type: own.mime_type.clone(),
            annotations: own.annotations.clone(),
            icons: own.icons.clone(),
            meta: own.meta.clone(),
            extra: serde_json::Map::new(),
        })
    }

    /// Adds what a reader has left out: the URI that was asked for, and the kind.
    pub(crate) fn complete_output(&self, uri: &str, output: &mut ReadOutput) {
        for contents in &mut output.contents {
            if contents.uri.is_empty() {
                uri.clone_into(&mut contents.uri);
            }
            if contents.mime_type.is_some() {
                continue;
            }
            contents.mime_type = match (&self.0.mime_type, &contents.blob) {
                (Some(own), _) => Some(own.clone()),
                (None, Some(_)) => Some("application/octet-stream".to_owned()),
                (None, None) => None,
            };
        }
    }

    /// Adds to the items of a template what its own listing says of all of them.
    pub(crate) fn complete_listings(&self, items: &mut [ResourceListing]) {
        for item in items {
            if item.mime_type.is_none() {
                item.mime_type.clone_from(&self.0.mime_type);
            }
            if item.name.is_empty() {
                item.name.clone_from(&item.uri);
            }
        }
    }
}
