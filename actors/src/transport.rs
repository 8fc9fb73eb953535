//! Ways to a server: HTTP, and a function in this process.

mod http;
mod http_client;

pub use http::Http;

pub(crate) use http_client::http_client;
