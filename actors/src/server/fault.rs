//! What goes wrong in a server, for whoever operates it.

use std::{panic::AssertUnwindSafe, sync::Arc};

use serde::Deserialize;

use super::{Handling, Inner, McpServerBuilder, Response};
use crate::wire::http::Body;

/// Something that went wrong in a server and that no client can put right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServerFault {
    /// A request was refused by the rules of transport or protocol, before anything ran for it.
    #[error("rejected inbound request (status {status}, code {code}): {message}")]
    Rejected {
        /// The HTTP status, as it would be over HTTP.
        status: u16,
        /// The code of the JSON-RPC error.
        code: i64,
        /// What the client was told.
        message: String,
    },
    /// A tool, a resource, a prompt or a completion panicked; the client was told that it failed.
    #[error("`{name}` panicked")]
    Panicked {
        /// The name that the request gave; empty where it gave none.
        name: String,
    },
    /// The connection of a server that is a child process broke.
    #[error("transport: {0}")]
    Transport(String),
}

/// What the application does about a fault.
pub(super) type FaultHook = Arc<dyn Fn(&ServerFault) + Send + Sync>;

/// Faults.
impl McpServerBuilder {
    /// Calls a function for each fault: to log it, to count it.
    ///
    /// The function runs on the thread of the request and must not block. If it panics, the panic
    /// ends there. Tokens that are missing or bad are no faults, and neither is what a method finds
    /// wrong in its parameters.
    ///
    /// ```
    /// use roscius_actors::server::McpServer;
    ///
    /// let server = McpServer::new("notes", "1.0.0")
    ///     .on_error(|fault| tracing::warn!(%fault, "mcp"))
    ///     .build()?;
    /// # Ok::<(), roscius_actors::server::ServerError>(())
    /// ```
    #[must_use]
    pub fn on_error(mut self, hook: impl Fn(&ServerFault) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Arc::new(hook));
        self
    }
}

impl Inner {
    /// Tells the application of a fault.
    pub(super) fn report(&self, fault: &ServerFault) {
        let Some(hook) = &self.on_error else {
            return;
        };
        let called = std::panic::catch_unwind(AssertUnwindSafe(|| hook(fault)));
        if called.is_err() {
            tracing::error!("the error hook panicked");
        }
    }

    /// Reports a refusal, if the response is one.
    pub(super) fn report_refusal(&self, handling: &Handling) {
        if self.on_error.is_none() {
            return;
        }
        let refusal = handling.ready().and_then(refusal);
        if let Some(fault) = refusal {
            self.report(&fault);
        }
    }
}

/// Reads what a response refuses; demands for a token are no faults.
fn refusal(response: &Response) -> Option<ServerFault> {
    #[derive(Deserialize)]
    struct Refusal {
        error: Told,
    }
    #[derive(Deserialize)]
    struct Told {
        code: i64,
        message: String,
    }
    if response.status < 400 || response.www_authenticate.is_some() {
        return None;
    }
    let Body::Json(body) = &response.body else {
        return None;
    };
    let told = serde_json::from_slice::<Refusal>(body).ok()?.error;
    Some(ServerFault::Rejected {
        status: response.status,
        code: told.code,
        message: told.message,
    })
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::panic,
        clippy::indexing_slicing,
        reason = "a failed expectation is the test failing"
    )]

    use std::sync::Mutex;

    use serde_json::{Value, json};

    use super::*;
    use crate::{
        server::{McpServer, Options},
        tool::{Tool, ToolError},
        wire::http::{Head, Method, Request},
    };

    type Faults = Arc<Mutex<Vec<ServerFault>>>;

    fn server(faults: &Faults) -> McpServer {
        let seen = Arc::clone(faults);
        McpServer::new("faults", "1.0.0")
            .tool(Tool::new("panic", || async { panic!("secret") as String }))
            .tool(Tool::blocking("block", || -> String { panic!("secret") }))
            .tool(Tool::new("fail", || async {
                Err::<String, _>(ToolError::new("no"))
            }))
            .on_error(move |fault| seen.lock().unwrap().push(fault.clone()))
            .build()
            .unwrap()
    }

    async fn ask(server: &McpServer, version: &str, method: &str, params: Value) -> (u16, Value) {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let body = message.to_string();
        let headers = vec![
            ("content-type", "application/json"),
            ("mcp-protocol-version", version),
        ];
        let request = Request {
            head: Head::of(Method::Post, &headers),
            body: body.as_bytes(),
        };
        let response = server.handle(request, Options::new()).await;
        let Body::Json(body) = response.body else {
            panic!("no JSON");
        };
        (response.status, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn a_tool_that_panics_is_a_failure_and_reaches_the_hook() {
        let faults = Faults::default();
        let server = server(&faults);
        for name in ["panic", "block", "fail"] {
            let params = json!({"name": name});
            let (status, answer) = ask(&server, "2025-11-25", "tools/call", params).await;
            assert_eq!(status, 200);
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            assert!(!answer.to_string().contains("secret"), "{answer}");
        }
        let expected = ["panic", "block"].map(|name| ServerFault::Panicked {
            name: name.to_owned(),
        });
        assert_eq!(*faults.lock().unwrap(), expected);
    }

    #[tokio::test]
    async fn a_request_that_breaks_the_rules_reaches_the_hook() {
        let faults = Faults::default();
        let server = server(&faults);
        let (status, answer) = ask(&server, "2026-07-28", "tools/list", json!({})).await;
        assert_eq!(status, 400);
        let code = answer["error"]["code"].as_i64().unwrap();
        let seen = faults.lock().unwrap().clone();
        assert!(
            matches!(&seen[..], [ServerFault::Rejected { status: 400, code: told, .. }] if *told == code),
            "{seen:?}"
        );
        assert!(seen[0].to_string().contains("rejected inbound request"));
    }

    #[tokio::test]
    async fn a_hook_that_panics_harms_nobody() {
        let server = McpServer::new("faults", "1.0.0")
            .tool(Tool::new("panic", || async { panic!("secret") as String }))
            .on_error(|_| panic!("the hook"))
            .build()
            .unwrap();
        let params = json!({"name": "panic"});
        let (_, answer) = ask(&server, "2025-11-25", "tools/call", params).await;
        assert_eq!(answer["result"]["content"][0]["text"], "tool failed");
        assert_eq!(ask(&server, "1999-01-01", "ping", json!({})).await.0, 400);
    }
}
