//! What a request that is not a tool call gives.

use serde_json::{Map, Value};

use super::{Response, busy::Busy};
use crate::wire::{cache::CacheHint, jsonrpc::RpcError};

/// A result other than a tool's.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// The members of the result as JSON text, without braces; empty only in 2026.
    pub(super) text: String,
    /// 2026: how long the client may keep it.
    pub(super) cache: Option<CacheHint>,
    pub(super) meta: Option<Map<String, Value>>,
    pub(super) kind: ResultKind,
}

/// What a result is, besides its members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ResultKind {
    #[default]
    Complete,
    /// A task that has begun.
    Task,
    /// How a task stands, and nothing of what has come of it: clients ask every second, and nobody
    /// has to account for that.
    Poll,
}

/// Why a request has no result.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It has failed.
    Error(RpcError),
    /// There is no room for it now.
    Busy(Busy),
    /// Its caller lacks a scope.
    Denied(Box<Response>),
}

impl From<RpcError> for Refusal {
    fn from(error: RpcError) -> Self {
        Self::Error(error)
    }
}

impl From<Busy> for Refusal {
    fn from(busy: Busy) -> Self {
        Self::Busy(busy)
    }
}

/// What comes of a request that is not a tool call.
pub(super) type Answer = Result<Members, Refusal>;
