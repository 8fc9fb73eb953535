//! One recorded scenario as a chat: its model, its tools and its sources are played from data.
//!
//! The format is section 2 of `tests/fixtures/agui/README.md`, with the extension of
//! `tests/interop/README.md` for tools that ask.

#[path = "sources.rs"]
mod sources;

use std::{
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, stream};
use roscius_actors::{
    chat::{Chat, ChatBuilder, Mcp, OnDiscoveryError, Source},
    model::scripted::{Script, ScriptedModel},
    ports::model::{FinishReason, Model, ModelEvent, ModelRequest, ModelStream},
    tool::{InputResponse, Question, QuestionKind, Tool, ToolCx, ToolError, ToolOutput},
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use self::sources::ScriptedSource;

/// A scenario that is being played.
#[derive(Clone)]
pub(crate) struct Scenario {
    /// The file.
    pub(crate) server: Arc<Value>,
    /// What happened.
    pub(crate) log: Log,
    /// The model; it plays by count.
    pub(crate) model: CountedModel,
}

/// What happened since the last reset.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Happened>>);

#[derive(Default)]
pub(crate) struct Happened {
    /// Executors that were started, in order.
    pub(crate) tool_runs: Vec<Value>,
    /// What the model was told, in order.
    pub(crate) asked: Vec<ModelRequest>,
    /// What the script did not foresee.
    pub(crate) problems: Vec<String>,
    /// Sources that were closed, in order.
    pub(crate) closed: Vec<String>,
}

impl Log {
    pub(crate) fn get(&self) -> MutexGuard<'_, Happened> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn clear(&self) {
        *self.get() = Happened::default();
    }

    fn problem(&self, text: String) {
        self.get().problems.push(text);
    }
}

/// Plays one turn a call and remembers what it was asked.
#[derive(Clone)]
pub(crate) struct CountedModel {
    inner: ScriptedModel,
    turns: usize,
    next: Arc<AtomicUsize>,
    log: Log,
}

impl CountedModel {
    /// Sets the turn that the next call plays.
    pub(crate) fn set_next(&self, index: usize) {
        self.next.store(index, Ordering::SeqCst);
        self.inner.set_next(index);
    }
}

impl Model for CountedModel {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        self.log.get().asked.push(request.clone());
        let index = self.next.fetch_add(1, Ordering::SeqCst);
        if index < self.turns {
            return self.inner.stream(request, cancel);
        }
        self.log.problem(format!("there is no turn {index}"));
        let events = [
            ModelEvent::TextStart,
            ModelEvent::TextDelta("(no turn left)".to_owned()),
            ModelEvent::TextEnd,
            ModelEvent::Finished {
                reason: FinishReason::Stop,
                usage: None,
            },
        ];
        stream::iter(events.map(Ok)).boxed_local()
    }
}

impl Scenario {
    /// Reads a file.
    pub(crate) fn read(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::new(serde_json::from_str(&text).expect("a scenario is JSON"))
    }

    /// Takes the content of a file.
    pub(crate) fn new(server: Value) -> Self {
        let log = Log::default();
        let script = Script::from_value(&server["model"]).expect("the turns can be played");
        let model = CountedModel {
            turns: script.turns.len(),
            inner: ScriptedModel::sequence(script),
            next: Arc::default(),
            log: log.clone(),
        };
        Self {
            server: Arc::new(server),
            log,
            model,
        }
    }

    /// Gives the entry of the n-th request, counted from 1.
    pub(crate) fn request(&self, number: usize) -> Option<&Value> {
        self.server["requests"]
            .as_array()?
            .iter()
            .find(|entry| entry["n"] == number)
    }

    /// Names the tools of the n-th request, if it does not have all of them.
    pub(crate) fn tool_names(&self, number: usize) -> Option<Vec<String>> {
        let names = self.request(number)?.get("tools")?.as_array()?;
        Some(
            names
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        )
    }

    /// Describes the chat, with the named tools or all of them.
    pub(crate) fn chat(&self, names: Option<&[String]>) -> ChatBuilder {
        let options = &self.server["options"];
        let mut chat = Chat::builder(self.model.clone())
            .client_tools(options["mergeClientTools"] == true)
            .tools(self.tools(names));
        if let Some(turns) = options["maxIterations"].as_u64() {
            chat = chat.max_iterations(u32::try_from(turns).expect("a small number"));
        }
        if let Some(state) = options.get("state") {
            chat = chat.state(state.clone());
        }
        if let Some(metadata) = options["metadata"].as_object() {
            chat = chat.metadata(metadata.clone());
        }
        for prompt in options["systemPrompts"].as_array().into_iter().flatten() {
            let text = prompt.as_str().or_else(|| prompt["content"].as_str());
            chat = chat.system_prompt(text.unwrap_or_default());
        }
        if options["mcp"].is_object() {
            chat = chat.mcp(self.sources(&options["mcp"]));
        }
        chat
    }

    fn tools(&self, names: Option<&[String]>) -> Vec<Tool> {
        let all = self.server["tools"].as_array();
        all.into_iter()
            .flatten()
            .filter(|tool| {
                names.is_none_or(|names| names.iter().any(|name| tool["name"] == name.as_str()))
            })
            .map(|tool| self.tool(tool))
            .collect()
    }

    fn tool(&self, definition: &Value) -> Tool {
        let name = definition["name"].as_str().expect("a tool has a name");
        let schema = definition
            .get("inputSchema")
            .cloned()
            .unwrap_or_else(|| json!({"type": "object"}));
        let mut tool = if definition["side"] == "client" {
            Tool::client(name, schema)
        } else {
            let script = ToolScript::new(definition, &self.log);
            Tool::raw(name, schema, move |arguments, cx| {
                let script = script.clone();
                async move { script.run(arguments, cx).await }
            })
        };
        if let Some(text) = definition["description"].as_str() {
            tool = tool.description(text);
        }
        if let Some(schema) = definition.get("outputSchema") {
            tool = tool.output_schema(schema.clone());
        }
        if let Some(schemas) = definition.get("approvalSchema") {
            let branch = |name| schemas.get(name).cloned();
            tool = tool.approval_schema(branch("approve"), branch("reject"));
        }
        tool.needs_approval(definition["needsApproval"] == true)
    }

    fn sources(&self, options: &Value) -> Mcp {
        let clients = options["clients"].as_array();
        let sources = clients.into_iter().flatten().map(|client| {
            Source::from(&ScriptedSource {
                id: client["id"].as_str().unwrap_or_default().to_owned(),
                client: Arc::new(client.clone()),
                log: self.log.clone(),
            })
        });
        let skip = options["onDiscoveryError"] == "skip";
        Mcp::clients(sources).on_discovery_error(move |_| {
            if skip {
                OnDiscoveryError::Skip
            } else {
                OnDiscoveryError::Fail
            }
        })
    }
}

/// What the executor of a tool does, from its `results`.
#[derive(Clone)]
struct ToolScript {
    name: String,
    results: Vec<Value>,
    log: Log,
}

impl ToolScript {
    fn new(definition: &Value, log: &Log) -> Self {
        Self {
            name: definition["name"].as_str().unwrap_or_default().to_owned(),
            results: definition["results"]
                .as_array()
                .cloned()
                .unwrap_or_default(),
            log: log.clone(),
        }
    }

    /// Finds the first entry that fits the arguments, and the answer if there is one.
    fn entry(&self, arguments: &Value, input: Option<&Value>) -> Option<&Value> {
        self.results.iter().find(|entry| {
            let wants_input = entry["onInput"] == true || entry["echoInput"] == true;
            wants_input == input.is_some()
                && entry.get("arguments").is_none_or(|fits| fits == arguments)
        })
    }

    fn started(&self, arguments: &Value, call: Option<&str>, input: Option<&Value>) {
        let mut run = Map::new();
        run.insert("tool".to_owned(), self.name.as_str().into());
        if let Some(call) = call {
            run.insert("toolCallId".to_owned(), call.into());
        }
        run.insert("arguments".to_owned(), arguments.clone());
        if let Some(input) = input {
            run.insert("input".to_owned(), input.clone());
        }
        self.log.get().tool_runs.push(Value::Object(run));
    }

    async fn run(&self, arguments: Value, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let input = cx.input_response().map(|response| match response {
            InputResponse::Resolved(payload) => json!({"status": "resolved", "payload": payload}),
            InputResponse::Cancelled => json!({"status": "cancelled"}),
        });
        let call = cx.tool_call_id().map(ToString::to_string);
        self.started(&arguments, call.as_deref(), input.as_ref());
        let Some(entry) = self.entry(&arguments, input.as_ref()) else {
            let problem = format!("no result of {} fits {arguments}", self.name);
            self.log.problem(problem.clone());
            return Err(ToolError::new(problem));
        };
        for emit in entry["emits"].as_array().into_iter().flatten() {
            wait(&emit["delayMs"]).await;
            let name = emit["name"].as_str().unwrap_or_default();
            cx.emit(name, emit["value"].clone());
        }
        wait(&entry["delayMs"]).await;
        if let Some(asks) = entry.get("needsInput") {
            return Err(question(asks));
        }
        if entry["echoInput"] == true {
            return Ok(ToolOutput::Json(json!({"received": input})));
        }
        returned(entry)
    }
}

fn returned(entry: &Value) -> Result<ToolOutput, ToolError> {
    match (entry.get("throws"), entry.get("value")) {
        (Some(Value::String(_)), _) => Err(ToolError::new("Unknown error")),
        (Some(error), _) => {
            let message = error["message"].as_str().unwrap_or_default().to_owned();
            Err(ToolError::new(message))
        }
        (None, Some(value)) => Ok(ToolOutput::Json(value.clone())),
        (None, None) => Ok(ToolOutput::Empty),
    }
}

fn question(asks: &Value) -> ToolError {
    let mut question = Question::form("", json!({}));
    question.request = asks["request"].clone();
    if asks["kind"] == "sampling" {
        question.kind = QuestionKind::Sampling;
    }
    let error = ToolError::needs_input(question);
    match asks["reason"].as_str() {
        Some(reason) => error.reason(reason),
        None => error,
    }
}

async fn wait(delay_ms: &Value) {
    if let Some(delay) = delay_ms.as_u64() {
        tokio::time::sleep(Duration::from_millis(delay)).await;
    }
}
