//! A client as a source of tools for a chat.

mod question;

use std::{rc::Rc, sync::Arc};

use futures_util::future::LocalBoxFuture;
use indexmap::IndexMap;
use serde_json::{Map, Value};

use self::question::unsupported;
use super::{InputRequired, McpClient, McpTool, ToolCall, error::ClientError};
use crate::{
    machine::{client_policy, tool_value},
    ports::tool_source::{
        ExecOutcome, InputRequest, McpAnswers, SourceError, SourceTool, ToolExecutor,
        ToolInvocation, ToolSource,
    },
    wire::content::CallToolResult,
};

impl ToolSource for McpClient {
    fn name(&self) -> &str {
        self.label()
    }

    fn tools(&self) -> LocalBoxFuture<'static, Result<Vec<SourceTool>, SourceError>> {
        let client = self.clone();
        Box::pin(async move {
            match client.tools().await {
                Ok(tools) => Ok(client.source_tools(tools)),
                Err(error) => Err(source_error(client.label(), &error)),
            }
        })
    }

    fn close(&self) -> LocalBoxFuture<'static, ()> {
        let client = self.clone();
        Box::pin(async move { client.close().await })
    }
}

pub(crate) fn source_error(label: &str, error: &ClientError) -> SourceError {
    let made = SourceError::new(label, error.to_string());
    match error {
        ClientError::Unauthorized { status, .. } | ClientError::Status { status } => {
            made.with_code(status.to_string())
        }
        other => match other.rpc() {
            Some(rpc) => made.with_code(rpc.code.to_string()),
            None => made,
        },
    }
}

impl McpClient {
    /// Makes the tools of a chat out of filtered listings.
    pub(crate) fn source_tools(&self, tools: Vec<McpTool>) -> Vec<SourceTool> {
        tools
            .into_iter()
            .map(|tool| self.source_tool(tool))
            .collect()
    }

    fn source_tool(&self, tool: McpTool) -> SourceTool {
        let McpTool {
            name,
            needs_approval,
            listing,
        } = tool;
        let executor = Rc::new(ServerTool {
            client: self.clone(),
            native_name: listing.name.clone(),
            has_output_schema: listing.output_schema.is_some(),
        });
        let ui_resource_uri = client_policy::ui_resource_uri(&listing).map(str::to_owned);
        let repeatable = client_policy::is_repeatable(&listing);
        let schema = client_policy::complete_input_schema(listing.input_schema);
        let mut made = SourceTool::new(name, schema, executor);
        made.description = listing.description.unwrap_or_default();
        made.output_schema = listing.output_schema.map(Arc::new);
        made.needs_approval = needs_approval;
        made.native_name = listing.name;
        made.server_id = self.inner.shared.config.prefix().map(str::to_owned);
        made.ui_resource_uri = ui_resource_uri;
        made.repeatable = repeatable;
        made
    }
}

/// Calls one tool of a server.
struct ServerTool {
    client: McpClient,
    native_name: String,
    has_output_schema: bool,
}

impl ToolExecutor for ServerTool {
    fn execute(&self, call: ToolInvocation) -> LocalBoxFuture<'static, ExecOutcome> {
        let execution = Execution {
            client: self.client.clone(),
            native_name: self.native_name.clone(),
            has_output_schema: self.has_output_schema,
            call,
        };
        Box::pin(execution.run())
    }
}

struct Execution {
    client: McpClient,
    native_name: String,
    has_output_schema: bool,
    call: ToolInvocation,
}

impl Execution {
    async fn run(self) -> ExecOutcome {
        let Some(answers) = &self.call.answers else {
            return self.outcome(self.plain().await);
        };
        let answered = self.answered(answers, answers.request_state.clone()).await;
        match answered {
            Err(error) if error.is_invalid_params() => self.ask_afresh(answers, error).await,
            done => self.outcome(done),
        }
    }

    fn plain(&self) -> ToolCall {
        self.client
            .call_tool(&self.native_name, self.call.arguments.clone())
            .cancel_on(self.call.cancel.clone())
    }

    async fn answered(
        &self,
        answers: &McpAnswers,
        request_state: Option<String>,
    ) -> Result<CallToolResult, ClientError> {
        let responses = answers.responses.clone();
        self.plain()
            .input_responses(responses)
            .request_state(request_state)
            .await
    }

    /// The server does not take its state back: it has restarted, or the state has expired. It is
    /// asked once more, and gets the answers only if it asks exactly what the user was shown.
    async fn ask_afresh(&self, answers: &McpAnswers, refused: ClientError) -> ExecOutcome {
        if answers.request_state.is_none() {
            return self.outcome(Err(refused));
        }
        let fresh = match self.plain().await {
            Err(ClientError::InputRequired(fresh)) => fresh,
            done => return self.outcome(done),
        };
        if !same_questions(&answers.questions, &fresh.questions) {
            return self.outcome(Err(ClientError::InputRequired(fresh)));
        }
        let answered = self.answered(answers, fresh.request_state.clone()).await;
        self.outcome(answered)
    }

    fn outcome(&self, done: Result<CallToolResult, ClientError>) -> ExecOutcome {
        match done {
            Ok(result) => {
                match tool_value::tool_value(&self.native_name, result, self.has_output_schema) {
                    Ok(value) => ExecOutcome::Done(value),
                    Err(message) => ExecOutcome::Failed(message),
                }
            }
            Err(ClientError::InputRequired(input)) => {
                pause(*input, &self.client.inner.shared.config.capabilities)
            }
            Err(error) => ExecOutcome::Failed(error.to_string()),
        }
    }
}

/// Pauses for questions that can be answered; one that cannot would be a pause without end.
fn pause(input: InputRequired, declared: &Map<String, Value>) -> ExecOutcome {
    let unsupported = |question: &InputRequest| unsupported(question, declared);
    match input.questions.values().find_map(unsupported) {
        Some(what) => ExecOutcome::Failed(format!(
            "the MCP server asked for unsupported input: {what}"
        )),
        None => ExecOutcome::NeedsInput {
            questions: input.questions,
            request_state: input.request_state,
        },
    }
}

/// Tells whether a server asks again what it asked before: the same keys in the same order, each
/// with the same method and parameters. `_meta` is not shown to anybody, and a form need not say
/// that it is one.
fn same_questions(
    shown: &IndexMap<String, InputRequest>,
    fresh: &IndexMap<String, InputRequest>,
) -> bool {
    let same =
        |((key, one), (other_key, other)): ((&String, &InputRequest), (&String, &InputRequest))| {
            key == other_key && one.method == other.method && shown_part(one) == shown_part(other)
        };
    shown.len() == fresh.len() && shown.iter().zip(fresh).all(same)
}

fn shown_part(question: &InputRequest) -> Value {
    let mut params = question.params.clone();
    if let Value::Object(members) = &mut params {
        members.shift_remove("_meta");
        if members.get("mode").and_then(Value::as_str) == Some("form") {
            members.shift_remove("mode");
        }
    }
    params
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asks(key: &str, method: &str, params: Value) -> IndexMap<String, InputRequest> {
        let question = InputRequest {
            method: method.to_owned(),
            params,
        };
        IndexMap::from([(key.to_owned(), question)])
    }

    #[test]
    fn only_the_very_same_question_gets_the_answer() {
        let form = |message: &str, kind: &str| json!({"message": message, "requestedSchema": {"properties": {"v": {"type": kind}}}});
        let shown = asks("input", "elicitation/create", form("Which city?", "string"));
        let mut with_meta = form("Which city?", "string");
        with_meta["_meta"] = json!({"n": 1});
        with_meta["mode"] = "form".into();
        assert!(same_questions(
            &shown,
            &asks("input", "elicitation/create", with_meta)
        ));
        for other in [
            asks("other", "elicitation/create", form("Which city?", "string")),
            asks(
                "input",
                "sampling/createMessage",
                form("Which city?", "string"),
            ),
            asks(
                "input",
                "elicitation/create",
                form("Which card number?", "string"),
            ),
            asks(
                "input",
                "elicitation/create",
                form("Which city?", "integer"),
            ),
            IndexMap::new(),
        ] {
            assert!(!same_questions(&shown, &other), "{other:?}");
        }
    }
}
