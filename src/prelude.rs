//! The names that most applications need. Nothing here shadows a name of std or of the prelude of actix;
//! `Resource` is the one of MCP, `actix_web::Resource` stays at its own path.

pub use roscius_actors::{
    chat::{Chat, ChatRun, Mcp},
    client::{DirectClient, McpClient, TypedClient},
    handler::Partial,
    model::{DemoModel, OpenAi, ScriptedModel},
    pool::McpPool,
    ports::event_log::After,
    prompt::{Prompt, PromptDef},
    resource::{Resource, ResourceDef, Uri, Vars},
    run::{Outcome, RunHandle},
    server::{Cached, McpServer, Options, SessionLimits, Sessions},
    tool::{
        Args, Ctx, Input, InputError, InputResponse, Json, Question, SampleRequest, Tool, ToolCx,
        ToolDef, ToolError,
    },
    transport::{Egress, Http},
    wire::{
        cache::CacheHint,
        ids::Owner,
        prompt::PromptMessage,
        resource::{ResourceContents, ResourceListing},
    },
};
