//! The MCP server over HTTP: raw bytes against an application on a port of its own.

mod calls;
mod cost;
mod host;
mod legacy;
mod questions;
mod refusals;
mod streams;
