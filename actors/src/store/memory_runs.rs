//! Paused runs in memory.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::{self, FutureExt};

use super::size::json_bytes;
use crate::{
    ports::{
        clock::{Clock, SystemClock},
        run_store::{Claim, ResumedBy, RunRecord, RunStore, StoreError, StoreFuture, StoredRun},
    },
    wire::ids::{Owner, RunId},
};

/// Keeps paused runs in this process.
///
/// What no longer fits or has become too old is forgotten, the oldest first; a resume then finds
/// what it would find on another node: nothing but the seal in its history.
#[derive(Debug)]
pub struct MemoryRuns {
    clock: Arc<dyn Clock>,
    limits: MemoryRunsLimits,
    runs: Mutex<Runs>,
}

/// Bounds of [`MemoryRuns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryRunsLimits {
    /// How long a record is kept. Default 24 hours: a question of yesterday can be answered.
    pub record_life: Duration,
    /// Records that are kept. Default 10,000.
    pub max_records: usize,
    /// Bytes of the conversations in them. Default 256 MiB.
    pub max_record_bytes: usize,
    /// How long it is known that a run was resumed. Default 7 days: longer than any page is open
    /// that might send its answers again.
    pub mark_life: Duration,
    /// Marks that are kept. Default 100,000; each needs about 200 bytes. One that is younger than
    /// `record_life` is kept in any case, because the pause could be resumed again without it; when
    /// they are all that young, no pause can be resumed.
    pub max_marks: usize,
}

impl Default for MemoryRunsLimits {
    fn default() -> Self {
        const HOUR: u64 = 60 * 60;
        Self {
            record_life: Duration::from_secs(24 * HOUR),
            max_records: 10_000,
            max_record_bytes: 256 * 1024 * 1024,
            mark_life: Duration::from_secs(7 * 24 * HOUR),
            max_marks: 100_000,
        }
    }
}

type Key = (Owner, RunId);

/// Entries that may be stale in a queue that is otherwise short.
const SLACK: usize = 1024;

/// Too many pauses were resumed within the life of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more pauses were resumed of late than the store may keep marks of (max_marks)")]
struct TooManyMarks;

#[derive(Debug, Default)]
struct Runs {
    runs: HashMap<Key, Kept>,
    /// Records by age, then marks by age; an entry whose stamp is not that of its run is stale.
    records: Queue,
    marks: Queue,
    record_bytes: usize,
    next_stamp: u64,
}

#[derive(Debug, Default)]
struct Kept {
    record: Option<Stamped<Arc<RunRecord>>>,
    resumed: Option<Stamped<ResumedBy>>,
}

#[derive(Debug)]
struct Stamped<T> {
    value: T,
    stamp: u64,
    bytes: usize,
}

/// Keys by age. `live` counts those that are not stale.
#[derive(Debug, Default)]
struct Queue {
    keys: VecDeque<(u64, u64, Key)>,
    live: usize,
}

impl MemoryRuns {
    /// Makes an empty store with default bounds.
    #[must_use]
    pub fn new() -> Self {
        Self::with(MemoryRunsLimits::default(), Arc::new(SystemClock))
    }

    /// Makes an empty store with bounds and a clock of its own.
    #[must_use]
    pub fn with(limits: MemoryRunsLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            limits,
            runs: Mutex::default(),
        }
    }

    /// Counts the records that are kept.
    #[must_use]
    pub fn records(&self) -> usize {
        self.swept().records.live
    }

    /// Counts the marks that are kept.
    #[must_use]
    pub fn marks(&self) -> usize {
        self.swept().marks.live
    }

    fn swept(&self) -> MutexGuard<'_, Runs> {
        // Nothing in here panics half-way, so a poisoned lock holds a sound state.
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.sweep(self.clock.now_ms(), &self.limits);
        runs
    }
}

impl Default for MemoryRuns {
    fn default() -> Self {
        Self::new()
    }
}

impl Runs {
    fn put(&mut self, record: RunRecord, now: u64) {
        let key = (record.owner.clone(), record.run_id.clone());
        let bytes = json_bytes(&record.rows);
        self.next_stamp += 1;
        let mut stamped = Stamped {
            value: Arc::new(record),
            stamp: self.next_stamp,
            bytes,
        };
        self.record_bytes += bytes;
        let kept = self.runs.entry(key.clone()).or_default();
        if let Some(before) = kept.record.take() {
            // An update does not make a record younger.
            self.record_bytes -= before.bytes;
            stamped.stamp = before.stamp;
            kept.record = Some(stamped);
            return;
        }
        self.records.push(now, stamped.stamp, key);
        kept.record = Some(stamped);
        if self.records.is_loose() {
            let runs = &self.runs;
            let stamp_of = |key: &Key| Some(runs.get(key)?.record.as_ref()?.stamp);
            self.records.compact(stamp_of);
        }
    }

    fn mark(&mut self, key: &Key, by: ResumedBy, now: u64) {
        let Some(kept) = self.runs.get_mut(key) else {
            return;
        };
        self.next_stamp += 1;
        if kept.resumed.is_some() {
            self.marks.live -= 1;
        }
        kept.resumed = Some(Stamped {
            value: by,
            stamp: self.next_stamp,
            bytes: 0,
        });
        self.marks.push(now, self.next_stamp, key.clone());
        if self.marks.is_loose() {
            let runs = &self.runs;
            let stamp_of = |key: &Key| Some(runs.get(key)?.resumed.as_ref()?.stamp);
            self.marks.compact(stamp_of);
        }
    }

    /// Tells whether a mark has room, now or after the next sweep.
    fn has_room(&self, now: u64, limits: &MemoryRunsLimits) -> bool {
        let mut marks = self.marks.keys.iter();
        self.marks.live < limits.max_marks
            || marks
                .next()
                .is_some_and(|(at, ..)| has_passed(*at, limits.record_life, now))
    }

    fn sweep(&mut self, now: u64, limits: &MemoryRunsLimits) {
        while let Some((at, stamp, key)) = self.records.keys.front() {
            let over = self.records.live > limits.max_records
                || self.record_bytes > limits.max_record_bytes;
            if !over && !has_passed(*at, limits.record_life, now) {
                break;
            }
            if let Entry::Occupied(mut run) = self.runs.entry(key.clone())
                && let Some(record) = run.get_mut().record.take_if(|kept| kept.stamp == *stamp)
            {
                self.record_bytes -= record.bytes;
                self.records.live -= 1;
                if run.get().resumed.is_none() {
                    run.remove();
                }
            }
            self.records.keys.pop_front();
        }
        while let Some((at, stamp, key)) = self.marks.keys.front() {
            let over =
                self.marks.live > limits.max_marks && has_passed(*at, limits.record_life, now);
            let stale = self
                .runs
                .get(key)
                .and_then(|run| run.resumed.as_ref())
                .is_none_or(|mark| mark.stamp != *stamp);
            if !stale && !over && !has_passed(*at, limits.mark_life, now) {
                break;
            }
            if !stale && let Entry::Occupied(mut run) = self.runs.entry(key.clone()) {
                run.get_mut().resumed = None;
                self.marks.live -= 1;
                // A record without its mark would look as if nobody had answered it.
                if let Some(record) = run.remove().record {
                    self.record_bytes -= record.bytes;
                    self.records.live -= 1;
                }
            }
            self.marks.keys.pop_front();
        }
    }
}

impl Queue {
    fn push(&mut self, now: u64, stamp: u64, key: Key) {
        self.keys.push_back((now, stamp, key));
        self.live += 1;
    }

    fn is_loose(&self) -> bool {
        self.keys.len() > 2 * self.live + SLACK
    }

    /// Drops what is stale, given the stamp that counts for a key.
    fn compact(&mut self, stamp_of: impl Fn(&Key) -> Option<u64>) {
        self.keys
            .retain(|(_, stamp, key)| stamp_of(key) == Some(*stamp));
    }
}

fn has_passed(since: u64, life: Duration, now: u64) -> bool {
    u128::from(now.saturating_sub(since)) >= life.as_millis()
}

impl RunStore for MemoryRuns {
    fn insert(&self, record: RunRecord) -> StoreFuture<'_, bool> {
        let mut runs = self.swept();
        let key = (record.owner.clone(), record.run_id.clone());
        let is_new = !runs.runs.contains_key(&key);
        if is_new {
            runs.put(record, self.clock.now_ms());
        }
        future::ready(Ok(is_new)).boxed()
    }

    fn update(&self, record: RunRecord) -> StoreFuture<'_, ()> {
        self.swept().put(record, self.clock.now_ms());
        future::ready(Ok(())).boxed()
    }

    fn get<'a>(&'a self, owner: &'a Owner, run: &'a RunId) -> StoreFuture<'a, Option<StoredRun>> {
        let runs = self.swept();
        let found = runs
            .runs
            .get(&(owner.clone(), run.clone()))
            .map(|kept| StoredRun {
                record: kept.record.as_ref().map(|record| Arc::clone(&record.value)),
                resumed: kept.resumed.as_ref().map(|mark| mark.value.clone()),
            });
        future::ready(Ok(found)).boxed()
    }

    fn resume<'a>(
        &'a self,
        owner: &'a Owner,
        run: &'a RunId,
        by: ResumedBy,
        instead_of: Option<&'a RunId>,
    ) -> StoreFuture<'a, Claim> {
        let mut runs = self.swept();
        let key = (owner.clone(), run.clone());
        let claim = match runs.runs.get(&key) {
            None => Claim::Unknown,
            Some(Kept { record, resumed }) => match (record, resumed) {
                (_, Some(mark)) if Some(&mark.value.child) != instead_of => {
                    Claim::Held(mark.value.clone())
                }
                (Some(record), _) => Claim::Taken(Arc::clone(&record.value)),
                (None, Some(mark)) => Claim::Held(mark.value.clone()),
                (None, None) => Claim::Unknown,
            },
        };
        if matches!(claim, Claim::Taken(_)) {
            let now = self.clock.now_ms();
            // A mark in the place of another needs no room.
            let replaces = runs.runs.get(&key).is_some_and(|run| run.resumed.is_some());
            if !replaces && !runs.has_room(now, &self.limits) {
                tracing::warn!("a pause was not resumed: {TooManyMarks}");
                return future::ready(Err(StoreError(Arc::new(TooManyMarks)))).boxed();
            }
            runs.mark(&key, by, now);
        }
        future::ready(Ok(claim)).boxed()
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a failed expectation is the test failing"
)]
mod tests {
    use super::*;
    use crate::{ports::run_store::RunState, wire::ids::ThreadId};

    #[tokio::test]
    async fn retries_leave_nothing_behind() {
        let runs = MemoryRuns::new();
        let owner = Owner::ANONYMOUS;
        for run in ["first", "r"] {
            let record = RunRecord {
                owner: owner.clone(),
                thread_id: ThreadId::from("t"),
                run_id: RunId::from(run),
                parent: None,
                rows: Vec::new(),
                pending: Vec::new(),
                state: RunState::Interrupted,
                created_at: 1,
            };
            runs.insert(record).await.unwrap();
            // The mark of the first stays in front of all the stale ones.
            let mut before = None;
            for child in 0..if run == "r" { 5_000 } else { 1 } {
                let child = RunId::from(child.to_string());
                let by = ResumedBy {
                    child: child.clone(),
                    digest: String::new(),
                };
                let id = RunId::from(run);
                let claim = runs.resume(&owner, &id, by, before.as_ref()).await.unwrap();
                assert!(matches!(claim, Claim::Taken(_)));
                before = Some(child);
            }
        }
        let kept = runs.swept();
        assert_eq!(kept.marks.live, 2);
        assert!(kept.marks.keys.len() <= 2 * 2 + SLACK);
    }
}
