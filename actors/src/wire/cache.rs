//! How long a client may keep a result. Spec: MCP 2026-07-28, "Caching".

use std::time::Duration;

/// Who may share a kept result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheScope {
    /// Only who asked: the result may differ for others.
    #[default]
    Private,
    /// Everybody: the result is the same for all.
    Public,
}

/// How long a client may keep a result, and who may share it. By default not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheHint {
    ttl: Duration,
    scope: CacheScope,
}

impl CacheHint {
    /// Asks clients to keep nothing.
    pub const NONE: Self = Self::private(Duration::ZERO);

    /// Lets the one who asked keep the result.
    #[must_use]
    pub const fn private(ttl: Duration) -> Self {
        Self {
            ttl,
            scope: CacheScope::Private,
        }
    }

    /// Lets everybody share the result. Never for what depends on the caller.
    #[must_use]
    pub const fn public(ttl: Duration) -> Self {
        Self {
            ttl,
            scope: CacheScope::Public,
        }
    }

    /// Gives `ttlMs`.
    #[must_use]
    pub fn ttl_ms(self) -> u64 {
        u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX)
    }

    /// Gives `cacheScope`.
    #[must_use]
    pub const fn scope(self) -> &'static str {
        match self.scope {
            CacheScope::Private => "private",
            CacheScope::Public => "public",
        }
    }
}
