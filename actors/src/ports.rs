//! What the engine asks of the outside, as traits.

pub mod clock;
pub mod event_log;
pub mod model;
pub mod run_store;
pub mod task_store;
pub mod token_verifier;
pub mod tool_source;
pub mod transport;
