//! Makes lines of responses.

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use tokio::sync::mpsc::Sender;

use crate::{server::Response, wire::http::Body};

/// Sends what a response carries, line by line. Status and headers have no place here.
pub(super) async fn forward(response: Response, output: &Sender<Bytes>) {
    match response.body {
        Body::Empty => {}
        Body::Json(message) => send(&message, output).await,
        Body::Events(events) => send_events(&events, output).await,
        Body::Stream(mut stream) => {
            while let Some(events) = stream.next().await {
                send_events(&events, output).await;
            }
        }
    }
}

/// Sends the messages of whole events, each of which the server writes as one `data:` line.
async fn send_events(events: &[u8], output: &Sender<Bytes>) {
    for line in events.split(|byte| *byte == b'\n') {
        match line.strip_prefix(b"data: ") {
            None | Some(b"") => {}
            Some(message) => send(message, output).await,
        }
    }
}

async fn send(message: &[u8], output: &Sender<Bytes>) {
    let mut line = BytesMut::with_capacity(message.len() + 1);
    line.extend_from_slice(message);
    // Within a JSON text an end of a line is a blank between tokens.
    for byte in line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
    line.extend_from_slice(b"\n");
    if output.send(line.freeze()).await.is_err() {
        tracing::debug!("the client reads nothing any more");
    }
}
