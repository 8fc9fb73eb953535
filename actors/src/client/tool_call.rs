//! One call of a tool, with its options.

use std::{future::IntoFuture, time::Duration};

use futures_util::future::BoxFuture;
use indexmap::IndexMap;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{McpClient, actor, call::CallParams, error::ClientError};
use crate::wire::content::CallToolResult;

/// A call that is not made yet. Awaiting it makes it.
#[derive(Clone, Debug)]
#[must_use = "a tool is called when this is awaited"]
pub struct ToolCall {
    client: McpClient,
    params: CallParams,
    timeout: Option<Duration>,
    cancel: Option<CancellationToken>,
}

impl ToolCall {
    pub(super) fn new(client: McpClient, tool: String, arguments: Value) -> Self {
        Self {
            client,
            params: CallParams {
                tool,
                arguments,
                ..CallParams::default()
            },
            timeout: None,
            cancel: None,
        }
    }

    /// Answers what the server asked for: the MCP result for each key.
    ///
    /// Tool and arguments have to be those of the call that was asked.
    pub fn input_responses<K: Into<String>>(
        mut self,
        responses: impl IntoIterator<Item = (K, Value)>,
    ) -> Self {
        let responses = responses
            .into_iter()
            .map(|(key, value)| (key.into(), value));
        self.params.input_responses = Some(responses.collect::<IndexMap<_, _>>());
        self
    }

    /// Sends back what the server gave with its questions, byte for byte.
    pub fn request_state(mut self, state: Option<String>) -> Self {
        self.params.request_state = state;
        self
    }

    /// Bounds this call instead of the client's own bound.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Cancels the call when the token fires.
    pub fn cancel_on(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }
}

impl IntoFuture for ToolCall {
    type Output = Result<CallToolResult, ClientError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (limits, _guard) = self.client.limits(self.timeout, self.cancel.as_ref());
            let call = self.params;
            self.client.send(actor::CallTool { call, limits }).await
        })
    }
}
