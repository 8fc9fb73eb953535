//! How a continuation is refused.

use super::Submission;
use crate::{
    machine::schema_issue::Issue,
    wire::{
        agui::{ErrorScope, ErrorSource, InterruptCode, InterruptError},
        ids::InterruptId,
    },
};

const STALE: &str =
    "The interrupted run is not known here any more, and nothing that was posted vouches for it.";
const CONFLICT: &str = "The interrupted run has been answered differently.";

impl Submission<'_> {
    /// Refuses a continuation of a run that nothing vouches for.
    #[must_use]
    pub fn stale(&self) -> Vec<InterruptError> {
        vec![self.batch_of_server(InterruptCode::Stale, STALE)]
    }

    /// Refuses answers to a run that has other answers.
    #[must_use]
    pub fn conflict(&self) -> Vec<InterruptError> {
        vec![self.batch_of_server(InterruptCode::Conflict, CONFLICT)]
    }

    pub(super) fn none_of(
        &self,
        id: &InterruptId,
        code: InterruptCode,
        lead: &str,
        found: Vec<Issue>,
    ) -> Result<(), Vec<InterruptError>> {
        if found.is_empty() {
            return Ok(());
        }
        Err(found
            .into_iter()
            .map(|issue| {
                let message = format!("{lead}: {}", issue.message);
                let mut error = self.item(id, code, ErrorSource::Client, message);
                error.path = Some(issue.path);
                error
            })
            .collect())
    }

    pub(super) fn invalid(&self, id: &InterruptId, message: String) -> InterruptError {
        self.item(
            id,
            InterruptCode::InvalidPayload,
            ErrorSource::Client,
            message,
        )
    }

    pub(super) fn item(
        &self,
        id: &InterruptId,
        code: InterruptCode,
        source: ErrorSource,
        message: String,
    ) -> InterruptError {
        InterruptError {
            scope: ErrorScope::Item,
            thread_id: self.thread.clone(),
            interrupted_run_id: self.parent.unwrap_or(self.run).clone(),
            generation: 0,
            interrupt_id: Some(id.clone()),
            code,
            message,
            source,
            retryable: false,
            path: None,
            interrupt_ids: None,
        }
    }

    pub(super) fn batch(
        &self,
        code: InterruptCode,
        message: &str,
        ids: Vec<InterruptId>,
    ) -> InterruptError {
        InterruptError {
            scope: ErrorScope::Batch,
            thread_id: self.thread.clone(),
            interrupted_run_id: self.parent.unwrap_or(self.run).clone(),
            generation: 0,
            interrupt_id: None,
            code,
            message: message.to_owned(),
            source: ErrorSource::Client,
            retryable: false,
            path: None,
            interrupt_ids: Some(ids),
        }
    }

    pub(super) fn batch_of_server(&self, code: InterruptCode, message: &str) -> InterruptError {
        let ids = self
            .entries
            .iter()
            .map(|entry| entry.interrupt_id.clone())
            .collect();
        InterruptError {
            source: ErrorSource::Server,
            ..self.batch(code, message, ids)
        }
    }
}
