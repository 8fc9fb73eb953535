//! What holds where nothing was configured: times by a clock that stands still, and bounds.

use std::{task::Poll, time::Duration};

use futures_util::StreamExt as _;
use roscius::{
    prelude::*,
    server::Response,
    wire::http::{Body, Method},
};
use serde_json::{Value, json};

use super::idle::{MINUTE, Session, advance, paused};
use crate::mcp_server::host::{Ask, Served, Wire};

const SECOND: Duration = Duration::from_secs(1);
const ALIVE: &[u8] = b": keep-alive\n\n";

fn server() -> McpServer {
    McpServer::new("defaults", "1.0.0")
        .sessions(Sessions::Memory)
        .tool(Tool::new("ask", |cx: ToolCx| async move {
            Ok::<_, ToolError>(cx.request_input("Which city?").await?)
        }))
        .build()
        .unwrap()
}

/// What a stream has to say now.
macro_rules! now {
    ($stream:expr) => {
        match futures_util::poll!($stream.next()) {
            Poll::Ready(Some(bytes)) => Some(bytes),
            Poll::Ready(None) => panic!("the stream has ended"),
            Poll::Pending => None,
        }
    };
}

#[test]
fn a_silent_stream_says_every_15_seconds_that_it_lives() {
    paused(async {
        let server = server();
        let session = Session::open(&server).await;
        let Body::Stream(mut stream) = session.send(Method::Get, "").await.body else {
            panic!("no stream");
        };
        let first = now!(stream).unwrap();
        assert_eq!(first, "id: 0-0\nretry: 1000\ndata: \n\n");
        assert_eq!(now!(stream), None);
        for _ in 0..3 {
            advance(15 * SECOND - Duration::from_millis(5)).await;
            assert_eq!(now!(stream), None);
            advance(Duration::from_millis(10)).await;
            assert_eq!(now!(stream).as_deref(), Some(ALIVE));
            assert_eq!(now!(stream), None);
        }
    });
}

#[test]
fn a_question_waits_ten_minutes_for_its_answer() {
    paused(async {
        let server = server();
        let session = Session::open(&server).await;
        let call =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask"}});
        let response: Response = session.send(Method::Post, &call.to_string()).await;
        let Body::Stream(mut stream) = response.body else {
            panic!("no stream");
        };
        let mut read = String::new();
        let hear = |read: &mut String, bytes: Option<bytes::Bytes>| {
            if let Some(bytes) = bytes {
                read.push_str(std::str::from_utf8(&bytes).unwrap());
            }
        };
        while !read.contains("elicitation/create") {
            tokio::task::yield_now().await;
            hear(&mut read, now!(stream));
        }
        for _ in 0..9 {
            advance(MINUTE).await;
            hear(&mut read, now!(stream));
        }
        advance(58 * SECOND).await;
        hear(&mut read, now!(stream));
        assert!(!read.contains("\"result\""), "{read}");
        advance(3 * SECOND).await;
        while let Some(bytes) = stream.next().await {
            hear(&mut read, Some(bytes));
        }
        let last = super::client::messages(&read).pop().unwrap();
        assert_eq!(last["result"]["isError"], true, "{last}");
    });
}

#[test]
fn a_body_has_4_megabytes_and_a_page_1000_items() {
    let mut builder = McpServer::new("defaults", "1.0.0");
    for at in 0..1_001 {
        builder = builder.tool(Tool::new(format!("t{at}"), || async { "" }));
    }
    let served = Served::new(&builder.build().unwrap());
    let bytes = 4 * 1024 * 1024;
    for (length, status) in [(bytes + 1, 413), (bytes, 400)] {
        let mut wire = Wire::open(served.addr);
        let addr = served.addr;
        wire.send(&format!(
            "POST /mcp HTTP/1.1\r\nhost: {addr}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        ));
        if status == 400 {
            wire.send(&" ".repeat(length));
        }
        let reply = wire.reply();
        assert_eq!(reply.status, status, "{length}");
        assert_eq!(reply.body.contains("4194304 bytes"), status == 413);
    }
    let page = Ask::modern("tools/list", json!({})).send(&served).json()["result"].take();
    assert_eq!(page["tools"].as_array().map(Vec::len), Some(1_000));
    let rest = json!({"cursor": page["nextCursor"]});
    let rest = Ask::modern("tools/list", rest).send(&served).json()["result"].take();
    assert_eq!(rest["tools"].as_array().map(Vec::len), Some(1));
    assert_eq!(rest.get("nextCursor"), None::<&Value>);
}
