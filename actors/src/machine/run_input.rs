//! Reads the body of a run request and words what is wrong with it.
//!
//! Order of the checks, and which of them there are, is what clients and other servers agree on
//! (`chatParamsFromRequest` of the AG-UI bridge); the bounds are ours.

use std::fmt;

use serde_json::{Map, Value};

use crate::wire::{
    agui::{ClientTool, ContextItem, ResumeEntry, ResumeStatus, Role, Row, RunAgentInput},
    ids::{InterruptId, RunId, ThreadId},
    js_json::from_js,
};

/// The roles as the reason lists them.
const ROLES: &str = "developer | system | assistant | user | tool | activity | reasoning";

/// Answers of a continuation by default, and questions that one turn may leave open: what is asked
/// can be answered in one request. Above the calls of any turn.
pub const MAX_ANSWERS: usize = 256;

/// Bounds of a run request beside the size of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunInputLimits {
    /// Rows of a conversation. Default 10,000: years of chat; each row is looked at several times.
    pub max_messages: usize,
    /// Tool calls of one row. Default 256: above the calls of any turn.
    pub max_row_tool_calls: usize,
    /// Tool calls of all rows together. Default 10,000, as many as rows: a row that calls nothing
    /// pays for one that calls twice.
    pub max_tool_calls: usize,
    /// Tools that a browser brings along. Default 128: models refuse more.
    pub max_tools: usize,
    /// Bytes of one such tool's description and schema. Default 64 KiB: it goes to the model with
    /// every turn.
    pub max_tool_bytes: usize,
    /// Answers of a continuation. Default [`MAX_ANSWERS`]: a turn that asks more is refused what is
    /// too much, so below that some pauses cannot be answered.
    pub max_resume_entries: usize,
    /// Bytes of a thread, run or interrupt id. Default 512: ids are keys of our tables. Questions are
    /// named after calls, whose ids have up to 256 bytes: below 288 some cannot be answered.
    pub max_id_bytes: usize,
}

impl Default for RunInputLimits {
    fn default() -> Self {
        Self {
            max_messages: 10_000,
            max_row_tool_calls: 256,
            max_tool_calls: 10_000,
            max_tools: 128,
            max_tool_bytes: 64 * 1024,
            max_resume_entries: MAX_ANSWERS,
            max_id_bytes: 512,
        }
    }
}

/// Why a body is not a run request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunInputError {
    /// It is not JSON.
    #[error("not a run request: the body is not valid JSON ({0})")]
    NotJson(#[source] serde_json::Error),
    /// It is JSON of another form; the reason names the member.
    #[error("not a run request: {0}")]
    Form(String),
    /// It is larger than this server takes.
    #[error("run request refused: {what} is over the bound of {bound}")]
    TooLarge {
        /// The member.
        what: String,
        /// The bound.
        bound: usize,
    },
}

impl RunInputError {
    /// Gives the reason alone, as the wire words it.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::NotJson(error) => error.to_string(),
            Self::Form(reason) => reason.clone(),
            Self::TooLarge { .. } => self.to_string(),
        }
    }
}

type Result<T, E = RunInputError> = std::result::Result<T, E>;

fn form(reason: impl fmt::Display) -> RunInputError {
    RunInputError::Form(reason.to_string())
}

fn bounded(what: impl fmt::Display, size: usize, bound: usize) -> Result<()> {
    if size <= bound {
        return Ok(());
    }
    Err(RunInputError::TooLarge {
        what: what.to_string(),
        bound,
    })
}

/// Reads a body.
///
/// The first failing check wins: JSON, object, `threadId`, `runId`, `parentRunId`, `messages`,
/// `tools`, `context`, `resume`, `forwardedProps`. Unknown members are passed over. Half a character,
/// as JavaScript leaves it of a text that was cut, is read as U+FFFD.
///
/// # Errors
/// [`RunInputError`] with a reason that may be shown to the sender.
pub fn parse_run_input(body: &[u8], limits: &RunInputLimits) -> Result<RunAgentInput> {
    let body = from_js(body).map_err(RunInputError::NotJson)?;
    let Value::Object(mut body) = body else {
        return Err(form("body must be a JSON object"));
    };
    let thread_id = id(&mut body, "threadId", limits)?.ok_or_else(|| not_text("threadId"))?;
    let run_id = id(&mut body, "runId", limits)?.ok_or_else(|| not_text("runId"))?;
    let parent_run_id = id(&mut body, "parentRunId", limits)?;
    let messages = array(&mut body, "messages")?;
    bounded("messages", messages.len(), limits.max_messages)?;
    let messages = rows(messages, limits)?;
    let tools = array(&mut body, "tools")?;
    bounded("tools", tools.len(), limits.max_tools)?;
    let tools = tools
        .into_iter()
        .enumerate()
        .map(|(index, tool)| client_tool(&format!("tools[{index}]"), tool, limits))
        .collect::<Result<_>>()?;
    let context = array(&mut body, "context")?
        .into_iter()
        .enumerate()
        .map(|(index, item)| context_item(&format!("context[{index}]"), item))
        .collect::<Result<_>>()?;
    let resume = match body.contains_key("resume") {
        true => array(&mut body, "resume")?,
        false => Vec::new(),
    };
    bounded("resume", resume.len(), limits.max_resume_entries)?;
    let resume = resume
        .into_iter()
        .enumerate()
        .map(|(index, entry)| resume_entry(&format!("resume[{index}]"), entry, limits))
        .collect::<Result<_>>()?;
    let forwarded_props = match body.shift_remove("forwardedProps") {
        None => Map::new(),
        Some(props) => object("forwardedProps", props)?,
    };
    Ok(RunAgentInput {
        thread_id: ThreadId::from(thread_id),
        run_id: RunId::from(run_id),
        parent_run_id: parent_run_id.map(RunId::from),
        resume,
        state: body.shift_remove("state").unwrap_or_default(),
        messages,
        tools,
        context,
        forwarded_props,
    })
}

fn not_text(path: impl fmt::Display) -> RunInputError {
    form(format_args!("{path} must be a string"))
}

fn object(path: &str, value: Value) -> Result<Map<String, Value>> {
    match value {
        Value::Object(members) => Ok(members),
        _ => Err(form(format_args!("{path} must be an object"))),
    }
}

fn array(body: &mut Map<String, Value>, name: &str) -> Result<Vec<Value>> {
    match body.shift_remove(name) {
        Some(Value::Array(items)) => Ok(items),
        _ => Err(form(format_args!("{name} must be an array"))),
    }
}

/// Takes a text member; a missing one is none, one of another type an error.
fn text(members: &mut Map<String, Value>, path: &str, name: &str) -> Result<Option<String>> {
    match members.shift_remove(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(not_text(format_args!("{path}{name}"))),
    }
}

fn id(
    body: &mut Map<String, Value>,
    name: &str,
    limits: &RunInputLimits,
) -> Result<Option<String>> {
    let id = text(body, "", name)?;
    bounded(
        name,
        id.as_ref().map_or(0, String::len),
        limits.max_id_bytes,
    )?;
    Ok(id)
}

fn rows(messages: Vec<Value>, limits: &RunInputLimits) -> Result<Vec<Row>> {
    let mut rows = Vec::with_capacity(messages.len());
    let mut tool_calls = 0;
    for (index, message) in messages.into_iter().enumerate() {
        let path = format!("messages[{index}]");
        let row = row(&path, message)?;
        let calls = row.members().get("toolCalls").and_then(Value::as_array);
        let calls = calls.map_or(0, Vec::len);
        bounded(
            format_args!("{path}.toolCalls"),
            calls,
            limits.max_row_tool_calls,
        )?;
        tool_calls += calls;
        bounded(
            "toolCalls of all messages",
            tool_calls,
            limits.max_tool_calls,
        )?;
        rows.push(row);
    }
    Ok(rows)
}

fn row(path: &str, message: Value) -> Result<Row> {
    let mut members = object(path, message)?;
    let is_text = |name: &str| members.get(name).is_some_and(Value::is_string);
    let need_text = |name: &str| match is_text(name) {
        true => Ok(()),
        false => Err(not_text(format_args!("{path}.{name}"))),
    };
    need_text("id")?;
    let role = members
        .get("role")
        .and_then(Value::as_str)
        .and_then(Role::from_name)
        .ok_or_else(|| form(format_args!("{path}.role must be one of {ROLES}")))?;
    match role {
        Role::Developer | Role::System | Role::Reasoning => need_text("content")?,
        Role::Assistant => {
            if members.contains_key("content") {
                need_text("content")?;
            }
            if members
                .get("toolCalls")
                .is_some_and(|calls| !calls.is_array())
            {
                return Err(form(format_args!("{path}.toolCalls must be an array")));
            }
        }
        Role::User => {
            if !is_text("content") && !members.get("content").is_some_and(Value::is_array) {
                return Err(form(format_args!(
                    "{path}.content must be a string or an array of content parts"
                )));
            }
        }
        Role::Tool => {
            need_text("content")?;
            need_text("toolCallId")?;
        }
        Role::Activity => {
            need_text("activityType")?;
            if !members.get("content").is_some_and(Value::is_object) {
                return Err(form(format_args!("{path}.content must be an object")));
            }
        }
    }
    if members
        .get("metadata")
        .is_some_and(|metadata| !metadata.is_object())
    {
        return Err(form(format_args!("{path}.metadata must be an object")));
    }
    // What older clients sent in the place of rows.
    members.shift_remove("parts");
    Ok(Row::new(members))
}

fn client_tool(path: &str, tool: Value, limits: &RunInputLimits) -> Result<ClientTool> {
    let mut members = object(path, tool)?;
    let mut need = |name: &str| {
        text(&mut members, &format!("{path}."), name)?
            .ok_or_else(|| not_text(format_args!("{path}.{name}")))
    };
    let (name, description) = (need("name")?, need("description")?);
    let parameters = members.shift_remove("parameters");
    let schema_bytes = parameters
        .as_ref()
        .map_or(0, |schema| schema.to_string().len());
    bounded(
        path,
        name.len() + description.len() + schema_bytes,
        limits.max_tool_bytes,
    )?;
    Ok(ClientTool {
        name,
        description,
        parameters,
    })
}

fn context_item(path: &str, item: Value) -> Result<ContextItem> {
    let mut members = object(path, item)?;
    let mut need = |name: &str| {
        text(&mut members, &format!("{path}."), name)?
            .ok_or_else(|| not_text(format_args!("{path}.{name}")))
    };
    Ok(ContextItem {
        description: need("description")?,
        value: need("value")?,
    })
}

fn resume_entry(path: &str, entry: Value, limits: &RunInputLimits) -> Result<ResumeEntry> {
    let mut members = object(path, entry)?;
    let status = match members.get("status").and_then(Value::as_str) {
        Some("resolved") => ResumeStatus::Resolved,
        Some("cancelled") => ResumeStatus::Cancelled,
        _ => {
            return Err(form(format_args!(
                "{path}.status must be \"resolved\" or \"cancelled\""
            )));
        }
    };
    let interrupt = text(&mut members, &format!("{path}."), "interruptId")?
        .ok_or_else(|| not_text(format_args!("{path}.interruptId")))?;
    bounded(
        format_args!("{path}.interruptId"),
        interrupt.len(),
        limits.max_id_bytes,
    )?;
    let metadata = members
        .shift_remove("metadata")
        .map(|metadata| object(&format!("{path}.metadata"), metadata))
        .transpose()?;
    Ok(ResumeEntry {
        interrupt_id: InterruptId::from(interrupt),
        status,
        payload: members.shift_remove("payload"),
        metadata,
    })
}
