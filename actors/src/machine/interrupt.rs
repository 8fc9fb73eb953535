//! Calls that wait, and the questions they are announced with.

mod id;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use id::{Subject, approval_id, client_tool_id, input_id};

use super::{
    js_json::{approval_hash, schema_hash},
    result_text::parse_arguments,
    toolset::ToolSpec,
};
use crate::wire::{
    agui::{BindingKind, Interrupt, InterruptBinding, PAYLOAD_KEY},
    apart::apart,
    ids::{InterruptId, RunId, ToolCallId},
};

/// Why a tool waits when it does not say so itself.
pub const DEFAULT_INPUT_REASON: &str = "mcp_input";
/// The reason of a client tool. A tool that asks may not use it.
const CLIENT_TOOL_REASON: &str = "tanstack:client_tool_execution";
const APPROVAL_REASON: &str = "tool_call";

/// One call of a paused turn that has no result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingCall {
    /// The call.
    pub id: ToolCallId,
    /// The tool, as the model named it.
    pub name: String,
    /// The argument text, as the model wrote it; edited arguments stand here after an approval.
    pub arguments: String,
    /// What the call waits for.
    pub wait: Wait,
    /// How far it has come in the run that answered the pause.
    #[serde(default)]
    pub progress: Progress,
}

/// What a call waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// For the decision on another call of the turn.
    Turn,
    /// For a person's decision.
    Approval,
    /// For the browser; an approval, if one was needed, has been given.
    Client,
    /// For answers to its questions.
    Input(InputWait),
}

/// How far a call has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// It has not begun.
    #[default]
    Waiting,
    /// It has begun and has no result yet.
    Started,
}

/// The open questions of one call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InputWait {
    /// Questions of this round, in order. Not empty.
    pub questions: Vec<PendingQuestion>,
    /// What an MCP server wants back with the answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Counts the rounds of this call, from 1.
    #[serde(default)]
    pub round: u32,
    /// Answers of earlier rounds, for an own tool that is called again from its start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<AnsweredQuestion>,
}

/// One open question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingQuestion {
    /// The server's or the tool's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What kind of question it is.
    pub kind: InputKind,
    /// The parameters of the MCP request, as they are shown.
    #[serde(deserialize_with = "apart")]
    pub request: Value,
    /// The tool's own reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What kind of question a tool asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// A form: `elicitation/create`.
    Form,
    /// A page to visit: `elicitation/create` in URL mode.
    Url,
    /// A text to be written by a model: `sampling/createMessage`.
    Sampling,
    /// The folders of the client: `roots/list`.
    Roots,
}

impl InputKind {
    /// Gives the word that clients read.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Form | Self::Url => "form",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }

    /// Gives the MCP method.
    #[must_use]
    pub const fn method(self) -> &'static str {
        match self {
            Self::Form | Self::Url => "elicitation/create",
            Self::Sampling => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    /// Reads an MCP request.
    #[must_use]
    pub fn of(method: &str, params: &Value) -> Option<Self> {
        match method {
            "elicitation/create" if params.get("mode") == Some(&json!("url")) => Some(Self::Url),
            "elicitation/create" => Some(Self::Form),
            "sampling/createMessage" => Some(Self::Sampling),
            "roots/list" => Some(Self::Roots),
            _ => None,
        }
    }
}

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnsweredQuestion {
    /// What was asked; nothing when the pause is known from the history alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<PendingQuestion>,
    /// What was answered.
    pub answer: Answer,
}

/// What a user answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The payload as it was posted.
    #[serde(deserialize_with = "apart")]
    Resolved(Value),
    /// The user does not want to answer.
    Cancelled,
}

impl PendingCall {
    /// Names the questions of this call, in order.
    #[must_use]
    pub fn interrupt_ids(&self) -> Vec<InterruptId> {
        match &self.wait {
            Wait::Turn => Vec::new(),
            Wait::Approval => vec![approval_id(&self.id)],
            Wait::Client => vec![client_tool_id(&self.id)],
            Wait::Input(input) => (0..input.questions.len())
                .map(|index| input_id(&self.id, index))
                .collect(),
        }
    }

    /// Words the questions of this call.
    #[must_use]
    pub fn interrupts(&self, run: &RunId, tool: Option<&ToolSpec>) -> Vec<Interrupt> {
        match (&self.wait, tool) {
            (Wait::Approval, Some(tool)) => vec![self.approval(run, tool)],
            (Wait::Client, Some(tool)) => vec![self.client_tool(run, tool)],
            (Wait::Input(input), _) => input
                .questions
                .iter()
                .enumerate()
                .map(|(index, question)| self.input(run, index, question))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn parsed(&self) -> Value {
        parse_arguments(&self.arguments).unwrap_or_else(|_| json!({}))
    }

    fn approval(&self, run: &RunId, tool: &ToolSpec) -> Interrupt {
        let id = approval_id(&self.id);
        let input = tool.input_schema.as_deref();
        let (approve, reject) = (
            tool.approve_schema.as_deref(),
            tool.reject_schema.as_deref(),
        );
        let schema = approval_response_schema(input, approve, reject);
        let arguments = self.parsed();
        let mut binding = InterruptBinding::new(BindingKind::ToolApproval, id.clone(), run.clone());
        binding.tool_name = Some(self.name.clone());
        binding.tool_call_id = Some(self.id.clone());
        binding.original_args = Some(arguments.clone());
        binding.input_schema_hash = Some(schema_hash(input));
        binding.approval_schema_hash = Some(approval_hash(approve, reject));
        binding.response_schema_hash = Some(schema_hash(Some(&schema)));
        let message = format!("Approval required to run {}", self.name);
        let mut interrupt = Interrupt::new(id, APPROVAL_REASON, message)
            .meta("kind", "approval")
            .meta("toolName", self.name.as_str())
            .meta("input", arguments)
            .bind(&binding);
        interrupt.tool_call_id = Some(self.id.clone());
        interrupt.response_schema = Some(schema);
        interrupt
    }

    fn client_tool(&self, run: &RunId, tool: &ToolSpec) -> Interrupt {
        let id = client_tool_id(&self.id);
        let schema = tool
            .shown_output()
            .map_or_else(|| json!({}), |schema| schema.as_ref().clone());
        let mut binding =
            InterruptBinding::new(BindingKind::ClientToolExecution, id.clone(), run.clone());
        binding.tool_name = Some(self.name.clone());
        binding.tool_call_id = Some(self.id.clone());
        binding.output_schema_hash = Some(schema_hash(tool.output_schema.as_deref()));
        binding.response_schema_hash = Some(schema_hash(Some(&schema)));
        let message = format!("Client tool {} is ready to run", self.name);
        let mut interrupt = Interrupt::new(id, CLIENT_TOOL_REASON, message)
            .meta("kind", "client_tool")
            .meta("toolName", self.name.as_str())
            .meta("input", self.parsed())
            .bind(&binding);
        interrupt.tool_call_id = Some(self.id.clone());
        interrupt.response_schema = Some(schema);
        interrupt
    }

    // Neither `toolCallId` nor `responseSchema`: clients would take the first, with some reasons,
    // for an approval, and the second, without a matching hash, for a question nobody can answer.
    fn input(&self, run: &RunId, index: usize, question: &PendingQuestion) -> Interrupt {
        let id = input_id(&self.id, index);
        let reason = match question.reason.as_deref() {
            None | Some("" | CLIENT_TOOL_REASON) => DEFAULT_INPUT_REASON,
            Some(own) => own,
        };
        let message = format!("Input required to run {}", self.name);
        let binding = InterruptBinding::new(BindingKind::Generic, id.clone(), run.clone());
        let payload = json!({"kind": question.kind.as_str(), "request": question.request});
        Interrupt::new(id, reason, message)
            .meta("toolName", self.name.as_str())
            .bind(&binding)
            .meta(PAYLOAD_KEY, payload)
    }
}

/// Orders the questions of a turn: approvals, client tools, questions of tools.
#[must_use]
pub fn batch<'a>(
    calls: &[PendingCall],
    run: &RunId,
    find: impl Fn(&str) -> Option<&'a ToolSpec>,
) -> Vec<Interrupt> {
    let of = |wanted: fn(&Wait) -> bool| {
        calls
            .iter()
            .filter(move |call| wanted(&call.wait))
            .flat_map(|call| call.interrupts(run, find(&call.name)))
            .collect::<Vec<_>>()
    };
    let mut all = of(|wait| matches!(wait, Wait::Approval));
    all.extend(of(|wait| matches!(wait, Wait::Client)));
    all.extend(of(|wait| matches!(wait, Wait::Input(_))));
    all
}

/// Makes the schema of a decision. The order of members is the recorded one.
#[must_use]
pub fn approval_response_schema(
    input: Option<&Value>,
    approve: Option<&Value>,
    reject: Option<&Value>,
) -> Value {
    let branch = |approved: bool, edited: Option<&Value>, payload: Option<&Value>| {
        let mut properties = Map::new();
        properties.insert("approved".to_owned(), json!({"const": approved}));
        if let Some(schema) = edited {
            properties.insert("editedArgs".to_owned(), schema.clone());
        }
        let mut required = vec!["approved"];
        if let Some(schema) = payload {
            properties.insert("payload".to_owned(), schema.clone());
            required.push("payload");
        }
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    };
    json!({"oneOf": [branch(true, input, approve), branch(false, None, reject)]})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(reason: Option<&str>, questions: usize) -> PendingCall {
        let question = PendingQuestion {
            key: None,
            kind: InputKind::Form,
            request: json!({"message": "Which city?"}),
            reason: reason.map(str::to_owned),
        };
        PendingCall {
            id: ToolCallId::from("c1"),
            name: "ask_city".to_owned(),
            arguments: "{}".to_owned(),
            wait: Wait::Input(InputWait {
                questions: vec![question; questions],
                round: 1,
                ..InputWait::default()
            }),
            progress: Progress::Waiting,
        }
    }

    #[test]
    fn a_question_has_the_form_that_clients_can_answer() {
        let run = RunId::from("run-1");
        let made = serde_json::to_value(asking(None, 1).interrupts(&run, None)).unwrap_or_default();
        assert_eq!(
            made,
            json!([{
                "id": "mcp_input_c1",
                "reason": "mcp_input",
                "message": "Input required to run ask_city",
                "metadata": {
                    "toolName": "ask_city",
                    "tanstack:interruptBinding": {
                        "v": 1, "kind": "generic", "interruptId": "mcp_input_c1",
                        "interruptedRunId": "run-1", "generation": 0,
                    },
                    "tanstack:interruptPayload": {
                        "kind": "form", "request": {"message": "Which city?"},
                    },
                },
            }])
        );
    }

    #[test]
    fn an_own_reason_is_kept_unless_it_is_empty_or_reserved() {
        let run = RunId::from("run-1");
        let rows = [
            (Some("auth_required"), "auth_required"),
            (Some(""), "mcp_input"),
            (Some(CLIENT_TOOL_REASON), "mcp_input"),
            (None, "mcp_input"),
        ];
        for (own, shown) in rows {
            let reasons: Vec<String> = asking(own, 1)
                .interrupts(&run, None)
                .into_iter()
                .map(|interrupt| interrupt.reason)
                .collect();
            assert_eq!(reasons, [shown]);
        }
    }

    #[test]
    fn further_questions_are_numbered_from_two() {
        let ids: Vec<String> = asking(None, 3)
            .interrupt_ids()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(ids, ["mcp_input_c1", "mcp_input_c1:2", "mcp_input_c1:3"]);
    }
}
