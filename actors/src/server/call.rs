//! `tools/call`: arguments, context, start.

use serde_json::{Value, value::RawValue};

use super::{
    Entry, Handling, Inner, McpServer,
    dispatch::Call,
    prepare::{Subject, base_cx, prepare},
    running::{Job, Running},
    stream::Outlet,
    tasks::{self, Plan},
};
use crate::{
    gauge::measured,
    machine::headers::check_params,
    tool::ToolCx,
    wire::{
        jsonrpc::{RpcError, code},
        task::TaskSupport,
    },
};

/// Starts a call.
pub(super) fn tools_call(server: &McpServer, call: Call<'_>) -> Handling {
    let invalid = |message: String| RpcError::new(code::INVALID_PARAMS, message);
    let Some(name) = call.params.name.as_deref() else {
        return call.error(&invalid("name is required".to_owned()));
    };
    let Some(entry) = server.0.tools.get(name) else {
        return call.error(&invalid(format!("Tool {name} not found")));
    };
    if let Some(response) = server.0.step_up(entry, &call.options) {
        return response.into();
    }
    let arguments = call.params.arguments.map_or("{}", RawValue::get);
    if call.era.is_modern() && !entry.headers.is_empty() && !call.options.headerless {
        // A tool may read less of its arguments than this does. What cannot be compared is refused.
        let checked = match serde_json::from_str::<Value>(arguments) {
            Ok(value) => check_params(&entry.headers, call.head.others, &value),
            Err(error) => Err(invalid(format!("the arguments cannot be read: {error}"))),
        };
        if let Err(error) = checked {
            return call.error_status(400, &error);
        }
    }
    let subject = Subject {
        keyed_only: entry.tool.task_support() != TaskSupport::Forbidden,
        ..Subject::new("tools/call", name, arguments)
    };
    match tasks::plan(&server.0, &call, &entry.tool) {
        Plan::Inline => {}
        Plan::Refuse(status, error) => return call.error_status(status, &error),
        Plan::Now(ttl) => return tasks::start(server, &call, entry, arguments, ttl),
        Plan::WhenTold(ttl) => return tasks::start_when_told(server, &call, entry, subject, ttl),
    }
    let tool = &entry.tool;
    let job = |cx| {
        Job::Tool(
            measured(tool.name(), tool.call(arguments, cx)),
            entry.output,
        )
    };
    if !entry.tool.uses_cx() {
        let cx = plain_cx(&server.0, entry, &call);
        return Handling::call(Running::new(&server.0, &call, job(cx)), Outlet::Nothing);
    }
    match prepare(&server.0, &call, &subject) {
        Ok(prepared) => {
            let job = job(prepared.cx.clone());
            prepared.run(&server.0, &call, job)
        }
        Err(error) => call.error(&error),
    }
}

/// The context of a tool that neither asks nor reports.
fn plain_cx(server: &Inner, entry: &Entry, call: &Call<'_>) -> ToolCx {
    if !entry.tool.uses_context() || (call.options.auth.is_none() && call.options.context.is_none())
    {
        return server.bare_cx.clone();
    }
    base_cx(server, call).build()
}
