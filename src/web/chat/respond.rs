//! Answers of the chat endpoint.

use std::fmt;

use actix_web::{
    HttpResponse, HttpResponseBuilder,
    http::{StatusCode, header},
};
use bytes::BytesMut;
use roscius_actors::wire::agui::Event;

use crate::web::stream::Framing;

/// As clients have seen it recorded, without a space.
const PLAIN: &str = "text/plain;charset=UTF-8";
/// Seconds after which a refused client may try again: a restart of a small server.
const RETRY_AFTER: &str = "2";

/// A sentence with a status.
pub(super) fn refused(status: StatusCode, reason: &dyn fmt::Display) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((header::CONTENT_TYPE, PLAIN))
        .body(reason.to_string())
}

/// 503: the client may try again.
pub(super) fn unavailable(why: &'static str) -> HttpResponse {
    HttpResponse::build(StatusCode::SERVICE_UNAVAILABLE)
        .insert_header((header::CONTENT_TYPE, PLAIN))
        .insert_header((header::RETRY_AFTER, RETRY_AFTER))
        .body(why)
}

/// The head of a stream.
pub(super) fn stream(framing: Framing) -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response
        .insert_header((header::CONTENT_TYPE, framing.content_type()))
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        // nginx would collect the events of a run before it passes them on, and so would middleware
        // that compresses, unless the answer is encoded already.
        .insert_header(("x-accel-buffering", "no"))
        .insert_header((header::CONTENT_ENCODING, "identity"));
    response
}

/// A whole stream of one event.
pub(super) fn single_event(event: &Event, framing: Framing) -> HttpResponse {
    let mut line = BytesMut::new();
    if event.encode(&mut line).is_err() {
        line = BytesMut::from(&br#"{"type":"RUN_ERROR","message":"the run failed"}"#[..]);
    }
    stream(framing).body(framing.frame(&line))
}
