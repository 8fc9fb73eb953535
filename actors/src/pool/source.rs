//! A pool as a source of tools for a chat.

use futures_util::future::LocalBoxFuture;

use super::McpPool;
use crate::{
    client::source_error,
    ports::tool_source::{SourceError, SourceTool, ToolSource},
};

impl ToolSource for McpPool {
    fn name(&self) -> &str {
        "pool"
    }

    fn tools(&self) -> LocalBoxFuture<'static, Result<Vec<SourceTool>, SourceError>> {
        let pool = self.clone();
        Box::pin(async move {
            let by_server = pool.tools_by_server().await;
            let by_server = by_server.map_err(|error| source_error("pool", &error))?;
            let tools = by_server
                .into_iter()
                .flat_map(|(client, tools)| client.source_tools(tools));
            Ok(tools.collect())
        })
    }

    fn close(&self) -> LocalBoxFuture<'static, ()> {
        let pool = self.clone();
        Box::pin(async move { pool.close().await })
    }
}
