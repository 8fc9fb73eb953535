//! Which results clients may keep.

use crate::wire::cache::CacheHint;

/// The results that MCP lets clients keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cached {
    /// `server/discover`.
    Discover,
    /// `tools/list`.
    Tools,
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
    /// `resources/read`, unless the resource says something else.
    Reads,
    /// `skills/list` and `skills/get`.
    Skills,
}

/// The hints by what they are for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Caching([CacheHint; 7]);

impl Caching {
    const fn slot(result: Cached) -> usize {
        match result {
            Cached::Discover => 0,
            Cached::Tools => 1,
            Cached::Prompts => 2,
            Cached::Resources => 3,
            Cached::Templates => 4,
            Cached::Reads => 5,
            Cached::Skills => 6,
        }
    }

    pub(super) fn set(&mut self, result: Cached, hint: CacheHint) {
        if let Some(slot) = self.0.get_mut(Self::slot(result)) {
            *slot = hint;
        }
    }

    pub(super) fn get(&self, result: Cached) -> CacheHint {
        self.0.get(Self::slot(result)).copied().unwrap_or_default()
    }
}
