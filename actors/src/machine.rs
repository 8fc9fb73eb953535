//! Decisions without IO: every rule that can be tested with a table lives here.

pub mod answers;
pub mod client_policy;
pub mod negotiate;
pub mod param_headers;
pub mod schema;
pub mod seal;
pub mod tool_value;
