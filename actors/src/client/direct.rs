//! A client of a server in this process.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::future::{LocalBoxFuture, ready};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    Call, ClientError, TypedClient,
    call::{CallParams, Outcome, Reply, Target, sort},
    config::{Era, REQUEST_TIMEOUT},
    connection::encode,
    pending::CallLimits,
};
use crate::{
    server::{Handling, McpServer, Options},
    wire::{
        auth::AuthInfo,
        http::{Body, Head, Method, Request},
        jsonrpc::{RequestId, RpcError},
        mcp::meta_key::{CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION},
        version::V2026_07_28,
    },
};

/// Calls an [`McpServer`] of this process, without a connection.
///
/// Neither tokens nor scopes are asked for. All else is as in a 2026 call: arguments have to fit
/// their schemas, a tool that asks ends the call with [`ClientError::InputRequired`], and the
/// answer goes back with the same call. `ToolCx::sample` asks the server's own sampler if there is
/// one. A rate limit counts it as one caller without an address. Nothing is heard of progress and
/// logs. It lists no tools, so a chat cannot take it.
///
/// A cheap clone. Its futures stay on their thread.
#[derive(Clone)]
pub struct DirectClient {
    server: McpServer,
    options: Options,
    timeout: Duration,
}

impl McpServer {
    /// Gives a client of this server in this process.
    ///
    /// ```
    /// use roscius_actors::{
    ///     client::TypedClient,
    ///     server::McpServer,
    ///     tool::ToolDef,
    ///     wire::content::CallToolResult,
    /// };
    ///
    /// const HELLO: ToolDef<(), CallToolResult> = ToolDef::new("hello");
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = McpServer::new("hello", "1.0.0")
    ///     .tool(HELLO.implement(|| async { "hello" }))
    ///     .build()?;
    /// let result = server.direct().call(&HELLO, ()).await?;
    /// # let _ = result;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn direct(&self) -> DirectClient {
        DirectClient {
            server: self.clone(),
            options: Options::new().trusted().headerless(),
            timeout: REQUEST_TIMEOUT,
        }
    }
}

impl DirectClient {
    fn with(mut self, change: impl FnOnce(Options) -> Options) -> Self {
        self.options = change(self.options);
        self
    }

    /// Adds a value that tools, resources and prompts reach as `Ctx<T>` in each call.
    #[must_use]
    pub fn context<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.with(|options| options.context(value))
    }

    /// Adds a shared value that tools, resources and prompts reach as `Ctx<T>` in each call.
    #[must_use]
    pub fn shared<T: Send + Sync + 'static>(self, value: Arc<T>) -> Self {
        self.with(|options| options.shared(value))
    }

    /// Sets in whose name the calls are made: what functions reach as `Ctx<AuthInfo>`.
    #[must_use]
    pub fn auth_info(self, auth: AuthInfo) -> Self {
        self.with(|options| options.auth_info(auth))
    }

    /// Bounds each call. 60 s unless set.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Names what the server does not have.
    fn missing(&self, params: &CallParams) -> Option<ClientError> {
        let name = || params.name.clone();
        match params.target {
            Target::Tool if !self.server.has_tool(&params.name) => {
                Some(ClientError::UnknownTool { tool: name() })
            }
            Target::Prompt if !self.server.has_prompt(&params.name) => {
                Some(ClientError::UnknownPrompt { prompt: name() })
            }
            Target::Resource if !self.server.has_resources() => {
                Some(ClientError::UnknownResource { uri: name() })
            }
            _ => None,
        }
    }

    fn start(&self, params: &CallParams) -> Result<Handling, ClientError> {
        let mut members = params.to_params();
        members.insert("_meta".to_owned(), Value::Object(self.meta()));
        let body = encode(&RequestId::Number(1), params.target.method(), &members)?;
        let head = Head {
            content_type: Some(b"application/json"),
            accept: Some(b"application/json"),
            protocol_version: Some(V2026_07_28.as_bytes()),
            ..Head::new(Method::Post)
        };
        let request = Request { head, body: &body };
        Ok(self.server.handle(request, self.options.clone()))
    }

    fn meta(&self) -> Map<String, Value> {
        // Every kind of question is an error that the caller can answer.
        let capabilities = json!({
            "elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {},
        });
        let info = json!({"name": "roscius", "version": env!("CARGO_PKG_VERSION")});
        [
            (PROTOCOL_VERSION, Value::from(V2026_07_28)),
            (CLIENT_INFO, info),
            (CLIENT_CAPABILITIES, capabilities),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect()
    }
}

impl<R> Call<DirectClient, R> {
    /// Adds a value that the function reaches as `Ctx<T>` in this call.
    pub fn context<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.client = self.client.context(value);
        self
    }
}

impl TypedClient for DirectClient {
    type Pending = LocalBoxFuture<'static, Result<Reply, ClientError>>;

    fn make(&self, params: CallParams, limits: CallLimits) -> Self::Pending {
        if let Some(missing) = self.missing(&params) {
            return Box::pin(ready(Err(missing)));
        }
        let client = self.clone();
        Box::pin(async move {
            let target = params.target;
            let after = limits.timeout.unwrap_or(client.timeout);
            let cancel = limits.cancel.unwrap_or_default();
            let answering = async {
                let response = client.start(&params)?.await;
                answer(response.status, &response.body)
            };
            let result = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(ClientError::Cancelled),
                result = answering => result,
                () = tokio::time::sleep(after) => Err(ClientError::Timeout { after }),
            };
            match sort(result?, Era::Modern, target)? {
                Outcome::Complete(reply) => Ok(reply),
                Outcome::Asks(input) => Err(ClientError::InputRequired(Box::new(input))),
            }
        })
    }
}

fn answer<S>(status: u16, body: &Body<S>) -> Result<Box<RawValue>, ClientError> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        result: Option<Box<RawValue>>,
        #[serde(default)]
        error: Option<RpcError>,
    }
    let Body::Json(json) = body else {
        return Err(ClientError::Status { status });
    };
    let answer: Answer = serde_json::from_slice(json)
        .map_err(|error| ClientError::protocol(format!("the answer cannot be read: {error}")))?;
    match answer {
        Answer {
            error: Some(error), ..
        } => Err(ClientError::Rpc(error)),
        Answer {
            result: Some(result),
            ..
        } => Ok(result),
        _ => Err(ClientError::Status { status }),
    }
}

impl fmt::Debug for DirectClient {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("DirectClient")
            .field("server", &self.server.name())
            .finish_non_exhaustive()
    }
}
