//! One call: of a tool, for a prompt or for a resource, with what headers and rounds add to it.

use indexmap::IndexMap;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, value::RawValue};

use super::{
    config::Era,
    connection::{Link, Request, Ticket},
    error::{ClientError, InputRequired},
    tool_list::ToolList,
};
use crate::{
    machine::{client_policy, param_headers},
    ports::tool_source::InputRequest,
    wire::{js_json::from_js, jsonrpc::code, mcp::envelope::Obj},
};

/// How often a server may answer with nothing but a state to send back.
const MAX_EMPTY_ROUNDS: usize = 10;

/// What is called. These are the requests that a server may answer with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Tool,
    Prompt,
    Resource,
}

impl Target {
    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Tool => "tools/call",
            Self::Prompt => "prompts/get",
            Self::Resource => "resources/read",
        }
    }
}

/// What a call carries.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct CallParams {
    pub(crate) target: Target,
    /// The name, or the URI of a resource.
    pub(crate) name: String,
    pub(crate) arguments: Value,
    pub(crate) input_responses: Option<IndexMap<String, Value>>,
    pub(crate) request_state: Option<String>,
}

impl CallParams {
    pub(super) const fn new(target: Target, name: String, arguments: Value) -> Self {
        Self {
            target,
            name,
            arguments,
            input_responses: None,
            request_state: None,
        }
    }

    /// The parameters as the wire has them.
    pub(super) fn to_params(&self) -> Map<String, Value> {
        let mut params = Map::new();
        let name = Value::String(self.name.clone());
        if self.target == Target::Resource {
            params.insert("uri".to_owned(), name);
        } else {
            params.insert("name".to_owned(), name);
            let arguments = match &self.arguments {
                Value::Null => Value::Object(Map::new()),
                arguments => arguments.clone(),
            };
            params.insert("arguments".to_owned(), arguments);
        }
        if let Some(responses) = &self.input_responses {
            let responses = responses
                .iter()
                .map(|(key, value)| (key.clone(), value.clone()));
            params.insert(
                "inputResponses".to_owned(),
                Value::Object(responses.collect()),
            );
        }
        if let Some(state) = &self.request_state {
            params.insert("requestState".to_owned(), Value::String(state.clone()));
        }
        params
    }
}

/// A complete result.
#[derive(Debug)]
#[doc(hidden)]
pub struct Reply {
    pub(super) result: Box<RawValue>,
    pub(super) era: Era,
}

impl Reply {
    /// Reads the result.
    pub(super) fn read<T: DeserializeOwned>(&self, target: Target) -> Result<T, ClientError> {
        match from_js(self.result.get().as_bytes()) {
            Ok(Obj(result)) => Ok(result),
            Err(error) => Err(broken(target, &error)),
        }
    }
}

fn broken(target: Target, error: &serde_json::Error) -> ClientError {
    ClientError::protocol(format!("{}: {error}", target.method()))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Interim {
    #[serde(default)]
    input_requests: IndexMap<String, InputRequest>,
    #[serde(default)]
    request_state: Option<String>,
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(rename = "resultType", borrow, default)]
    kind: Option<std::borrow::Cow<'a, str>>,
}

impl Link {
    /// Makes a call and gives its result, or says what the server asks for first.
    pub(super) async fn call(
        &self,
        call: &CallParams,
        ticket: &Ticket,
    ) -> Result<Reply, ClientError> {
        let mut call = call.clone();
        for _ in 0..MAX_EMPTY_ROUNDS {
            let result = self.call_once(&call, ticket).await?;
            let era = self.ready().await?.era;
            match sort(result, era, call.target)? {
                Outcome::Complete(reply) => return Ok(reply),
                Outcome::Asks(input) if input.questions.is_empty() => {
                    call.input_responses = None;
                    call.request_state = input.request_state;
                }
                Outcome::Asks(input) => return Err(ClientError::InputRequired(Box::new(input))),
            }
        }
        Err(ClientError::protocol("the call goes on without end"))
    }

    async fn call_once(
        &self,
        call: &CallParams,
        ticket: &Ticket,
    ) -> Result<Box<RawValue>, ClientError> {
        let known = self.state.borrow().tools.clone();
        self.refuse_task_tool(known.as_deref(), call)?;
        let mut request = request(call, known.as_deref());
        let error = match self.request(&request, ticket).await {
            Err(ClientError::Rpc(error))
                if error.code == code::HEADER_MISMATCH && call.target == Target::Tool =>
            {
                error
            }
            done => return done,
        };
        // The list may be older than the server's idea of which arguments are mirrored.
        let list = self.tools_again().await?;
        let mirrored = mirrored(call, Some(&list));
        if mirrored == request.mirrored {
            return Err(ClientError::Rpc(error));
        }
        request.mirrored = mirrored;
        self.request(&request, ticket).await
    }

    fn refuse_task_tool(
        &self,
        known: Option<&ToolList>,
        call: &CallParams,
    ) -> Result<(), ClientError> {
        let known = known.filter(|_| call.target == Target::Tool);
        let listing = known.and_then(|list| list.find(&call.name));
        match listing {
            Some(listing) if client_policy::requires_task(listing) => {
                Err(ClientError::TaskRequired {
                    tool: call.name.clone(),
                })
            }
            _ => Ok(()),
        }
    }
}

fn request<'a>(call: &'a CallParams, known: Option<&ToolList>) -> Request<'a> {
    Request {
        name: Some(&call.name),
        mirrored: mirrored(call, known),
        ..Request::new(call.target.method(), call.to_params())
    }
}

fn mirrored(call: &CallParams, known: Option<&ToolList>) -> Vec<(String, String)> {
    if call.target != Target::Tool {
        return Vec::new();
    }
    let headers = known.map_or(&[][..], |list| list.mirrored(&call.name));
    param_headers::mirrored(headers, &call.arguments)
}

#[derive(Debug)]
pub(super) enum Outcome {
    Complete(Reply),
    Asks(InputRequired),
}

/// Tells a complete result from a question.
pub(super) fn sort(
    result: Box<RawValue>,
    era: Era,
    target: Target,
) -> Result<Outcome, ClientError> {
    let kind: Result<Obj<Kind<'_>>, _> = serde_json::from_str(result.get());
    let Obj(kind) = kind.map_err(|error| broken(target, &error))?;
    match kind.kind.as_deref().filter(|_| era == Era::Modern) {
        None | Some("complete") => Ok(Outcome::Complete(Reply { result, era })),
        Some("input_required") => {
            let interim: Result<Obj<Interim>, _> = from_js(result.get().as_bytes());
            let Obj(interim) = interim.map_err(|error| broken(target, &error))?;
            if interim.input_requests.is_empty() && interim.request_state.is_none() {
                return Err(ClientError::protocol("input_required asks for nothing"));
            }
            Ok(Outcome::Asks(InputRequired::new(
                interim.input_requests,
                interim.request_state,
            )))
        }
        Some(kind) => Err(ClientError::protocol(format!(
            "unknown resultType {kind:?}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use super::*;
    use crate::wire::content::CallToolResult;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn a_result_that_is_no_object_is_against_the_protocol() {
        for era in [Era::Modern, Era::Legacy] {
            assert!(sort(raw("[]"), era, Target::Tool).is_err());
        }
    }

    #[test]
    fn a_result_that_was_cut_in_the_middle_of_a_character_is_read() {
        let json = r#"{"resultType":"complete","content":[{"type":"text","text":"cut \ud83d"}]}"#;
        let Ok(Outcome::Complete(reply)) = sort(raw(json), Era::Modern, Target::Tool) else {
            unreachable!("the result is complete");
        };
        let result: CallToolResult = reply.read(Target::Tool).unwrap();
        let text = serde_json::to_string(&result.content).unwrap();
        assert!(text.contains("cut \u{fffd}"), "{text}");
    }
}
