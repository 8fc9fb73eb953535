//! Who listens, found by what has changed.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use bytes::Bytes;
use serde_json::{json, value::RawValue};

use super::{
    Change, Filter,
    queue::{Events, Writer, queue},
};
use crate::{
    machine::task::Task,
    server::{reply, stream::one_event, tasks},
    wire::{mcp::meta_key::SUBSCRIPTION_ID, task::NOTIFICATION},
};

/// Listeners of one server at once; each holds a connection.
const MAX_LISTENERS: usize = 16_384;

/// The 2026 clients that listen.
#[derive(Clone, Default)]
pub(in crate::server) struct Listeners(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    /// By a number of their own.
    listeners: HashMap<u64, Arc<Listener>>,
    next: u64,
    /// Who listens to a task: there are many tasks, and few that one listener hears of.
    of_task: HashMap<tasks::Key, HashSet<u64>>,
}

struct Listener {
    /// The id of the request.
    id: Box<RawValue>,
    filter: Filter,
    events: Writer,
}

impl Listener {
    /// Gives the result of the request, which ends its stream.
    fn last(&self) -> Bytes {
        let meta = json!({SUBSCRIPTION_ID: self.id});
        let result = format!(r#"{{"resultType":"complete","_meta":{meta}}}"#);
        one_event(&reply::result(self.id.get(), &[result.as_bytes()]))
    }
}

impl Table {
    fn add(&mut self, listener: Listener) -> u64 {
        let number = self.next;
        self.next += 1;
        for task in &listener.filter.tasks {
            self.of_task.entry(task.clone()).or_default().insert(number);
        }
        self.listeners.insert(number, Arc::new(listener));
        number
    }

    fn remove(&mut self, number: u64) -> Option<Arc<Listener>> {
        let listener = self.listeners.remove(&number)?;
        for task in &listener.filter.tasks {
            if let Some(listeners) = self.of_task.get_mut(task) {
                listeners.remove(&number);
                if listeners.is_empty() {
                    self.of_task.remove(task);
                }
            }
        }
        Some(listener)
    }

    fn of_task(&self, task: &tasks::Key) -> Vec<Arc<Listener>> {
        let numbers = self.of_task.get(task).into_iter().flatten();
        let listeners = numbers.filter_map(|number| self.listeners.get(number));
        listeners.cloned().collect()
    }
}

impl Listeners {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, id: Box<RawValue>, filter: Filter) -> Option<Subscription> {
        let mut table = self.table();
        if table.listeners.len() >= MAX_LISTENERS {
            return None;
        }
        let (writer, events) = queue();
        let number = table.add(Listener {
            id,
            filter,
            events: writer,
        });
        let _seat = Seat {
            listeners: self.clone(),
            number,
        };
        Some(Subscription { events, _seat })
    }

    pub(super) fn tell(&self, change: Change<'_>) {
        for listener in self.table().listeners.values() {
            if !listener.filter.lets_through(change) {
                continue;
            }
            let message = change.message(Some(&listener.id));
            if !listener.events.tell(one_event(&message)) {
                tracing::debug!("a notification was dropped");
            }
        }
    }

    /// Says how a task stands now, to those who listen to it. The stream of one that does not read
    /// ends when too much waits: how a task has ended is not told again, so its client has to ask.
    pub(in crate::server) fn tell_task(&self, key: &tasks::Key, task: &Task) {
        let listeners = self.table().of_task(key);
        if listeners.is_empty() {
            return;
        }
        let params = tasks::detailed(task);
        for listener in listeners {
            let meta = json!({SUBSCRIPTION_ID: listener.id});
            let message = format!(
                r#"{{"jsonrpc":"2.0","method":"{NOTIFICATION}","params":{{{params},"_meta":{meta}}}}}"#
            );
            let message = one_event(message.as_bytes());
            if !listener.events.tell_task(&key.id, message) {
                tracing::debug!("the stream of a listener that does not read has ended");
                listener.events.give_up(listener.last());
            }
        }
    }

    /// Ends all streams, each with the result of its request.
    pub(in crate::server) fn end(&self) {
        let listeners: Vec<_> = self.table().listeners.values().cloned().collect();
        for listener in listeners {
            listener.events.end(listener.last());
        }
    }
}

/// The place of a listener, until its stream has gone.
struct Seat {
    listeners: Listeners,
    number: u64,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let gone = self.listeners.table().remove(self.number);
        // Not under the lock.
        drop(gone);
    }
}

/// What a client listens to.
pub(in crate::server) struct Subscription {
    events: Events,
    _seat: Seat,
}

impl Subscription {
    /// Gives the next event; nothing when the stream has ended.
    pub(in crate::server) fn poll(&self, cx: &Context<'_>) -> Poll<Option<Bytes>> {
        self.events.poll(cx)
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.events.fmt(out)
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use super::*;
    use crate::{
        machine::task::TaskEra,
        ports::task_store::TaskScope,
        wire::ids::{Owner, TaskId},
    };

    fn key(id: &str) -> tasks::Key {
        tasks::Key {
            scope: TaskScope {
                owner: Owner::ANONYMOUS,
                session: None,
                era: TaskEra::Extension,
            },
            id: TaskId::from(id),
        }
    }

    fn listen(listeners: &Listeners, tasks: &[&str]) -> Subscription {
        let filter = Filter {
            tasks: tasks.iter().map(|id| key(id)).collect(),
            ..Filter::default()
        };
        let id = RawValue::from_string("1".to_owned()).unwrap();
        listeners.add(id, filter).unwrap()
    }

    fn found(listeners: &Listeners, task: &str) -> usize {
        listeners.table().of_task(&key(task)).len()
    }

    #[test]
    fn listeners_are_found_by_their_tasks_and_leave_nothing_behind() {
        let listeners = Listeners::default();
        let both = listen(&listeners, &["a", "b", "a"]);
        let one = listen(&listeners, &["a"]);
        let none = listen(&listeners, &[]);
        assert_eq!(
            ["a", "b", "c"].map(|task| found(&listeners, task)),
            [2, 1, 0]
        );
        drop(both);
        assert_eq!(["a", "b"].map(|task| found(&listeners, task)), [1, 0]);
        drop((one, none));
        let table = listeners.table();
        assert!(table.listeners.is_empty() && table.of_task.is_empty());
    }

    #[test]
    fn a_place_is_free_again_when_its_stream_has_gone() {
        let listeners = Listeners::default();
        let mut all: Vec<_> = (0..MAX_LISTENERS)
            .map(|_| listen(&listeners, &[]))
            .collect();
        let id = || RawValue::from_string("1".to_owned()).unwrap();
        assert!(listeners.add(id(), Filter::default()).is_none());
        all.pop();
        assert!(listeners.add(id(), Filter::default()).is_some());
    }
}
