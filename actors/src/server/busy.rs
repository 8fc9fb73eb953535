//! Refusals that time cures: what a client is told of when to try again.

use std::time::Duration;

use serde_json::json;

use super::{Response, reply};
use crate::wire::jsonrpc::RpcError;

/// There is no room for a request now.
#[derive(Debug)]
pub(super) struct Busy {
    status: u16,
    error: RpcError,
    /// When there may be, in seconds.
    retry_after: Option<u32>,
}

impl Busy {
    /// Refuses with a status and an error. How long to wait is told if anybody knows: as
    /// `Retry-After`, and exactly as `retryAfterMs` in the data of the error.
    pub(super) fn new(status: u16, error: RpcError, wait: Option<Duration>) -> Self {
        let Some(wait) = wait else {
            return Self {
                status,
                error,
                retry_after: None,
            };
        };
        let millis = u64::try_from(wait.as_micros().div_ceil(1000)).unwrap_or(u64::MAX);
        let seconds = u32::try_from(millis.div_ceil(1000)).unwrap_or(u32::MAX);
        Self {
            status,
            error: error.with_data(json!({"retryAfterMs": millis})),
            retry_after: Some(seconds.max(1)),
        }
    }

    pub(super) fn response(&self, id: Option<&str>, modern: bool) -> Response {
        let mut response = reply::refuse(self.status, id, modern, &self.error);
        response.retry_after = self.retry_after;
        response
    }
}
