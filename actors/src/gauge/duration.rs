//! How long requests, tools and sessions take, as histograms of seconds. Names and labels are those of the
//! semantic conventions of OpenTelemetry for MCP and GenAI. Without the feature `metrics` a timer is
//! nothing.
//!
//! A label holds what the application has given a name to, never what a client wrote.

use futures_util::future::LocalBoxFuture;

use crate::tool::ToolOutcome;

/// How a request or a tool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As it should.
    Well,
    /// With a JSON-RPC error of this code.
    Code(i64),
    /// In another way that is no success.
    Otherwise(&'static str),
}

/// What a request is measured by.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "metrics"),
    expect(dead_code, reason = "nothing is measured")
)]
pub(crate) struct Operation<'a> {
    /// None of one that nobody knows.
    pub(crate) method: Option<&'static str>,
    /// Empty if it is not known.
    pub(crate) version: &'static str,
    /// The tool of a `tools/call`, if there is such a tool.
    pub(crate) tool: Option<&'a str>,
    /// The prompt of a `prompts/get`, if there is such a prompt.
    pub(crate) prompt: Option<&'a str>,
}

/// Tells whether anything is measured at all.
pub(crate) const MEASURES: bool = cfg!(feature = "metrics");

/// Measures until its end; one that is dropped before was cancelled.
#[derive(Debug)]
pub(crate) struct Timer(#[cfg(feature = "metrics")] recording::Recording);

impl Timer {
    /// Begins to measure a request of an MCP server.
    pub(crate) fn request<'a>(operation: impl FnOnce() -> Operation<'a>) -> Self {
        #[cfg(feature = "metrics")]
        return Self(recording::Recording::request(&operation()));
        #[cfg(not(feature = "metrics"))]
        {
            let _ = operation;
            Self()
        }
    }

    /// Begins to measure a session of an MCP server, in a version.
    pub(crate) fn session(version: &'static str) -> Self {
        #[cfg(feature = "metrics")]
        return Self(recording::Recording::session(version));
        #[cfg(not(feature = "metrics"))]
        {
            let _ = version;
            Self()
        }
    }

    /// Tells the end; the first one counts.
    pub(crate) fn end(&mut self, ended: Ended) {
        #[cfg(feature = "metrics")]
        self.0.end(ended);
        #[cfg(not(feature = "metrics"))]
        let _ = ended;
    }
}

/// Measures the function of a tool until it ends. A question that it waits for counts in a session
/// and in a task; one that ends the call does not.
pub(crate) fn measured(
    tool: &str,
    work: LocalBoxFuture<'static, ToolOutcome>,
) -> LocalBoxFuture<'static, ToolOutcome> {
    #[cfg(feature = "metrics")]
    {
        let mut timer = Timer(recording::Recording::tool(tool));
        Box::pin(async move {
            let outcome = work.await;
            let failed = match &outcome {
                ToolOutcome::Done(output) => output.is_failure(),
                ToolOutcome::Failed(_) => true,
                ToolOutcome::NeedsInput(_) => false,
            };
            timer.end(if failed {
                Ended::Otherwise(super::TOOL_ERROR)
            } else {
                Ended::Well
            });
            outcome
        })
    }
    #[cfg(not(feature = "metrics"))]
    {
        let _ = tool;
        work
    }
}

#[cfg(feature = "metrics")]
pub(super) mod recording {
    use std::fmt;

    use metrics::{Label, SharedString};
    use tokio::time::Instant;

    use super::{Ended, Operation};

    pub(in crate::gauge) const REQUEST: &str = "mcp.server.operation.duration";
    pub(in crate::gauge) const SESSION: &str = "mcp.server.session.duration";
    pub(in crate::gauge) const TOOL: &str = "gen_ai.execute_tool.duration";

    const METHOD: &str = "mcp.method.name";
    const VERSION: &str = "mcp.protocol.version";
    const OPERATION: &str = "gen_ai.operation.name";
    const TOOL_NAME: &str = "gen_ai.tool.name";
    const PROMPT_NAME: &str = "gen_ai.prompt.name";
    const ERROR: &str = "error.type";
    const STATUS: &str = "rpc.response.status_code";

    /// What the conventions call a value that is not one of a few.
    const OTHER: &str = "_OTHER";
    const EXECUTE_TOOL: &str = "execute_tool";

    /// Something that is measured.
    pub(super) struct Recording {
        name: &'static str,
        started: Instant,
        /// None after the end.
        labels: Option<Vec<Label>>,
    }

    impl Recording {
        fn begin(name: &'static str, labels: Vec<Label>) -> Self {
            Self {
                name,
                started: Instant::now(),
                labels: Some(labels),
            }
        }

        pub(super) fn request(operation: &Operation<'_>) -> Self {
            let mut labels = Vec::with_capacity(6);
            let method = operation.method.unwrap_or(OTHER);
            labels.push(Label::from_static_parts(METHOD, method));
            if !operation.version.is_empty() {
                labels.push(Label::from_static_parts(VERSION, operation.version));
            }
            if let Some(tool) = operation.tool {
                labels.push(Label::from_static_parts(OPERATION, EXECUTE_TOOL));
                labels.push(Label::new(TOOL_NAME, tool.to_owned()));
            }
            if let Some(prompt) = operation.prompt {
                labels.push(Label::new(PROMPT_NAME, prompt.to_owned()));
            }
            Self::begin(REQUEST, labels)
        }

        pub(super) fn session(version: &'static str) -> Self {
            let version = Label::from_static_parts(VERSION, version);
            Self::begin(SESSION, Vec::from([version]))
        }

        pub(super) fn tool(name: &str) -> Self {
            Self::begin(TOOL, Vec::from([Label::new(TOOL_NAME, name.to_owned())]))
        }

        pub(super) fn end(&mut self, ended: Ended) {
            let Some(mut labels) = self.labels.take() else {
                return;
            };
            match ended {
                Ended::Well => {}
                Ended::Code(code) => {
                    let code = SharedString::from_shared(code.to_string().into());
                    labels.push(Label::new(ERROR, code.clone()));
                    labels.push(Label::new(STATUS, code));
                }
                Ended::Otherwise(kind) => labels.push(Label::from_static_parts(ERROR, kind)),
            }
            metrics::histogram!(self.name, labels).record(self.started.elapsed());
        }
    }

    impl Drop for Recording {
        fn drop(&mut self) {
            self.end(Ended::Otherwise(crate::gauge::CANCELLED));
        }
    }

    impl fmt::Debug for Recording {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.debug_struct("Recording")
                .field("name", &self.name)
                .finish_non_exhaustive()
        }
    }
}
