//! Who hears that something has changed, in both eras.

use std::time::Duration;

use roscius::{prelude::*, server::Changes};
use serde_json::{Value, json};

use super::client::{Client, Gate, builder, json_of, messages, post, serve};
use crate::served::{Head, Served, Wire};

fn served(changes: &Changes) -> (McpServer, Served) {
    let server = builder(&Gate::default())
        .changes(changes)
        .resource(Resource::new("one", "test://one", || async { "1" }))
        .resource(Resource::new("two", "test://two", || async { "2" }))
        .build()
        .unwrap();
    let served = serve(&server);
    (server, served)
}

fn request(client: &Client<'_>, method: &str, uri: &str) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"uri": uri}});
    json_of(client.post(&body.to_string()))
}

#[test]
fn a_session_hears_of_lists_and_of_its_resources() {
    let changes = Changes::new();
    let (_server, served) = served(&changes);
    let client = Client::open(&served);
    let other = Client::open(&served);
    assert_eq!(
        request(&client, "resources/subscribe", "test://one")["result"],
        json!({})
    );
    let unknown = request(&client, "resources/subscribe", "test://none");
    assert_eq!(unknown["error"]["code"], -32002);
    let (_, mut stream) = client.get(&[]);
    let (_, mut others) = other.get(&[]);
    changes.resource_updated("test://two");
    changes.resource_updated("test://one");
    changes.tools_list_changed();
    let heard = messages(&stream.until("tools/list_changed"));
    let methods: Vec<&Value> = heard.iter().map(|one| &one["method"]).collect();
    assert_eq!(
        methods,
        [
            "notifications/resources/updated",
            "notifications/tools/list_changed"
        ]
    );
    assert_eq!(heard[0]["params"]["uri"], "test://one");
    assert!(heard[1].get("params").is_none());
    assert_eq!(messages(&others.until("tools/list_changed")).len(), 1);
    assert_eq!(
        request(&client, "resources/unsubscribe", "test://one")["result"],
        json!({})
    );
    changes.resource_updated("test://one");
    changes.prompts_list_changed();
    changes.resources_list_changed();
    let heard = messages(&stream.until("resources/list_changed"));
    assert_eq!(heard.len(), 2, "{heard:?}");
}

#[test]
fn what_can_change_is_announced() {
    let announced = |server: &McpServer| {
        let served = serve(server);
        let (head, mut wire) = post(&served, &[], &super::client::initialize("2025-11-25", "{}"));
        let body: Value = serde_json::from_str(&wire.body(&head)).unwrap();
        body["result"]["capabilities"].clone()
    };
    let changes = Changes::new();
    let (server, _) = served(&changes);
    assert!(server.changes().is_some());
    let live = announced(&server);
    assert_eq!(live["tools"], json!({"listChanged": true}));
    assert_eq!(
        live["resources"],
        json!({"subscribe": true, "listChanged": true})
    );
    let stateless = builder(&Gate::default()).changes(&changes);
    let stateless = stateless.sessions(Sessions::Stateless).build().unwrap();
    assert_eq!(
        announced(&stateless)["tools"],
        json!({"listChanged": false})
    );
    let still = builder(&Gate::default()).build().unwrap();
    assert!(still.changes().is_none());
    assert_eq!(announced(&still)["tools"], json!({"listChanged": false}));
}

fn listen(served: &Served, id: &Value, filter: Value) -> (Head, Wire) {
    let params = json!({"notifications": filter, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}});
    let body =
        json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params});
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "subscriptions/listen"),
    ];
    post(served, &headers, &body.to_string())
}

#[test]
fn a_client_of_2026_hears_what_it_listens_to() {
    let changes = Changes::new();
    let (server, served) = served(&changes);
    let filter = json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["test://one"]});
    let (head, mut wire) = listen(&served, &json!("l"), filter);
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    let first = messages(&wire.until("acknowledged"));
    assert_eq!(
        first[0],
        json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
            "_meta": {"io.modelcontextprotocol/subscriptionId": "l"},
            // There are no prompts.
            "notifications": {"toolsListChanged": true, "resourceSubscriptions": ["test://one"]},
        }})
    );
    let (_, mut numbered) = listen(&served, &json!(7), json!({"resourcesListChanged": true}));
    numbered.until("acknowledged");
    changes.resources_list_changed();
    changes.resource_updated("test://two");
    changes.resource_updated("test://one");
    changes.tools_list_changed();
    let heard = messages(&wire.until("tools/list_changed"));
    assert_eq!(heard.len(), 2, "{heard:?}");
    for one in &heard {
        let id = &one["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert_eq!(id, "l");
    }
    let heard = messages(&numbered.until("resources/list_changed"));
    let id = &heard[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(id, &json!(7));
    assert!(wire.until(": keep-alive").contains("keep-alive"));
    // The end of the server is the result of the request.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime
        .unwrap()
        .block_on(server.drain(Duration::from_secs(5)));
    let last = messages(&wire.body(&head)).pop().unwrap();
    assert_eq!(last["id"], "l");
    assert_eq!(last["result"]["resultType"], "complete");
    assert!(numbered.until("resultType").contains("\"id\":7"));
}

#[test]
fn what_cannot_be_listened_to_is_refused() {
    let changes = Changes::new();
    let (_server, served) = served(&changes);
    for filter in [json!(null), json!([]), json!({"toolsListChanged": 1})] {
        let answer = json_of(listen(&served, &json!(1), filter));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let many: Vec<String> = (0..1_001).map(|at| format!("test://{at}")).collect();
    let answer = json_of(listen(
        &served,
        &json!(1),
        json!({"resourceSubscriptions": many}),
    ));
    assert_eq!(answer["error"]["code"], -32602);
    let still = serve(&builder(&Gate::default()).build().unwrap());
    assert_eq!(listen(&still, &json!(1), json!({})).0.status, 404);
    let client = Client::open(&still);
    let refused = request(&client, "resources/subscribe", "test://one");
    assert_eq!(refused["error"]["code"], -32601);
}
