//! The calls of a session that wait for something.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{CallCancel, Session};
use crate::wire::jsonrpc::RequestId;

/// What can be cancelled by its id. A call that never waits is not in it.
#[derive(Default)]
pub(super) struct Calls(Mutex<State>);

#[derive(Default)]
struct State {
    ended: bool,
    last: u64,
    waiting: Vec<Waiting>,
}

struct Waiting {
    serial: u64,
    /// JSON text.
    id: Box<str>,
    cancel: CallCancel,
    /// The session is not idle meanwhile.
    counts: bool,
}

impl Calls {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn are_none(&self) -> bool {
        self.state().waiting.iter().all(|call| !call.counts)
    }

    pub(super) fn is_ended(&self) -> bool {
        self.state().ended
    }

    pub(super) fn cancel(&self, id: &str) {
        for call in &self.state().waiting {
            if is_same(&call.id, id) {
                call.cancel.cancel();
            }
        }
    }

    pub(super) fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        for call in &state.waiting {
            call.cancel.cancel();
        }
    }
}

/// Tells whether two ids are the same, however their letters are written.
fn is_same(one: &str, other: &str) -> bool {
    let read = |text| serde_json::from_str::<RequestId>(text).ok();
    one == other || read(one).is_some_and(|one| Some(one) == read(other))
}

/// Keeps a call cancellable, and its session alive.
pub(crate) struct CallGuard {
    session: Arc<Session>,
    serial: u64,
    counts: bool,
}

impl CallGuard {
    pub(super) fn new(session: &Arc<Session>, id: &str, cancel: CallCancel, counts: bool) -> Self {
        let mut state = session.calls.state();
        state.last += 1;
        let serial = state.last;
        if state.ended {
            cancel.cancel();
        }
        state.waiting.push(Waiting {
            serial,
            id: id.into(),
            cancel,
            counts,
        });
        drop(state);
        Self {
            session: Arc::clone(session),
            serial,
            counts,
        }
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let mut state = self.session.calls.state();
        state.waiting.retain(|call| call.serial != self.serial);
        drop(state);
        if self.counts {
            self.session.touch();
        }
    }
}

impl fmt::Debug for CallGuard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("CallGuard").field(&self.serial).finish()
    }
}
