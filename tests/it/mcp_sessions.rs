//! 2025 sessions over HTTP, in raw bytes.

mod calls;
mod changes;
pub(crate) mod client;
mod defaults;
mod forms;
mod idle;
mod questions;
mod soak;
mod streams;
mod tasks;
mod wire;
