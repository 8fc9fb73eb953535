//! Decisions of an MCP client about lists: pages, names, and what the user filtered.

use std::collections::HashSet;

use serde_json::Value;

use crate::wire::content::ToolListing;

/// How many pages of one list are read. A server that never ends its list does not hold the client.
pub const MAX_PAGES: usize = 100;

/// A list cannot be read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PagingError {
    /// The list has too many pages.
    #[error("the list has more than {MAX_PAGES} pages")]
    TooManyPages,
    /// The server gave a cursor twice.
    #[error("the list repeats a cursor")]
    RepeatedCursor,
}

/// Walks the pages of one list.
#[derive(Debug, Default)]
pub struct Pages {
    pages: usize,
    seen: HashSet<String>,
}

impl Pages {
    /// Takes the `nextCursor` of a page and says whether, and where, to go on.
    ///
    /// The list ends where the cursor is absent; an empty string is a cursor.
    ///
    /// # Errors
    /// [`PagingError`] when the list does not end.
    pub fn next(&mut self, next_cursor: Option<String>) -> Result<Option<String>, PagingError> {
        self.pages += 1;
        let Some(cursor) = next_cursor else {
            return Ok(None);
        };
        if !self.seen.insert(cursor.clone()) {
            return Err(PagingError::RepeatedCursor);
        }
        if self.pages >= MAX_PAGES {
            return Err(PagingError::TooManyPages);
        }
        Ok(Some(cursor))
    }
}

/// Names a tool as the model sees it: `<prefix>_<name>`, or the bare name without a prefix.
#[must_use]
pub fn prefixed(prefix: Option<&str>, name: &str) -> String {
    match prefix.filter(|prefix| !prefix.is_empty()) {
        Some(prefix) => format!("{prefix}_{name}"),
        None => name.to_owned(),
    }
}

/// Finds the first name that stands there twice.
pub fn first_duplicate<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

/// Tells a tool's title: its own, else that of its annotations, else its name.
#[must_use]
pub fn title(listing: &ToolListing) -> &str {
    let annotated = || listing.annotations.as_ref()?.title.as_deref();
    listing
        .title
        .as_deref()
        .or_else(annotated)
        .unwrap_or(&listing.name)
}

/// Tells which user interface belongs to a tool: `_meta.ui.resourceUri`, or the older flat key.
#[must_use]
pub fn ui_resource_uri(listing: &ToolListing) -> Option<&str> {
    let meta = listing.meta.as_ref()?;
    let nested = meta.get("ui").and_then(|ui| ui.get("resourceUri"));
    nested
        .or_else(|| meta.get("ui/resourceUri"))
        .and_then(Value::as_str)
}

/// Tells whether a second call does no harm, as far as the server says.
#[must_use]
pub fn is_repeatable(listing: &ToolListing) -> bool {
    listing.annotations.as_ref().is_some_and(|hints| {
        hints.read_only_hint == Some(true) || hints.idempotent_hint == Some(true)
    })
}

/// Tells whether a tool of a 2025 server can only run as a task.
#[must_use]
pub fn requires_task(listing: &ToolListing) -> bool {
    let execution = listing.extra.get("execution");
    execution
        .and_then(|it| it.get("taskSupport"))
        .and_then(Value::as_str)
        == Some("required")
}

/// Completes the schema of the arguments: `type` and `properties` are there.
#[must_use]
pub fn complete_input_schema(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else {
        return serde_json::json!({"type": "object", "properties": {}});
    };
    schema.entry("type").or_insert_with(|| "object".into());
    schema
        .entry("properties")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    Value::Object(schema)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pages_end_where_the_cursor_is_absent() {
        let mut pages = Pages::default();
        assert_eq!(pages.next(Some(String::new())), Ok(Some(String::new())));
        assert_eq!(pages.next(Some("b".to_owned())), Ok(Some("b".to_owned())));
        assert_eq!(pages.next(None), Ok(None));
    }

    #[test]
    fn a_repeated_cursor_and_an_endless_list_are_errors() {
        let mut pages = Pages::default();
        assert_eq!(pages.next(Some(String::new())), Ok(Some(String::new())));
        assert_eq!(
            pages.next(Some(String::new())),
            Err(PagingError::RepeatedCursor)
        );

        let mut pages = Pages::default();
        for page in 1..MAX_PAGES {
            assert!(pages.next(Some(page.to_string())).is_ok(), "{page}");
        }
        assert_eq!(
            pages.next(Some("last".to_owned())),
            Err(PagingError::TooManyPages)
        );
    }

    #[test]
    fn a_list_of_exactly_the_bound_is_read() {
        let mut pages = Pages::default();
        for page in 1..MAX_PAGES {
            assert!(pages.next(Some(page.to_string())).is_ok(), "{page}");
        }
        assert_eq!(pages.next(None), Ok(None));
    }

    #[test]
    fn names_take_the_prefix_as_it_is() {
        assert_eq!(prefixed(Some("weather"), "get"), "weather_get");
        assert_eq!(prefixed(Some("my.app"), "a/b"), "my.app_a/b");
        assert_eq!(prefixed(Some(""), "get"), "get");
        assert_eq!(prefixed(None, "get"), "get");
        assert_eq!(first_duplicate(["a", "b", "a", "b"]), Some("a"));
        assert_eq!(first_duplicate(["a", "b"]), None);
    }

    #[test]
    fn a_schema_gets_its_type_and_keeps_its_keywords() {
        let schema = json!({"$ref": "#/$defs/x", "$defs": {"x": {}}});
        assert_eq!(
            complete_input_schema(schema),
            json!({"$ref": "#/$defs/x", "$defs": {"x": {}}, "type": "object", "properties": {}}),
        );
        assert_eq!(
            complete_input_schema(json!(true)),
            json!({"type": "object", "properties": {}})
        );
    }
}
