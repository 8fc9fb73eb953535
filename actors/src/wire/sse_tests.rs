#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed expectation is the test failing"
)]

use proptest::prelude::*;

use super::*;

/// What a stream gives, however it is cut.
#[derive(Debug, PartialEq, Eq)]
struct Read {
    events: Vec<(String, String, Option<String>)>,
    last_event_id: Option<String>,
    retry_ms: Option<u64>,
    cut: bool,
}

fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.feed(chunk).unwrap();
        while let Some(event) = decoder.next_event() {
            events.push((event.kind().to_owned(), event.data, event.last_event_id));
        }
    }
    let cut = decoder.finish();
    Read {
        events,
        last_event_id: decoder.last_event_id().map(str::to_owned),
        retry_ms: decoder.retry_ms(),
        cut,
    }
}

fn message(data: &str) -> (String, String, Option<String>) {
    ("message".to_owned(), data.to_owned(), None)
}

fn whole(events: Vec<(String, String, Option<String>)>) -> Read {
    let last_event_id = events.last().and_then(|event| event.2.clone());
    Read {
        events,
        last_event_id,
        retry_ms: None,
        cut: false,
    }
}

fn with_id(data: &str, id: &str) -> (String, String, Option<String>) {
    ("message".to_owned(), data.to_owned(), Some(id.to_owned()))
}

fn cases() -> Vec<(&'static [u8], Read)> {
    vec![
        (b"", whole(vec![])),
        (b"data: a\n\n", whole(vec![message("a")])),
        (
            b"data:a\r\rdata:b\r\n\r\n",
            whole(vec![message("a"), message("b")]),
        ),
        (
            b"data:a\r\n\rdata: b\n\r\n",
            whole(vec![message("a"), message("b")]),
        ),
        (b"data:  a \n\n", whole(vec![message(" a ")])),
        (
            b"data: a\ndata\ndata: b\n\n",
            whole(vec![message("a\n\nb")]),
        ),
        (
            b"data\n\ndata\ndata\n\n",
            whole(vec![message(""), message("\n")]),
        ),
        (b"\xEF\xBB\xBFdata: a\n\n", whole(vec![message("a")])),
        (b"\n\xEF\xBB\xBFdata: a\n\n", whole(vec![])),
        (b"\xEF\xBBdata: a\n\ndata: b\n\n", whole(vec![message("b")])),
        (b": hello\n:\n\ndata: a\n:x\n\n", whole(vec![message("a")])),
        (b"event: ping\n\ndata: a\n\n", whole(vec![message("a")])),
        (
            b"event: endpoint\ndata: /m\n\n",
            whole(vec![("endpoint".to_owned(), "/m".to_owned(), None)]),
        ),
        (
            b"id: 1\ndata: a\n\ndata: b\n\n",
            whole(vec![with_id("a", "1"), with_id("b", "1")]),
        ),
        (
            b"id: 1\ndata: a\n\nid\ndata: b\n\n",
            whole(vec![with_id("a", "1"), message("b")]),
        ),
        (
            b"id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n",
            whole(vec![with_id("a", "1"), with_id("b", "1")]),
        ),
        (
            b"id: 7\n\n",
            Read {
                last_event_id: Some("7".to_owned()),
                ..whole(vec![])
            },
        ),
        (
            b"id: 7\ndata: a\n\nid: 8\ndata: lost",
            Read {
                cut: true,
                ..whole(vec![with_id("a", "7")])
            },
        ),
        (
            b"retry: 500\n\nretry: x\nretry: 1s\nretry:\n",
            Read {
                retry_ms: Some(500),
                ..whole(vec![])
            },
        ),
        (
            b"data: a\n\ndata: b\n",
            Read {
                cut: true,
                ..whole(vec![message("a")])
            },
        ),
        (
            b"data: a\n\ndat",
            Read {
                cut: true,
                ..whole(vec![message("a")])
            },
        ),
        (b"data: a\n\n: bye\n", whole(vec![message("a")])),
        (
            "data: 世界 é\n\n".as_bytes(),
            whole(vec![message("世界 é")]),
        ),
        (b"data: \xFF!\n\n", whole(vec![message("\u{FFFD}!")])),
        (b"DATA: a\nfoo: b\ndata : c\n\n", whole(vec![])),
        (b"data:{\"a\":1}\n\n", whole(vec![message("{\"a\":1}")])),
    ]
}

#[test]
fn every_case_reads_the_same_at_every_split() {
    for (bytes, expected) in cases() {
        let name = String::from_utf8_lossy(bytes);
        assert_eq!(read([bytes]), expected, "whole: {name:?}");
        assert_eq!(read(bytes.chunks(1)), expected, "byte by byte: {name:?}");
        for at in 0..=bytes.len() {
            let (head, tail) = bytes.split_at(at);
            assert_eq!(read([head, tail]), expected, "split at {at}: {name:?}");
        }
    }
}

#[test]
fn one_event_over_the_bound_ends_the_stream_and_keeps_what_came_before() {
    let mut decoder = SseDecoder::new(16);
    decoder.feed(b"data: 12345678\n\ndata: a\n\n").unwrap();
    let too_large = Err(SseError::TooLarge { limit: 16 });
    assert_eq!(decoder.feed(b"data: 12345\ndata: 678901234\n"), too_large);
    assert_eq!(decoder.feed(b"\n\n"), too_large);
    assert_eq!(decoder.next_event().unwrap().data, "12345678");
    assert_eq!(decoder.next_event().unwrap().data, "a");
    assert_eq!(decoder.next_event(), None);
}

#[test]
fn the_bound_counts_a_line_without_an_end() {
    let mut decoder = SseDecoder::new(8);
    assert_eq!(decoder.feed(b"data: ab"), Ok(()));
    assert_eq!(decoder.feed(b"c"), Err(SseError::TooLarge { limit: 8 }));
}

#[test]
fn many_events_in_one_chunk_do_not_count_together() {
    let mut decoder = SseDecoder::new(32);
    decoder.feed(&b"data: a\n\n".repeat(100)).unwrap();
    assert_eq!(std::iter::from_fn(|| decoder.next_event()).count(), 100);
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("data: x".to_owned()),
        Just("data:".to_owned()),
        Just("id: 4".to_owned()),
        Just("event: e".to_owned()),
        Just("retry: 9".to_owned()),
        Just(": c".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just("\r\n".to_owned()),
        Just("\n\n".to_owned()),
        "\\PC{0,6}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_stream_reads_the_same_however_it_is_cut(
        bytes in stream(),
        sizes in proptest::collection::vec(1_usize..9, 1..40),
    ) {
        let mut rest = &bytes[..];
        let mut chunks = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (head, tail) = rest.split_at((*size).min(rest.len()));
            chunks.push(head);
            rest = tail;
        }
        prop_assert_eq!(read(chunks), read([&bytes[..]]));
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(read(bytes.chunks(3)), read([&bytes[..]]));
    }
}
