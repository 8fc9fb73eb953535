//! Who sends a chat request.

use std::{fmt, future::Future, sync::Arc};

use actix_web::{HttpRequest, HttpResponse};
use futures_util::future::LocalBoxFuture;
use roscius_actors::{
    tool::Context,
    wire::{auth::AuthInfo, ids::Owner},
};

/// Who sends a chat request, as the hook of
/// [`ChatRoutes::authorize`](super::ChatRoutes::authorize) says.
#[derive(Clone, Default)]
pub struct Caller {
    pub(in crate::web) owner: Owner,
    pub(in crate::web) auth: Option<Arc<AuthInfo>>,
    pub(in crate::web) context: Context,
}

impl Caller {
    /// Makes the caller whom nobody knows.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::default()
    }

    /// Makes a caller who owns what it starts.
    #[must_use]
    pub fn new(owner: Owner) -> Self {
        Self {
            owner,
            ..Self::default()
        }
    }

    /// Makes the caller that a token stands for.
    #[must_use]
    pub fn verified(info: AuthInfo) -> Self {
        Self {
            owner: info.owner(),
            auth: Some(Arc::new(info)),
            context: Context::default(),
        }
    }

    /// Hands a value to the tools of this run: `Ctx<T>` finds it.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.context = self.context.with(value);
        self
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Caller")
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

/// The hook, whatever its future is called.
pub(super) trait Authorize: Send + Sync {
    fn call(&self, request: HttpRequest) -> LocalBoxFuture<'static, Result<Caller, HttpResponse>>;
}

impl<F, Fut> Authorize for F
where
    F: Fn(HttpRequest) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Caller, HttpResponse>> + 'static,
{
    fn call(&self, request: HttpRequest) -> LocalBoxFuture<'static, Result<Caller, HttpResponse>> {
        Box::pin(self(request))
    }
}
