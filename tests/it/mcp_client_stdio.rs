//! Servers that are child processes: scripts of a few lines for `sh`.
#![cfg(all(feature = "stdio", unix))]

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use roscius_actors::{
    client::{ClientError, Era, McpClient},
    ports::transport::TransportError,
    transport::Stdio,
};
use serde_json::json;

/// Answers each line by its method. `$id` is the id of a request, `$log` a file of its own.
const LOOP: &str = r#"
id() { printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/'; }
result() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$(id)" "$1"; }
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$log"
  case "$line" in
    *server/discover*) discover ;;
    *'"initialize"'*) result '{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}' ;;
    *tools/list*) result '{"resultType":"complete","tools":[{"name":"x","inputSchema":{"type":"object","properties":{"p":{"type":"number","x-mcp-header":"P"}}}}]}' ;;
    *tools/call*slow*) ;;
    *tools/call*die*) exit 3 ;;
    *tools/call*env*) result "{\"content\":[{\"type\":\"text\",\"text\":\"${GIVEN:-} ${CARGO_MANIFEST_DIR:-none}\"}]}" ;;
    *tools/call*) printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/message","params":{}}' 'no json'; result '{"content":[{"type":"text","text":"ok"}]}' ;;
  esac
done
printf 'end\n' >> "$log"
"#;

const MODERN: &str = r#"discover() { printf '%s\n' '{"jsonrpc":"2.0","id":"server-discover-probe-1","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}'; }"#;
const REFUSES: &str = r#"discover() { printf '%s\n' '{"jsonrpc":"2.0","id":"server-discover-probe-1","error":{"code":-32602,"message":"not initialized"}}'; }"#;
const SILENT: &str = "discover() { :; }";
const EXITS: &str = "discover() { exit 1; }";

/// A folder of its own for what a script writes down.
struct World(PathBuf);

impl World {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("roscius-stdio-{}", uuid::Uuid::new_v4()));
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    fn server(&self, discover: &str) -> Stdio {
        let script = format!("log=\"$1\"\n{discover}\n{LOOP}");
        Stdio::command("sh")
            .args(["-c", &script, "server"])
            .arg(self.log())
            .env("GIVEN", "given")
            .probe_timeout(Duration::from_millis(300))
    }

    fn lines(&self, part: &str) -> usize {
        lines(&self.log(), part)
    }

    async fn wait_for(&self, part: &str) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.lines(part) == 0 {
            assert!(Instant::now() < deadline, "waited for {part}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn lines(log: &Path, part: &str) -> usize {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().filter(|line| line.contains(part)).count()
}

async fn text(client: &McpClient, tool: &str) -> String {
    let result = client.call_tool(tool, json!({})).await.unwrap();
    result.content[0].as_text().unwrap().to_owned()
}

#[actix_web::test]
async fn every_way_to_refuse_the_probe_shows_its_era() {
    let eras = [
        (MODERN, Era::Modern, 1),
        (REFUSES, Era::Legacy, 1),
        (SILENT, Era::Legacy, 1),
        (EXITS, Era::Legacy, 1),
    ];
    for (discover, era, probes) in eras {
        let world = World::new();
        let client = McpClient::connect(world.server(discover)).await.unwrap();
        assert_eq!(client.server().unwrap().era, era, "{discover}");
        assert_eq!(text(&client, "get").await, "ok", "{discover}");
        assert_eq!(world.lines("server/discover"), probes, "{discover}");
        client.close().await;
    }
}

#[actix_web::test]
async fn closing_ends_the_input_and_waits_for_the_server() {
    let world = World::new();
    let client = McpClient::connect(world.server(MODERN)).await.unwrap();
    client.close().await;
    assert_eq!(world.lines("end"), 1);
}

#[actix_web::test]
async fn a_server_sees_only_the_variables_that_are_meant_for_it() {
    let world = World::new();
    let client = McpClient::connect(world.server(MODERN)).await.unwrap();
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert_eq!(text(&client, "env").await, "given none");
    client.close().await;
}

#[actix_web::test]
async fn annotations_for_headers_do_not_matter_without_headers() {
    let world = World::new();
    let client = McpClient::connect(world.server(MODERN)).await.unwrap();
    assert_eq!(client.list_tools().await.unwrap()[0].name, "x");
    client.close().await;
}

#[actix_web::test]
async fn a_call_that_is_given_up_is_cancelled_by_a_line_in_both_eras() {
    for discover in [MODERN, REFUSES] {
        let world = World::new();
        let client = McpClient::connect(world.server(discover)).await.unwrap();
        let timeout = Duration::from_millis(50);
        let error = client
            .call_tool("slow", json!({}))
            .timeout(timeout)
            .await
            .unwrap_err();
        assert!(error.is_timeout());
        world.wait_for("notifications/cancelled").await;
        assert_eq!(
            text(&client, "get").await,
            "ok",
            "the server is still there"
        );
        client.close().await;
    }
}

#[actix_web::test]
async fn a_server_that_ends_fails_its_calls_and_is_started_again() {
    for discover in [MODERN, REFUSES] {
        let world = World::new();
        let client = McpClient::connect(world.server(discover)).await.unwrap();
        let error = client.call_tool("die", json!({})).await.unwrap_err();
        let broken = matches!(error, ClientError::Transport(TransportError::Broken(_)));
        assert!(broken, "{error:?}");
        assert_eq!(text(&client, "get").await, "ok");
        client.close().await;
    }
}

#[actix_web::test]
async fn all_threads_use_one_process() {
    let world = World::new();
    let client = McpClient::connect(world.server(REFUSES)).await.unwrap();
    let elsewhere = client.clone();
    let thread = std::thread::spawn(move || {
        actix_rt::System::new().block_on(async move { text(&elsewhere, "get").await })
    });
    assert_eq!(text(&client, "get").await, "ok");
    assert_eq!(thread.join().unwrap(), "ok");
    assert_eq!(world.lines("\"initialize\""), 1);
    client.close().await;
}

#[actix_web::test]
async fn a_program_that_is_not_there_is_a_connect_error() {
    let error = McpClient::connect(Stdio::command("/nowhere/mcp-server"))
        .await
        .unwrap_err();
    assert!(error.is_connection(), "{error:?}");
    assert!(error.to_string().contains("/nowhere/mcp-server"), "{error}");
}
