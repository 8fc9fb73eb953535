//! The client of `rmcp` as a program: one JSON command a line in, one JSON line out for each answer and event.
//!
//! ```text
//! rmcp-client '{"url": "http://…", "token": "…"?, "version": "2025-06-18", "answers": {…}}'
//! rmcp-client '{"command": ["program", "argument"], "version": "2026-07-28", "answers": {…}}'
//! ```
//!
//! `answers` has a result for `elicitation`, `sampling` and `roots`, as MCP words it; what is there is declared, and
//! given whenever the server asks. The tasks extension is declared as well, so a tool that is a task is called by
//! `tools/call as a task`.
//!
//! A command is `{"id": 1, "do": "tools/call", "params": {…}}`; `do` is an MCP method, `cancel` with the id of another
//! command in `params`, or `close`. An answer is `{"id": 1, "result": …}` or
//! `{"id": 1, "error": {"code": …, "message": …}}`. An event is `{"event": "<method>", "params": …}`; the first is
//! `connected` or `failed`.
#![expect(deprecated, reason = "2025 has what the library gives up for 2026")]

use std::{collections::HashMap, error::Error, rc::Rc};

use rmcp::{
    ClientHandler,
    model::*,
    service::{
        ClientLifecycleMode, ClientServiceExt, NotificationContext, RequestContext, RoleClient, RunningService,
        ServiceError,
    },
    transport::{
        StreamableHttpClientTransport, TokioChildProcess, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command as Program,
    task::{AbortHandle, LocalSet, spawn_local},
};

#[derive(Deserialize)]
struct Start {
    url: Option<String>,
    token: Option<String>,
    command: Option<Vec<String>>,
    version: ProtocolVersion,
    #[serde(default)]
    answers: Answers,
}

#[derive(Clone, Default, Deserialize)]
struct Answers {
    elicitation: Option<Value>,
    sampling: Option<Value>,
    roots: Option<Value>,
}

#[derive(Deserialize)]
struct Command {
    id: u64,
    r#do: String,
    #[serde(default)]
    params: Value,
}

fn say(line: &Value) {
    println!("{line}");
}

fn event(name: &str, params: impl Serialize) {
    say(&json!({"event": name, "params": params}));
}

struct Handler(Answers, ProtocolVersion);

impl Handler {
    fn answer<T: DeserializeOwned>(answer: Option<&Value>, method: &'static str) -> Result<T, ErrorData> {
        let answer = answer.ok_or_else(|| ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))?;
        serde_json::from_value(answer.clone()).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

impl ClientHandler for Handler {
    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        event("elicitation/create", &params);
        let answer = self.0.elicitation.as_ref();
        // One answer for each message, or one for all.
        let message = serde_json::to_value(&params).unwrap_or_default();
        let of_message = answer.and_then(|answer| answer.get(message["message"].as_str().unwrap_or_default()));
        Self::answer(of_message.or(answer), "elicitation/create")
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        event("sampling/createMessage", &params);
        Self::answer(self.0.sampling.as_ref(), "sampling/createMessage")
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        event("roots/list", Value::Null);
        Self::answer(self.0.roots.as_ref(), "roots/list")
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        event("notifications/progress", params);
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        event("notifications/message", params);
    }

    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        event("notifications/resources/updated", params);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        event("notifications/resources/list_changed", Value::Null);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        event("notifications/tools/list_changed", Value::Null);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        event("notifications/prompts/list_changed", Value::Null);
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if self.0.elicitation.is_some() {
            let elicitation = ElicitationCapability::new().with_form(FormElicitationCapability::default());
            capabilities.elicitation = Some(elicitation.with_url(UrlElicitationCapability::default()));
        }
        let tasks = ExtensionCapabilities::from([(TASKS_EXTENSION_ID.to_owned(), JsonObject::new())]);
        capabilities.extensions = Some(tasks);
        if self.0.sampling.is_some() {
            capabilities.sampling = Some(SamplingCapability::default());
        }
        if self.0.roots.is_some() {
            capabilities.roots = Some(RootsCapabilities::default());
        }
        ClientConfig::new(capabilities, Implementation::new("interop", "1.0.0")).with_protocol_version(self.1.clone())
    }
}

type Client = RunningService<RoleClient, Handler>;

async fn connect(start: Start) -> Result<Client, Box<dyn Error>> {
    let lifecycle = if start.version.has_initialize() {
        ClientLifecycleMode::Initialize
    } else {
        ClientLifecycleMode::Discover { preferred_versions: vec![start.version.clone()] }
    };
    let handler = Handler(start.answers, start.version);
    if let Some(url) = start.url {
        let mut config = StreamableHttpClientTransportConfig::with_uri(url);
        if let Some(token) = start.token {
            config = config.auth_header(token);
        }
        let transport = StreamableHttpClientTransport::from_config(config);
        return Ok(handler.serve_with_lifecycle(transport, lifecycle).await?);
    }
    let mut words = start.command.ok_or("neither url nor command")?.into_iter();
    let mut program = Program::new(words.next().ok_or("an empty command")?);
    program.args(words);
    let transport = TokioChildProcess::new(program)?;
    Ok(handler.serve_with_lifecycle(transport, lifecycle).await?)
}

fn failure(error: &(dyn Error + 'static)) -> Value {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        message.push_str(": ");
        message.push_str(&cause.to_string());
        source = cause.source();
    }
    let code = match error.downcast_ref::<ServiceError>() {
        Some(ServiceError::McpError(error)) => Some(error.code.0),
        _ => None,
    };
    json!({"code": code, "message": message})
}

/// Reads the parameters and gives the result as JSON.
macro_rules! call {
    ($client:expr, $params:expr, $method:ident) => {
        serde_json::to_value($client.$method(serde_json::from_value($params)?).await?)?
    };
}

async fn run(client: &Client, method: &str, params: Value) -> Result<Value, Box<dyn Error>> {
    Ok(match method {
        "tools/list" => call!(client, params, list_tools),
        "tools/call" => call!(client, params, call_tool),
        "resources/list" => call!(client, params, list_resources),
        "resources/templates/list" => call!(client, params, list_resource_templates),
        "resources/read" => call!(client, params, read_resource),
        "resources/subscribe" => call!(client, params, subscribe),
        "resources/unsubscribe" => call!(client, params, unsubscribe),
        "prompts/list" => call!(client, params, list_prompts),
        "prompts/get" => call!(client, params, get_prompt),
        "completion/complete" => call!(client, params, complete),
        "tools/call as a task" => match client.call_tool_once(serde_json::from_value(params)?).await? {
            CallToolResponse::Task(task) => serde_json::to_value(task)?,
            other => return Err(format!("no task came: {other:?}").into()),
        },
        "tasks/get" => call!(client, params, get_task),
        "tasks/cancel" => call!(client, params, cancel_task),
        "logging/setLevel" => call!(client, params, set_level),
        "subscriptions/listen" => {
            let mut subscription = client.listen(serde_json::from_value(params)?).await?;
            let honoured = serde_json::to_value(subscription.acknowledged())?;
            spawn_local(async move {
                while let Ok(Some(notification)) = subscription.next().await {
                    if let Ok(message) = serde_json::to_value(&notification) {
                        event(message["method"].as_str().unwrap_or_default(), &message["params"]);
                    }
                }
                event("subscription ended", format!("{:?}", subscription.end()));
            });
            honoured
        }
        _ => return Err(format!("no method {method}").into()),
    })
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let start = std::env::args().nth(1).ok_or("usage: rmcp-client '{\"url\": …}'")?;
    let client = match connect(serde_json::from_str(&start)?).await {
        Ok(client) => client,
        Err(error) => {
            event("failed", failure(error.as_ref()));
            return Ok(());
        }
    };
    event("connected", client.peer_info().as_deref());
    let client = Rc::new(client);
    let mut running: HashMap<u64, AbortHandle> = HashMap::new();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let command: Command = serde_json::from_str(&line)?;
        let id = command.id;
        match command.r#do.as_str() {
            "close" => break,
            // The way of this library to give a call up is to drop it.
            "cancel" => {
                if let Some(call) = command.params.as_u64().and_then(|id| running.remove(&id)) {
                    call.abort();
                }
                say(&json!({"id": id, "result": null}));
            }
            _ => {
                let client = Rc::clone(&client);
                let call = spawn_local(async move {
                    match run(&client, &command.r#do, command.params).await {
                        Ok(result) => say(&json!({"id": id, "result": result})),
                        Err(error) => say(&json!({"id": id, "error": failure(error.as_ref())})),
                    }
                });
                running.insert(id, call.abort_handle());
            }
        }
    }
    for call in running.into_values() {
        call.abort();
    }
    tokio::task::yield_now().await;
    if let Some(client) = Rc::into_inner(client) {
        client.cancel().await?;
    }
    event("closed", Value::Null);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    LocalSet::new().run_until(serve()).await
}
