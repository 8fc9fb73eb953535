//! What goes wrong in a server, for whoever operates it.

use std::{borrow::Cow, panic::AssertUnwindSafe, sync::Arc};

use serde::Deserialize;

use super::{Inner, McpServer, McpServerBuilder, Response, reply};
use crate::{
    handler::Rejection,
    tool::ToolError,
    wire::{
        http::Body,
        jsonrpc::{RpcError, code},
    },
};

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
    /// A function needs a value that neither the application nor the request has given, such as the
    /// verified caller where nobody has to prove who he is; the client was told that it failed.
    #[error("`{name}` needs a `{ty}` that nobody has given")]
    MissingContext {
        /// The name that the request gave; empty where it gave none.
        name: String,
        /// The type of the value.
        ty: &'static str,
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

    /// Reports what is the fault of the application in a failure of one of its functions.
    pub(super) fn report_failure(&self, name: &str, error: &ToolError) {
        let name = name.to_owned();
        if error.is_panic() {
            tracing::error!(name, "a function of the server panicked");
            self.report(&ServerFault::Panicked { name });
        } else if let Some(ty) = error.missing_type() {
            self.report(&ServerFault::MissingContext { name, ty });
        }
    }

    /// Gives the answer to a request that its function does not take.
    ///
    /// `build` finds values that are missing, but for those that come with the request.
    pub(super) fn rejected(&self, name: &str, rejection: Rejection) -> RpcError {
        match rejection {
            Rejection::Arguments(reason) => RpcError::new(code::INVALID_PARAMS, reason),
            Rejection::Missing(ty) => {
                tracing::error!(name, ty, "a value of the application is missing");
                let name = name.to_owned();
                self.report(&ServerFault::MissingContext { name, ty });
                RpcError::new(code::INTERNAL_ERROR, "the request failed")
            }
        }
    }

    pub(super) fn too_large(&self) -> String {
        let most = self.max_body_bytes;
        format!("the body is larger than {most} bytes: raise max_body_bytes")
    }

    /// Reports a refusal, if the response is one.
    pub(super) fn report_refusal(&self, response: Option<&Response>) {
        if self.on_error.is_none() {
            return;
        }
        if let Some(fault) = response.and_then(refusal) {
            self.report(&fault);
        }
    }
}

/// Requests that the host of the server refuses before the server sees them.
impl McpServer {
    /// Answers a request that may not be served at all, such as one of a foreign page: with 403 and
    /// -32600. `modern` says whether it names 2026-07-28.
    #[must_use]
    pub fn forbidden(&self, modern: bool, message: impl Into<Cow<'static, str>>) -> Response {
        self.refused(403, modern, message)
    }

    /// Answers a body that is larger than the server reads: with 413 and -32600. `modern` says
    /// whether the request names 2026-07-28.
    #[must_use]
    pub fn body_too_large(&self, modern: bool) -> Response {
        self.refused(413, modern, self.0.too_large())
    }

    fn refused(
        &self,
        status: u16,
        modern: bool,
        message: impl Into<Cow<'static, str>>,
    ) -> Response {
        let error = RpcError::new(code::INVALID_REQUEST, message);
        let response = reply::refuse(status, None, modern, &error);
        self.0.report_refusal(Some(&response));
        response
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
        prompt::Prompt,
        resource::Resource,
        server::{McpServer, Options},
        tool::{Ctx, Tool, ToolError},
        wire::{
            auth::AuthInfo,
            http::{Head, Method, Request},
        },
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
    async fn a_value_that_nobody_has_given_reaches_the_hook() {
        let faults = Faults::default();
        let seen = Arc::clone(&faults);
        let who = |caller: Ctx<AuthInfo>| async move { caller.client_id.clone() };
        let about = Resource::new("about", "help://about", who);
        let notes = Resource::template("notes://{id}", || async { "" });
        let hello = Prompt::new("hello", who);
        let server = McpServer::new("faults", "1.0.0")
            .tool(Tool::new("who", who))
            .resource(about)
            .resource(notes.complete("id", |_: Ctx<AuthInfo>| async { Vec::<String>::new() }))
            .prompt(hello)
            .on_error(move |fault| seen.lock().unwrap().push(fault.clone()))
            .build()
            .unwrap();
        let reference = json!({"type": "ref/resource", "uri": "notes://{id}"});
        let argument = json!({"name": "id", "value": ""});
        let requests = [
            ("tools/call", json!({"name": "who"})),
            ("resources/read", json!({"uri": "help://about"})),
            ("prompts/get", json!({"name": "hello"})),
            (
                "completion/complete",
                json!({"ref": reference, "argument": argument}),
            ),
        ];
        for (method, params) in requests {
            let (_, answer) = ask(&server, "2025-11-25", method, params).await;
            assert!(!answer.to_string().contains("AuthInfo"), "{answer}");
            let failed = answer["result"]["isError"] == true || answer["error"]["code"] == -32603;
            assert!(failed, "{answer}");
        }
        let ty = std::any::type_name::<AuthInfo>();
        let expected = ["who", "help://about", "hello", "notes://{id}"].map(|name| {
            let name = name.to_owned();
            ServerFault::MissingContext { name, ty }
        });
        assert_eq!(*faults.lock().unwrap(), expected);
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
