//! Headers that repeat what the body says.

use super::*;

#[test]
fn headers_are_read_as_http_reads_them() {
    let served = Served::new(&server());
    let shouted = call().without("mcp-name").header("MCP-NAME", "  echo  ");
    assert_eq!(shouted.send(&served).status, 200);
    let encoded = call().with("mcp-name", "=?base64?ZWNobw==?=");
    assert_eq!(encoded.send(&served).status, 200);
}

#[test]
fn mirrored_arguments_are_compared() {
    let served = Served::new(&server());
    let region = |value: &str| {
        Ask::modern(
            "tools/call",
            json!({"name": "region", "arguments": {"region": value}}),
        )
    };
    for (ask, status) in [
        (region("Hello").header("mcp-param-region", "Hello"), 200),
        (
            region("Hello").header("mcp-param-region", "=?base64?SGVsbG8=?="),
            200,
        ),
        (
            region("Hello").header("mcp-param-region", "=?base64?SGVsbG8?="),
            400,
        ),
        (
            region("Hello").header("mcp-param-region", "=?base64?SGVs!G8=?="),
            400,
        ),
        (
            region("=?base64?SGVsbG8=").header("mcp-param-region", "=?base64?SGVsbG8="),
            200,
        ),
        (region("Hello").header("mcp-param-region", "World"), 400),
        (region("Hello"), 400),
        (region("").header("mcp-param-region", ""), 200),
    ] {
        let reply = ask.send(&served);
        assert_eq!(reply.status, status, "{reply:?}");
        if status == 400 {
            assert_eq!(reply.error_code(), -32020);
        }
    }
}

/// A tool that looks at no more than it needs would else run with what its header denies.
#[test]
fn arguments_that_cannot_be_compared_are_refused() {
    #[derive(Deserialize, JsonSchema)]
    struct Where {
        #[schemars(extend("x-mcp-header" = "Region"))]
        region: String,
    }
    let server = McpServer::new("refusals", "1.0.0").tool(Tool::new(
        "region",
        |Args(Where { region }): Args<Where>| async move { region },
    ));
    let served = Served::new(&server.build().unwrap());
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for more in ["1e999", &deep] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"region","arguments":{{"region":"us","more":{more}}},{META}}}}}"#
        );
        let ask = modern_body(&body)
            .with("mcp-method", "tools/call")
            .header("mcp-name", "region")
            .header("mcp-param-region", "eu");
        let reply = ask.send(&served);
        assert_eq!(
            (reply.status, reply.error_code()),
            (400, -32602),
            "{reply:?}"
        );
    }
}
