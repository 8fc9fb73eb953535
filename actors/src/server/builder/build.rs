//! Checks a description and makes the server of it.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;

use super::McpServerBuilder;
use crate::{
    machine::{param_headers::annotated, schema::is_object, seal::SealKey},
    prompt::Prompt,
    resource::Resource,
    server::{
        Entry, Inner, McpServer, OutputShape, ServerError, Sessions,
        changes::Listeners,
        drain::Work,
        listing::{Listings, Offer},
        pages::Paging,
        prompts::Prompts,
        rate::Limiter,
        resources::Resources,
        skills::Served,
        tasks::Tasks,
    },
    session::SessionStore,
    skill::Skills,
    tool::{Context, Tool, ToolCx},
};

/// The longest name that the spec recommends.
const MAX_NAME_BYTES: usize = 128;

impl McpServerBuilder {
    /// Builds the server.
    ///
    /// # Errors
    /// [`ServerError`] for names and URIs that are taken or not allowed, schemas and templates that
    /// cannot be read, and values that a function needs and nobody gives.
    pub fn build(self) -> Result<McpServer, ServerError> {
        let mut entries = HashMap::with_capacity(self.tools.len());
        for tool in &self.tools {
            let entry = entry(tool, &self.context)?;
            if entries.insert(Box::from(tool.name()), entry).is_some() {
                return Err(ServerError::DuplicateTool(tool.name().to_owned()));
            }
        }
        let state_key = self.state_key.unwrap_or_else(SealKey::random);
        let paging = Paging {
            size: self.page_size,
            key: state_key.clone(),
        };
        let (caching, context) = (self.caching, self.context);
        let tail = self.profile.meta_tail();
        let skills = self.skills.filter(|skills| !skills.list().is_empty());
        let manifests = skills.as_ref().map(Skills::listings).unwrap_or_default();
        let resources = Resources::new(
            &self.resources,
            &manifests,
            &context,
            &paging,
            &caching,
            &tail,
        )?;
        let prompts = Prompts::new(&self.prompts, &context, &paging, &caching, &tail)?;
        let completes = self.resources.iter().any(Resource::completes)
            || self.prompts.iter().any(Prompt::completes);
        let tasks = self.tasks.build(&self.tools);
        let offer = Offer {
            tools: &self.tools,
            resources: resources.is_some(),
            prompts: prompts.is_some(),
            completions: completes,
            skills: skills.is_some(),
            tasks: tasks.as_ref().map(Tasks::extension),
            logging: self.tools.iter().any(Tool::uses_cx)
                || self.resources.iter().any(Resource::uses_cx)
                || self.prompts.iter().any(Prompt::uses_cx),
            changes: self.changes.is_some(),
            paging: &paging,
            caching: &caching,
        };
        let listings = Listings::new(&self.profile, &offer, self.sessions.unwrap_or_default());
        let context = Arc::new(context);
        let name = self.profile.info.get("name").and_then(Value::as_str);
        let server = Arc::new(Inner {
            name: name.unwrap_or_default().to_owned(),
            listings,
            resources,
            prompts,
            skills: skills.map(|skills| Served::new(skills, &paging, &caching, &tail)),
            tasks,
            completes,
            caching,
            paging,
            tools: entries,
            bare_cx: ToolCx::builder().context(Arc::clone(&context)).build(),
            context,
            memory: matches!(self.sessions, Some(Sessions::Memory) | None)
                .then(|| SessionStore::new(self.session_limits)),
            sessions: self.sessions.unwrap_or_default(),
            reply: self.reply,
            changes: self.changes,
            listeners: Listeners::default(),
            sampling: self.sampling,
            state_key,
            state_ttl: self.state_ttl,
            max_body_bytes: self.max_body_bytes,
            progress_rate: self.progress_rate,
            keep_alive: self.keep_alive,
            work: Work::default(),
            gate: self.gate.build()?,
            limiter: self.rate_limit.map(Limiter::new),
            on_error: self.on_error,
            audit: self.audit.build(),
        });
        if let Some(changes) = &server.changes {
            changes.add(&server);
        }
        Ok(McpServer(server))
    }
}

fn entry(tool: &Tool, context: &Context) -> Result<Entry, ServerError> {
    let name = || tool.name().to_owned();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if !(1..=MAX_NAME_BYTES).contains(&tool.name().len()) || !tool.name().bytes().all(allowed) {
        return Err(ServerError::ToolName(name()));
    }
    if tool.is_client() {
        return Err(ServerError::ClientTool(name()));
    }
    tool.check(context)?;
    let headers = annotated(tool.input_schema()).map_err(|source| ServerError::ParamHeader {
        tool: name(),
        source,
    })?;
    let schema = tool.result_schema();
    Ok(Entry {
        tool: tool.clone(),
        headers,
        output: OutputShape {
            declared: schema.is_some(),
            wrapped: schema.is_some_and(|schema| !is_object(schema)),
        },
    })
}
