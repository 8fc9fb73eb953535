//! The store of a server's tasks, for which nobody waits for ever.

use std::{sync::Arc, time::Duration};

use crate::{
    ports::task_store::{TaskFuture, TaskRecord, TaskScope, TaskStore, TaskStoreError},
    wire::ids::TaskId,
};

/// How long a task or a request waits for the store. Longer, and a task would not hear of its own
/// end; a client has given up by then.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// A [`TaskStore`] that answers in time or has failed.
pub(super) struct Store(Arc<dyn TaskStore>);

impl Store {
    pub(super) const fn new(store: Arc<dyn TaskStore>) -> Self {
        Self(store)
    }

    pub(super) async fn insert(&self, record: Arc<TaskRecord>) -> Result<(), TaskStoreError> {
        in_time(self.0.insert(record)).await
    }

    pub(super) async fn update(&self, record: Arc<TaskRecord>) -> Result<(), TaskStoreError> {
        in_time(self.0.update(record)).await
    }

    pub(super) async fn get(
        &self,
        scope: &TaskScope,
        id: &TaskId,
    ) -> Result<Option<Arc<TaskRecord>>, TaskStoreError> {
        in_time(self.0.get(scope, id)).await
    }

    pub(super) async fn list(
        &self,
        scope: &TaskScope,
    ) -> Result<Vec<Arc<TaskRecord>>, TaskStoreError> {
        in_time(self.0.list(scope)).await
    }

    pub(super) async fn remove(
        &self,
        scope: &TaskScope,
        id: &TaskId,
    ) -> Result<(), TaskStoreError> {
        in_time(self.0.remove(scope, id)).await
    }
}

async fn in_time<T>(answer: TaskFuture<'_, T>) -> Result<T, TaskStoreError> {
    let answered = tokio::time::timeout(ANSWERS_WITHIN, answer).await;
    answered.unwrap_or(Err(TaskStoreError::TimedOut))
}
