//! Models: a script, the demo model that needs no key, and OpenAI's Responses API.

mod demo;
mod openai;
pub mod scripted;

pub use demo::DemoModel;
pub use openai::OpenAi;
pub use scripted::{Script, ScriptError, ScriptedModel};
