//! Reads a request body within a bound and a deadline.

use std::time::Duration;

use actix_web::{
    HttpRequest,
    dev::Payload,
    error::PayloadError,
    http::{StatusCode, header},
};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use tokio::time::timeout;

/// Room made before the first byte is there, whatever `content-length` claims.
const FIRST_ROOM: usize = 64 * 1024;

/// How long a client may take to send a body: a slow phone with a full conversation, not a
/// connection that is held open on purpose.
pub(crate) const BODY_DEADLINE: Duration = Duration::from_secs(30);

/// Why a body was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the body is larger than {0} bytes: raise max_body_bytes to take it")]
    TooLarge(usize),
    #[error("the body did not arrive in time")]
    TooSlow,
    #[error("the body could not be read")]
    Broken(#[source] PayloadError),
}

impl BodyError {
    pub(crate) const fn status(&self) -> StatusCode {
        match self {
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Broken(_) => StatusCode::BAD_REQUEST,
        }
    }
}

/// Reads the body; a declared length over the bound is refused before a byte of it is read.
pub(crate) async fn read_body(
    request: &HttpRequest,
    payload: &mut Payload,
    max_bytes: usize,
) -> Result<Bytes, BodyError> {
    let declared = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let declared = match declared {
        Some(length) => usize::try_from(length).map_err(|_| BodyError::TooLarge(max_bytes))?,
        None => 0,
    };
    if declared > max_bytes {
        return Err(BodyError::TooLarge(max_bytes));
    }
    timeout(BODY_DEADLINE, collect(payload, declared, max_bytes))
        .await
        .unwrap_or(Err(BodyError::TooSlow))
}

async fn collect(
    payload: &mut Payload,
    declared: usize,
    max_bytes: usize,
) -> Result<Bytes, BodyError> {
    let Some(first) = payload.next().await else {
        return Ok(Bytes::new());
    };
    let first = first.map_err(BodyError::Broken)?;
    if first.len() > max_bytes {
        return Err(BodyError::TooLarge(max_bytes));
    }
    // Most bodies come in one piece, which is then not copied.
    if first.len() == declared {
        return Ok(first);
    }
    let mut body = BytesMut::with_capacity(declared.min(FIRST_ROOM).max(first.len()));
    body.extend_from_slice(&first);
    while let Some(piece) = payload.next().await {
        let piece = piece.map_err(BodyError::Broken)?;
        if body.len() + piece.len() > max_bytes {
            return Err(BodyError::TooLarge(max_bytes));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body.freeze())
}
