//! A request and a response without a web framework, so that any of them can host the server.

use bytes::Bytes;

use super::ids::SessionId;

/// The method of a request, as far as MCP tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// A message.
    Post,
    /// 2025: the standalone stream.
    Get,
    /// 2025: the end of a session.
    Delete,
    /// Anything else; it is never served.
    Other,
}

/// Looks up a header by its name, for the few that only some tools have.
pub trait Headers {
    /// Gives the value without its surrounding blanks; the name's case does not count.
    fn get(&self, name: &str) -> Option<&[u8]>;
}

/// No further headers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHeaders;

impl Headers for NoHeaders {
    fn get(&self, _name: &str) -> Option<&[u8]> {
        None
    }
}

fn find<'a, N: AsRef<str>, V: AsRef<[u8]>>(list: &'a [(N, V)], name: &str) -> Option<&'a [u8]> {
    let (_, value) = list
        .iter()
        .find(|(other, _)| other.as_ref().eq_ignore_ascii_case(name))?;
    Some(value.as_ref().trim_ascii())
}

/// A list of names and values.
impl<N: AsRef<str>, V: AsRef<[u8]>> Headers for Vec<(N, V)> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        find(self, name)
    }
}

/// A list of names and values.
impl<N: AsRef<str>, V: AsRef<[u8]>, const K: usize> Headers for [(N, V); K] {
    fn get(&self, name: &str) -> Option<&[u8]> {
        find(self, name)
    }
}

/// The head of a request: what the protocol reads of it, borrowed. Values are without their
/// surrounding blanks. A header that came twice is given as an empty byte string with a NUL, which
/// no rule accepts.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Head<'a> {
    /// The method.
    pub method: Method,
    /// `Content-Type`.
    pub content_type: Option<&'a [u8]>,
    /// `Accept`.
    pub accept: Option<&'a [u8]>,
    /// `MCP-Protocol-Version`.
    pub protocol_version: Option<&'a [u8]>,
    /// `Mcp-Method`.
    pub mcp_method: Option<&'a [u8]>,
    /// `Mcp-Name`.
    pub mcp_name: Option<&'a [u8]>,
    /// `Mcp-Session-Id`.
    pub session_id: Option<&'a [u8]>,
    /// `Last-Event-ID`.
    pub last_event_id: Option<&'a [u8]>,
    /// All others, for `Mcp-Param-*`.
    pub others: &'a dyn Headers,
}

/// The value that stands for a header that came more than once.
pub const REPEATED: &[u8] = b"\0";

impl<'a> Head<'a> {
    /// Makes a head without headers.
    #[must_use]
    pub fn new(method: Method) -> Self {
        Self {
            method,
            content_type: None,
            accept: None,
            protocol_version: None,
            mcp_method: None,
            mcp_name: None,
            session_id: None,
            last_event_id: None,
            others: &NoHeaders,
        }
    }

    /// Reads the head of a request from its headers.
    #[must_use]
    pub fn of(method: Method, headers: &'a dyn Headers) -> Self {
        Self {
            content_type: headers.get("content-type"),
            accept: headers.get("accept"),
            protocol_version: headers.get("mcp-protocol-version"),
            mcp_method: headers.get("mcp-method"),
            mcp_name: headers.get("mcp-name"),
            session_id: headers.get("mcp-session-id"),
            last_event_id: headers.get("last-event-id"),
            others: headers,
            ..Self::new(method)
        }
    }
}

impl std::fmt::Debug for Head<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text =
            |value: Option<&[u8]>| value.map(|value| String::from_utf8_lossy(value).into_owned());
        out.debug_struct("Head")
            .field("method", &self.method)
            .field("protocol_version", &text(self.protocol_version))
            .field("mcp_method", &text(self.mcp_method))
            .finish_non_exhaustive()
    }
}

/// A request: its head, borrowed, and its whole body.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The head.
    pub head: Head<'a>,
    /// The body.
    pub body: &'a [u8],
}

/// A response with a body of some kind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Response<B> {
    /// The HTTP status.
    pub status: u16,
    /// `Allow`, on 405.
    pub allow: Option<&'static str>,
    /// `Retry-After` in seconds, on 429 and 503.
    pub retry_after: Option<u32>,
    /// `WWW-Authenticate`, on 401 and 403.
    pub www_authenticate: Option<Box<str>>,
    /// `Mcp-Session-Id`, on the answer to a 2025 `initialize` that opened a session.
    pub session: Option<SessionId>,
    /// The code of the JSON-RPC error that the body holds, for whoever counts them; it is not sent
    /// by itself. Every code of a server fits.
    pub error_code: Option<i32>,
    /// The body; its kind tells the content type.
    pub body: Body<B>,
}

/// The body of a response.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Body<S> {
    /// Nothing.
    Empty,
    /// `application/json`.
    Json(Bytes),
    /// `text/event-stream` whose end is known.
    Events(Bytes),
    /// `text/event-stream`.
    Stream(S),
}

impl<S> Response<S> {
    /// Makes a response.
    #[must_use]
    pub const fn new(status: u16, body: Body<S>) -> Self {
        Self {
            status,
            allow: None,
            retry_after: None,
            www_authenticate: None,
            session: None,
            error_code: None,
            body,
        }
    }

    /// Makes a response of one JSON text.
    #[must_use]
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self::new(status, Body::Json(body.into()))
    }

    /// Makes a response without a body.
    #[must_use]
    pub const fn empty(status: u16) -> Self {
        Self::new(status, Body::Empty)
    }
}

/// A type of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// `application/json`.
    Json,
    /// `text/event-stream`.
    Events,
}

/// What clients of MCP send, to the letter.
const ACCEPT_BOTH: &[u8] = b"application/json, text/event-stream";

/// Tells whether an `Accept` header lets the server answer with this type. Without the header
/// everything is accepted.
#[must_use]
pub fn accepts(accept: Option<&[u8]>, media: Media) -> bool {
    let Some(accept) = accept.filter(|accept| *accept != ACCEPT_BOTH) else {
        return true;
    };
    let (kind, main) = match media {
        Media::Json => ("application/json", "application"),
        Media::Events => ("text/event-stream", "text"),
    };
    // The range that says most about the kind decides: RFC 9110, 12.5.1.
    let (mut known, mut accepted) = (0, false);
    for range in accept.split(|byte| *byte == b',') {
        let mut parts = range.split(|byte| *byte == b';');
        let name = parts.next().unwrap_or_default().trim_ascii();
        let wide = || {
            name.strip_suffix(b"/*")
                .is_some_and(|wide| wide.eq_ignore_ascii_case(main.as_bytes()))
        };
        let precision = if name.eq_ignore_ascii_case(kind.as_bytes()) {
            3
        } else if name == b"*/*" {
            1
        } else if wide() {
            2
        } else {
            continue;
        };
        if precision > known {
            known = precision;
            accepted = !parts.any(is_zero_weight);
        }
    }
    accepted
}

/// Tells whether a parameter of a range is the weight zero, which means "not this one".
fn is_zero_weight(parameter: &[u8]) -> bool {
    let Some(equals) = parameter.iter().position(|byte| *byte == b'=') else {
        return false;
    };
    let (name, value) = parameter.split_at(equals);
    let value = value.get(1..).unwrap_or_default().trim_ascii();
    name.trim_ascii().eq_ignore_ascii_case(b"q")
        && !value.is_empty()
        && value.iter().all(|byte| matches!(byte, b'0' | b'.'))
}

/// Tells whether a `Content-Type` header says JSON.
#[must_use]
pub fn is_json(content_type: Option<&[u8]>) -> bool {
    let Some(content_type) = content_type else {
        return false;
    };
    let kind = content_type
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_is_read_as_a_list_of_ranges() {
        for (accept, json) in [
            (None, true),
            (Some("application/json, text/event-stream"), true),
            (Some("text/event-stream,Application/JSON;q=0.5"), true),
            (Some("*/*"), true),
            (Some("application/*"), true),
            (Some("text/event-stream"), false),
            (Some("text/html"), false),
            (Some(""), false),
            (Some("application/json;q=0"), false),
            (Some("application/json ; Q = 0.000 , */*"), false),
            (Some("application/*;q=0, */*"), false),
            (Some("*/*;q=0, application/json;q=0.1"), true),
            (Some("application/json;q="), true),
            (Some("text/html;q=0"), false),
        ] {
            let accept = accept.map(str::as_bytes);
            assert_eq!(accepts(accept, Media::Json), json, "{accept:?}");
        }
    }

    #[test]
    fn only_json_is_json() {
        for (kind, json) in [
            (Some("application/json"), true),
            (Some("Application/JSON; charset=utf-8"), true),
            (Some("text/plain"), false),
            (Some("application/json-patch+json"), false),
            (None, false),
        ] {
            assert_eq!(is_json(kind.map(str::as_bytes)), json, "{kind:?}");
        }
    }

    #[test]
    fn a_list_is_a_source_of_headers() {
        let list = vec![("Mcp-Method", " tools/list "), ("X", "y")];
        let head = Head::of(Method::Post, &list);
        assert_eq!(head.mcp_method, Some(b"tools/list".as_slice()));
    }
}
