//! What a stream carries: what belongs to its own request, as often as people can read, and nothing
//! after the answer.

use std::time::Duration;

use roscius::{prelude::*, server::Changes, wire::mcp::LogLevel};
use serde_json::{Value, json};

use crate::{
    mcp_server::host::{Ask, Served, Wire},
    mcp_sessions::client::{Client, Gate, builder, messages, serve},
};

fn progress(events: &[Value]) -> Vec<f64> {
    let told = events
        .iter()
        .filter(|event| event["method"] == "notifications/progress");
    told.map(|event| event["params"]["progress"].as_f64().unwrap())
        .collect()
}

/// 13: progress is limited however fast a tool reports, grows all the way, and ends at the end.
#[test]
fn progress_is_told_as_often_as_people_can_read() {
    const STEPS: u32 = 5_000;
    let loud = |cx: ToolCx| async move {
        for step in 1..=STEPS {
            cx.progress(f64::from(step), Some(f64::from(STEPS)), None);
            // The reader takes what there is, so that nothing is lost for want of room.
            tokio::task::yield_now().await;
        }
        "done"
    };
    for sessions in [Sessions::Stateless, Sessions::Memory] {
        let server = McpServer::new("loud", "1").sessions(sessions);
        let served = Served::new(&server.tool(Tool::new("loud", loud)).build().unwrap());
        let params = json!({"name": "loud", "arguments": {}, "_meta": {"progressToken": 1}});
        let began = std::time::Instant::now();
        let legacy = Ask::legacy("2025-11-25", "tools/call", params.clone());
        let ask = match sessions {
            Sessions::Memory => {
                let greeting = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
                let body =
                    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting});
                let opened = Ask::post(body.to_string()).send(&served);
                legacy.header("mcp-session-id", opened.header("mcp-session-id").unwrap())
            }
            _ => Ask::modern("tools/call", params),
        };
        let events = ask.send(&served).events();
        let told = progress(&events);
        let most = 66 + began.elapsed().as_millis() / 50;
        assert!(told.len() as u128 <= most, "{} of {most}", told.len());
        assert!(told.len() > 32, "{}", told.len());
        assert!(told.windows(2).all(|pair| pair[0] < pair[1]), "{told:?}");
        assert_eq!(told.last(), Some(&f64::from(STEPS)));
        assert_eq!(
            events.last().unwrap()["result"]["content"][0]["text"],
            "done"
        );
    }
}

#[test]
fn a_server_says_how_often_progress_is_told() {
    let quick = |cx: ToolCx| async move {
        for step in 1..=100_u8 {
            cx.progress(f64::from(step), None, None);
        }
    };
    let server = McpServer::new("quick", "1").progress_rate(3, 1);
    let served = Served::new(&server.tool(Tool::new("quick", quick)).build().unwrap());
    let params = json!({"name": "quick", "arguments": {}, "_meta": {"progressToken": 1}});
    let events = Ask::modern("tools/call", params).send(&served).events();
    assert_eq!(progress(&events), [1.0, 2.0, 3.0]);
}

/// 13: a report that comes after the answer goes nowhere, in either era.
#[test]
fn nothing_is_reported_after_the_answer() {
    let late = |cx: ToolCx| async move {
        cx.progress(1.0, None, None);
        let later = cx.clone();
        tokio::task::spawn_local(async move {
            tokio::task::yield_now().await;
            for step in 2..20 {
                later.progress(f64::from(step), None, None);
                later.log(LogLevel::Error, "late");
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        "done"
    };
    let server = builder(&Gate::default()).tool(Tool::new("late", late));
    let server = server.build().unwrap();
    let served = Served::new(&server);
    let meta = json!({"progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"});
    let params = json!({"name": "late", "arguments": {}, "_meta": meta});
    let events = Ask::modern("tools/call", params).send(&served).events();
    assert_eq!(progress(&events).first(), Some(&1.0));
    assert!(events.last().unwrap()["result"].is_object(), "{events:?}");
    let served = serve(&server);
    let client = Client::open(&served);
    let (_, mut get) = client.get(&[]);
    let (head, mut call) = client.call_with_progress(1, "late");
    let all = messages(&call.body(&head));
    assert_eq!(all.last().unwrap()["id"], 1, "{all:?}");
    // What the stream of the session carries next are signs of life, and no report.
    get.chunk().unwrap();
    for _ in 0..3 {
        assert_eq!(get.chunk().unwrap(), ": keep-alive\n\n");
    }
}

/// SH-6, L-13: a message goes to one stream. Changes are for those who listen, reports for the
/// call, questions for the call.
#[test]
fn each_message_goes_to_one_stream() {
    let gate = Gate::default();
    let changes = Changes::new();
    let server = builder(&gate).changes(&changes).build().unwrap();
    let served = serve(&server);
    let client = Client::open(&served);
    let (_, mut get) = client.get(&[]);
    let modern = Served::new(&server);
    let mut call = Wire::open(modern.addr);
    let params = json!({"name": "wait", "arguments": {}, "_meta": {"progressToken": "m"}});
    call.send(&Ask::modern("tools/call", params).bytes(modern.addr));
    let (head, mut own) = client.call_with_progress(1, "wait");
    let first = own.until("notifications/progress");
    crate::served::eventually("both calls run", || gate.entered() == 2);
    changes.tools_list_changed();
    let heard = get.until("notifications/tools/list_changed");
    gate.open.notify_waiters();
    let own = messages(&(first + &own.body(&head)));
    let methods: Vec<&Value> = own.iter().map(|one| &one["method"]).collect();
    let progress = json!("notifications/progress");
    assert_eq!(methods, [&progress, &progress, &Value::Null], "{own:?}");
    let events = call.reply().events();
    assert_eq!(events.len(), 3, "{events:?}");
    for event in &events[..2] {
        assert_eq!(event["params"]["progressToken"], "m");
    }
    let heard = messages(&heard);
    assert_eq!(heard.len(), 1, "{heard:?}");
    // A question goes to the stream of its call and is not on the other one.
    let (head, mut asking) = client.call(2, "ask");
    asking.until("elicitation/create");
    client.answer(0, json!({"action": "accept", "content": {"value": "Bern"}}));
    assert!(asking.body(&head).contains("Bern"));
    changes.tools_list_changed();
    let heard = messages(&get.until("notifications/tools/list_changed"));
    assert_eq!(heard.len(), 1, "{heard:?}");
}

/// 13: a client hears of the level that it asked for and of all above it, and of nothing without.
#[test]
fn a_log_level_is_a_threshold() {
    const LEVELS: [(LogLevel, &str); 8] = [
        (LogLevel::Debug, "debug"),
        (LogLevel::Info, "info"),
        (LogLevel::Notice, "notice"),
        (LogLevel::Warning, "warning"),
        (LogLevel::Error, "error"),
        (LogLevel::Critical, "critical"),
        (LogLevel::Alert, "alert"),
        (LogLevel::Emergency, "emergency"),
    ];
    let all = |cx: ToolCx| async move {
        for (level, name) in LEVELS {
            cx.log(level, name);
        }
        "done"
    };
    let server = McpServer::new("logs", "1").sessions(Sessions::Memory);
    let server = server.tool(Tool::new("all", all)).build().unwrap();
    let modern = Served::new(&server);
    let sessions = serve(&server);
    let client = Client::open(&sessions);
    for (at, (_, least)) in LEVELS.into_iter().enumerate() {
        let meta = json!({"io.modelcontextprotocol/logLevel": least});
        let params = json!({"name": "all", "arguments": {}, "_meta": meta});
        let events = Ask::modern("tools/call", params).send(&modern).events();
        let set = json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": least}});
        let (head, mut wire) = client.post(&set.to_string());
        assert_eq!(wire.body(&head), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        let (head, mut wire) = client.call(2, "all");
        for told in [events, messages(&wire.body(&head))] {
            let wanted: Vec<Value> = LEVELS[at..]
                .iter()
                .map(|(_, name)| json!({"level": name, "data": name}))
                .collect();
            let (answer, logs) = told.split_last().unwrap();
            let logs: Vec<Value> = logs.iter().map(|one| one["params"].clone()).collect();
            assert_eq!(logs, wanted, "{least}");
            assert!(answer["result"].is_object());
        }
    }
    let params = json!({"name": "all", "arguments": {}});
    let silent = Ask::modern("tools/call", params).send(&modern);
    assert_eq!(silent.json()["result"]["content"][0]["text"], "done");
}

/// SU-1, SU-3: what cannot be listened to is left out, nothing is a filter too, and two streams have
/// their own filters and ids.
#[test]
fn a_subscription_is_told_what_it_gets() {
    let changes = Changes::new();
    let server = builder(&Gate::default()).changes(&changes).build().unwrap();
    let served = Served::new(&server);
    let listen = |filter: Value| {
        let mut wire = Wire::open(served.addr);
        let ask = Ask::modern("subscriptions/listen", json!({"notifications": filter}));
        wire.send(&ask.bytes(served.addr));
        assert!(wire.line().contains("200"));
        while !wire.line().is_empty() {}
        wire
    };
    let acknowledged = |wire: &mut Wire| {
        let first = messages(&wire.chunk().unwrap()).remove(0);
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
        first["params"]["notifications"].clone()
    };
    for (filter, wanted) in [
        (json!({}), json!({})),
        (json!({"somethingNew": true}), json!({})),
        (json!({"toolsListChanged": false}), json!({})),
        // The server has neither resources nor prompts.
        (
            json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true}),
            json!({"toolsListChanged": true}),
        ),
    ] {
        let mut wire = listen(filter.clone());
        assert_eq!(acknowledged(&mut wire), wanted, "{filter}");
    }
    let (mut deaf, mut ears) = (listen(json!({})), listen(json!({"toolsListChanged": true})));
    acknowledged(&mut deaf);
    acknowledged(&mut ears);
    changes.tools_list_changed();
    let next = |wire: &mut Wire| loop {
        let chunk = wire.chunk().unwrap();
        if chunk != ": keep-alive\n\n" {
            return chunk;
        }
    };
    assert!(next(&mut ears).contains("notifications/tools/list_changed"));
    for _ in 0..2 {
        assert_eq!(deaf.chunk().unwrap(), ": keep-alive\n\n");
    }
}
