//! `completion/complete`.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Handling, McpServer, answer::Members, dispatch::Call, prepare::prepare_quiet, prompts::texts,
    running::Job,
};
use crate::{
    handler::{CompleteRequest, Completers, Served, bounded},
    wire::{
        jsonrpc::{RpcError, code},
        mcp::envelope::Obj,
        prompt::Completion,
    },
};

#[derive(Deserialize)]
struct Reference {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    uri: Option<String>,
}

#[derive(Deserialize)]
struct Argument {
    name: String,
    value: String,
}

#[derive(Deserialize)]
struct Settled<'a> {
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

pub(super) fn complete(server: &McpServer, call: Call<'_>) -> Handling {
    if !server.0.completes {
        return call.not_found();
    }
    match start(server, &call) {
        Ok(handling) => handling,
        Err(error) => call.error(&error),
    }
}

fn start(server: &McpServer, call: &Call<'_>) -> Result<Handling, RpcError> {
    let reference: Reference = read(call.params.reference, "ref")?;
    let argument: Argument = read(call.params.argument, "argument")?;
    let arguments = match call.params.context {
        None => None,
        Some(raw) if raw.get() == "null" => None,
        Some(raw) => read::<Settled<'_>>(Some(raw), "context")?.arguments,
    };
    let arguments = arguments.map_or("{}", RawValue::get);
    let request = CompleteRequest {
        arguments: texts(arguments).map_err(invalid)?,
        argument: argument.name,
        value: argument.value,
    };
    let completers = find(server, &reference, &request.argument)?;
    let Some(complete) = completers.get(&request.argument) else {
        let text = members(&Completion::default());
        return Ok(call.members(&server.0, text));
    };
    let prepared = prepare_quiet(&server.0, call, "a completion cannot ask");
    let completing = complete
        .start(&request, prepared.cx.clone())
        .map_err(|rejection| {
            let name = reference.name.as_deref().or(reference.uri.as_deref());
            server.0.rejected(name.unwrap_or_default(), rejection)
        })?;
    let job = Box::pin(async move {
        match completing.await {
            Served::Done(completion) => Served::Done(Ok(members(&bounded(completion)))),
            Served::Failed(error) => Served::Failed(error),
            Served::NeedsInput(questions) => Served::NeedsInput(questions),
        }
    });
    Ok(prepared.run(&server.0, call, Job::Request(job)))
}

fn members(completion: &Completion) -> Members {
    let completion = serde_json::to_string(completion).unwrap_or_default();
    Members {
        text: format!("\"completion\":{completion}"),
        ..Members::default()
    }
}

fn find<'a>(
    server: &'a McpServer,
    reference: &Reference,
    argument: &str,
) -> Result<&'a Completers, RpcError> {
    let unknown = |what: &str| Err(invalid(format!("{what} has no argument `{argument}`")));
    match (&*reference.kind, &reference.name, &reference.uri) {
        ("ref/prompt", Some(name), _) => {
            let prompts = server.0.prompts.as_ref();
            let prompt = prompts
                .and_then(|prompts| prompts.get(name))
                .ok_or_else(|| invalid(format!("Prompt {name} not found")))?;
            if !prompt.has_argument(argument) {
                return unknown(name);
            }
            Ok(prompt.completers())
        }
        ("ref/resource", _, Some(uri)) => {
            let resources = server.0.resources.as_ref();
            let resource = resources
                .and_then(|resources| resources.by_address(uri))
                .ok_or_else(|| invalid(format!("Resource template {uri} not found")))?;
            if !resource.has_variable(argument) {
                return unknown(uri);
            }
            Ok(resource.completers())
        }
        _ => Err(invalid(
            "ref is neither {type: \"ref/prompt\", name} nor {type: \"ref/resource\", uri}"
                .to_owned(),
        )),
    }
}

fn read<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>, member: &str) -> Result<T, RpcError> {
    let raw = raw.ok_or_else(|| invalid(format!("{member} is required")))?;
    let read: Result<Obj<T>, _> = serde_json::from_str(raw.get());
    read.map(|Obj(value)| value)
        .map_err(|error| invalid(format!("{member}: {error}")))
}

fn invalid(message: String) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, message)
}
