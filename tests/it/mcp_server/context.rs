//! Values that the host gives with one request, and who gets them.

use actix_web::{HttpRequest, HttpResponse};
use roscius::{prelude::*, web::McpRoutes};
use serde_json::{Value, json};

use super::host::{Ask, Served};

/// Which tenant asks.
struct Tenant(String);

/// F12: the values of a request reach every function that serves it, and no other request.
#[test]
fn values_of_a_request_reach_every_function_of_it() {
    let who = |tenant: Ctx<Tenant>| async move { tenant.0.0.clone() };
    let list = |tenant: Ctx<Tenant>| async move {
        [ResourceListing::new(format!("own://{}", tenant.0.0), "own")]
    };
    let complete = |tenant: Ctx<Tenant>| async move { vec![tenant.0.0.clone()] };
    let server = McpServer::new("tenants", "1")
        .request_context::<Tenant>()
        .sessions(Sessions::Memory)
        .tool(Tool::new("who", who))
        .tool(Tool::new(
            "asks",
            |tenant: Ctx<Tenant>, cx: ToolCx| async move {
                let word = cx.request_input("Which word?").await?;
                Ok::<_, ToolError>(format!("{} {word}", tenant.0.0))
            },
        ))
        .resource(Resource::new("fixed", "own://fixed", who))
        .resource(
            Resource::template("own://{id}", who)
                .list(list)
                .complete("id", complete),
        )
        .prompt(Prompt::new("greet", who))
        .build()
        .unwrap();
    let routes = McpRoutes::new("/mcp", &server).authorize(|request: HttpRequest| async move {
        let tenant = request.headers().get("x-tenant");
        let tenant = tenant.and_then(|value| value.to_str().ok());
        let tenant = Tenant(tenant.unwrap_or_default().to_owned());
        Ok::<_, HttpResponse>(Options::new().context(tenant))
    });
    let served = Served::with(routes.routes());
    let greeting = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "c", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting});
    let opened = Ask::post(body.to_string())
        .header("x-tenant", "nobody")
        .send(&served);
    let session = opened.header("mcp-session-id").unwrap();
    let reference = json!({"type": "ref/resource", "uri": "own://{id}"});
    for tenant in ["blue", "red"] {
        for (method, params, place) in [
            ("tools/call", json!({"name": "who"}), "/content/0/text"),
            (
                "resources/read",
                json!({"uri": "own://fixed"}),
                "/contents/0/text",
            ),
            (
                "resources/read",
                json!({"uri": "own://7"}),
                "/contents/0/text",
            ),
            ("resources/list", json!({}), "/resources/1/uri"),
            (
                "prompts/get",
                json!({"name": "greet"}),
                "/messages/0/content/text",
            ),
            (
                "completion/complete",
                json!({"ref": reference, "argument": {"name": "id", "value": ""}}),
                "/completion/values/0",
            ),
        ] {
            for ask in [
                Ask::modern(method, params.clone()),
                Ask::legacy("2025-11-25", method, params.clone()).header("mcp-session-id", session),
            ] {
                let message = ask.header("x-tenant", tenant).send(&served).json();
                let found = message["result"].pointer(place).and_then(Value::as_str);
                let found = found.unwrap_or_else(|| panic!("{method}: {message}"));
                assert_eq!(found.trim_start_matches("own://"), tenant, "{method}");
            }
        }
        // The value is that of the request which brings the answer.
        let params = json!({
            "name": "asks", "arguments": {},
            "inputResponses": {"input": {"action": "accept", "content": {"value": "hi"}}},
        });
        let ask = Ask::modern("tools/call", params).header("x-tenant", tenant);
        let text = ask.send(&served).json()["result"]["content"][0]["text"].take();
        assert_eq!(text, format!("{tenant} hi"));
    }
}

/// 3.5: names that were allowed are served, others are not; pages of an allowed name are its own.
#[test]
fn hosts_that_were_named_are_served() {
    let server = McpServer::new("hosts", "1")
        .tool(Tool::new("hi", || async { "hi" }))
        .build()
        .unwrap();
    let routes = McpRoutes::new("/mcp", &server)
        .allowed_hosts(["mcp.example.com", "other.example.com:8443"]);
    let served = Served::with(routes.routes());
    let list = Ask::modern("tools/list", json!({}));
    for (host, status) in [
        ("mcp.example.com", 200),
        ("MCP.example.com:443", 200),
        ("other.example.com:8443", 200),
        ("other.example.com", 403),
        ("mcp.example.com.evil.test", 403),
        ("evil.test", 403),
        ("", 403),
        ("localhost", 200),
    ] {
        let reply = list.clone().host(host).send(&served);
        assert_eq!(reply.status, status, "{host:?}");
    }
    let page = |origin: &str| {
        let ask = list
            .clone()
            .host("mcp.example.com")
            .header("origin", origin);
        ask.send(&served).status
    };
    assert_eq!(page("https://mcp.example.com"), 200);
    assert_eq!(page("https://other.example.com:8443"), 403);
}
