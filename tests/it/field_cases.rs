//! What clients and proxies in the field have sent, and what a server has to make of it. Each case
//! carries its number; `docs/field-cases.md` says in a sentence what it shows.

mod http;
mod input;
mod jsonrpc;
mod lists;
mod names;
mod negotiation;
mod oauth;
mod resources;
mod results;
mod schema;
mod sse;
#[cfg(feature = "stdio")]
mod stdio;
mod world;
