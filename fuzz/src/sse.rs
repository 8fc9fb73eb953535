//! Events do not depend on how the stream was cut, and are those that the specification gives.
//! An input: a byte that says how to cut, a byte for the bound, the stream.

use roscius_actors::wire::sse::{MAX_EVENT_BYTES, SseDecoder, SseError, SseEvent};
use serde_json::Value;

/// What a stream gave.
#[derive(Debug, PartialEq)]
struct Seen {
    events: Vec<SseEvent>,
    error: Option<SseError>,
    last_event_id: Option<String>,
    retry_ms: Option<u64>,
    cut: bool,
}

/// Checks one input.
pub fn check(data: &[u8]) {
    let Some((&[cut, bound], stream)) = data.split_first_chunk::<2>() else {
        return;
    };
    let bounds = [MAX_EVENT_BYTES, 1 + usize::from(bound)];
    for limit in bounds {
        let whole = decode(limit, [stream].into_iter());
        let pieces = decode(
            limit,
            Pieces {
                rest: stream,
                state: cut,
            },
        );
        assert_eq!(whole, pieces);
        assert_eq!(whole, decode(limit, stream.chunks(1)));
        for event in &whole.events {
            // A byte that is no UTF-8 becomes a sign of three.
            assert!(event.data.len() <= 3 * limit);
        }
        if whole.error.is_none() {
            assert_eq!(whole.events, expected(stream));
        }
    }
    let message = Value::from(String::from_utf8_lossy(stream)).to_string();
    let frame = format!("event: message\ndata: {message}\n\n");
    let read = decode(MAX_EVENT_BYTES, [frame.as_bytes()].into_iter());
    assert!(!read.cut);
    assert_eq!(read.events.len(), 1);
    assert_eq!(read.events[0].data, message);
}

/// Cuts a stream into pieces of 1 to 16 bytes, and empty ones.
struct Pieces<'a> {
    rest: &'a [u8],
    state: u8,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        self.state = self.state.wrapping_mul(29).wrapping_add(17);
        let (piece, rest) = self
            .rest
            .split_at(self.rest.len().min(usize::from(self.state >> 4)));
        self.rest = rest;
        Some(piece)
    }
}

fn decode<'a>(limit: usize, pieces: impl Iterator<Item = &'a [u8]>) -> Seen {
    let mut decoder = SseDecoder::new(limit);
    let mut events = Vec::new();
    let mut error = None;
    for piece in pieces {
        let fed = decoder.feed(piece);
        while let Some(event) = decoder.next_event() {
            events.push(event);
        }
        if let Err(refused) = fed {
            assert_eq!(decoder.feed(b"data: more\n\n"), Err(refused.clone()));
            assert_eq!(decoder.next_event(), None);
            error = Some(refused);
            break;
        }
    }
    Seen {
        events,
        error,
        last_event_id: decoder.last_event_id().map(str::to_owned),
        retry_ms: decoder.retry_ms(),
        cut: decoder.finish(),
    }
}

/// The events as WHATWG HTML §9.2.6 says, on the whole stream and with no thought of speed. Other
/// than there, an event whose data is empty is one, because servers prime their streams with it.
fn expected(stream: &[u8]) -> Vec<SseEvent> {
    let text = String::from_utf8_lossy(stream);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut events = Vec::new();
    let (mut event, mut id) = (String::new(), String::new());
    let mut data: Option<String> = None;
    // What follows the last line end is no line.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let ended = text.contains('\n').then(|| whole.split('\n'));
    for line in ended.into_iter().flatten() {
        if line.is_empty() {
            let event = std::mem::take(&mut event);
            if let Some(data) = data.take() {
                events.push(SseEvent {
                    event,
                    data,
                    last_event_id: (!id.is_empty()).then(|| id.clone()),
                });
            }
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                data = Some(match data {
                    Some(data) => data + "\n" + value,
                    None => value.to_owned(),
                });
            }
            "event" => value.clone_into(&mut event),
            "id" if !value.contains('\0') => value.clone_into(&mut id),
            _ => {}
        }
    }
    events
}
