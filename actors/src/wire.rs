//! What is on the wire: JSON-RPC, MCP in both eras, the chat events, ids. Data only.

pub mod agui;
pub mod auth;
pub mod content;
pub mod header_value;
pub mod http;
pub mod ids;
pub mod jsonrpc;
pub mod mcp;
pub mod oauth;
pub mod sse;
pub mod text;
pub mod version;
