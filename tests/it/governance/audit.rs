//! Who called what, told once for each request.

mod ways;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use roscius::{
    ports::clock::ManualClock,
    prelude::*,
    server::{Audit, McpServerBuilder, RateLimit, Redaction},
    wire::{auth::AuthInfo, oauth::OAuthError, version::V2025_03_26},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{LEGACY, legacy, mirrored, modern, post, send, serve, serve_known};
use crate::served::{Served, eventually, pause};

/// What a server tells, a line for each request.
#[derive(Clone, Default)]
struct Trail(Arc<Mutex<Vec<String>>>);

impl Trail {
    fn note(&self, audit: &Audit<'_>) {
        assert!(audit.took < Duration::from_secs(20), "{audit:?}");
        let Audit {
            method, name, id, ..
        } = audit;
        let line = format!("{method} {name} {id} {:?}", audit.outcome);
        self.0.lock().unwrap().push(line);
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Waits for so many lines, and a little for more than that.
    fn settled(&self, count: usize) -> Vec<String> {
        eventually("the audit", || self.lines().len() >= count);
        pause(Duration::from_millis(20));
        self.lines()
    }
}

#[derive(Deserialize, JsonSchema)]
struct Login {
    user: String,
    #[schemars(extend("format" = "password"))]
    pin: String,
}

async fn log_in(Args(login): Args<Login>) -> String {
    format!("{} {}", login.user, login.pin.len())
}

/// A server with a tool for each outcome; `wait` ends when it is told to.
fn builder(trail: &Trail, open: &Arc<Notify>) -> McpServerBuilder {
    let trail = trail.clone();
    let open = Arc::clone(open);
    McpServer::new("audited", "1.0.0")
        .tool(Tool::new("log_in", log_in))
        .tool(Tool::new("hi", || async { "hi" }))
        .tool(Tool::new("fail", || async {
            Err::<String, _>(ToolError::new("no"))
        }))
        .tool(Tool::raw(
            "says_so",
            json!({"type": "object"}),
            |_, _| async {
                let result = json!({"content": [], "isError": true});
                serde_json::from_value::<roscius::wire::content::CallToolResult>(result)
            },
        ))
        .tool(Tool::new("panic", || async { panic!("secret") as String }))
        .tool(Tool::new("ask", |cx: ToolCx| async move {
            Ok::<_, ToolError>(cx.request_input("Which city?").await?)
        }))
        .tool(Tool::new("write", || async { "written" }).required_scopes(["write"]))
        .tool(Tool::new("wait", move || {
            let open = Arc::clone(&open);
            async move {
                open.notified().await;
                "waited"
            }
        }))
        .prompt(Prompt::new("review", || async { "look at it" }))
        .resource(Resource::new("one", "note://one", || async { "text" }))
        .audit(move |audit| trail.note(audit))
}

fn call(tool: &str) -> Value {
    json!({"name": tool, "arguments": {}})
}

/// Sends a request and leaves before it is answered.
fn leave(served: &Served, message: &Value, running: impl Fn() -> bool) {
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "application/json"),
    ];
    let own = mirrored(message);
    if message["params"]["_meta"].is_object() {
        headers.extend(own.iter().map(|(name, value)| (&**name, &**value)));
    } else {
        headers.push(("mcp-protocol-version", LEGACY));
    }
    let mut wire = served.connect();
    wire.send(&crate::served::request(
        served.addr,
        "POST",
        "/mcp",
        &headers,
        &message.to_string(),
    ));
    eventually("the call", running);
}

// G23
#[test]
fn a_request_that_names_something_is_told_once_with_its_outcome() {
    let read = json!({"uri": "note://one"});
    let missing = json!({"uri": "note://two"});
    let complete = json!({"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "a", "value": "b"}});
    for (request, ask, missing_code, complete_code) in [
        (
            legacy as fn(i64, &str, Value) -> Value,
            "ToolError",
            -32002,
            -32601,
        ),
        (modern, "InputRequired", -32602, -32601),
    ] {
        let trail = Trail::default();
        let served = serve(&builder(&trail, &Arc::default()).build().unwrap());
        let table: [(&str, Value, &str, String); 12] = [
            ("tools/call", call("hi"), "hi", "Done".to_owned()),
            ("tools/call", call("fail"), "fail", "ToolError".to_owned()),
            (
                "tools/call",
                call("says_so"),
                "says_so",
                "ToolError".to_owned(),
            ),
            ("tools/call", call("panic"), "panic", "ToolError".to_owned()),
            (
                "tools/call",
                call("log_in"),
                "log_in",
                "ToolError".to_owned(),
            ),
            ("tools/call", call("ask"), "ask", ask.to_owned()),
            (
                "tools/call",
                call("gone"),
                "gone",
                "Error(-32602)".to_owned(),
            ),
            (
                "tools/call",
                call("write"),
                "write",
                "Refused(Scope)".to_owned(),
            ),
            ("prompts/get", call("review"), "review", "Done".to_owned()),
            (
                "resources/read",
                read.clone(),
                "note://one",
                "Done".to_owned(),
            ),
            (
                "resources/read",
                missing.clone(),
                "note://two",
                format!("Error({missing_code})"),
            ),
            (
                "completion/complete",
                complete.clone(),
                "review",
                format!("Error({complete_code})"),
            ),
        ];
        for (method, params, name, outcome) in table {
            trail.0.lock().unwrap().clear();
            let answer = post(&served, &request(7, method, params), &[]);
            let expected = [format!("{method} {name} 7 {outcome}")];
            assert_eq!(trail.settled(1), expected, "{answer:?}");
        }
        trail.0.lock().unwrap().clear();
        for method in ["ping", "tools/list", "no/such"] {
            post(&served, &request(8, method, json!({"name": "hi"})), &[]);
        }
        assert_eq!(trail.lines(), [""; 0]);
    }
}

#[test]
fn a_request_that_breaks_the_rules_is_told_too() {
    let trail = Trail::default();
    let server = builder(&trail, &Arc::default())
        .sessions(Sessions::Memory)
        .rate_limit(RateLimit::per_minute(2).clock(Arc::new(ManualClock::at(1))))
        .build()
        .unwrap();
    let served = serve(&server);
    let mismatch = modern(1, "tools/call", call("hi"));
    let headers: Vec<_> = [
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/list"),
    ]
    .into();
    assert_eq!(
        send(&served, "POST", &headers, &mismatch.to_string())
            .head
            .status,
        400
    );
    // There is no such session.
    let named = [("mcp-session-id", "x")];
    assert_eq!(
        post(&served, &legacy(2, "tools/call", call("hi")), &named)
            .head
            .status,
        404
    );
    assert_eq!(
        post(&served, &modern(3, "tools/call", call("hi")), &[])
            .head
            .status,
        429
    );
    let expected = [
        "tools/call hi 1 Error(-32020)",
        "tools/call hi 2 Error(-32001)",
        "tools/call hi 3 Refused(Rate)",
    ];
    assert_eq!(trail.settled(3), expected);
}

#[test]
fn the_caller_is_told_and_no_value_of_the_arguments_unless_wanted() {
    type Told = (Option<String>, Option<String>, bool, Value);
    let arguments = json!({"user": "ann", "pin": "1234"});
    let cases = [
        (None, json!({"user": "string", "pin": "string"})),
        (
            Some(Redaction::values()),
            json!({"user": "ann", "pin": "[redacted]"}),
        ),
        (
            Some(Redaction::values().hide(["/user"])),
            json!({"user": "[redacted]", "pin": "[redacted]"}),
        ),
    ];
    for (redaction, expected) in cases {
        let told: Arc<Mutex<Vec<Told>>> = Arc::default();
        let seen = Arc::clone(&told);
        let mut builder = builder(&Trail::default(), &Arc::default()).audit(move |audit| {
            let text = |text: Option<&str>| text.map(str::to_owned);
            assert!(!format!("{audit:?}").contains("secret-token"), "{audit:?}");
            let (client, user) = (text(audit.client_id), text(audit.subject));
            let near = audit.peer.is_some_and(|peer| peer.is_loopback());
            let told = (client, user, near, audit.arguments.clone());
            seen.lock().unwrap().push(told);
        });
        if let Some(redaction) = redaction {
            builder = builder.audit_arguments(redaction);
        }
        let served = serve_known(&builder.build().unwrap());
        let params = json!({"name": "log_in", "arguments": arguments});
        let request = legacy(1, "tools/call", params);
        post(&served, &request, &[("x-user", "ann")]);
        post(&served, &request, &[]);
        let known = |name: &str| Some(name.to_owned());
        let told = told.lock().unwrap().clone();
        let expected = [
            (known("app"), known("ann"), true, expected.clone()),
            (None, None, true, expected),
        ];
        assert_eq!(told, expected);
    }
}

#[test]
fn what_the_gate_refuses_is_told_without_a_name() {
    async fn nobody(token: String) -> Result<AuthInfo, OAuthError> {
        match &*token {
            "weak" => Ok(AuthInfo::new(token, "app").expires_at(4_102_444_800)),
            _ => Err(OAuthError::invalid_token("no")),
        }
    }
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&told);
    let server = builder(&Trail::default(), &Arc::default())
        .auth(nobody)
        .required_scopes(["read"])
        .audit(move |audit| {
            let line = format!(
                "{:?} {:?} {:?} {:?}",
                audit.method, audit.name, audit.client_id, audit.outcome
            );
            seen.lock().unwrap().push(line);
        })
        .build()
        .unwrap();
    let served = serve(&server);
    let request = legacy(1, "tools/call", call("hi"));
    for (token, status) in [
        (None, 401),
        (Some("Bearer bad"), 401),
        (Some("Bearer weak"), 403),
    ] {
        let header: Vec<_> = token
            .map(|token| ("authorization", token))
            .into_iter()
            .collect();
        assert_eq!(post(&served, &request, &header).head.status, status);
    }
    let expected = [
        r#""" "" None Refused(Gate)"#,
        r#""" "" None Refused(Gate)"#,
        r#""" "" Some("app") Refused(Gate)"#,
    ];
    assert_eq!(*told.lock().unwrap(), expected);
}

#[test]
fn an_audit_that_panics_harms_nobody() {
    let server = builder(&Trail::default(), &Arc::default())
        .audit(|_| panic!("the hook is broken"))
        .build()
        .unwrap();
    let served = serve(&server);
    for request in [legacy as fn(i64, &str, Value) -> Value, modern] {
        let answer = post(&served, &request(1, "tools/call", call("hi")), &[]);
        assert_eq!(
            answer.json()["result"]["content"][0]["text"],
            "hi",
            "{answer:?}"
        );
    }
    leave(&served, &modern(2, "tools/call", call("wait")), || {
        server.running_calls() == 1
    });
    eventually("the end of the call", || server.running_calls() == 0);
    assert_eq!(
        post(&served, &legacy(3, "tools/call", call("hi")), &[])
            .head
            .status,
        200
    );
}
