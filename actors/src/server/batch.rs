//! JSON-RPC arrays, which only 2025-03-26 has.

use bytes::{Bytes, BytesMut};
use serde_json::value::RawValue;

use super::{Handling, McpServer, Options, Response, reply};
use crate::{
    machine::era::{self, Era},
    wire::{
        http::{Body, Head},
        jsonrpc::{RpcError, code},
        mcp::envelope::Params,
        version::V2025_03_26,
    },
};

/// Messages of one array. Each may start a tool, so one body must not start thousands.
const MAX_BATCH: usize = 50;

impl McpServer {
    pub(super) fn batch(&self, head: &Head<'_>, text: &str, options: &Options) -> Handling {
        let invalid = |message: String| {
            let error = RpcError::new(code::INVALID_REQUEST, message);
            reply::refuse(400, None, false, &error).into()
        };
        let era = era::choose(head.protocol_version, None);
        let era = match self.session_of(head, era, "", options) {
            Ok(Some(session)) => Era::Legacy(session.version()),
            Ok(None) => era,
            Err(refused) => return refused.into(),
        };
        if matches!(era, Era::Legacy(version) if version != V2025_03_26) {
            return invalid(format!("a JSON-RPC array is served only for {V2025_03_26}"));
        }
        if let Err((status, error)) = self.check_legacy(era, head, &Params::default()) {
            return reply::refuse(status, None, false, &error).into();
        }
        let elements: Vec<&RawValue> = match serde_json::from_str(text) {
            Ok(elements) => elements,
            Err(error) => {
                let message = format!("the body is not JSON: {error}");
                let error = RpcError::new(code::PARSE_ERROR, message);
                return reply::refuse(400, None, false, &error).into();
            }
        };
        if elements.is_empty() || elements.len() > MAX_BATCH {
            return invalid(format!("an array holds 1 to {MAX_BATCH} messages"));
        }
        let mut handlings: Vec<Handling> = elements
            .into_iter()
            .map(|element| self.element(head, element.get(), options.clone()))
            .collect();
        // A challenge is an HTTP answer: the whole array gets it, and none of it has run yet.
        if let Some(at) = handlings.iter().position(Handling::is_challenge) {
            return handlings.swap_remove(at);
        }
        Handling::lasting(
            &self.0,
            Box::pin(async move {
                let responses = futures_util::future::join_all(handlings).await;
                join(responses)
            }),
        )
    }
}

fn join(responses: Vec<Response>) -> Response {
    // One status says what became of all: only if they share it is it anything but 200.
    let answers = |response: &&Response| !matches!(response.body, Body::Empty);
    let mut answered = responses.iter().filter(answers);
    let all_over_rate = answered.all(|response| response.status == 429);
    let retry_after = responses.iter().filter_map(|response| response.retry_after);
    let retry_after = retry_after.max().filter(|_| all_over_rate);
    let bodies: Vec<Bytes> = responses
        .into_iter()
        .filter_map(|response| match response.body {
            Body::Json(body) => Some(body),
            Body::Empty | Body::Events(_) | Body::Stream(_) => None,
        })
        .collect();
    if bodies.is_empty() {
        return Response::empty(202);
    }
    let room = bodies.iter().map(|body| body.len() + 1).sum::<usize>() + 1;
    let mut out = BytesMut::with_capacity(room);
    for (at, body) in bodies.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"[" } else { b"," });
        out.extend_from_slice(body);
    }
    out.extend_from_slice(b"]");
    let mut joined = Response::json(if all_over_rate { 429 } else { 200 }, out.freeze());
    joined.retry_after = retry_after;
    joined
}
