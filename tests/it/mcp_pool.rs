//! Several servers at once.

use std::sync::{Arc, Barrier};

use roscius_actors::{
    client::{ClientError, McpClient},
    pool::McpPool,
    ports::tool_source::ToolSource,
    transport::Http,
};
use serde_json::{Value, json};

use crate::mcp_client_peer::{
    Peer, discover, initialize, json_reply, reply, text_result, tool, tools_page,
};

fn serving(name: &'static str) -> Peer {
    Peer::start(move |request| match request.method() {
        "server/discover" => discover(request, &json!({"tools": {}})),
        "tools/list" => tools_page(request, &json!([tool(name)]), None),
        _ => json_reply(200, &text_result(request, name)),
    })
}

fn http(peer: &Peer) -> Http {
    Http::new(&peer.url)
}

async fn names(pool: &McpPool) -> Vec<String> {
    let tools = pool.tools().await.unwrap();
    tools.into_iter().map(|tool| tool.name).collect()
}

#[actix_web::test]
async fn the_key_is_the_prefix_unless_another_is_given() {
    let (one, two, three) = (serving("a"), serving("a"), serving("b"));
    let pool = McpPool::builder()
        .server("github", http(&one))
        .client("files", McpClient::connect(http(&two)).prefix("fs"))
        .client("bare", McpClient::connect(http(&three)).prefix(""))
        .connect()
        .await
        .unwrap();
    assert_eq!(names(&pool).await, ["github_a", "fs_a", "b"]);
    let prefixes: Vec<_> = pool
        .servers()
        .into_values()
        .map(|info| info.prefix)
        .collect();
    assert_eq!(
        prefixes,
        [Some("github".to_owned()), Some("fs".to_owned()), None]
    );
    let result = pool
        .client("files")
        .unwrap()
        .call_tool("a", json!({}))
        .await
        .unwrap();
    assert_eq!(result.content[0].as_text(), Some("a"));
    let tools = ToolSource::tools(&pool).await.unwrap();
    let ids: Vec<_> = tools.iter().map(|tool| tool.server_id.as_deref()).collect();
    assert_eq!(ids, [Some("github"), Some("fs"), None]);
    pool.close().await;
    pool.close().await;
    assert!(pool.clients().all(|(_, client)| client.is_closed()));
}

#[actix_web::test]
async fn servers_are_connected_at_the_same_time() {
    let both = Arc::new(Barrier::new(2));
    let meets = || {
        let both = Arc::clone(&both);
        Peer::start(move |request| {
            both.wait();
            discover(request, &json!({}))
        })
    };
    let (one, two) = (meets(), meets());
    let pool = McpPool::builder()
        .server("one", http(&one))
        .server("two", http(&two))
        .connect()
        .await;
    assert_eq!(pool.unwrap().clients().count(), 2);
}

#[actix_web::test]
async fn one_that_fails_closes_the_others_and_is_named() {
    let good = Peer::start(|request| match request.method() {
        "server/discover" => reply(405, &[], ""),
        "initialize" => initialize(request, Some("s-1")),
        _ => reply(202, &[], ""),
    });
    let down = Peer::start(|_| reply(503, &[], ""));
    let shut = Peer::start(|_| reply(401, &[], ""));
    let error = McpPool::builder()
        .server("good", http(&good))
        .server("down", http(&down))
        .server("shut", http(&shut))
        .connect()
        .await
        .unwrap_err();
    assert_eq!(error.failed_servers(), ["down", "shut"]);
    assert_eq!(
        error.to_string(),
        "failed to connect MCP server(s): down, shut"
    );
    assert!(error.is_connection());
    let ClientError::ConnectMany { failed } = error else {
        panic!("not many");
    };
    assert!(failed[1].1.is_unauthorized());
    assert_eq!(good.methods().last().unwrap(), "DELETE");
}

#[actix_web::test]
async fn a_name_that_two_servers_share_is_an_error() {
    let (one, two) = (serving("a"), serving("a"));
    let pool = McpPool::builder()
        .client("one", McpClient::connect(http(&one)).prefix(""))
        .client("two", McpClient::connect(http(&two)).prefix(""))
        .connect()
        .await
        .unwrap();
    let error = pool.tools().await.unwrap_err();
    assert!(matches!(error, ClientError::DuplicateTool { tool } if tool == "a"));
}

#[actix_web::test]
async fn a_list_that_cannot_be_had_names_its_server() {
    let good = serving("a");
    let bad = Peer::start(|request| match request.method() {
        "server/discover" => discover(request, &json!({})),
        _ => json_reply(200, &request.error(-32603, Value::Null)),
    });
    let pool = McpPool::builder()
        .server("good", http(&good))
        .server("bad", http(&bad))
        .connect();
    let error = pool.await.unwrap().tools().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to list tools from MCP server(s): bad"
    );
}

#[test]
fn a_pool_works_where_there_is_no_actix_system() {
    let peer = serving("a");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let pool = McpPool::builder()
            .server("one", http(&peer))
            .connect()
            .await
            .unwrap();
        assert_eq!(names(&pool).await, ["one_a"]);
        pool.close().await;
        assert!(matches!(
            pool.tools().await,
            Err(ClientError::ListMany { .. })
        ));
    });
}
