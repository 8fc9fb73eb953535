//! Sources of tools that are played from data.

use std::{rc::Rc, sync::Arc};

use futures_util::{FutureExt, future::LocalBoxFuture};
use roscius_actors::{
    machine::tool_value::tool_value,
    ports::tool_source::{
        ExecOutcome, SourceError, SourceTool, ToolExecutor, ToolInvocation, ToolSource,
    },
};
use serde_json::{Value, json};

use super::{Log, ToolScript, returned, wait};

/// A source of tools that stands for an MCP client.
#[derive(Clone)]
pub(crate) struct ScriptedSource {
    pub(crate) id: String,
    pub(crate) client: Arc<Value>,
    pub(crate) log: Log,
}

struct ScriptedExecutor {
    script: ToolScript,
    /// The native name, and whether structured content was promised, of a tool behind a protocol.
    protocol: Option<(String, bool)>,
}

impl ToolSource for ScriptedSource {
    fn name(&self) -> &str {
        &self.id
    }

    fn tools(&self) -> LocalBoxFuture<'static, Result<Vec<SourceTool>, SourceError>> {
        if let Some(error) = self.client.get("listError") {
            let message = error["message"].as_str().unwrap_or_default();
            let error = SourceError::new(self.id.as_str(), message);
            return async move { Err(error) }.boxed_local();
        }
        let protocol = self.client.get("protocol");
        let tools = protocol.unwrap_or(&self.client)["tools"].as_array();
        let made = tools
            .into_iter()
            .flatten()
            .map(|tool| match protocol {
                Some(protocol) => self.protocol_tool(protocol, tool),
                None => self.plain_tool(tool),
            })
            .collect();
        async move { Ok(made) }.boxed_local()
    }

    fn close(&self) -> LocalBoxFuture<'static, ()> {
        self.log.get().closed.push(self.id.clone());
        async {}.boxed_local()
    }
}

impl ScriptedSource {
    fn plain_tool(&self, tool: &Value) -> SourceTool {
        let schema = tool
            .get("inputSchema")
            .cloned()
            .unwrap_or_else(|| json!({"type": "object"}));
        let executor = ScriptedExecutor {
            script: ToolScript::new(tool, &self.log),
            protocol: None,
        };
        let name = executor.script.name.clone();
        let mut made = SourceTool::new(name, schema, Rc::new(executor));
        made.description = tool["description"].as_str().unwrap_or_default().to_owned();
        made.needs_approval = tool["needsApproval"] == true;
        made
    }

    fn protocol_tool(&self, protocol: &Value, tool: &Value) -> SourceTool {
        let listing = &tool["listing"];
        let native = listing["name"].as_str().unwrap_or_default();
        let mut script = ToolScript::new(tool, &self.log);
        script.name = native.to_owned();
        let output = listing.get("outputSchema").cloned();
        let executor = ScriptedExecutor {
            script,
            protocol: Some((native.to_owned(), output.is_some())),
        };
        let name = match protocol["prefix"].as_str() {
            Some(prefix) => format!("{prefix}_{native}"),
            None => native.to_owned(),
        };
        let schema = listing["inputSchema"].clone();
        let mut made = SourceTool::new(name, schema, Rc::new(executor));
        made.native_name = native.to_owned();
        made.description = listing["description"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        made.output_schema = output.map(Arc::new);
        made
    }
}

impl ToolExecutor for ScriptedExecutor {
    fn execute(&self, call: ToolInvocation) -> LocalBoxFuture<'static, ExecOutcome> {
        let (script, protocol) = (self.script.clone(), self.protocol.clone());
        async move {
            let shown = (protocol.is_none()).then(|| call.tool_call_id.to_string());
            script.started(&call.arguments, shown.as_deref(), None);
            let Some(entry) = script.entry(&call.arguments, None) else {
                let problem = format!("no result of {} fits {}", script.name, call.arguments);
                script.log.problem(problem.clone());
                return ExecOutcome::Failed(problem);
            };
            wait(&entry["delayMs"]).await;
            let value = match returned(entry) {
                Ok(output) => output.to_value(),
                Err(error) => return ExecOutcome::Failed(error.message().to_owned()),
            };
            let Some((native, promised)) = protocol else {
                return ExecOutcome::Done(value);
            };
            let result = serde_json::from_value(value).expect("a result of tools/call");
            match tool_value(&native, result, promised) {
                Ok(value) => ExecOutcome::Done(value),
                Err(message) => ExecOutcome::Failed(message),
            }
        }
        .boxed_local()
    }
}
