//! Why a server cannot be built.

use crate::{
    machine::param_headers::ParamHeaderError, prompt::PromptDefError, resource::ResourceDefError,
    tool::ToolDefError,
};

/// Why a server cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Two tools have the same name.
    #[error("there are two tools named `{0}`")]
    DuplicateTool(String),
    /// A name that clients may not be able to use.
    #[error("`{0}` is no tool name: 1 to 128 of letters, digits, `_`, `-` and `.`")]
    ToolName(String),
    /// Two resources have the same URI or template.
    #[error("there are two resources at `{0}`")]
    DuplicateResource(String),
    /// A resource could never be read.
    #[error(transparent)]
    Resource(#[from] ResourceDefError),
    /// Two prompts have the same name.
    #[error("there are two prompts named `{0}`")]
    DuplicatePrompt(String),
    /// A prompt has no name.
    #[error("a prompt has no name")]
    PromptName,
    /// A prompt could never be rendered.
    #[error(transparent)]
    Prompt(#[from] PromptDefError),
    /// A tool of the browser has no place in an MCP server.
    #[error("tool `{0}` has no executor")]
    ClientTool(String),
    /// Tokens could never be checked.
    #[error("auth: {0}")]
    Auth(String),
    /// A tool could never be called.
    #[error(transparent)]
    Tool(#[from] ToolDefError),
    /// An `x-mcp-header` is invalid, and clients would drop the tool.
    #[error("tool `{tool}`: {source}")]
    ParamHeader {
        /// The tool.
        tool: String,
        /// What is wrong.
        source: ParamHeaderError,
    },
}
