//! Ways to a server: HTTP, a child process (feature `stdio`), and a function in this process.

mod http;
mod http_client;
mod memory;
mod stdio;

pub use http::Http;
pub use memory::Memory;
#[cfg(feature = "stdio")]
pub use stdio::Stdio;

pub use crate::machine::egress::{Egress, EgressError};
pub(crate) use http_client::{UNFRAMED, egress_refusal, http_client, is_unframed};
