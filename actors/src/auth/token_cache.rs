//! Callers of tokens that were found good a moment ago, by the hash of the token.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use crate::wire::auth::AuthInfo;

/// The hash of a token.
pub(super) type TokenHash = [u8; 32];

pub(super) fn hash(token: &str) -> TokenHash {
    Sha256::digest(token.as_bytes()).into()
}

/// A bounded cache. The tokens themselves are not in it.
#[derive(Debug)]
pub(super) struct TokenCache {
    capacity: usize,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_hash: HashMap<TokenHash, (Arc<AuthInfo>, Instant)>,
    /// The oldest first; what is full gives up the oldest.
    order: VecDeque<TokenHash>,
}

impl TokenCache {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            entries: Mutex::default(),
        }
    }

    pub(super) fn get(&self, hash: &TokenHash) -> Option<Arc<AuthInfo>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let (caller, until) = entries.by_hash.get(hash)?;
        (*until > Instant::now()).then(|| Arc::clone(caller))
    }

    pub(super) fn put(&self, hash: TokenHash, caller: Arc<AuthInfo>, ttl: Duration) {
        if self.capacity == 0 || ttl.is_zero() {
            return;
        }
        let now = Instant::now();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = &mut *entries;
        if entries.by_hash.insert(hash, (caller, now + ttl)).is_some() {
            entries.order.retain(|other| *other != hash);
        }
        entries.order.push_back(hash);
        while let Some(oldest) = entries.order.front() {
            let over = entries.order.len() > self.capacity;
            let late = entries
                .by_hash
                .get(oldest)
                .is_none_or(|(_, until)| *until <= now);
            if !over && !late {
                break;
            }
            entries.by_hash.remove(oldest);
            entries.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> Arc<AuthInfo> {
        Arc::new(AuthInfo::new("", "client"))
    }

    #[tokio::test(start_paused = true)]
    async fn an_entry_lives_as_long_as_it_is_told() {
        let cache = TokenCache::new(4);
        cache.put(hash("a"), caller(), Duration::from_secs(10));
        cache.put(hash("b"), caller(), Duration::ZERO);
        assert!(cache.get(&hash("a")).is_some());
        assert!(cache.get(&hash("b")).is_none());
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(cache.get(&hash("a")).is_none());
        cache.put(hash("c"), caller(), Duration::from_secs(1));
        assert_eq!(
            cache.entries.lock().map(|all| all.by_hash.len()).ok(),
            Some(1)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_entry_makes_room() {
        let cache = TokenCache::new(2);
        for token in ["a", "b", "a", "c"] {
            cache.put(hash(token), caller(), Duration::from_secs(10));
        }
        assert!(cache.get(&hash("b")).is_none());
        assert!(cache.get(&hash("a")).is_some() && cache.get(&hash("c")).is_some());
    }
}
