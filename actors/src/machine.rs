//! Decisions without IO: every rule that can be tested with a table lives here.

pub mod dialogue;
pub mod seal;
