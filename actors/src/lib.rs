//! The engine of roscius: wire types, decisions, ports and actors for MCP and chat.
//!
//! Floors, each of which uses only those before it: [`wire`] (what is on the wire), [`machine`]
//! (decisions without IO), [`ports`] (what the outside must provide), then tools, models,
//! transports and stores, then the actors. Nothing here knows an HTTP server framework.

pub mod auth;
mod background;
pub mod chat;
pub mod client;
pub mod gauge;
pub mod handler;
#[cfg(feature = "jwt")]
mod key_set;
pub mod machine;
pub mod model;
pub mod pool;
pub mod ports;
pub mod prompt;
mod registry;
pub mod resource;
pub mod run;
pub mod server;
mod session;
pub mod skill;
pub mod store;
pub mod tool;
pub mod transport;
pub mod wire;

#[cfg(target_family = "wasm")]
compile_error!("roscius runs on servers: a browser talks to it over HTTP");
