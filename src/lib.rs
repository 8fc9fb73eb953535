//! An actor runtime for MCP and chat on actix and actix-web.
//!
//! It hosts MCP servers, connects to them, runs models with their tools, and pauses a run when
//! somebody has to answer. This crate is the face: services for actix-web and the names that
//! applications use. The engine is `roscius_actors`.

pub mod prelude;
pub mod web;

pub use roscius_actors::{
    auth, chat, client, gauge, handler, machine, model, pool, ports, prompt, resource, run, server,
    skill, store, tool, transport, wire,
};

/// The code of the README, so that it compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
