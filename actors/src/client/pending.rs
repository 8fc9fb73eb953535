//! One call with its options, before and while it is made.

use std::{
    fmt,
    future::IntoFuture,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use indexmap::IndexMap;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    McpClient, TypedClient,
    call::{CallParams, Reply, Target},
    config::Era,
    error::ClientError,
};
use crate::{
    tool::{Output, OutputError},
    wire::{
        content::CallToolResult,
        jsonrpc::{RpcError, code},
        prompt::GetPromptResult,
        resource::ReadResourceResult,
    },
};

/// A call of a tool by a network client, with its raw result.
pub type ToolCall = Call<McpClient, CallToolResult>;

/// A call that is not made yet. Awaiting it makes it, dropping the future cancels it.
///
/// `C` makes the call, and `R` says what is read from its result: [`CallToolResult`],
/// [`Parsed<Out>`], [`GetPromptResult`] or [`ReadResourceResult`].
#[must_use = "the call is made when this is awaited"]
pub struct Call<C, R> {
    pub(super) client: C,
    params: Result<CallParams, ClientError>,
    limits: CallLimits,
    reads: PhantomData<fn() -> R>,
}

/// What bounds one call.
#[derive(Clone, Debug, Default)]
#[doc(hidden)]
pub struct CallLimits {
    pub(super) timeout: Option<Duration>,
    pub(super) cancel: Option<CancellationToken>,
}

/// Stands for the result of a defined tool, read into its type.
#[derive(Debug)]
pub struct Parsed<Out>(PhantomData<fn() -> Out>);

impl<C, R> Call<C, R> {
    pub(super) fn new(client: C, params: Result<CallParams, ClientError>) -> Self {
        Self {
            client,
            params,
            limits: CallLimits::default(),
            reads: PhantomData,
        }
    }

    fn with(mut self, change: impl FnOnce(&mut CallParams)) -> Self {
        if let Ok(params) = &mut self.params {
            change(params);
        }
        self
    }

    /// Answers what the server asked for: the MCP result for each key.
    ///
    /// Name and arguments have to be those of the call that was asked.
    pub fn input_responses<K: Into<String>>(
        self,
        responses: impl IntoIterator<Item = (K, Value)>,
    ) -> Self {
        let responses = responses
            .into_iter()
            .map(|(key, value)| (key.into(), value));
        self.with(|params| params.input_responses = Some(responses.collect::<IndexMap<_, _>>()))
    }

    /// Sends back what the server gave with its questions, byte for byte.
    pub fn request_state(self, state: Option<String>) -> Self {
        self.with(|params| params.request_state = state)
    }

    /// Bounds this call instead of the client's own bound.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.limits.timeout = Some(timeout);
        self
    }

    /// Cancels the call when the token fires.
    pub fn cancel_on(mut self, token: CancellationToken) -> Self {
        self.limits.cancel = Some(token);
        self
    }
}

impl<C, Out> Call<C, Parsed<Out>> {
    /// Gives the result as the server sent it, also that of a tool that failed, instead of reading
    /// it into the type of the definition.
    pub fn raw(self) -> Call<C, CallToolResult> {
        Call {
            client: self.client,
            params: self.params,
            limits: self.limits,
            reads: PhantomData,
        }
    }
}

impl<C: Clone, R> Clone for Call<C, R> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            params: self.params.clone(),
            limits: self.limits.clone(),
            reads: PhantomData,
        }
    }
}

impl<C: fmt::Debug, R> fmt::Debug for Call<C, R> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Call")
            .field("client", &self.client)
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

impl<C: TypedClient, R: FromReply> IntoFuture for Call<C, R> {
    type Output = Result<R::Value, ClientError>;
    type IntoFuture = Pending<C, R>;

    fn into_future(self) -> Self::IntoFuture {
        let state = match self.params {
            Ok(params) => State::Made {
                target: params.target,
                name: params.name.clone(),
                reply: self.client.make(params, self.limits),
            },
            Err(error) => State::Failed(error),
        };
        Pending(state, PhantomData)
    }
}

/// A call that is under way.
pub struct Pending<C: TypedClient, R>(State<C>, PhantomData<fn() -> R>);

enum State<C: TypedClient> {
    Made {
        target: Target,
        name: String,
        reply: C::Pending,
    },
    Failed(ClientError),
    Done,
}

impl<C: TypedClient, R: FromReply> Future for Pending<C, R> {
    type Output = Result<R::Value, ClientError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = match &mut self.0 {
            State::Made {
                target,
                reply,
                name,
            } => {
                let reply = ready!(Pin::new(reply).poll(cx));
                let reply = reply.map_err(|error| named(*target, error));
                reply.and_then(|reply| R::from_reply(name, &reply))
            }
            State::Failed(error) => Err(error.clone()),
            // Polled after its end: there is nothing more to give.
            State::Done => return Poll::Pending,
        };
        self.0 = State::Done;
        Poll::Ready(ended)
    }
}

impl<C: TypedClient, R> fmt::Debug for Pending<C, R> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Pending").finish_non_exhaustive()
    }
}

/// Names the error of a resource that is not there: its data is the URI in both eras.
fn named(target: Target, error: ClientError) -> ClientError {
    let ClientError::Rpc(rpc) = &error else {
        return error;
    };
    let uri = |rpc: &RpcError| Some(rpc.data.as_ref()?.get("uri")?.as_str()?.to_owned());
    let is_missing = matches!(rpc.code, code::RESOURCE_NOT_FOUND | code::INVALID_PARAMS);
    match uri(rpc).filter(|_| is_missing && target == Target::Resource) {
        Some(uri) => ClientError::UnknownResource { uri },
        None => error,
    }
}

/// What can be read from the result of a call.
pub trait FromReply {
    /// What is read.
    type Value;

    /// Reads it. `name` is what was called.
    #[doc(hidden)]
    fn from_reply(name: &str, reply: &Reply) -> Result<Self::Value, ClientError>;
}

macro_rules! whole {
    ($($ty:ty: $target:ident;)*) => {$(
        impl FromReply for $ty {
            type Value = Self;

            fn from_reply(_name: &str, reply: &Reply) -> Result<Self, ClientError> {
                reply.read(Target::$target)
            }
        }
    )*};
}

whole! {
    CallToolResult: Tool;
    GetPromptResult: Prompt;
    ReadResourceResult: Resource;
}

impl<Out: Output> FromReply for Parsed<Out> {
    type Value = Out;

    fn from_reply(name: &str, reply: &Reply) -> Result<Out, ClientError> {
        let result = reply.read(Target::Tool)?;
        let tool = || name.to_owned();
        Out::from_result(result, reply.era == Era::Legacy).map_err(|error| match error {
            OutputError::Failed(result) => ClientError::ToolFailed {
                tool: tool(),
                result,
            },
            OutputError::Mismatch(reason) => ClientError::Output {
                tool: tool(),
                reason,
            },
        })
    }
}
