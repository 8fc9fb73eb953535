//! Verifiers of access tokens: JWTs against the key set of their issuer, and opaque tokens at an
//! introspection endpoint.

mod endpoint;
mod introspection;
#[cfg(feature = "jwt")]
mod jwt;
mod place;
mod token_cache;

pub use self::introspection::Introspection;
#[cfg(feature = "jwt")]
pub use self::jwt::{Jwt, JwtAlgorithm};
#[cfg(feature = "jwt")]
pub(crate) use self::{endpoint::EndpointError, place::Place};
