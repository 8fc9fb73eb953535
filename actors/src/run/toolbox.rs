//! The tools of one run: the chat's own, those of its sources, those of the browser.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::future::join_all;

use crate::{
    chat::{Engine, OnDiscoveryError},
    machine::toolset::{Side, ToolSpec, Toolset},
    ports::tool_source::{SourceTool, ToolSource},
    tool::Tool,
    wire::agui::ClientTool,
};

use super::RunFailure;

/// How long a source may take to close. It is asked politely and not waited for longer.
const CLOSE_DEADLINE: Duration = Duration::from_secs(5);

/// What carries out the calls of one run.
pub(super) struct Toolbox {
    pub(super) set: Toolset,
    own: HashMap<String, Tool>,
    foreign: HashMap<String, SourceTool>,
}

/// What carries out the calls of one tool.
pub(super) enum Executor {
    Own(Tool),
    Foreign(SourceTool),
}

impl Toolbox {
    /// Collects the tools. All sources are asked at once.
    pub(super) async fn gather(
        engine: &Engine,
        client_tools: &[ClientTool],
    ) -> Result<Self, RunFailure> {
        let mut specs: Vec<ToolSpec> = engine.tools.iter().map(own_spec).collect();
        let own = engine
            .tools
            .iter()
            .filter(|tool| !tool.is_client())
            .map(|tool| (tool.name().to_owned(), tool.clone()))
            .collect();
        let mut foreign = HashMap::new();
        let listed = join_all(engine.sources.iter().map(|source| source.tools())).await;
        for listed in listed {
            let tools = match listed {
                Ok(tools) => tools,
                Err(error) => match (engine.on_discovery_error)(&error) {
                    OnDiscoveryError::Skip => continue,
                    OnDiscoveryError::Fail => {
                        return Err(RunFailure {
                            message: error.message,
                            code: error.code,
                        });
                    }
                },
            };
            for tool in tools {
                specs.push(source_spec(&tool));
                let name = tool.name.clone();
                if foreign.insert(name.clone(), tool).is_some() {
                    return Err(RunFailure::new(duplicate(&name), None));
                }
            }
        }
        let mut set =
            Toolset::new(specs).map_err(|error| RunFailure::new(error.to_string(), None))?;
        if engine.client_tools {
            offer_client_tools(engine, client_tools, &mut set)?;
        }
        Ok(Self { set, own, foreign })
    }

    /// Finds what carries out a call.
    pub(super) fn executor(&self, name: &str) -> Option<Executor> {
        if let Some(tool) = self.own.get(name) {
            return Some(Executor::Own(tool.clone()));
        }
        self.foreign.get(name).cloned().map(Executor::Foreign)
    }
}

/// Closes sources, unless they outlive the run.
pub(super) async fn close_sources(engine: &Engine) {
    if engine.keep_alive {
        return;
    }
    for source in &engine.sources {
        close(source.as_ref()).await;
    }
}

pub(crate) async fn close(source: &dyn ToolSource) {
    if tokio::time::timeout(CLOSE_DEADLINE, source.close())
        .await
        .is_err()
    {
        tracing::warn!(
            source = source.name(),
            "a tool source did not close in time"
        );
    }
}

fn own_spec(tool: &Tool) -> ToolSpec {
    let schemas = tool.approval_schemas();
    ToolSpec {
        name: tool.name().to_owned(),
        description: tool.description_text().to_owned(),
        input_schema: Some(Arc::clone(tool.input_schema())),
        output_schema: tool.result_schema().cloned(),
        approve_schema: schemas.approve.clone().map(Arc::new),
        reject_schema: schemas.reject.clone().map(Arc::new),
        checked: true,
        side: if tool.is_client() {
            Side::Client
        } else {
            Side::Server
        },
        needs_approval: tool.requires_approval(),
        repeatable: tool.is_repeatable(),
    }
}

fn source_spec(tool: &SourceTool) -> ToolSpec {
    ToolSpec {
        description: tool.description.clone(),
        output_schema: tool.output_schema.clone(),
        checked: false,
        needs_approval: tool.needs_approval,
        repeatable: tool.repeatable,
        ..ToolSpec::server(tool.name.clone(), Some(Arc::clone(&tool.input_schema)))
    }
}

fn offer_client_tools(
    engine: &Engine,
    tools: &[ClientTool],
    set: &mut Toolset,
) -> Result<(), RunFailure> {
    let limits = &engine.limits;
    let bytes: usize = tools
        .iter()
        .filter_map(|tool| tool.parameters.as_ref())
        .map(|schema| schema.to_string().len())
        .sum();
    if tools.len() > limits.max_client_tools || bytes > limits.max_client_tool_bytes {
        return Err(RunFailure::new(
            format!(
                "the request offers more tools than are taken here: at most {} with {} bytes of schemas",
                limits.max_client_tools, limits.max_client_tool_bytes
            ),
            Some("too_many_tools"),
        ));
    }
    for tool in tools {
        let schema = tool.parameters.clone().map(Arc::new);
        set.offer(ToolSpec {
            description: tool.description.clone(),
            ..ToolSpec::client(tool.name.clone(), schema)
        });
    }
    Ok(())
}

fn duplicate(name: &str) -> String {
    format!(
        "Duplicate MCP tool name \"{name}\" in chat({{ mcp.clients }}). Set a unique `prefix` on one of the MCP clients (or use a pool, which auto-prefixes) to disambiguate."
    )
}
