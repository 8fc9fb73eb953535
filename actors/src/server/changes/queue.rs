//! What waits for one client that listens.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;

use crate::wire::ids::TaskId;

/// Notifications of lists and resources that wait for one listener. One that does not read loses
/// the newest; what it has not read tells it already that something has changed.
const MAX_WAITING: usize = 256;
/// Bytes that wait for one listener: how tasks stand, with their results.
const MAX_WAITING_BYTES: usize = 4 * 1024 * 1024;

/// Makes the two ends of what waits for a listener.
pub(super) fn queue() -> (Writer, Events) {
    let queue = Arc::new(Queue::default());
    (Writer(Arc::clone(&queue)), Events(queue))
}

#[derive(Default)]
struct Queue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    events: VecDeque<Event>,
    bytes: usize,
    /// Nothing is added any more.
    ended: bool,
    reader: Option<Waker>,
}

struct Event {
    /// The task that it tells of.
    task: Option<TaskId>,
    bytes: Bytes,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn add(&mut self, task: Option<TaskId>, bytes: Bytes) {
        self.bytes += bytes.len();
        self.events.push_back(Event { task, bytes });
    }

    /// Tells whether there is room. One event fits always, however large it is.
    fn has_room(&self, event: &Bytes) -> bool {
        self.events.is_empty() || self.bytes + event.len() <= MAX_WAITING_BYTES
    }

    fn forget(&mut self, task: &TaskId) {
        let told = |event: &Event| event.task.as_ref() == Some(task);
        let at = self.events.iter().position(told);
        if let Some(old) = at.and_then(|at| self.events.remove(at)) {
            self.bytes -= old.bytes.len();
        }
    }

    fn clear(&mut self) {
        self.events = VecDeque::new();
        self.bytes = 0;
    }
}

/// Adds to what waits for a listener. Dropping it ends the stream after what waits.
pub(super) struct Writer(Arc<Queue>);

impl Writer {
    /// Adds a notification; not if too many wait.
    pub(super) fn tell(&self, event: Bytes) -> bool {
        self.add(|waiting| {
            let changes = waiting.events.iter().filter(|event| event.task.is_none());
            let has_room = changes.count() < MAX_WAITING && waiting.has_room(&event);
            if has_room {
                waiting.add(None, event);
            }
            has_room
        })
    }

    /// Adds how a task stands, in the place of what the listener has not read of it; not if what
    /// waits is too large. There are no more of these than tasks that the listener has named.
    pub(super) fn tell_task(&self, task: &TaskId, event: Bytes) -> bool {
        self.add(|waiting| {
            waiting.forget(task);
            let has_room = waiting.has_room(&event);
            if has_room {
                waiting.add(Some(task.clone()), event);
            }
            has_room
        })
    }

    /// Ends the stream with an event, after what waits.
    pub(super) fn end(&self, last: Bytes) {
        self.add(|waiting| {
            waiting.add(None, last);
            waiting.ended = true;
            true
        });
    }

    /// Ends the stream with an event, in the place of what waits.
    pub(super) fn give_up(&self, last: Bytes) {
        self.add(|waiting| {
            waiting.clear();
            waiting.add(None, last);
            waiting.ended = true;
            true
        });
    }

    fn add(&self, add: impl FnOnce(&mut Waiting) -> bool) -> bool {
        let mut waiting = self.0.waiting();
        let added = !waiting.ended && add(&mut waiting);
        let reader = waiting.reader.take();
        drop(waiting);
        if let Some(reader) = reader {
            reader.wake();
        }
        added
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.add(|waiting| {
            waiting.ended = true;
            true
        });
    }
}

/// What a client listens to, in order.
pub(super) struct Events(Arc<Queue>);

impl Events {
    /// Gives the next event; nothing when the stream has ended.
    pub(super) fn poll(&self, cx: &Context<'_>) -> Poll<Option<Bytes>> {
        let mut waiting = self.0.waiting();
        if let Some(event) = waiting.events.pop_front() {
            waiting.bytes -= event.bytes.len();
            return Poll::Ready(Some(event.bytes));
        }
        if waiting.ended {
            return Poll::Ready(None);
        }
        waiting.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting();
        waiting.ended = true;
        waiting.clear();
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.0.waiting().events.len();
        out.debug_struct("Events")
            .field("waiting", &waiting)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::{FutureExt as _, poll_fn};

    use super::*;

    const QUARTER: usize = MAX_WAITING_BYTES / 4;

    fn of(bytes: usize, fill: u8) -> Bytes {
        Bytes::from(vec![fill; bytes])
    }

    fn next(events: &Events) -> Option<Option<Bytes>> {
        poll_fn(|cx| events.poll(cx)).now_or_never()
    }

    fn read(events: &Events) -> Vec<Bytes> {
        std::iter::from_fn(|| next(events).flatten()).collect()
    }

    #[test]
    fn a_listener_that_does_not_read_hears_the_last_of_each_task() {
        let (writer, events) = queue();
        let (one, two) = (TaskId::from("1"), TaskId::from("2"));
        for fill in 0..10 {
            assert!(writer.tell_task(&one, of(QUARTER, fill)));
            assert!(writer.tell_task(&two, of(QUARTER, fill)));
        }
        assert_eq!(read(&events), [of(QUARTER, 9), of(QUARTER, 9)]);
    }

    #[test]
    fn what_waits_for_a_listener_is_bounded_and_giving_up_leaves_the_end_alone() {
        let (writer, events) = queue();
        for at in ["0", "1", "2", "3"] {
            assert!(writer.tell_task(&TaskId::from(at), of(QUARTER, 0)));
        }
        assert!(!writer.tell_task(&TaskId::from("4"), of(1, 0)));
        assert!(!writer.tell(of(1, 0)));
        writer.give_up(of(1, 1));
        assert!(!writer.tell(of(1, 2)));
        drop(writer);
        assert_eq!(read(&events), [of(1, 1)]);
        assert_eq!(next(&events), Some(None));
    }

    #[test]
    fn too_many_changes_are_dropped_and_an_event_of_any_size_fits_alone() {
        let (writer, events) = queue();
        let task = TaskId::from("1");
        assert!(writer.tell_task(&task, of(2 * MAX_WAITING_BYTES, 0)));
        assert_eq!(read(&events).len(), 1);
        for _ in 0..MAX_WAITING {
            assert!(writer.tell(of(1, 0)));
        }
        assert!(!writer.tell(of(1, 1)));
        assert!(writer.tell_task(&task, of(1, 2)));
        writer.end(of(1, 3));
        let read = read(&events);
        assert_eq!(read.len(), MAX_WAITING + 2);
        assert_eq!(read.last(), Some(&of(1, 3)));
    }
}
