//! One call of a turn: whether it runs or waits, and what came of it.

use serde_json::{Value, json};

use crate::{
    machine::{
        answer::mcp_result,
        interrupt::{
            Answer, AnsweredQuestion, InputKind, InputWait, PendingCall, PendingQuestion, Progress,
            Wait,
        },
        js_json::stringify,
        result_text::{
            CANCELLED, DECLINED, MAY_HAVE_RUN, ResultText, SAMPLING_CANCELLED, parse_arguments,
        },
        resume::Decision,
        schema_issue::messages,
        toolset::{ToolSpec, Toolset},
    },
    wire::ids::{MessageId, ToolCallId},
};

/// A call that begins.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolStart {
    /// The call.
    pub id: ToolCallId,
    /// The tool.
    pub name: String,
    /// The arguments: always an object.
    pub arguments: Value,
    /// What was answered to its questions.
    pub answers: Option<CallAnswers>,
}

/// What was answered to the questions of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallAnswers {
    /// What an MCP server wants back.
    pub request_state: Option<String>,
    /// The answers of this round, in the order of the questions.
    pub round: Vec<AnsweredQuestion>,
    /// The answers of earlier rounds.
    pub earlier: Vec<AnsweredQuestion>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolEnd {
    /// With a value.
    Done(Value),
    /// With a failure that the model reads.
    Failed(String),
    /// Before it began: the arguments do not fit.
    InvalidArguments(String),
    /// With a result that does not fit.
    InvalidOutput(String),
    /// With questions; at least one.
    NeedsInput {
        /// The questions, in order.
        questions: Vec<PendingQuestion>,
        /// What an MCP server wants back with the answers.
        request_state: Option<String>,
    },
}

/// One call of a turn.
#[derive(Debug)]
pub(super) struct PhaseCall {
    pub(super) call: PendingCall,
    /// The message that made the call.
    pub(super) message: Option<MessageId>,
    /// The result, once there is one.
    pub(super) result: Option<ResultText>,
    /// The client has the result already: it is in the rows that it posted.
    pub(super) silent: bool,
    /// The result is in the transcript.
    pub(super) told: bool,
    plan: Plan,
    answers: Option<CallAnswers>,
}

#[derive(Clone, Debug, PartialEq)]
enum Plan {
    /// It runs when nothing of the turn waits for a decision.
    Run(Value),
    /// It waits for what its [`PendingCall::wait`] says.
    Wait,
    /// It has its result.
    Settled,
}

impl PhaseCall {
    /// Decides what becomes of a call.
    pub(super) fn new(
        call: PendingCall,
        message: Option<MessageId>,
        decision: Option<Decision>,
        tools: &Toolset,
    ) -> Self {
        let mut made = Self {
            call,
            message,
            result: None,
            silent: false,
            told: false,
            plan: Plan::Settled,
            answers: None,
        };
        made.plan(decision, tools);
        made
    }

    fn plan(&mut self, decision: Option<Decision>, tools: &Toolset) {
        let Some(tool) = tools.get(&self.call.name) else {
            self.settle(ResultText::unknown_tool(&self.call.name));
            return;
        };
        if self.call.progress == Progress::Started && !tool.repeatable {
            self.settle(ResultText::error(MAY_HAVE_RUN));
            return;
        }
        self.call.progress = Progress::Waiting;
        match decision {
            Some(Decision::Declined(payload)) => self.settle(match payload {
                Some(payload) => ResultText::failure(&payload),
                None => ResultText::error(DECLINED),
            }),
            Some(Decision::Cancelled) => self.settle(ResultText::error(CANCELLED)),
            Some(Decision::Output(output)) => self.settle(ResultText::value(&output)),
            Some(Decision::Approved(edited)) => {
                if let Some(edited) = edited {
                    self.call.arguments = stringify(&edited);
                }
                self.admit(tool);
            }
            Some(Decision::Answers(answers)) => self.answer(answers, tool),
            None => match self.call.wait {
                Wait::Turn if tool.needs_approval => match parse_arguments(&self.call.arguments) {
                    Ok(_) => self.wait_for(Wait::Approval),
                    Err(refused) => self.settle(refused),
                },
                Wait::Turn => self.admit(tool),
                Wait::Approval | Wait::Client | Wait::Input(_) => self.plan = Plan::Wait,
            },
        }
    }

    /// Lets a call run that needs no (further) decision.
    fn admit(&mut self, tool: &ToolSpec) {
        match parse_arguments(&self.call.arguments) {
            Err(refused) => self.settle(refused),
            Ok(_) if tool.is_client() => self.wait_for(Wait::Client),
            Ok(arguments) => self.plan = Plan::Run(arguments),
        }
    }

    fn answer(&mut self, answers: Vec<Answer>, tool: &ToolSpec) {
        let (questions, request_state, earlier) = match &self.call.wait {
            Wait::Input(input) => (
                input.questions.iter().cloned().map(Some).collect(),
                input.request_state.clone(),
                input.answered.clone(),
            ),
            // The pause is known from the history alone, and so is its one question.
            _ => (vec![None], None, Vec::new()),
        };
        let round: Vec<AnsweredQuestion> = questions
            .into_iter()
            .zip(answers)
            .map(|(question, answer)| AnsweredQuestion { question, answer })
            .collect();
        let refused = round.iter().any(|answered| {
            answered
                .question
                .as_ref()
                .is_some_and(|question| mcp_result(question, &answered.answer).is_none())
        });
        // An own tool reads the refusal itself.
        if refused && !tool.checked {
            self.settle(ResultText::error(SAMPLING_CANCELLED));
            return;
        }
        self.answers = Some(CallAnswers {
            request_state,
            round,
            earlier,
        });
        self.admit(tool);
    }

    /// Takes over what the client has posted as the result of the call.
    pub(super) fn accept_posted(&mut self, content: &str) {
        if self.result.is_none() {
            return;
        }
        self.silent = true;
        // A client words a refusal itself, and that is what it will go on showing.
        let refusal = serde_json::from_str::<Value>(content)
            .is_ok_and(|posted| posted.get("approved") == Some(&Value::Bool(false)));
        if refusal {
            self.result = Some(ResultText::verbatim(content, false));
        }
    }

    /// Tells whether the call waits for the browser.
    pub(super) fn waits_for_client(&self) -> bool {
        self.plan == Plan::Wait && self.call.wait == Wait::Client
    }

    pub(super) fn settle(&mut self, result: ResultText) {
        self.result = Some(result);
        self.plan = Plan::Settled;
    }

    fn wait_for(&mut self, wait: Wait) {
        self.call.wait = wait;
        self.plan = Plan::Wait;
    }

    pub(super) const fn runs(&self) -> bool {
        matches!(self.plan, Plan::Run(_))
    }

    pub(super) fn waits_for_decision(&self) -> bool {
        self.plan == Plan::Wait && self.call.wait == Wait::Approval
    }

    /// Counts what has to be answered before the call can go on.
    pub(super) fn open_questions(&self) -> usize {
        if self.plan != Plan::Wait {
            return 0;
        }
        match &self.call.wait {
            Wait::Turn => 0,
            Wait::Approval | Wait::Client => 1,
            Wait::Input(input) => input.questions.len(),
        }
    }

    /// Holds a result against the schema of its tool.
    pub(super) fn finish(&mut self, value: &Value, tool: Option<&ToolSpec>) {
        let schema = tool
            .filter(|tool| tool.checked)
            .and_then(|tool| tool.output_schema.as_deref());
        let wrong = schema.map_or_else(Vec::new, |schema| messages(schema, value));
        self.settle(if wrong.is_empty() {
            ResultText::value(value)
        } else {
            ResultText::bad_output(&wrong)
        });
    }

    /// Takes the questions of a call. Gives the call's next start when the answer is there already.
    pub(super) fn ask(
        &mut self,
        questions: Vec<PendingQuestion>,
        request_state: Option<String>,
        max_rounds: u32,
    ) -> Option<ToolStart> {
        let given = self.answers.take();
        if let Some(answer) = given.as_ref().and_then(blind) {
            return self.answer_at_once(questions, request_state, answer);
        }
        let (asked, mut answered) = match (given, &self.call.wait) {
            (Some(given), Wait::Input(input)) => {
                let mut answered = given.earlier;
                answered.extend(given.round);
                (input.round, answered)
            }
            _ => (0, Vec::new()),
        };
        if asked >= max_rounds {
            self.settle(ResultText::error(&too_often(&self.call.name, max_rounds)));
            return None;
        }
        // An MCP server remembers earlier rounds in its own state.
        if request_state.is_some() {
            answered.clear();
        }
        self.wait_for(Wait::Input(InputWait {
            questions,
            request_state,
            round: asked + 1,
            answered,
        }));
        None
    }

    fn answer_at_once(
        &mut self,
        questions: Vec<PendingQuestion>,
        request_state: Option<String>,
        answer: Answer,
    ) -> Option<ToolStart> {
        let first = questions.into_iter().next()?;
        if mcp_result(&first, &answer).is_none() {
            self.settle(ResultText::error(SAMPLING_CANCELLED));
            return None;
        }
        let start = CallAnswers {
            request_state: request_state.clone(),
            round: vec![AnsweredQuestion {
                question: Some(first.clone()),
                answer,
            }],
            earlier: Vec::new(),
        };
        self.call.wait = Wait::Input(InputWait {
            questions: vec![first],
            request_state,
            round: 1,
            answered: Vec::new(),
        });
        self.answers = Some(start);
        self.start()
    }

    pub(super) fn start(&mut self) -> Option<ToolStart> {
        let arguments = match &self.plan {
            Plan::Run(arguments) => arguments.clone(),
            _ => return None,
        };
        self.call.progress = Progress::Started;
        Some(ToolStart {
            id: self.call.id.clone(),
            name: self.call.name.clone(),
            arguments,
            answers: self.answers.clone(),
        })
    }
}

/// The answer to a question that only the tool knows.
fn blind(answers: &CallAnswers) -> Option<Answer> {
    match answers.round.as_slice() {
        [
            AnsweredQuestion {
                question: None,
                answer,
            },
        ] => Some(answer.clone()),
        _ => None,
    }
}

fn too_often(tool: &str, rounds: u32) -> String {
    if rounds == 1 {
        return format!(
            "The MCP tool \"{tool}\" asked for input a second time. This client answers one input request per tool call."
        );
    }
    format!("The tool \"{tool}\" asked for input more than {rounds} times.")
}

/// Makes a question out of an MCP request that a chat can show.
#[must_use]
pub fn mcp_question(key: &str, method: &str, params: &Value) -> Option<PendingQuestion> {
    let kind = InputKind::of(method, params)?;
    let mut request = params.clone();
    if kind == InputKind::Form
        && request.get("mode").is_none()
        && let Value::Object(members) = &mut request
    {
        members.insert("mode".to_owned(), json!("form"));
    }
    Some(PendingQuestion {
        key: Some(key.to_owned()),
        kind,
        request,
        reason: None,
    })
}
