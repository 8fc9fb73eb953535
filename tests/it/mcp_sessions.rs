//! 2025 sessions over HTTP, in raw bytes.

mod calls;
mod client;
mod idle;
mod questions;
mod soak;
mod streams;
mod wire;
