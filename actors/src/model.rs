//! Models: a script, the demo model that needs no key, and OpenAI's Responses API.

pub mod scripted;

pub use scripted::{Script, ScriptError, ScriptedModel};
