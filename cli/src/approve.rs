//! Which tools a person has to agree to.

use clap::ValueEnum;
use roscius::wire::content::ToolListing;

/// Which tools a person has to agree to before each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approve {
    /// Those that do not say that they only read.
    Writes,
    /// All.
    All,
    /// None.
    Never,
}

impl Approve {
    /// Tells whether a tool needs approval. A tool without hints may do anything.
    pub(crate) fn asks_for(self, tool: &ToolListing) -> bool {
        match self {
            Self::All => true,
            Self::Never => false,
            Self::Writes => {
                let hints = tool.annotations.as_ref();
                hints.and_then(|hints| hints.read_only_hint) != Some(true)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]

    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_read_only_hint_spares_the_question() {
        let tool = |annotations| -> ToolListing {
            let listing =
                json!({"name": "t", "inputSchema": {"type": "object"}, "annotations": annotations});
            serde_json::from_value(listing).unwrap()
        };
        let table = [
            (json!({}), true),
            (json!({"readOnlyHint": false}), true),
            (json!({"readOnlyHint": true}), false),
            (json!({"destructiveHint": false}), true),
        ];
        for (annotations, expected) in table {
            let tool = tool(annotations);
            assert_eq!(Approve::Writes.asks_for(&tool), expected, "{tool:?}");
            assert!(Approve::All.asks_for(&tool) && !Approve::Never.asks_for(&tool));
        }
    }
}
