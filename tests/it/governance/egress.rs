//! Where connections may go: refused before anything is sent, whoever wants to connect.

use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::TestRunner,
};
use roscius::{
    auth::Introspection,
    client::{ClientError, ConnectReason},
    model::OpenAi,
    ports::{
        model::{Model as _, ModelContent, ModelEvent, ModelMessage, ModelRequest, ModelRole},
        transport::TransportError,
    },
    prelude::*,
    transport::EgressError,
    wire::ids::{RunId, ThreadId},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{modern, post, serve};
use crate::{
    mcp_client_peer::{self as peer, Peer, json_reply, reply, text_result, tool, tools_page},
    served::Served,
    server_auth::{self, issuer::Issuer},
};

fn only(rules: &[&str]) -> Egress {
    Egress::only(rules).unwrap()
}

/// A server with one tool.
fn server() -> Peer {
    peer::modern(|request| match request.method() {
        "tools/list" => tools_page(request, &json!([tool("a")]), None),
        _ => json_reply(200, &text_result(request, "ok")),
    })
}

fn port(url: &str) -> &str {
    url.split([':', '/']).nth(4).unwrap()
}

/// The same place by a name, which is looked up.
fn by_name(url: &str) -> String {
    url.replace("127.0.0.1", "localhost")
}

fn refusal(error: &ClientError) -> &EgressError {
    let ClientError::Connect { reason, .. } = error else {
        panic!("{error:?}");
    };
    let ConnectReason::Transport(TransportError::Egress(refusal)) = &**reason else {
        panic!("{error:?}");
    };
    refusal
}

async fn connect(url: &str, egress: &Egress) -> Result<McpClient, ClientError> {
    McpClient::connect(Http::new(url).bearer("secret-token").egress(egress.clone())).await
}

// G23
#[actix_web::test]
async fn a_client_connects_only_where_its_policy_allows() {
    let peer = server();
    let here = format!("127.0.0.1:{}", port(&peer.url));
    let client = connect(&peer.url, &only(&[&here])).await.unwrap();
    assert_eq!(client.list_tools().await.unwrap().len(), 1);

    // The socket that is open there is no way round the policy of somebody else.
    let came = peer.requests().len();
    for rules in [&["*.example.org", "127.0.0.1"][..], &[]] {
        let error = connect(&peer.url, &only(rules)).await.unwrap_err();
        let origin = format!("http://{here}");
        assert_eq!(refusal(&error), &EgressError::NotListed { origin });
        let text = error.to_string();
        assert!(text.contains(&here) && !text.contains("secret"), "{text}");
    }
    assert_eq!(peer.requests().len(), came);
    client.call_tool("a", json!({})).await.unwrap();
}

#[actix_web::test]
async fn a_name_is_refused_by_what_it_is_looked_up_to() {
    let peer = server();
    let url = by_name(&peer.url);
    let listed = only(&["localhost:*"]);
    let error = connect(&url, &listed.clone().public_only())
        .await
        .unwrap_err();
    let EgressError::NotPublic {
        origin,
        address,
        kind,
    } = refusal(&error)
    else {
        panic!("{error:?}");
    };
    assert_eq!(*origin, format!("http://localhost:{}", port(&url)));
    assert!(address.is_loopback(), "{address}");
    assert_eq!(*kind, "a loopback address");
    for written in [&peer.url, &peer.url.replace("127.0.0.1", "[::ffff:7f00:1]")] {
        let error = connect(written, &Egress::everywhere().public_only())
            .await
            .unwrap_err();
        assert!(
            matches!(refusal(&error), EgressError::NotPublic { .. }),
            "{error:?}"
        );
    }
    // What the system looks up as an address is not taken for a name.
    for number in ["2130706433", "127.1"] {
        let disguised = peer.url.replace("127.0.0.1", number);
        let error = connect(&disguised, &only(&["*:*"])).await.unwrap_err();
        assert!(
            matches!(refusal(&error), EgressError::Unclear { .. }),
            "{error:?}"
        );
    }
    assert!(peer.requests().is_empty());
    connect(&url, &listed).await.unwrap();
    connect(&peer.url, &only(&["127.0.0.1:*"]).public_only())
        .await
        .unwrap();
}

#[actix_web::test]
async fn a_redirect_leads_nowhere_that_is_refused() {
    let inside = server();
    let target = inside.url.clone();
    let outside = peer::modern(move |request| match request.path.as_str() {
        "/mcp" => reply(307, &[("location", "/moved")], ""),
        _ => reply(307, &[("location", &target)], ""),
    });
    let here = format!("127.0.0.1:{}", port(&outside.url));
    for egress in [only(&[&here]), Egress::everywhere()] {
        let client = connect(&outside.url, &egress).await.unwrap();
        let error = client.call_tool("a", json!({})).await.unwrap_err();
        assert!(
            matches!(
                error,
                ClientError::Transport(TransportError::Redirected { .. })
            ),
            "{error:?}"
        );
    }
    assert!(inside.requests().is_empty());
}

#[actix_web::test]
async fn a_pool_names_the_server_that_is_refused() {
    let (one, two) = (server(), server());
    let egress = only(&[&format!("127.0.0.1:{}", port(&one.url))]);
    let http = |peer: &Peer| Http::new(&peer.url).egress(egress.clone());
    let error = McpPool::builder()
        .server("one", http(&one))
        .server("two", http(&two))
        .connect()
        .await
        .unwrap_err();
    let ClientError::ConnectMany { failed } = error else {
        panic!("{error:?}");
    };
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].0, "two");
    assert!(matches!(
        refusal(&failed[0].1),
        EgressError::NotListed { .. }
    ));
    assert!(two.requests().is_empty());
}

#[actix_web::test]
async fn a_model_is_asked_only_where_its_policy_allows() {
    let provider = Peer::start(|_| reply(500, &[], ""));
    let base = provider.url.replace("/mcp", "/v1");
    let told = Arc::new(Mutex::new(Vec::new()));
    let hook = Arc::clone(&told);
    let egress = only(&["https://api.openai.com"])
        .on_refusal(move |refusal| hook.lock().unwrap().push(refusal.clone()));
    let model = OpenAi::responses("gpt")
        .base_url(&base)
        .api_key("secret-key")
        .egress(egress);
    let said = ModelMessage::new(ModelRole::User, ModelContent::Text("hi".to_owned()));
    let request = ModelRequest::new(ThreadId::from("t"), RunId::from("r"), vec![said]);
    let events: Vec<_> = model
        .stream(request, CancellationToken::new())
        .collect()
        .await;
    let [Ok(ModelEvent::Failed { message, .. })] = &events[..] else {
        panic!("{events:?}");
    };
    let origin = format!("http://127.0.0.1:{}", port(&base));
    assert_eq!(
        *message,
        format!("connecting to {origin} is refused: no egress rule allows it")
    );
    assert_eq!(
        *told.lock().unwrap(),
        [EgressError::NotListed { origin }],
        "it is not tried again"
    );
    assert!(provider.requests().is_empty());
}

fn notes_with(verifier: Introspection) -> Result<McpServer, roscius::server::ServerError> {
    McpServer::new("notes", "1.0.0").auth(verifier).build()
}

#[test]
fn a_token_is_checked_only_where_the_policy_allows() {
    let issuer = Issuer::start();
    let url = issuer.url("/introspect");
    let verifier = |url: &str, egress| Introspection::new(url, "notes", "secret").egress(egress);
    let error = notes_with(verifier(&url, only(&["as.example.com"]))).unwrap_err();
    assert!(
        error.to_string().contains("no egress rule allows it"),
        "{error}"
    );

    let named = by_name(&url);
    let ask = |egress: Egress| {
        let notes = server_auth::notes(verifier(&named, egress));
        server_auth::bearer(&Served::start(server_auth::mounted(&notes)), "t").status()
    };
    let listed = only(&["localhost:*"]);
    assert_eq!(ask(listed.clone().public_only()), 500);
    assert!(issuer.asked().is_empty());
    assert_eq!(ask(listed), 401, "the issuer knows no such token");
    assert_eq!(issuer.asked().len(), 1);
}

#[cfg(feature = "jwt")]
#[test]
fn keys_are_read_only_where_the_policy_allows() {
    use roscius::auth::Jwt;
    use server_auth::issuer::{AUDIENCE, ISSUER, Signer, claims};

    let (issuer, signer) = (Issuer::start(), Signer::ec());
    issuer.keys([signer.jwk(Some("ec"))]);
    let url = by_name(&issuer.url("/jwks"));
    let verifier = |egress: Egress| {
        let jwt = Jwt::jwks(&url).issuer(ISSUER).audience(AUDIENCE);
        jwt.egress(egress)
    };
    let refused = McpServer::new("notes", "1.0.0").auth(verifier(only(&["https://as.test"])));
    assert!(refused.build().is_err());
    let token = signer.token("ec", &claims(json!({})));
    let ask = |egress: Egress| {
        let notes = server_auth::notes(verifier(egress));
        server_auth::bearer(&Served::start(server_auth::mounted(&notes)), &token).status()
    };
    let listed = only(&["localhost:*"]);
    assert_eq!(ask(listed.clone().public_only()), 500);
    assert_eq!(issuer.reads(), 0);
    assert_eq!(ask(listed), 200);
}

#[test]
fn a_tool_asks_the_policy_of_its_server() {
    let trail = Arc::new(Mutex::new(Vec::new()));
    let (refused, audited) = (Arc::clone(&trail), Arc::clone(&trail));
    let fetch = |cx: ToolCx, Ctx(own): Ctx<Egress>| async move {
        let url = "http://169.254.169.254/latest/meta-data?token=secret";
        assert!(cx.egress().check("https://api.example.com/").is_ok());
        own.check("https://api.example.com/")?;
        cx.egress().check(url)?;
        Ok::<_, ToolError>("fetched")
    };
    let server = McpServer::new("fetching", "1.0.0")
        .egress(
            only(&["*.example.com", "*"])
                .public_only()
                .on_refusal(move |refusal| refused.lock().unwrap().push(refusal.to_string())),
        )
        .tool(Tool::new("fetch", fetch))
        .audit(move |audit| {
            let line = format!("{} {:?}", audit.name, audit.outcome);
            audited.lock().unwrap().push(line);
        })
        .build()
        .unwrap();
    let served = serve(&server);
    let call = json!({"name": "fetch", "arguments": {}});
    let answer = post(&served, &modern(1, "tools/call", call), &[]).json();
    let text = "connecting to http://169.254.169.254:80 is refused: 169.254.169.254 is a link-local address, and egress is to public addresses only";
    assert_eq!(answer["result"]["isError"], Value::Bool(true), "{answer}");
    assert_eq!(answer["result"]["content"][0]["text"], text);
    assert_eq!(
        *trail.lock().unwrap(),
        [text, "fetch ToolError"],
        "the refusal and the call that it ended"
    );
    assert!(ToolCx::builder().build().egress().is_everywhere());
}

/// What URLs are put together from, and what makes parsers differ.
const PIECES: [&str; 40] = [
    "https://",
    "http://",
    "https:",
    "//",
    "/",
    "\\",
    "@",
    ":",
    "?",
    "#",
    "%2e",
    "%40",
    ".",
    "..",
    "*",
    "a",
    "api.",
    "evil.test",
    ".example.org",
    "example.org",
    "[",
    "]",
    "[::1]",
    "::ffff:",
    "127.0.0.1",
    "127.1",
    "0x7f",
    "2130706433",
    "１",
    "。",
    "\t",
    "\n",
    " ",
    "\u{ad}",
    "xn--",
    "ß",
    "_",
    "80",
    ":443",
    "\0",
];

// A tool asks here and connects with a client that reads the URL in its own way.
#[test]
fn a_url_that_is_allowed_leads_nowhere_else_for_others() {
    let egress = only(&["https://*.example.org", "127.0.0.1", "[::1]:*"]);
    let leads_on = |scheme: &str, host: &str, port: u16| {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        match &*host {
            "127.0.0.1" | "[::ffff:7f00:1]" => port == if scheme == "https" { 443 } else { 80 },
            "[::1]" => true,
            name => name.ends_with(".example.org") && (scheme, port) == ("https", 443),
        }
    };
    let mut allowed = 0;
    let mut runner = TestRunner::deterministic();
    let pieces = proptest::collection::vec(proptest::sample::select(&PIECES[..]), 1..7);
    for round in 0..40_000 {
        let pieces = pieces.new_tree(&mut runner).unwrap().current();
        let scheme = ["", "https://", "http://", "https://api.example.org"][round % 4];
        let text = format!("{scheme}{}", pieces.concat());
        if egress.check(&text).is_err() {
            continue;
        }
        allowed += 1;
        if let Ok(url) = url::Url::parse(&text) {
            let host = url.host_str().unwrap_or_default();
            let port = url.port_or_known_default().unwrap_or_default();
            assert!(leads_on(url.scheme(), host, port), "{text:?}: {url}");
        }
        if let Ok(uri) = text.parse::<actix_web::http::Uri>() {
            let scheme = uri.scheme_str().unwrap_or_default();
            let implied = if scheme == "https" { 443 } else { 80 };
            let port = uri.port_u16().unwrap_or(implied);
            let host = uri.host().unwrap_or_default();
            assert!(leads_on(scheme, host, port), "{text:?}: {uri}");
        }
    }
    assert!(allowed > 500, "{allowed} say little");
}
