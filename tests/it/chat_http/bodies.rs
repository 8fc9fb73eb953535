//! What is no run request.

use super::*;

#[test]
fn what_is_no_run_request_is_refused_and_nothing_runs() {
    let flight = Flight::default();
    let turns = json!([{"toolCalls": [{"id": "c", "name": "hang", "arguments": {}}]}]);
    let chat = chat(&turns, vec![flight.tool()]);
    let served = Served::start(move |config| {
        config.service(web::ChatRoutes::new("/api/chat", &chat).max_body_bytes(1_000));
    });
    let json = ("content-type", "application/json");
    let long = "x".repeat(2_000);
    for (method, headers, body, status) in [
        ("POST", vec![json], "{", 400),
        ("POST", vec![json], "", 400),
        ("POST", vec![json], "{\"threadId\": \"\u{7f}\"}", 400),
        ("POST", vec![("content-type", "text/plain")], "{}", 415),
        ("POST", vec![], "{}", 415),
        ("POST", vec![json], long.as_str(), 413),
        (
            "POST",
            vec![json, ("origin", "https://evil.example")],
            "{}",
            403,
        ),
        ("POST", vec![json, ("host", "evil.example")], "{}", 403),
        ("GET", vec![], "", 405),
        ("PUT", vec![json], "{}", 405),
        ("DELETE", vec![], "", 400),
    ] {
        let (head, mut wire) = served.request(method, "/api/chat", &headers, body);
        assert_eq!(
            head.status,
            status,
            "{method} {headers:?} {}",
            &body[..body.len().min(20)]
        );
        let kind = head.header("content-type");
        assert_eq!(
            kind,
            Some("text/plain;charset=UTF-8"),
            "{method} {headers:?}"
        );
        assert!(!wire.body(&head).is_empty(), "it says why");
    }
    assert_eq!(flight.started.load(Ordering::SeqCst), 0);
}

#[test]
fn recorded_bad_bodies_are_answered_as_recorded() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/agui/bad-bodies.table.json"
    );
    let table: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    for case in table["cases"].as_array().unwrap() {
        let body = match case.get("bodyText") {
            Some(text) => text.as_str().unwrap().to_owned(),
            None => case["body"].to_string(),
        };
        let served = serve(&chat(&json!([{"text": ["ok"]}]), vec![]));
        let (head, mut wire) = served.post("/api/chat", &body);
        let name = &case["case"];
        assert_eq!(Value::from(head.status), case["status"], "{name}");
        assert_eq!(
            head.header("content-type"),
            case["contentType"].as_str(),
            "{name}"
        );
        let body = wire.body(&head);
        if head.status == 200 {
            let recorded = case["events"].as_array().unwrap();
            let recorded: Vec<_> = recorded
                .iter()
                .map(|event| event["type"].as_str())
                .collect();
            let ours: Vec<_> = events(&body)
                .iter()
                .map(|event| Some(event.kind.name()))
                .collect();
            assert_eq!(ours, recorded, "{name}");
        }
    }
}
