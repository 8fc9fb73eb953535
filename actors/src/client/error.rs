//! What can go wrong between an MCP client and its server.

use std::{fmt, time::Duration};

use indexmap::IndexMap;
use serde_json::Value;

use crate::{
    machine::client_policy::PagingError,
    ports::{tool_source::InputRequest, transport::TransportError},
    wire::{
        content::{CallToolResult, ContentBlock},
        jsonrpc::{RpcError, code},
    },
};

/// A call of an MCP client, or its connection, failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No connection came about.
    #[error("failed to connect to the MCP server at {server}: {reason}")]
    Connect {
        /// Where the server is, without secrets.
        server: String,
        /// Why.
        #[source]
        reason: Box<ConnectReason>,
    },
    /// Some servers of a pool could not be connected; the others were closed again.
    #[error("failed to connect MCP server(s): {}", Names(.failed))]
    ConnectMany {
        /// The keys of the servers that failed, each with its error, in the order of the pool.
        failed: Vec<(String, ClientError)>,
    },
    /// Some servers of a pool could not list their tools.
    #[error("failed to list tools from MCP server(s): {}", Names(.failed))]
    ListMany {
        /// The keys of the servers that failed, each with its error, in the order of the pool.
        failed: Vec<(String, ClientError)>,
    },
    /// The server wants a token, another one, or one with more rights.
    #[error("the MCP server answers with status {status}: authorization is needed")]
    Unauthorized {
        /// 401 or 403.
        status: u16,
        /// The challenge, for example `Bearer resource_metadata="…"`.
        www_authenticate: Option<String>,
    },
    /// The client is closed.
    #[error("the MCP client is closed")]
    Closed,
    /// The caller gave the call up.
    #[error("the call was cancelled")]
    Cancelled,
    /// No answer came in time.
    #[error("the MCP server did not answer within {after:?}")]
    Timeout {
        /// How long the call waited.
        after: Duration,
    },
    /// The server asks for input before it goes on. Retry the call with the answers.
    #[error("the MCP server asked for input; retry the call with the answers")]
    InputRequired(Box<InputRequired>),
    /// The server asks in a way that a call cannot be paused for.
    #[error(
        "the MCP server asked for {method} in the middle of a call, which this connection cannot pause"
    )]
    InputUnsupported {
        /// The MCP method of the question.
        method: String,
    },
    /// Two tools have one name.
    #[error("duplicate MCP tool name {tool:?}; give one of the clients another prefix")]
    DuplicateTool {
        /// The name, prefix included.
        tool: String,
    },
    /// The tool can only run as a task, which the server or this client does not offer.
    #[error("the MCP tool {tool:?} requires task-based execution, which is not available")]
    TaskRequired {
        /// The server's own name of the tool.
        tool: String,
    },
    /// The server has no such tool. Over a connection it is what [`ClientError::Rpc`] says.
    #[error("the MCP server has no tool `{tool}`")]
    UnknownTool {
        /// The name.
        tool: String,
    },
    /// The server has no such prompt. Over a connection it is what [`ClientError::Rpc`] says.
    #[error("the MCP server has no prompt `{prompt}`")]
    UnknownPrompt {
        /// The name.
        prompt: String,
    },
    /// The server has no such resource.
    #[error("the MCP server has no resource `{uri}`")]
    UnknownResource {
        /// The URI.
        uri: String,
    },
    /// What a definition takes cannot be written as the protocol wants it.
    #[error("the arguments of `{name}` cannot be sent: {reason}")]
    Arguments {
        /// The tool, the prompt, or the address of the resource.
        name: String,
        /// Why.
        reason: String,
    },
    /// The tool of a definition says that it failed.
    #[error("the tool `{tool}` failed: {}", Said(.result))]
    ToolFailed {
        /// The name.
        tool: String,
        /// The whole result.
        result: Box<CallToolResult>,
    },
    /// The tool gave something else than its definition says.
    #[error("the output of the tool `{tool}` does not fit its definition: {reason}")]
    Output {
        /// The name.
        tool: String,
        /// What does not fit.
        reason: String,
    },
    /// The server answered with a JSON-RPC error.
    #[error("{0}")]
    Rpc(RpcError),
    /// The server answered with a status and no message.
    #[error("the MCP server answers with status {status}")]
    Status {
        /// The HTTP status.
        status: u16,
    },
    /// A message did not get through.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// A list does not end.
    #[error("the tools cannot be listed: {0}")]
    Paging(#[from] PagingError),
    /// The answer is not what the protocol allows.
    #[error("the MCP server answers against the protocol: {reason}")]
    Protocol {
        /// What is wrong.
        reason: String,
    },
}

/// Why no connection came about.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectReason {
    /// The server cannot be reached, or the connection broke.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The server is there and cannot answer.
    #[error("status {status}")]
    Status {
        /// The HTTP status.
        status: u16,
    },
    /// There is no protocol version in common.
    #[error("no protocol version in common; the server offers {}", offers(.offered))]
    NoCommonVersion {
        /// What the server offers.
        offered: Vec<String>,
    },
    /// The server refuses the handshake.
    #[error("refused: {0}")]
    Refused(RpcError),
    /// The handshake took too long.
    #[error("no answer within {after:?}")]
    Timeout {
        /// How long the client waited.
        after: Duration,
    },
    /// What answers does not speak MCP.
    #[error("what answers does not speak MCP: {0}")]
    Malformed(String),
}

fn offers(offered: &[String]) -> String {
    match offered {
        [] => "none".to_owned(),
        some => some.join(", "),
    }
}

struct Said<'a>(&'a CallToolResult);

impl fmt::Display for Said<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.content.iter().find_map(ContentBlock::as_text);
        out.write_str(text.unwrap_or("it does not say why"))
    }
}

struct Names<'a>(&'a [(String, ClientError)]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = self.0.iter().map(|(name, _)| name);
        if let Some(first) = names.next() {
            out.write_str(first)?;
        }
        names.try_for_each(|name| write!(out, ", {name}"))
    }
}

impl ClientError {
    pub(crate) fn protocol(reason: impl Into<String>) -> Self {
        Self::Protocol {
            reason: reason.into(),
        }
    }

    /// Tells whether the server asks for input.
    #[must_use]
    pub const fn is_input_required(&self) -> bool {
        matches!(self, Self::InputRequired(_))
    }

    /// Gives what the server asks for.
    #[must_use]
    pub fn input_required(&self) -> Option<&InputRequired> {
        match self {
            Self::InputRequired(input) => Some(input),
            _ => None,
        }
    }

    /// Tells whether the server does not have what was called.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        matches!(
            self,
            Self::UnknownTool { .. } | Self::UnknownPrompt { .. } | Self::UnknownResource { .. }
        )
    }

    /// Tells whether the tool of a definition says that it failed.
    #[must_use]
    pub const fn is_tool_failure(&self) -> bool {
        matches!(self, Self::ToolFailed { .. })
    }

    /// Tells whether the client is closed.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// Tells whether no connection came about, or the client is closed.
    #[must_use]
    pub const fn is_connection(&self) -> bool {
        matches!(
            self,
            Self::Connect { .. } | Self::ConnectMany { .. } | Self::Closed
        )
    }

    /// Tells whether the server wants authorization.
    #[must_use]
    pub const fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Unauthorized { .. })
    }

    /// Tells whether no answer came in time.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout { .. })
            || matches!(self.connect_reason(), Some(ConnectReason::Timeout { .. }))
    }

    /// Gives the JSON-RPC error of the server.
    #[must_use]
    pub fn rpc(&self) -> Option<&RpcError> {
        match (self, self.connect_reason()) {
            (Self::Rpc(error), _) | (_, Some(ConnectReason::Refused(error))) => Some(error),
            _ => None,
        }
    }

    /// Tells why no connection came about.
    #[must_use]
    pub fn connect_reason(&self) -> Option<&ConnectReason> {
        match self {
            Self::Connect { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Tells whether the server refuses what the call carries: its parameters, answers or state.
    pub(crate) fn is_invalid_params(&self) -> bool {
        let code = self.rpc().map(|error| error.code);
        matches!(code, Some(code::INVALID_PARAMS | code::INVALID_REQUEST))
    }

    /// Gives the names of the servers of a pool that failed.
    #[must_use]
    pub fn failed_servers(&self) -> Vec<&str> {
        match self {
            Self::ConnectMany { failed } | Self::ListMany { failed } => {
                failed.iter().map(|(name, _)| name.as_str()).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// What a server asks for before a call can go on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InputRequired {
    /// The kind of the first question.
    pub kind: InputKind,
    /// The parameters of the first question; for a form `{message, mode, requestedSchema}`.
    pub request: Value,
    /// All questions by key, in the server's order.
    pub questions: IndexMap<String, InputRequest>,
    /// To be sent back with the answers, byte for byte.
    pub request_state: Option<String>,
}

impl InputRequired {
    pub(crate) fn new(
        questions: IndexMap<String, InputRequest>,
        request_state: Option<String>,
    ) -> Self {
        let first = questions.values().next();
        Self {
            kind: first.map_or(InputKind::Form, InputKind::of),
            request: first.map_or(Value::Null, |question| question.params.clone()),
            questions,
            request_state,
        }
    }
}

/// The kind of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputKind {
    /// A form.
    Form,
    /// A page that the user shall open.
    Url,
    /// A message that a model, or the user, shall write.
    Sampling,
    /// The roots of the client.
    Roots,
    /// Something that this version does not know.
    Other,
}

impl InputKind {
    /// Tells the kind of a question by its method and mode.
    #[must_use]
    pub fn of(question: &InputRequest) -> Self {
        let mode = question.params.get("mode").and_then(Value::as_str);
        match (question.method.as_str(), mode) {
            ("elicitation/create", None | Some("form")) => Self::Form,
            ("elicitation/create", Some("url")) => Self::Url,
            ("sampling/createMessage", _) => Self::Sampling,
            ("roots/list", _) => Self::Roots,
            _ => Self::Other,
        }
    }
}
