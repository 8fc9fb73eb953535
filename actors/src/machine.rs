//! Decisions without IO: every rule that can be tested with a table lives here.

pub mod answer;
pub mod dialogue;
pub mod interrupt;
pub mod js_json;
pub mod result_text;
pub mod resume;
pub mod rows;
pub mod schema_issue;
pub mod seal;
pub mod toolset;
