//! Where paused runs wait for their answers, and who has answered them.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::{
    machine::interrupt::PendingCall,
    wire::{
        agui::Row,
        ids::{Owner, RunId, ThreadId},
    },
};

/// What is known of a run that has paused, or that goes on after a pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Whom the run belongs to.
    pub owner: Owner,
    /// The conversation.
    pub thread_id: ThreadId,
    /// The run.
    pub run_id: RunId,
    /// The paused run that this one goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// The conversation: of a paused run as it was announced, of one that goes on with the results
    /// that are there.
    pub rows: Vec<Row>,
    /// The calls of the turn that have no result, in order.
    pub pending: Vec<PendingCall>,
    /// Where the run stands.
    pub state: RunState,
    /// When the run was recorded, in milliseconds since 1970.
    pub created_at: u64,
}

/// Where a recorded run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It waits for answers.
    Interrupted,
    /// It goes on after a pause.
    Running,
    /// It is complete.
    Completed,
    /// It ended without completing: failed, cancelled or lost.
    Stopped,
}

/// Says which run answers a pause, and with what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumedBy {
    /// The run that goes on.
    pub child: RunId,
    /// A digest of the answers, to tell a retry from a second opinion.
    pub digest: String,
}

/// What a store has of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// The record; none when only the mark that it was resumed is left.
    pub record: Option<Arc<RunRecord>>,
    /// Who has resumed it.
    pub resumed: Option<ResumedBy>,
}

/// The outcome of [`RunStore::resume`].
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// The pause is the caller's to resume.
    Taken(Arc<RunRecord>),
    /// Somebody else has resumed it.
    Held(ResumedBy),
    /// There is no such pause, or not any more.
    Unknown,
}

/// The store's own storage has failed.
#[derive(Debug, thiserror::Error)]
#[error("the run store failed")]
pub struct StoreError(#[source] pub Arc<dyn std::error::Error + Send + Sync>);

/// A future of a [`RunStore`], which may cross threads.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Keeps paused runs. Every key is (owner, run id): a foreign owner finds nothing.
pub trait RunStore: fmt::Debug + Send + Sync + 'static {
    /// Records a run unless there is something under its id. Tells whether it was recorded.
    fn insert(&self, record: RunRecord) -> StoreFuture<'_, bool>;

    /// Records a run in the place of what its id holds; a mark of a resume stays.
    fn update(&self, record: RunRecord) -> StoreFuture<'_, ()>;

    /// Finds a run.
    fn get<'a>(&'a self, owner: &'a Owner, run: &'a RunId) -> StoreFuture<'a, Option<StoredRun>>;

    /// Marks a pause as resumed, in one step that only one caller wins: when nobody has resumed
    /// it, or when the one who has is `instead_of` (a child that ended without completing, or whose
    /// answers are sent again).
    fn resume<'a>(
        &'a self,
        owner: &'a Owner,
        run: &'a RunId,
        by: ResumedBy,
        instead_of: Option<&'a RunId>,
    ) -> StoreFuture<'a, Claim>;
}
