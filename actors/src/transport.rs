//! Ways to a server: HTTP, and a function in this process.

mod http;
mod http_client;
mod memory;

pub use http::Http;
pub use memory::Memory;

pub(crate) use http_client::http_client;
