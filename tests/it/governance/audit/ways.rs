//! Requests by every way that leads to a server, and clients that go away.

use super::*;

#[test]
fn a_client_that_goes_away_is_told_when_its_call_ends() {
    let (trail, open) = (Trail::default(), Arc::new(Notify::new()));
    let server = builder(&trail, &open).build().unwrap();
    let served = serve(&server);
    leave(&served, &modern(1, "tools/call", call("wait")), || {
        server.running_calls() == 1
    });
    assert_eq!(trail.settled(1), ["tools/call wait 1 Cancelled"]);
    eventually("the end of the call", || server.running_calls() == 0);
    // In 2025 a closed connection cancels nothing.
    leave(&served, &legacy(2, "tools/call", call("wait")), || {
        server.running_calls() == 1
    });
    pause(Duration::from_millis(20));
    assert_eq!(trail.lines().len(), 1);
    open.notify_one();
    assert_eq!(trail.settled(2)[1], "tools/call wait 2 Done");
}

#[test]
fn calls_of_a_session_and_of_an_array_are_told_one_by_one() {
    let (trail, open) = (Trail::default(), Arc::new(Notify::new()));
    let server = builder(&trail, &open)
        .sessions(Sessions::Memory)
        .build()
        .unwrap();
    let served = serve(&server);
    let params = json!({"protocolVersion": V2025_03_26, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let opened = post(
        &served,
        &legacy(0, "initialize", params),
        &[("mcp-protocol-version", V2025_03_26)],
    );
    let session = opened.head.header("mcp-session-id").unwrap().to_owned();
    let named = [
        ("mcp-session-id", &*session),
        ("mcp-protocol-version", V2025_03_26),
    ];
    let batch = json!([
        legacy(1, "tools/call", call("hi")),
        legacy(2, "ping", json!({})),
        legacy(3, "prompts/get", call("gone")),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]);
    assert_eq!(post(&served, &batch, &named).head.status, 200);
    let mut told = trail.settled(2);
    told.sort();
    assert_eq!(
        told,
        ["prompts/get gone 3 Error(-32602)", "tools/call hi 1 Done"]
    );
    trail.0.lock().unwrap().clear();

    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| post(&served, &legacy(4, "tools/call", call("wait")), &named));
        eventually("the call", || server.running_calls() == 1);
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}});
        // The call is known to its session from the moment that it has to wait.
        eventually("the cancel", || {
            post(&served, &cancel, &named);
            waiting.is_finished()
        });
    });
    assert_eq!(trail.settled(1), ["tools/call wait 4 Cancelled"]);
}

#[cfg(feature = "stdio")]
#[actix_web::test]
async fn calls_on_a_pipe_are_told() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let trail = Trail::default();
    let server = builder(&trail, &Arc::default()).build().unwrap();
    let (mut input, theirs) = tokio::io::duplex(1 << 16);
    let (ours, mut output) = tokio::io::duplex(1 << 16);
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
    for message in [
        modern(1, "tools/call", call("hi")),
        modern(2, "tools/call", call("wait")),
        cancel,
        // The scopes of a tool are not asked of a trusted caller.
        modern(3, "tools/call", call("write")),
    ] {
        input
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    }
    drop(input);
    roscius::server::serve_io(server, theirs, ours)
        .await
        .unwrap();
    let mut text = String::new();
    output.read_to_string(&mut text).await.unwrap();
    let mut told = trail.lines();
    told.sort();
    let expected = [
        "tools/call hi 1 Done",
        "tools/call wait 2 Cancelled",
        "tools/call write 3 Done",
    ];
    assert_eq!(told, expected, "{text}");
}

// G5, G23
#[test]
fn a_call_that_goes_on_as_a_task_is_told_when_it_begins_and_ends_and_so_is_what_changes_it() {
    let trail = Trail::default();
    let open = Arc::new(Notify::new());
    let server = builder(&trail, &open)
        .tool(Tool::new("later", std::future::pending::<()>).task())
        .build()
        .unwrap();
    let served = serve(&server);
    let begin = json!({"name": "later", "arguments": {}, "task": {}});
    let ask = |request: Value| -> Value {
        let newest = [("mcp-protocol-version", "2025-11-25")];
        post(&served, &request, &newest).json()["result"].clone()
    };
    let created = ask(legacy(1, "tools/call", begin));
    let id = created["task"]["taskId"].as_str().unwrap();
    ask(legacy(2, "tasks/get", json!({"taskId": id})));
    ask(legacy(3, "tasks/cancel", json!({"taskId": id})));
    assert_eq!(
        trail.settled(3),
        [
            "tools/call later 1 Task".to_owned(),
            "tools/call later 1 TaskEnded(Cancelled)".to_owned(),
            // Whoever knows all of the id has the task.
            format!("tasks/cancel {}… 3 Done", &id[..8])
        ]
    );
}

#[actix_web::test]
async fn calls_of_a_client_in_this_process_are_bounded_and_told() {
    let trail = Trail::default();
    let limit = RateLimit::per_minute(2).clock(Arc::new(ManualClock::at(1)));
    let server = builder(&trail, &Arc::default())
        .rate_limit(limit)
        .build()
        .unwrap();
    let client = server.direct();
    let mut codes = Vec::new();
    for tool in ["hi", "fail", "hi"] {
        let answer = client.call_tool(tool, json!({})).await;
        codes.push(answer.err().map(|error| error.to_string()));
    }
    assert_eq!(codes[0], None);
    assert!(codes[2].as_ref().unwrap().contains("429"), "{codes:?}");
    let told = trail.lines();
    let outcomes: Vec<_> = told
        .iter()
        .map(|line| line.rsplit(' ').next().unwrap())
        .collect();
    assert_eq!(outcomes, ["Done", "ToolError", "Refused(Rate)"], "{told:?}");
}
