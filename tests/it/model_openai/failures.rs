//! Answers that fail, are late, or are given up.

use super::*;

fn failure(events: &[ModelEvent]) -> (&str, Option<&str>) {
    match events.last() {
        Some(ModelEvent::Failed { message, code, .. }) => (message, code.as_deref()),
        other => panic!("not a failure: {other:?}"),
    }
}

#[actix_web::test]
async fn a_retry_that_is_answered_counts() {
    let overloaded = json!({"status": 503, "headers": {"retry-after-ms": "1"}, "body": ""});
    let answer = json!({"events": [{"type": "response.output_text.delta", "delta": "ok"}, {"type": "response.completed"}]});
    let (provider, base) = serve(vec![overloaded, answer]);
    let events = turn(&OpenAi::responses("m").base_url(base), &hello()).await;
    assert!(
        events.contains(&ModelEvent::TextDelta("ok".to_owned())),
        "{events:?}"
    );
    assert_eq!(provider.seen.lock().unwrap().len(), 2);
}

#[actix_web::test]
async fn errors_without_json_are_told_in_one_sentence() {
    let table = [
        (
            json!({"status": 404, "body": "no such page"}),
            "404 no such page",
            "404",
        ),
        (
            json!({"status": 403, "body": ""}),
            "403 status code (no body)",
            "403",
        ),
    ];
    for (reply, message, code) in table {
        let (provider, base) = serve(vec![reply]);
        let events = turn(&OpenAi::responses("m").base_url(base), &hello()).await;
        assert_eq!(failure(&events), (message, Some(code)));
        assert_eq!(provider.seen.lock().unwrap().len(), 1);
    }
}

#[actix_web::test]
async fn a_pause_that_is_too_long_is_not_waited_for() {
    let reply = json!({"status": 429, "headers": {"retry-after": "3600"}, "body": ""});
    let (provider, base) = serve(vec![reply]);
    let events = turn(&OpenAi::responses("m").base_url(base), &hello()).await;
    assert_eq!(failure(&events).1, Some("429"));
    assert_eq!(provider.seen.lock().unwrap().len(), 1);
}

#[actix_web::test]
async fn a_silent_or_oversized_answer_ends_with_a_failure() {
    let silent =
        json!({"events": [{"type": "response.output_text.delta", "delta": "a"}], "hang": true});
    let (_provider, base) = serve(vec![silent]);
    let model = OpenAi::responses("m").base_url(base.clone());
    let events = turn(
        &model.clone().event_timeout(Duration::from_millis(50)),
        &hello(),
    )
    .await;
    assert_eq!(failure(&events), ("the model was silent for 0 s", None));
    let events = turn(&model.max_event_bytes(16), &hello()).await;
    assert_eq!(failure(&events), ("an event is larger than 16 bytes", None));
}

#[actix_web::test]
async fn cancel_ends_an_answer_at_once() {
    let reply =
        json!({"events": [{"type": "response.output_text.delta", "delta": "a"}], "hang": true});
    let (_provider, base) = serve(vec![reply]);
    let cancel = CancellationToken::new();
    let mut events = OpenAi::responses("m")
        .base_url(base)
        .stream(hello(), cancel.clone());
    assert_eq!(events.next().await, Some(Ok(ModelEvent::TextStart)));
    assert_eq!(
        events.next().await,
        Some(Ok(ModelEvent::TextDelta("a".to_owned())))
    );
    cancel.cancel();
    let next = tokio::time::timeout(Duration::from_secs(5), events.next()).await;
    assert_eq!(next.unwrap(), None);
}
