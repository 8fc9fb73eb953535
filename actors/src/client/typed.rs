//! What a client over a connection and a client in this process have in common.

use std::future::Future;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    Call, ClientError, McpClient, Parsed,
    actor::CallMcp,
    call::{CallParams, Reply, Target},
    pending::CallLimits,
};
use crate::{
    machine::text_args,
    prompt::PromptDef,
    resource::ResourceDef,
    tool::{Output, ToolDef},
    wire::{content::CallToolResult, prompt::GetPromptResult, resource::ReadResourceResult},
};

/// Calls tools, gets prompts and reads resources, by a definition that the server implements or by
/// name.
///
/// [`McpClient`] does it over a connection and [`DirectClient`](super::DirectClient) in this
/// process.
///
/// ```no_run
/// # async fn example() -> Result<(), roscius_actors::client::ClientError> {
/// use roscius_actors::{
///     client::{McpClient, TypedClient},
///     tool::ToolDef,
///     transport::Http,
/// };
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, JsonSchema)]
/// struct City {
///     city: String,
/// }
///
/// #[derive(Serialize, Deserialize, JsonSchema)]
/// struct Weather {
///     celsius: f32,
/// }
///
/// const GET_WEATHER: ToolDef<City, Weather> = ToolDef::new("get_weather");
///
/// let client = McpClient::connect(Http::new("https://weather.example.com/mcp")).await?;
/// let oslo = City { city: "Oslo".to_owned() };
/// let weather = client.call(&GET_WEATHER, oslo).await?;
/// # let _ = weather.celsius;
/// # Ok(())
/// # }
/// ```
pub trait TypedClient: Clone {
    /// A call under way.
    #[doc(hidden)]
    type Pending: Future<Output = Result<Reply, ClientError>> + Unpin;

    /// Makes a call.
    #[doc(hidden)]
    fn make(&self, params: CallParams, limits: CallLimits) -> Self::Pending;

    /// Calls a defined tool. Awaiting gives the output in its type; [`Call::raw`] gives the whole
    /// result instead.
    ///
    /// The future ends with [`ClientError::ToolFailed`] when the tool says that it failed, with
    /// [`ClientError::Output`] when the server gives something else than the definition says.
    fn call<In: Serialize, Out: Output>(
        &self,
        tool: &ToolDef<In, Out>,
        arguments: In,
    ) -> Call<Self, Parsed<Out>> {
        let name = tool.name();
        let params = match serde_json::to_value(&arguments) {
            Ok(value @ (Value::Object(_) | Value::Null)) => {
                Ok(CallParams::new(Target::Tool, name.to_owned(), value))
            }
            Ok(_) => Err(unwritable(name, "the arguments are no object")),
            Err(error) => Err(unwritable(name, error)),
        };
        Call::new(self.clone(), params)
    }

    /// Gets a defined prompt.
    fn prompt<A: Serialize>(
        &self,
        prompt: &PromptDef<A>,
        arguments: A,
    ) -> Call<Self, GetPromptResult> {
        let name = prompt.name();
        let params = match text_args::write(&arguments) {
            Ok(texts) => {
                let texts = texts.into_iter().map(|(name, text)| (name, text.into()));
                let texts = texts.collect::<Map<_, _>>().into();
                Ok(CallParams::new(Target::Prompt, name.to_owned(), texts))
            }
            Err(error) => Err(unwritable(name, error)),
        };
        Call::new(self.clone(), params)
    }

    /// Reads a defined resource; `()` are the variables of a fixed URI.
    ///
    /// The future ends with [`ClientError::UnknownResource`] when the server has no such resource.
    fn read<V: Serialize>(
        &self,
        resource: &ResourceDef<V>,
        variables: V,
    ) -> Call<Self, ReadResourceResult> {
        let params = match resource.uri(&variables) {
            Ok(uri) => Ok(CallParams::new(Target::Resource, uri, Value::Null)),
            Err(error) => Err(unwritable(resource.address(), error)),
        };
        Call::new(self.clone(), params)
    }

    /// Calls a tool by the server's own name, whatever a filter says. Awaiting gives the raw
    /// result.
    fn call_tool(&self, tool: impl Into<String>, arguments: Value) -> Call<Self, CallToolResult> {
        let params = CallParams::new(Target::Tool, tool.into(), arguments);
        Call::new(self.clone(), Ok(params))
    }

    /// Gets a prompt by its name. The arguments are an object of texts.
    fn get_prompt(
        &self,
        prompt: impl Into<String>,
        arguments: Value,
    ) -> Call<Self, GetPromptResult> {
        let params = CallParams::new(Target::Prompt, prompt.into(), arguments);
        Call::new(self.clone(), Ok(params))
    }

    /// Reads a resource by its URI.
    fn read_resource(&self, uri: impl Into<String>) -> Call<Self, ReadResourceResult> {
        let params = CallParams::new(Target::Resource, uri.into(), Value::Null);
        Call::new(self.clone(), Ok(params))
    }
}

fn unwritable(name: &str, reason: impl ToString) -> ClientError {
    ClientError::Arguments {
        name: name.to_owned(),
        reason: reason.to_string(),
    }
}

impl TypedClient for McpClient {
    type Pending = futures_util::future::BoxFuture<'static, Result<Reply, ClientError>>;

    fn make(&self, params: CallParams, limits: CallLimits) -> Self::Pending {
        let client = self.clone();
        Box::pin(async move {
            let (limits, _guard) = client.limits(limits.timeout, limits.cancel.as_ref());
            client.send(CallMcp { params, limits }).await
        })
    }
}
