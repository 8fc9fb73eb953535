//! Decisions without IO: every rule that can be tested with a table lives here.

pub mod agent;
pub mod answer;
pub mod answers;
pub mod bearer;
pub mod claims;
pub mod client_policy;
pub mod continuation;
pub mod dialogue;
pub mod era;
pub mod headers;
pub mod interrupt;
pub mod js_json;
pub mod message;
pub mod mrtr;
pub mod negotiate;
pub mod param_headers;
pub mod resource_metadata;
pub mod result_text;
pub mod resume;
pub mod rows;
pub mod run_input;
pub mod schema;
pub mod schema_issue;
pub mod seal;
pub mod tool_value;
pub mod toolset;
