//! What the host knows about one request.

use std::{net::IpAddr, sync::Arc};

use crate::{
    tool::Context,
    wire::{auth::AuthInfo, ids::Owner},
};

/// What the host knows about one request: the caller it has verified, and values for the tools.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(super) auth: Option<Arc<AuthInfo>>,
    pub(super) peer: Option<IpAddr>,
    pub(super) context: Option<Context>,
    pub(super) trusted: bool,
    pub(super) headerless: bool,
}

impl Options {
    /// Makes options without a caller and without values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the caller. The host has verified it; the server asks for nothing more.
    #[must_use]
    pub fn auth_info(mut self, auth: AuthInfo) -> Self {
        self.auth = Some(Arc::new(auth));
        self
    }

    /// Says from which address the request came; the services of actix-web say it by themselves.
    /// Behind a proxy that is the proxy's, until the host gives the one that a proxy it trusts
    /// names.
    #[must_use]
    pub const fn peer(mut self, address: IpAddr) -> Self {
        self.peer = Some(address);
        self
    }

    /// Says from which address the request came, unless somebody has said it.
    #[must_use]
    pub fn or_peer(mut self, address: Option<IpAddr>) -> Self {
        self.peer = self.peer.or(address);
        self
    }

    /// Asks neither for a token nor for scopes: the caller is trusted for another reason, as the
    /// process that started this one and speaks to it by stdio.
    #[must_use]
    pub const fn trusted(mut self) -> Self {
        self.trusted = true;
        self
    }

    /// Gives whom what this request makes belongs to.
    pub(super) fn owner(&self) -> Owner {
        self.auth
            .as_ref()
            .map(|auth| auth.owner())
            .unwrap_or_default()
    }

    /// Says that the transport has no headers: what they would repeat of a message is in the message
    /// alone. It also has no connection per request, so a 2025 call ends when its future does.
    pub(crate) const fn headerless(mut self) -> Self {
        self.headerless = true;
        self
    }

    /// Adds a value that tools reach as `Ctx<T>` in this request.
    #[must_use]
    pub fn context<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.context.get_or_insert_default().insert(value);
        self
    }

    /// Adds a shared value that tools reach as `Ctx<T>` in this request.
    #[must_use]
    pub fn shared<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.context.get_or_insert_default().insert_arc(value);
        self
    }
}
