//! One `tools/call`, with what headers and rounds add to it.

use indexmap::IndexMap;
use serde::Deserialize;
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
    wire::{content::CallToolResult, js_json::from_js, jsonrpc::code, mcp::envelope::Obj},
};

/// How often a server may answer with nothing but a state to send back.
const MAX_EMPTY_ROUNDS: usize = 10;

/// What a call carries.
#[derive(Clone, Debug, Default)]
pub(super) struct CallParams {
    pub(super) tool: String,
    pub(super) arguments: Value,
    pub(super) input_responses: Option<IndexMap<String, Value>>,
    pub(super) request_state: Option<String>,
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
    /// Calls a tool and gives its result, or says what the server asks for first.
    pub(super) async fn call(
        &self,
        call: &CallParams,
        ticket: &Ticket,
    ) -> Result<CallToolResult, ClientError> {
        let mut call = call.clone();
        for _ in 0..MAX_EMPTY_ROUNDS {
            let raw = self.call_once(&call, ticket).await?;
            let era = self.ready().await?.era;
            match read(&raw, era)? {
                Outcome::Complete(result) => return Ok(result),
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
            Err(ClientError::Rpc(error)) if error.code == code::HEADER_MISMATCH => error,
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
        let listing = known.and_then(|list| list.find(&call.tool));
        match listing {
            Some(listing) if client_policy::requires_task(listing) => {
                Err(ClientError::TaskRequired {
                    tool: call.tool.clone(),
                })
            }
            _ => Ok(()),
        }
    }
}

fn request<'a>(call: &'a CallParams, known: Option<&ToolList>) -> Request<'a> {
    let mut params = Map::new();
    params.insert("name".to_owned(), Value::String(call.tool.clone()));
    let arguments = match &call.arguments {
        Value::Null => Value::Object(Map::new()),
        arguments => arguments.clone(),
    };
    params.insert("arguments".to_owned(), arguments);
    if let Some(responses) = &call.input_responses {
        let responses = responses
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()));
        params.insert(
            "inputResponses".to_owned(),
            Value::Object(responses.collect()),
        );
    }
    if let Some(state) = &call.request_state {
        params.insert("requestState".to_owned(), Value::String(state.clone()));
    }
    Request {
        name: Some(&call.tool),
        mirrored: mirrored(call, known),
        ..Request::new("tools/call", params)
    }
}

fn mirrored(call: &CallParams, known: Option<&ToolList>) -> Vec<(String, String)> {
    let headers = known.map_or(&[][..], |list| list.mirrored(&call.tool));
    param_headers::mirrored(headers, &call.arguments)
}

enum Outcome {
    Complete(CallToolResult),
    Asks(InputRequired),
}

fn read(raw: &RawValue, era: Era) -> Result<Outcome, ClientError> {
    let broken = |error: serde_json::Error| ClientError::protocol(format!("tools/call: {error}"));
    let Obj(kind): Obj<Kind<'_>> = serde_json::from_str(raw.get()).map_err(broken)?;
    match kind.kind.as_deref().filter(|_| era == Era::Modern) {
        None | Some("complete") => {
            let Obj(result) = from_js(raw.get().as_bytes()).map_err(broken)?;
            Ok(Outcome::Complete(result))
        }
        Some("input_required") => {
            let Obj(interim): Obj<Interim> = from_js(raw.get().as_bytes()).map_err(broken)?;
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

    #[test]
    fn a_result_that_is_no_object_is_against_the_protocol() {
        for era in [Era::Modern, Era::Legacy] {
            let raw = RawValue::from_string("[]".to_owned()).unwrap();
            assert!(read(&raw, era).is_err());
        }
    }

    #[test]
    fn a_result_that_was_cut_in_the_middle_of_a_character_is_read() {
        let json = r#"{"resultType":"complete","content":[{"type":"text","text":"cut \ud83d"}]}"#;
        let raw = RawValue::from_string(json.to_owned()).unwrap();
        let Ok(Outcome::Complete(result)) = read(&raw, Era::Modern) else {
            unreachable!("the result is complete");
        };
        let text = serde_json::to_string(&result.content).unwrap();
        assert!(text.contains("cut \u{fffd}"), "{text}");
    }
}
