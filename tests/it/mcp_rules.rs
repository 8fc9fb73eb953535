//! Rules of the spec for servers, each attacked by raw bytes against a server on a port of its own.

mod bodies;
mod cancelling;
mod greeting;
mod params;
mod rounds;
mod state;
mod streams;
