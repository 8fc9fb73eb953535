//! `prompts/list` and `prompts/get`.

use std::collections::HashMap;

use serde_json::{Value, value::RawValue};

use super::{
    Handling, McpServer, ServerError,
    answer::{Answer, Members},
    caching::{Cached, Caching},
    dispatch::Call,
    pages::{Item, ListKind, Pages, Paging},
    prepare::{Subject, prepare},
    running::Job,
};
use crate::{
    handler::{Served, Serving},
    prompt::{Prompt, PromptRequest},
    tool::Context,
    wire::{
        jsonrpc::{RpcError, code},
        prompt::GetPromptResult,
        uri_template::Variables,
    },
};

const LIST: ListKind = ListKind {
    method: "prompts/list",
    member: "prompts",
};

/// The prompts of a server.
pub(super) struct Prompts {
    by_name: HashMap<Box<str>, Prompt>,
    list: Pages,
}

impl Prompts {
    /// Checks the prompts and writes their list; none if there are none.
    pub(super) fn new(
        prompts: &[Prompt],
        context: &Context,
        paging: &Paging,
        caching: &Caching,
        meta_tail: &str,
    ) -> Result<Option<Self>, ServerError> {
        if prompts.is_empty() {
            return Ok(None);
        }
        let mut by_name = HashMap::with_capacity(prompts.len());
        let mut items = Vec::with_capacity(prompts.len());
        for prompt in prompts {
            let name = prompt.name();
            if name.is_empty() {
                return Err(ServerError::PromptName);
            }
            prompt.check(context)?;
            if by_name.insert(Box::from(name), prompt.clone()).is_some() {
                return Err(ServerError::DuplicatePrompt(name.to_owned()));
            }
            items.push(Item::new(name, &prompt.listing()));
        }
        let hint = caching.get(Cached::Prompts);
        Ok(Some(Self {
            by_name,
            list: Pages::new(LIST, &items, &items, paging, hint, meta_tail),
        }))
    }

    pub(super) fn get(&self, name: &str) -> Option<&Prompt> {
        self.by_name.get(name)
    }
}

pub(super) fn list(server: &McpServer, call: Call<'_>) -> Handling {
    let Some(prompts) = &server.0.prompts else {
        return call.not_found();
    };
    let cursor = call.params.cursor.as_deref();
    call.page(prompts.list.get(&server.0.paging.key, cursor))
}

pub(super) fn get(server: &McpServer, call: Call<'_>) -> Handling {
    let Some(prompts) = &server.0.prompts else {
        return call.not_found();
    };
    let invalid = |message: String| RpcError::new(code::INVALID_PARAMS, message);
    let Some(name) = call.params.name.as_deref() else {
        return call.error(&invalid("name is required".to_owned()));
    };
    let Some(prompt) = prompts.get(name) else {
        return call.error(&invalid(format!("Prompt {name} not found")));
    };
    let raw = call.params.arguments.map_or("{}", RawValue::get);
    let arguments = match texts(raw) {
        Ok(arguments) => arguments,
        Err(reason) => return call.error(&invalid(reason)),
    };
    let subject = Subject::new("prompts/get", name, raw);
    let prepared = match prepare(&server.0, &call, &subject) {
        Ok(prepared) => prepared,
        Err(error) => return call.error(&error),
    };
    let rendering = match prompt.render(&PromptRequest { arguments }, prepared.cx.clone()) {
        Ok(rendering) => rendering,
        Err(rejection) => {
            let mut error = server.0.rejected(name, rejection);
            if error.code == code::INVALID_PARAMS {
                error.message = format!("prompt {name}: {}", error.message).into();
            }
            return call.error(&error);
        }
    };
    let job = answer(prompt.clone(), rendering);
    prepared.run(&server.0, &call, Job::Request(job))
}

/// Reads a map of texts. What is null was not given.
pub(super) fn texts(raw: &str) -> Result<Variables, String> {
    let Ok(Value::Object(members)) = serde_json::from_str(raw) else {
        return Err("the arguments are not an object".to_owned());
    };
    let mut texts = Variables::with_capacity(members.len());
    for (name, value) in members {
        match value {
            Value::String(text) => {
                texts.insert(name, text);
            }
            Value::Null => {}
            _ => return Err(format!("the argument `{name}` is not a text")),
        }
    }
    Ok(texts)
}

fn answer(prompt: Prompt, rendering: Serving<GetPromptResult>) -> Serving<Answer> {
    Box::pin(async move {
        let mut result = match rendering.await {
            Served::Done(result) => result,
            Served::Failed(error) => return Served::Failed(error),
            Served::NeedsInput(questions) => return Served::NeedsInput(questions),
        };
        let mut text = String::new();
        let description = result.description.as_deref();
        if let Some(description) = description.or_else(|| prompt.description_text()) {
            text = format!("\"description\":{},", Value::from(description));
        }
        let messages = serde_json::to_string(&result.messages).unwrap_or_default();
        text.push_str(&format!("\"messages\":{messages}"));
        Served::Done(Ok(Members {
            text,
            cache: None,
            meta: result.meta.take(),
            ..Members::default()
        }))
    })
}
