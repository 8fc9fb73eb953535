//! The key of everything that is sealed, from the environment.

use roscius::machine::seal::{SealKey, SealKeyError};

const VARIABLE: &str = "ROSCIUS_STATE_KEY";

/// The environment holds a key that is none.
#[derive(Debug, thiserror::Error)]
#[error("{VARIABLE} must be 32 bytes in base64, for example from `openssl rand -base64 32`")]
pub(crate) struct StateKeyError(#[source] Option<SealKeyError>);

/// Reads the key; without one, questions do not survive the process.
pub(super) fn read() -> Result<SealKey, StateKeyError> {
    match std::env::var(VARIABLE) {
        Ok(text) => SealKey::from_base64(text.trim()).map_err(|error| StateKeyError(Some(error))),
        Err(std::env::VarError::NotPresent) => Ok(SealKey::random()),
        Err(std::env::VarError::NotUnicode(_)) => Err(StateKeyError(None)),
    }
}
