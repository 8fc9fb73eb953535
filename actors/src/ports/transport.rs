//! How an MCP client reaches a server.
//!
//! A transport value holds configuration only and is `Send + Sync`. What it opens stays on the
//! thread that opened it. One request is one exchange: a message goes out, and an answer comes
//! back as nothing, as one message, or as a stream of messages that ends with the response.
//! Dropping an exchange or its stream is how a request is given up.

use std::{fmt, rc::Rc, time::Duration};

use bytes::Bytes;
use futures_util::{future::LocalBoxFuture, stream::LocalBoxStream};

use crate::machine::egress::EgressError;

/// Opens connections to one server.
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Names the server in errors and logs. Holds no secrets.
    fn describe(&self) -> String;

    /// Opens a connection that lives on this thread.
    ///
    /// # Errors
    /// [`TransportError`] when the configuration cannot work here. HTTP connects with the first
    /// message, so an unreachable server shows there.
    fn open(&self) -> Result<Rc<dyn Connection>, TransportError>;

    /// Tells whether messages carry headers beside their body.
    ///
    /// On such transports parameters are mirrored, and tools with an invalid `x-mcp-header` are
    /// dropped.
    fn has_headers(&self) -> bool {
        true
    }

    /// Tells whether all threads use one connection, because there is one server to a client.
    fn is_single(&self) -> bool {
        false
    }

    /// Tells after which silence a server that was asked for its era counts as a legacy one, where
    /// silence means that. There, a server that ends during the question counts as one, too.
    fn probe_timeout(&self) -> Option<Duration> {
        None
    }
}

/// One open connection.
pub trait Connection {
    /// Sends one message and waits for the head of its answer.
    fn exchange(&self, message: Outgoing)
    -> LocalBoxFuture<'static, Result<Reply, TransportError>>;

    /// Ends a 2025 session, where the transport knows such a thing.
    fn end_session(&self, headers: Vec<Header>) -> LocalBoxFuture<'static, ()> {
        drop(headers);
        Box::pin(std::future::ready(()))
    }

    /// Closes the connection. May be called more than once.
    fn close(&self) -> LocalBoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// One header of a message: a lower-case name and its value.
pub type Header = (&'static str, String);

/// One message on its way out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outgoing {
    /// The JSON-RPC message.
    pub body: Bytes,
    /// Protocol headers; transports without headers leave them out.
    pub headers: Vec<Header>,
    /// Mirrored parameters: the part after `mcp-param-`, and the encoded value.
    pub params: Vec<(String, String)>,
}

impl Outgoing {
    /// Makes a message with its protocol headers.
    #[must_use]
    pub const fn new(body: Bytes, headers: Vec<Header>) -> Self {
        Self {
            body,
            headers,
            params: Vec::new(),
        }
    }

    /// Adds mirrored parameters.
    #[must_use]
    pub fn with_params(mut self, params: Vec<(String, String)>) -> Self {
        self.params = params;
        self
    }
}

/// The answer to one message.
#[non_exhaustive]
pub struct Reply {
    /// The HTTP status; 200 or 202 on transports without one.
    pub status: u16,
    /// The `mcp-session-id` of a 2025 server.
    pub session_id: Option<String>,
    /// The challenge of a 401 or 403.
    pub www_authenticate: Option<String>,
    /// What follows.
    pub body: ReplyBody,
}

impl Reply {
    /// Makes an answer with nothing but a status and a body.
    #[must_use]
    pub const fn new(status: u16, body: ReplyBody) -> Self {
        Self {
            status,
            session_id: None,
            www_authenticate: None,
            body,
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Reply")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// What an answer consists of.
#[non_exhaustive]
pub enum ReplyBody {
    /// Nothing, or nothing that could be a message.
    Empty,
    /// One body in one piece.
    Whole(Bytes),
    /// Messages until the stream ends.
    Stream(LocalBoxStream<'static, Result<Bytes, TransportError>>),
}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Empty => "Empty",
            Self::Whole(_) => "Whole",
            Self::Stream(_) => "Stream",
        })
    }
}

/// A message or its answer did not get through.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The configuration cannot work.
    #[error("{0}")]
    Config(String),
    /// The server cannot be reached.
    #[error("cannot reach the server: {0}")]
    Unreachable(String),
    /// The server is where connections may not go. Nothing was sent.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The answer is larger than the bound.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The bound in bytes.
        limit: usize,
    },
    /// The server redirects to somewhere this request must not go.
    #[error("the server redirects to {to}")]
    Redirected {
        /// Where to.
        to: String,
    },
    /// The server redirects again and again.
    #[error("the server redirects more than {limit} times")]
    TooManyRedirects {
        /// How many redirects are followed.
        limit: usize,
    },
}
