//! Answers whose connection is cut between two chunks. The HTTP client takes that for their end, so
//! whoever reads one has to see that it is not whole.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    thread,
};

use roscius::{
    auth::Introspection,
    client::{ClientError, ConnectReason, McpClient},
    ports::{token_verifier::TokenVerifier, transport::TransportError},
    transport::Http,
    wire::oauth::OAuthErrorCode,
};
use serde_json::{Value, json};

use crate::mcp_client_peer::{
    Answer, Peer, Received, discover, initialize, json_reply, legacy, modern, reply, text_result,
};

/// The head and one chunk of an answer that goes on after it.
fn begun(status: u16, kind: &str, chunk: &[u8]) -> Vec<u8> {
    let mut out = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    if !chunk.is_empty() {
        out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// An answer that is cut after so many bytes.
fn cut(status: u16, body: &Value, at: usize) -> Answer {
    let text = body.to_string().into_bytes();
    Answer::Cut(begun(status, "application/json", &text[..at]))
}

fn is_broken(error: &ClientError) -> bool {
    match error {
        ClientError::Transport(TransportError::Broken(_)) => true,
        ClientError::Connect { reason, .. } => matches!(
            **reason,
            ConnectReason::Transport(TransportError::Broken(_))
        ),
        _ => false,
    }
}

async fn connect(peer: &Peer) -> Result<McpClient, ClientError> {
    McpClient::connect(Http::new(&peer.url)).await
}

#[actix_web::test]
async fn half_an_answer_to_a_call_is_an_error() {
    let whole = |request: &Received| text_result(request, "Käse");
    let length = whole(&modern_request()).to_string().len();
    // The last byte but one of the text, and the middle of a letter.
    let letter = whole(&modern_request()).to_string().find('ä').unwrap() + 1;
    let cuts = [1, 10, letter, length - 1];
    let peer = modern(move |request| cut(200, &whole(request), cuts[request.index - 1]));
    let client = connect(&peer).await.unwrap();
    for at in cuts {
        let error = client.call_tool("a", json!({})).await.unwrap_err();
        assert!(is_broken(&error), "{at}: {error:?}");
    }
}

/// A request as the peer reads it, to measure an answer with.
fn modern_request() -> Received {
    Received {
        index: 1,
        verb: "POST".to_owned(),
        path: String::new(),
        headers: Default::default(),
        body: json!({"id": 1}),
    }
}

#[actix_web::test]
async fn an_answer_that_lacks_only_its_end_of_chunks_is_whole() {
    let peer = modern(|request| {
        let body = text_result(request, "ok");
        cut(200, &body, body.to_string().len())
    });
    let client = connect(&peer).await.unwrap();
    let result = client.call_tool("a", json!({})).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("ok"));
}

/// Half an answer says nothing of the era of its server.
#[actix_web::test]
async fn half_an_answer_to_the_probe_is_no_sign_of_2025() {
    let whole = |request: &Received| match discover(request, &json!({"tools": {}})) {
        Answer::Reply(bytes) => {
            let text = String::from_utf8(bytes).unwrap();
            serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap()).unwrap()
        }
        _ => unreachable!(),
    };
    let refusal = |request: &Received| {
        request.error(
            -32022,
            json!({"supported": ["2026-07-28"], "requested": "2026-07-28"}),
        )
    };
    for status in [200, 400] {
        let peer = Peer::start(move |request| match status {
            200 => cut(200, &whole(request), 60),
            _ => cut(400, &refusal(request), 60),
        });
        let error = connect(&peer).await.unwrap_err();
        assert!(is_broken(&error), "{error:?}");
        assert_eq!(peer.methods(), ["server/discover"]);
    }
}

#[actix_web::test]
async fn half_an_answer_of_2025_is_an_error() {
    let peer = Peer::start(|request| match request.method() {
        "server/discover" => {
            Answer::Reply(b"HTTP/1.1 404 Scripted\r\ncontent-length: 0\r\n\r\n".to_vec())
        }
        _ => cut(
            200,
            &request.result(json!({"protocolVersion": "2025-11-25"})),
            40,
        ),
    });
    let error = connect(&peer).await.unwrap_err();
    assert!(is_broken(&error), "{error:?}");
    let peer = legacy(None, |request| cut(200, &text_result(request, "ok"), 40));
    let client = connect(&peer).await.unwrap();
    let error = client.call_tool("a", json!({})).await.unwrap_err();
    assert!(is_broken(&error), "{error:?}");
}

#[actix_web::test]
async fn half_an_event_is_an_error() {
    let peer = modern(|request| {
        let event = format!("event: message\ndata: {}\n", text_result(request, "ok"));
        // The blank line that ends the event is missing, and more of it.
        let at = [event.len(), 30, 0][request.index - 1];
        Answer::Cut(begun(200, "text/event-stream", &event.as_bytes()[..at]))
    });
    let client = connect(&peer).await.unwrap();
    for _ in 0..3 {
        let error = client.call_tool("a", json!({})).await.unwrap_err();
        assert!(is_broken(&error), "{error:?}");
    }
}

/// Answers one request with these bytes and closes.
fn answering(bytes: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(socket.try_clone().unwrap());
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(':') else {
                if line.trim_end().is_empty() {
                    break;
                }
                continue;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap();
            }
        }
        reader.read_exact(&mut vec![0; length]).unwrap();
        socket.write_all(&bytes).unwrap();
    });
    url
}

#[actix_web::test]
async fn half_of_what_an_introspection_endpoint_says_lets_nobody_in() {
    let answer = r#"{"active":true,"client_id":"c","exp":4102444800,"scope":"a"}"#;
    for at in [0, 1, 14, answer.len() - 1] {
        let url = answering(begun(200, "application/json", &answer.as_bytes()[..at]));
        let tokens = Introspection::new(url, "notes", "secret");
        let error = tokens.verify("token".to_owned()).await.unwrap_err();
        assert_eq!(error.code, OAuthErrorCode::ServerError, "{at}: {error:?}");
        assert!(error.description.contains("cannot be read"), "{error:?}");
    }
    let url = answering(begun(200, "application/json", answer.as_bytes()));
    let tokens = Introspection::new(url, "notes", "secret");
    let caller = tokens.verify("token".to_owned()).await.unwrap();
    assert_eq!(caller.client_id, "c");
}

#[cfg(feature = "jwt")]
#[actix_web::test]
async fn half_a_key_set_is_none() {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    use roscius::auth::Jwt;

    let encode = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let token = format!(
        "{}.{}.{}",
        encode(json!({"alg": "ES256", "kid": "k"})),
        encode(json!({"iss": "i", "aud": "a", "exp": 4_102_444_800_u64, "client_id": "c"})),
        URL_SAFE_NO_PAD.encode([0; 64]),
    );
    let keys = r#"{"keys":[],"more":[1]}"#;
    for at in [0, 9, 10, keys.len() - 1] {
        let url = answering(begun(200, "application/json", &keys.as_bytes()[..at]));
        let tokens = Jwt::jwks(url).issuer("i").audience("a");
        let error = tokens.verify(token.clone()).await.unwrap_err();
        assert_eq!(error.code, OAuthErrorCode::ServerError, "{at}: {error:?}");
        assert!(error.description.contains("cannot be read"), "{error:?}");
    }
}

/// Some servers end every error with a line, even one that has no words.
#[actix_web::test]
async fn a_blank_line_is_not_half_an_answer() {
    for status in [400, 404] {
        let peer = Peer::start(move |request| match request.method() {
            "server/discover" => reply(status, &[], "\n"),
            "initialize" => initialize(request, None),
            "tools/call" => json_reply(200, &text_result(request, "ok")),
            _ => reply(202, &[], "\n"),
        });
        let client = connect(&peer).await.unwrap();
        let result = client.call_tool("a", json!({})).await.unwrap();
        assert_eq!(result.content[0].as_text(), Some("ok"), "{status}");
    }
}
