//! The names that most applications need. Nothing here shadows a name of std or actix.

pub use roscius_actors::{
    chat::{Chat, ChatRun, Mcp},
    client::McpClient,
    model::{DemoModel, OpenAi, ScriptedModel},
    pool::McpPool,
    ports::event_log::After,
    run::{Outcome, RunHandle},
    server::{McpServer, Options, Sessions},
    tool::{
        Args, Ctx, Input, InputError, InputResponse, Json, Question, SampleRequest, Tool, ToolCx,
        ToolError,
    },
    transport::Http,
    wire::ids::Owner,
};
