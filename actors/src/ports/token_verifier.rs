//! Who checks access tokens.

use std::{future::Future, sync::Arc, time::Duration};

use futures_util::future::LocalBoxFuture;

use crate::wire::{auth::AuthInfo, oauth::OAuthError};

/// Turns an access token into the caller it was given to.
///
/// A function `async fn(String) -> Result<AuthInfo, OAuthError>` is one. Wrap another verifier in
/// such a function to widen what a scope means, for example to add `notes:read` to everybody who
/// has `notes:write`.
pub trait TokenVerifier: Send + Sync + 'static {
    /// Checks one token. Scopes and expiry are looked at afterwards, from what is given back: a
    /// caller without [`AuthInfo::expires_at`] is refused.
    ///
    /// The error decides the answer: `invalid_token` 401, `insufficient_scope` 403,
    /// `server_error` 500, any other 400.
    fn verify(&self, token: String) -> LocalBoxFuture<'static, Result<AuthInfo, OAuthError>>;

    /// Looks at the configuration when the server is built.
    ///
    /// # Errors
    /// A sentence that says what is missing.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Gives the scopes that every request needs.
    fn required_scopes(&self) -> &[String] {
        &[]
    }

    /// Gives how long a token is taken after it has expired, for clocks that differ.
    fn leeway(&self) -> Duration {
        Duration::ZERO
    }
}

impl<F, Fut> TokenVerifier for F
where
    F: Fn(String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<AuthInfo, OAuthError>> + 'static,
{
    fn verify(&self, token: String) -> LocalBoxFuture<'static, Result<AuthInfo, OAuthError>> {
        Box::pin(self(token))
    }
}

impl<V: TokenVerifier + ?Sized> TokenVerifier for Arc<V> {
    fn verify(&self, token: String) -> LocalBoxFuture<'static, Result<AuthInfo, OAuthError>> {
        V::verify(self, token)
    }

    fn check(&self) -> Result<(), String> {
        V::check(self)
    }

    fn required_scopes(&self) -> &[String] {
        V::required_scopes(self)
    }

    fn leeway(&self) -> Duration {
        V::leeway(self)
    }
}
