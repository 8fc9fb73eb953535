//! Cursors of long lists: sealed, so that a client can only send back what it was given.

use sha2::{Digest as _, Sha256};

use crate::{
    machine::seal::{SealKey, open, seal},
    wire::jsonrpc::{RpcError, code},
};

const PURPOSE: &str = "mcp list cursor";
/// No cursor of ours is longer.
const MAX_CURSOR_BYTES: usize = 256;

/// The key of an item: what it is found by when the list has changed between two pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ItemKey([u8; 8]);

impl ItemKey {
    pub(super) fn of(text: &str) -> Self {
        let digest = Sha256::digest(text);
        Self(digest.first_chunk().copied().unwrap_or_default())
    }
}

/// Where the next page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: usize,
    /// The last item of the page before.
    pub(super) after: ItemKey,
}

impl Place {
    pub(super) fn seal(self, key: &SealKey, list: &str) -> String {
        let mut payload = (self.offset as u64).to_be_bytes().to_vec();
        payload.extend_from_slice(&self.after.0);
        seal(key, PURPOSE, list.as_bytes(), &payload, u64::MAX)
    }

    /// Opens the cursor of a request to this list. An empty text is a cursor too, and never ours.
    pub(super) fn open(key: &SealKey, list: &str, cursor: &str) -> Result<Self, RpcError> {
        let read = || {
            if cursor.len() > MAX_CURSOR_BYTES {
                return None;
            }
            let payload = open(key, PURPOSE, list.as_bytes(), cursor, 0).ok()?;
            let (offset, after) = payload.split_first_chunk::<8>()?;
            Some(Self {
                offset: usize::try_from(u64::from_be_bytes(*offset)).ok()?,
                after: ItemKey(after.try_into().ok()?),
            })
        };
        read().ok_or_else(unknown_cursor)
    }

    /// Gives where the page begins in the list as it is now: behind the last item that the client
    /// has seen, or where that was if it is gone.
    pub(super) fn start(self, mut keys: impl Iterator<Item = ItemKey> + Clone) -> usize {
        let before = self.offset.checked_sub(1);
        if before.and_then(|at| keys.clone().nth(at)) == Some(self.after) {
            return self.offset;
        }
        match keys.position(|key| key == self.after) {
            Some(at) => at + 1,
            None => self.offset,
        }
    }
}

pub(super) fn unknown_cursor() -> RpcError {
    RpcError::new(code::INVALID_PARAMS, "the cursor is not known")
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use super::*;

    #[test]
    fn a_cursor_belongs_to_its_list() {
        let key = SealKey::random();
        let place = Place {
            offset: 20,
            after: ItemKey::of("b"),
        };
        let text = place.seal(&key, "tools/list");
        assert_eq!(Place::open(&key, "tools/list", &text).unwrap(), place);
        for (list, text) in [
            ("prompts/list", text.as_str()),
            ("tools/list", ""),
            ("tools/list", "20"),
            ("tools/list", &text[1..]),
        ] {
            let error = Place::open(&key, list, text).unwrap_err();
            assert_eq!(error.code, code::INVALID_PARAMS);
        }
    }

    #[test]
    fn a_page_goes_on_behind_the_last_item_though_the_list_has_changed() {
        let keys = |list: &str| -> Vec<ItemKey> {
            list.chars()
                .map(|one| ItemKey::of(&one.to_string()))
                .collect()
        };
        let place = Place {
            offset: 2,
            after: ItemKey::of("b"),
        };
        for (list, start) in [("abcd", 2), ("xabcd", 3), ("bcd", 1), ("acd", 2), ("", 2)] {
            assert_eq!(place.start(keys(list).into_iter()), start, "{list}");
        }
    }
}
