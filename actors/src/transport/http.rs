//! Streamable HTTP on awc.

mod address;

use std::{fmt, rc::Rc, time::Duration};

use awc::http::{
    StatusCode, Uri,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, future::LocalBoxFuture, stream, stream::LocalBoxStream};

use self::address::{origin_of, resolve};
use super::{Egress, UNFRAMED, egress_refusal, http_client, is_unframed};
use crate::{
    ports::transport::{Connection, Header, Outgoing, Reply, ReplyBody, Transport, TransportError},
    wire::sse::{MAX_EVENT_BYTES, SseDecoder},
};

/// Bounds an answer that is not a stream; a stream is bounded event by event.
const MAX_RESPONSE_BYTES: usize = MAX_EVENT_BYTES;
/// How many redirects one message follows, all within one origin.
const MAX_REDIRECTS: usize = 5;
/// A goodbye that the server does not take in this time is not worth waiting for.
const END_SESSION_TIMEOUT: Duration = Duration::from_secs(2);

const ACCEPT_BOTH: &str = "application/json, text/event-stream";

/// Reaches a server by Streamable HTTP.
///
/// Redirects are followed within one origin only (307 and 308), so a token never reaches another
/// host. Answers and events are bounded (16 MiB each unless set).
///
/// ```
/// use roscius_actors::transport::Http;
///
/// let http = Http::new("https://mcp.example.com/mcp").bearer("token").header("x-tenant", "acme");
/// ```
#[derive(Clone)]
pub struct Http {
    url: String,
    headers: Vec<(String, String)>,
    max_response_bytes: usize,
    egress: Egress,
}

impl Http {
    /// Names the endpoint, `http://…` or (with the feature `tls`) `https://…`.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: Vec::new(),
            max_response_bytes: MAX_RESPONSE_BYTES,
            egress: Egress::everywhere(),
        }
    }

    /// Sends `authorization: Bearer <token>` with every message.
    #[must_use]
    pub fn bearer(self, token: impl fmt::Display) -> Self {
        self.header("authorization", format!("Bearer {token}"))
    }

    /// Sends a header with every message. A later value of the same name replaces the earlier one.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = name.into().to_ascii_lowercase();
        self.headers.retain(|(other, _)| *other != name);
        self.headers.push((name, value.into()));
        self
    }

    /// Bounds one answer and one event of a stream, in bytes. 16 MiB unless set.
    #[must_use]
    pub const fn max_response_bytes(mut self, limit: usize) -> Self {
        self.max_response_bytes = limit;
        self
    }

    /// Says where connections may go; everywhere unless set. It is asked before each connection,
    /// those of redirects too, and a refusal is [`TransportError::Egress`].
    #[must_use]
    pub fn egress(mut self, egress: Egress) -> Self {
        self.egress = egress;
        self
    }

    /// Gives the endpoint.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    fn parse(&self) -> Result<(Uri, HeaderMap), TransportError> {
        let uri: Uri = self
            .url
            .parse()
            .map_err(|error| TransportError::Config(format!("not a URL: {error}")))?;
        match uri.scheme_str() {
            Some("http" | "https") if uri.host().is_some() => {}
            _ => {
                return Err(TransportError::Config(
                    "the URL needs http or https".to_owned(),
                ));
            }
        }
        if uri
            .authority()
            .is_some_and(|part| part.as_str().contains('@'))
        {
            let reason = "credentials belong into a header, not into the URL";
            return Err(TransportError::Config(reason.to_owned()));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let bad = |_| TransportError::Config(format!("header {name} cannot be sent"));
            let parsed =
                HeaderName::try_from(name.as_str()).map_err(|error| bad(error.to_string()))?;
            let value = HeaderValue::from_str(value).map_err(|error| bad(error.to_string()))?;
            headers.insert(parsed, value);
        }
        Ok((uri, headers))
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        out.debug_struct("Http")
            .field("url", &self.describe())
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

impl Transport for Http {
    fn describe(&self) -> String {
        address::shown(&self.url)
    }

    fn open(&self) -> Result<Rc<dyn Connection>, TransportError> {
        let (uri, headers) = self.parse()?;
        let client =
            http_client(&self.egress).map_err(|error| TransportError::Config(error.to_string()))?;
        let endpoint = Endpoint::new(client, uri, headers, self.max_response_bytes)?;
        Ok(Rc::new(HttpConnection(Rc::new(endpoint))))
    }
}

struct HttpConnection(Rc<Endpoint>);

impl Connection for HttpConnection {
    fn exchange(
        &self,
        message: Outgoing,
    ) -> LocalBoxFuture<'static, Result<Reply, TransportError>> {
        let endpoint = Rc::clone(&self.0);
        Box::pin(async move { endpoint.post(message).await })
    }

    fn end_session(&self, headers: Vec<Header>) -> LocalBoxFuture<'static, ()> {
        let endpoint = Rc::clone(&self.0);
        Box::pin(async move {
            let mut request = endpoint.client.delete(endpoint.uri.clone());
            *request.headers_mut() = endpoint.headers.clone();
            for (name, value) in headers {
                request = request.insert_header((name, value));
            }
            let sent = tokio::time::timeout(END_SESSION_TIMEOUT, request.send()).await;
            if let Ok(Err(error)) = sent {
                tracing::debug!(%error, "the server did not take the end of the session");
            }
        })
    }
}

/// Where messages go, with everything that is the same for each of them.
struct Endpoint {
    client: awc::Client,
    uri: Uri,
    headers: HeaderMap,
    frozen: awc::FrozenClientRequest,
    limit: usize,
}

impl Endpoint {
    fn new(
        client: awc::Client,
        uri: Uri,
        headers: HeaderMap,
        limit: usize,
    ) -> Result<Self, TransportError> {
        let frozen = freeze(&client, &uri, &headers)?;
        Ok(Self {
            client,
            uri,
            headers,
            frozen,
            limit,
        })
    }

    async fn post(&self, message: Outgoing) -> Result<Reply, TransportError> {
        let extra = extra_headers(&message)?;
        let send = self
            .frozen
            .extra_headers(extra.clone())
            .send_body(message.body.clone());
        let mut response = send.await.map_err(unreachable)?;
        let mut at = self.uri.clone();
        let mut hops = 0;
        while is_redirect(response.status()) {
            at = self.redirect(&at, response.headers())?;
            hops += 1;
            if hops > MAX_REDIRECTS {
                return Err(TransportError::TooManyRedirects {
                    limit: MAX_REDIRECTS,
                });
            }
            let frozen = freeze(&self.client, &at, &self.headers)?;
            let send = frozen
                .extra_headers(extra.clone())
                .send_body(message.body.clone());
            response = send.await.map_err(unreachable)?;
        }
        self.read(response).await
    }

    /// Says where a redirect leads, if that is the same origin.
    fn redirect(&self, at: &Uri, headers: &HeaderMap) -> Result<Uri, TransportError> {
        let location = text_header(headers, &header::LOCATION).unwrap_or_default();
        let target = resolve(at, &location);
        match target {
            Some(target) if origin_of(&target) == origin_of(&self.uri) => Ok(target),
            Some(target) => Err(TransportError::Redirected {
                to: origin_of(&target),
            }),
            None => Err(TransportError::Redirected {
                to: "an unreadable address".to_owned(),
            }),
        }
    }

    async fn read(
        &self,
        mut response: awc::ClientResponse<impl PayloadStream>,
    ) -> Result<Reply, TransportError> {
        if is_unframed(&response) {
            return Err(TransportError::Broken(UNFRAMED.to_owned()));
        }
        let status = response.status().as_u16();
        let session_id = text_header(response.headers(), &SESSION_ID);
        let www_authenticate = text_header(response.headers(), &header::WWW_AUTHENTICATE);
        let body = if is_event_stream(response.headers()) {
            ReplyBody::Stream(events(response, self.limit))
        } else {
            let mut bytes = BytesMut::new();
            while let Some(chunk) = response.next().await {
                let chunk = chunk.map_err(|error| TransportError::Broken(error.to_string()))?;
                if bytes.len() + chunk.len() > self.limit {
                    return Err(TransportError::TooLarge { limit: self.limit });
                }
                bytes.extend_from_slice(&chunk);
            }
            match bytes.is_empty() {
                true => ReplyBody::Empty,
                false => ReplyBody::Whole(bytes.freeze()),
            }
        };
        Ok(Reply {
            status,
            session_id,
            www_authenticate,
            body,
        })
    }
}

static SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

trait PayloadStream:
    futures_util::Stream<Item = Result<Bytes, awc::error::PayloadError>> + Unpin + 'static
{
}
impl<S> PayloadStream for S where
    S: futures_util::Stream<Item = Result<Bytes, awc::error::PayloadError>> + Unpin + 'static
{
}

fn freeze(
    client: &awc::Client,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<awc::FrozenClientRequest, TransportError> {
    let mut request = client.post(uri.clone());
    for (name, value) in headers {
        request.headers_mut().insert(name.clone(), value.clone());
    }
    let fixed = [
        (header::CONTENT_TYPE, "application/json"),
        (header::ACCEPT, ACCEPT_BOTH),
    ];
    for (name, value) in fixed {
        request
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    request
        .freeze()
        .map_err(|error| TransportError::Config(error.to_string()))
}

fn extra_headers(message: &Outgoing) -> Result<HeaderMap, TransportError> {
    let mut extra = HeaderMap::with_capacity(message.headers.len() + message.params.len());
    for (name, value) in &message.headers {
        extra.insert(HeaderName::from_static(name), header_value(name, value)?);
    }
    for (name, value) in &message.params {
        let full = format!("mcp-param-{}", name.to_ascii_lowercase());
        let parsed = HeaderName::try_from(full.as_str());
        let parsed =
            parsed.map_err(|error| TransportError::Config(format!("header {full}: {error}")))?;
        extra.insert(parsed, header_value(&full, value)?);
    }
    Ok(extra)
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, TransportError> {
    let refused = |error| TransportError::Config(format!("header {name} cannot be sent: {error}"));
    HeaderValue::from_str(value).map_err(refused)
}

fn text_header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?;
    value.to_str().ok().map(str::to_owned)
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let content_type = text_header(headers, &header::CONTENT_TYPE).unwrap_or_default();
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("text/event-stream")
}

/// Redirects that keep method and body. A POST that became a GET would be another request.
fn is_redirect(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    )
}

fn unreachable(error: awc::error::SendRequestError) -> TransportError {
    use awc::error::SendRequestError as Awc;
    if let Some(refusal) = egress_refusal(&error) {
        return refusal.clone().into();
    }
    match error {
        Awc::Url(error) => TransportError::Config(error.to_string()),
        Awc::Connect(error) => TransportError::Unreachable(error.to_string()),
        error => TransportError::Broken(format!("{error:?}")),
    }
}

/// The events of a body as messages. Events without data prime a stream and carry nothing.
fn events(
    body: awc::ClientResponse<impl PayloadStream>,
    limit: usize,
) -> LocalBoxStream<'static, Result<Bytes, TransportError>> {
    struct State<B> {
        body: B,
        decoder: SseDecoder,
        failed: Option<TransportError>,
        ended: bool,
    }
    let start = State {
        body,
        decoder: SseDecoder::new(limit),
        failed: None,
        ended: false,
    };
    Box::pin(stream::unfold(start, move |mut state| async move {
        loop {
            while let Some(event) = state.decoder.next_event() {
                if !event.data.is_empty() && event.kind() == "message" {
                    return Some((Ok(Bytes::from(event.data)), state));
                }
            }
            if state.ended {
                return None;
            }
            if let Some(error) = state.failed.take() {
                state.ended = true;
                return Some((Err(error), state));
            }
            match state.body.next().await {
                Some(Ok(chunk)) => {
                    if state.decoder.feed(&chunk).is_err() {
                        state.failed = Some(TransportError::TooLarge { limit });
                    }
                }
                Some(Err(error)) => {
                    state.failed = Some(TransportError::Broken(error.to_string()));
                }
                None => state.ended = true,
            }
        }
    }))
}
