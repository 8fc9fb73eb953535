//! Models: a script, the demo model that needs no key, and OpenAI's Responses API.

mod openai;
pub mod scripted;

pub use openai::OpenAi;
pub use scripted::{Script, ScriptError, ScriptedModel};
