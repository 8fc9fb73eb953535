//! What is on the wire: JSON-RPC, MCP in both eras, the chat events, ids. Data only.

pub mod agui;
pub mod apart;
pub mod auth;
pub mod cache;
pub mod content;
pub mod header_value;
pub mod http;
pub mod ids;
pub mod js_json;
pub mod jsonrpc;
pub mod mcp;
pub mod oauth;
pub mod prompt;
pub mod resource;
pub mod sse;
pub mod task;
pub mod text;
pub mod time;
pub mod uri_template;
pub mod version;
