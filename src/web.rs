//! Services for actix-web: each is one `configure` call.

mod body;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "a chat is connected to it next")
)]
mod chat;
pub mod guard;
mod mcp;
mod stream;

pub use self::{
    chat::{Caller, ChatRoutes, MAX_CHAT_BODY_BYTES},
    guard::Guard,
    mcp::{McpRoutes, mcp},
    stream::{EventBody, Framing, KEEP_ALIVE},
};
