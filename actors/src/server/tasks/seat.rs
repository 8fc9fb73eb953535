//! The place of a task among those that are kept.

use std::sync::{Arc, atomic::Ordering};

use super::{Tasks, live::Live};
use crate::{
    gauge::{Kind, Open as Counted},
    server::Inner,
};

/// Counts the task while its driver lives, and lets it be found.
pub(super) struct Seat {
    server: Arc<Inner>,
    pub(super) live: Arc<Live>,
    _open: Counted,
}

impl Seat {
    pub(super) fn take(server: &Arc<Inner>, tasks: &Tasks, live: &Arc<Live>) -> Self {
        tasks.open.fetch_add(1, Ordering::AcqRel);
        Self {
            server: Arc::clone(server),
            live: Arc::clone(live),
            _open: Counted::new(Kind::Task),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some(tasks) = &self.server.tasks else {
            return;
        };
        tasks.live.remove_if_same(self.live.key(), &self.live);
        if tasks.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            tasks.none_left.notify_waiters();
        }
    }
}
