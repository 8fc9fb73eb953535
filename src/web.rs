//! Services for actix-web: each is one `configure` call.

mod body;
mod chat;
pub mod guard;
mod mcp;
mod oauth;
mod stream;

pub use self::{
    chat::{Caller, ChatRoutes, MAX_CHAT_BODY_BYTES, chat},
    guard::Guard,
    mcp::{McpRoutes, mcp},
    oauth::oauth_metadata,
    stream::{EventBody, Framing, KEEP_ALIVE},
};
