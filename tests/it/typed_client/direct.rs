//! A client in the process of its server.

use super::*;

#[actix_web::test]
async fn a_client_in_this_process_needs_no_token_and_one_over_a_connection_does() {
    let server = builder()
        .auth(async |_token: String| {
            Err::<AuthInfo, _>(OAuthError::invalid_token("nobody is let in"))
        })
        .required_scopes(["weather:read"])
        .build()
        .unwrap();
    let served = serve(&server, true);
    let url = format!("http://{}/mcp", served.addr);
    let error = McpClient::connect(Http::new(url).bearer("t")).await;
    assert!(error.is_err(), "the gate is open");
    let weather = server.direct().call(&GET_WEATHER, oslo()).await;
    assert_eq!(weather.unwrap(), COLD);
}

#[actix_web::test]
async fn a_client_in_this_process_gives_values_to_one_call_or_to_all() {
    let server = server();
    let tenant = async |client: &DirectClient| {
        let read = client.read(&TENANT, ()).await.unwrap();
        read.text().unwrap().to_owned()
    };
    let client = server.direct();
    assert_eq!(tenant(&client).await, "nobody");
    let read = client.read(&TENANT, ()).context(Tenant("ann")).await;
    assert_eq!(read.unwrap().text(), Some("ann"));
    assert_eq!(tenant(&client).await, "nobody");
    assert_eq!(tenant(&client.context(Tenant("bob"))).await, "bob");
}

#[actix_web::test]
async fn a_client_in_this_process_names_what_is_not_there() {
    let client = server().direct();
    const TOOL: ToolDef<(), ()> = ToolDef::new("nope");
    let error = client.call(&TOOL, ()).await.unwrap_err();
    assert!(error.is_unknown());
    assert_eq!(error.to_string(), "the MCP server has no tool `nope`");
    const PROMPT: PromptDef<()> = PromptDef::new("nope");
    let error = client.prompt(&PROMPT, ()).await.unwrap_err();
    assert_eq!(error.to_string(), "the MCP server has no prompt `nope`");
    const RESOURCE: ResourceDef = ResourceDef::fixed("nope", "nope://nope");
    let nothing = McpServer::new("nothing", "1.0.0").build().unwrap();
    for client in [client, nothing.direct()] {
        let error = client.read(&RESOURCE, ()).await.unwrap_err();
        assert!(error.is_unknown());
        let text = "the MCP server has no resource `nope://nope`";
        assert_eq!(error.to_string(), text);
    }
}

#[actix_web::test]
async fn a_sample_in_this_process_asks_the_sampler_of_the_server() {
    let own = builder().sample(|request: SampleRequest| async move {
        Ok::<_, ToolError>(format!("short: {}", request.text()))
    });
    let client = own.build().unwrap().direct();
    let summary = client.call(&SUMMARIZE, ()).await;
    assert_eq!(summary.unwrap(), "short: all of it");

    let error = server().direct().call(&SUMMARIZE, ()).await.unwrap_err();
    assert!(error.is_tool_failure());
    assert!(
        error.to_string().contains("nobody answers sample"),
        "{error}"
    );
}

#[actix_web::test]
async fn a_call_in_this_process_ends_in_time_or_when_it_is_told_to() {
    tokio::time::pause();
    let client = server().direct();
    let error = client.call(&SLEEP, ()).await.unwrap_err();
    assert!(matches!(error, ClientError::Timeout { after } if after.as_secs() == 60));
    let quick = client.clone().timeout(Duration::from_secs(2));
    let error = quick.call(&SLEEP, ()).await.unwrap_err();
    assert!(matches!(error, ClientError::Timeout { after } if after.as_secs() == 2));
    let token = tokio_util::sync::CancellationToken::new();
    token.cancel();
    let told = client.call(&SLEEP, ()).cancel_on(token);
    assert!(matches!(told.await, Err(ClientError::Cancelled)));
}

const COUNT_DOWN: ToolDef<Left, u32> = ToolDef::new("count_down");

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Left {
    left: u32,
}

#[actix_web::test]
async fn a_tool_can_call_its_own_server_and_a_dropped_call_ends_all_of_them() {
    let own = Arc::new(std::sync::OnceLock::<McpServer>::new());
    let called = Arc::clone(&own);
    let server = McpServer::new("own", "1.0.0")
        .tool(
            COUNT_DOWN.implement(move |Args(Left { left }): Args<Left>| {
                let called = Arc::clone(&called);
                async move {
                    if left == 99 {
                        std::future::pending::<()>().await;
                    }
                    if left == 0 {
                        return Ok(Json(0));
                    }
                    let client = called.get().unwrap().direct();
                    let below = client.call(&COUNT_DOWN, Left { left: left - 1 }).await;
                    below
                        .map(|below| Json(below + 1))
                        .map_err(|error| ToolError::new(error.to_string()))
                }
            }),
        )
        .build()
        .unwrap();
    assert!(own.set(server.clone()).is_ok());
    let client = server.direct();
    let counted = client.call(&COUNT_DOWN, Left { left: 20 }).await.unwrap();
    assert_eq!(counted, 20);
    assert_eq!(server.running_calls(), 0);
    let mut call = Box::pin(client.call(&COUNT_DOWN, Left { left: 110 }).into_future());
    assert!(futures_util::poll!(&mut call).is_pending());
    assert_eq!(server.running_calls(), 12);
    drop(call);
    assert_eq!(server.running_calls(), 0);
    let wrong: ToolDef<Left, String> = ToolDef::new("count_down");
    let error = client.call(&wrong, Left { left: 1 }).await.unwrap_err();
    assert!(matches!(error, ClientError::Output { .. }), "{error}");
}
