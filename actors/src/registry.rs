//! Finds things by owner and id from any thread, and tells whether actors can live on this one.

use std::{fmt, hash::Hash, sync::Arc};

use actix::Arbiter;
use dashmap::DashMap;

/// Tells whether an actor that is started here would run. A thread keeps the arbiter of a system
/// that has ended, and an arbiter is no use outside a runtime.
pub(crate) fn has_local_executor() -> bool {
    let arbiter = Arbiter::try_current();
    arbiter.is_some_and(|arbiter| arbiter.spawn(std::future::ready(())))
        && tokio::runtime::Handle::try_current().is_ok()
}

/// A map whose values are shared. It gives clones only, so no lock is held while a value is used.
pub(crate) struct Registry<K, V>(DashMap<K, Arc<V>>);

impl<K: Eq + Hash, V> Registry<K, V> {
    pub(crate) fn new() -> Self {
        Self(DashMap::new())
    }

    pub(crate) fn insert(&self, key: K, value: Arc<V>) {
        self.0.insert(key, value);
    }

    pub(crate) fn get(&self, key: &K) -> Option<Arc<V>> {
        self.0.get(key).map(|found| Arc::clone(&found))
    }

    /// Removes the value unless another one has taken its key.
    pub(crate) fn remove_if_same(&self, key: &K, value: &Arc<V>) -> bool {
        let same = |_: &K, found: &Arc<V>| Arc::ptr_eq(found, value);
        self.0.remove_if(key, same).is_some()
    }

    pub(crate) fn values(&self) -> Vec<Arc<V>> {
        self.0.iter().map(|entry| Arc::clone(&entry)).collect()
    }
}

impl<K: Eq + Hash, V> fmt::Debug for Registry<K, V> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Registry")
            .field("entries", &self.0.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_value_is_removed() {
        let registry = Registry::new();
        let old = Arc::new(1);
        registry.insert("a", Arc::clone(&old));
        registry.insert("a", Arc::new(2));
        assert!(!registry.remove_if_same(&"a", &old));
        let new = registry.get(&"a").unwrap_or_default();
        assert_eq!(*new, 2);
        assert!(registry.remove_if_same(&"a", &new));
        assert!(registry.values().is_empty());
    }
}
