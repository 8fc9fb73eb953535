//! Everything that is tested from outside, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is the test failing"
)]

mod chat_altered;
mod chat_claims;
mod chat_engine;
mod chat_forms;
mod chat_http;
mod chat_mcp;
mod chat_places;
mod chat_resume;
mod chat_runs;
mod chat_wire;
mod chat_world;
mod cut_bodies;
mod event_log;
mod field_cases;
mod fuzz_seeds;
mod governance;
mod layering;
mod mcp_bytes;
mod mcp_client_calls;
mod mcp_client_examples;
mod mcp_client_lifetime;
mod mcp_client_memory;
mod mcp_client_negotiation;
mod mcp_client_peer;
mod mcp_client_source;
mod mcp_client_stdio;
mod mcp_pool;
mod mcp_rules;
mod mcp_server;
mod mcp_sessions;
mod mcp_stdio;
mod model_openai;
mod run_store;
mod schema;
mod served;
mod server_auth;
mod soak;
mod tool_errors;
mod typed_client;

#[path = "../fixture_host/scenario.rs"]
mod scenario;
