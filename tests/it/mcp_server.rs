//! The MCP server over HTTP: raw bytes against an application on a port of its own.

mod calls;
mod context;
mod cost;
pub(crate) mod forms;
pub(crate) mod host;
mod legacy;
mod lists;
mod prompts;
mod questions;
mod refusals;
mod resources;
mod skills;
mod streams;
mod task_begins;
mod task_faults;
pub(crate) mod task_host;
mod task_life;
mod task_questions;
mod task_results;
mod task_scopes;
mod task_stores;
mod tasks_2025;
mod tasks_2026;
mod versions;
