//! 2025: brings the questions of a task to the client of its session, and waits for its end.

use std::{collections::HashMap, future::pending, sync::Arc};

use futures_util::{StreamExt as _, future::LocalBoxFuture, stream::FuturesUnordered};
use serde_json::{Map, Value, json};

use super::live::{Claim, Live};
use crate::{
    ports::task_store::TaskRecord,
    session::{Lane, Session, Unanswered, ask_client},
    tool::QuestionKind,
    wire::task::RELATED_TASK,
};

/// Asks the client and tells the task what it answers. Tells whether it could be asked: not so when
/// no stream leads to it.
pub(super) async fn deliver(
    session: Arc<Session>,
    lane: Option<Arc<Lane>>,
    claim: Claim,
    kind: QuestionKind,
    params: Value,
) -> bool {
    let params = related(params, claim.live().key().id.as_str());
    let answer = match ask_client(session, lane, kind, params).await {
        Ok(answer) => Ok(answer),
        Err(Unanswered::NoStream) => return false,
        Err(Unanswered::Other(error)) => Err(error),
    };
    claim.settle(answer).await;
    true
}

/// Brings a question to the client on the stream of its session, as soon as there is one and nobody
/// else does: whoever waits in `tasks/result` brings it on a stream of its own.
pub(super) async fn bring(
    session: Arc<Session>,
    live: &Arc<Live>,
    key: &str,
    kind: QuestionKind,
    params: Value,
) {
    loop {
        let released = live.released();
        tokio::pin!(released);
        released.as_mut().enable();
        let streams = session.streams_opened();
        let Some(claim) = live.claim(key) else {
            released.await;
            continue;
        };
        if deliver(Arc::clone(&session), None, claim, kind, params.clone()).await {
            return;
        }
        session.stream_opened_after(streams).await;
    }
}

/// Says which task a message belongs to.
pub(in crate::server) fn related(params: Value, id: &str) -> Value {
    let mut params = match params {
        Value::Object(params) => params,
        _ => Map::new(),
    };
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    if let Value::Object(meta) = meta {
        meta.insert(RELATED_TASK.to_owned(), json!({"taskId": id}));
    }
    Value::Object(params)
}

/// Waits until a task has ended, and brings its questions to the client meanwhile. Gives nothing
/// when the task was forgotten before.
pub(super) async fn until_over(
    live: Arc<Live>,
    client: Option<(Arc<Session>, Arc<Lane>)>,
) -> Option<Arc<TaskRecord>> {
    let mut seen = live.watch();
    let mut deliveries: FuturesUnordered<LocalBoxFuture<'static, Option<(String, u32)>>> =
        FuturesUnordered::new();
    // How many streams the session had had when no one led to its client.
    let mut unreachable = HashMap::new();
    loop {
        let released = live.released();
        tokio::pin!(released);
        released.as_mut().enable();
        let streams = client.as_ref().map(|(session, _)| session.streams_opened());
        let streams = streams.unwrap_or_default();
        let opened = async {
            match &client {
                Some((session, _)) => session.stream_opened_after(streams).await,
                None => pending().await,
            }
        };
        let record = Arc::clone(&seen.borrow_and_update());
        if record.task.status().is_terminal() {
            return Some(record);
        }
        if let Some((session, lane)) = &client {
            for (key, request) in record.task.questions() {
                if unreachable.get(key) == Some(&streams) {
                    continue;
                }
                let Some(claim) = live.claim(key) else {
                    continue;
                };
                let (key, kind) = (key.clone(), kind(request));
                let params = request.get("params").cloned().unwrap_or_default();
                let (session, lane) = (Arc::clone(session), Some(Arc::clone(lane)));
                deliveries.push(Box::pin(async move {
                    let asked = deliver(session, lane, claim, kind, params).await;
                    (!asked).then_some((key, streams))
                }));
            }
        }
        tokio::select! {
            changed = seen.changed() => if changed.is_err() {
                return None;
            },
            () = released => {}
            () = opened => {}
            Some(failed) = deliveries.next(), if !deliveries.is_empty() => unreachable.extend(failed),
        }
    }
}

/// Tells what kind of question an `InputRequest` is.
fn kind(request: &Value) -> QuestionKind {
    let method = request.get("method").and_then(Value::as_str);
    let mode = request.pointer("/params/mode").and_then(Value::as_str);
    match (method, mode) {
        (Some("sampling/createMessage"), _) => QuestionKind::Sampling,
        (Some("roots/list"), _) => QuestionKind::Roots,
        (_, Some("url")) => QuestionKind::Url,
        _ => QuestionKind::Form,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{server::reply, tool::Question};

    #[test]
    fn a_question_says_its_kind_and_its_task() {
        for question in [
            Question::text("Which?"),
            Question::url("Look", "https://example.com"),
            Question::sampling("Sum"),
            Question::roots(),
        ] {
            let (_, request) = reply::request(&question);
            assert_eq!(kind(&request), question.kind);
            let params = related(question.request, "t1");
            assert_eq!(params["_meta"][RELATED_TASK]["taskId"], "t1");
        }
    }
}
