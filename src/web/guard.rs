//! Who may talk to the server from a web page: Origin and Host, the same for every route.
//!
//! A page anywhere on the web can send requests to a server on the visitor's machine. Its Origin
//! gives it away, and a name that was rebound to 127.0.0.1 stands in Host. Both are looked at
//! before anything else of a request.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        StatusCode,
        header::{self, HeaderMap, HeaderName, HeaderValue},
    },
};

/// How long a browser may keep the answer to a preflight, in seconds.
const PREFLIGHT_MAX_AGE: &str = "600";

/// Decides by Origin and Host which requests are served.
///
/// Without any setting: no Origin or the server's own; on a loopback address a loopback Host, on
/// any other address every Host.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    allowed_hosts: Vec<String>,
    allow_origins: Vec<String>,
}

impl Guard {
    /// Makes the guard with the default rules.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the hosts that requests may be sent to, with or without a port. They replace the
    /// default rule; loopback names stay allowed on a loopback address.
    #[must_use]
    pub fn allowed_hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        let hosts = hosts
            .into_iter()
            .map(|host| host.into().to_ascii_lowercase());
        self.allowed_hosts.extend(hosts);
        self
    }

    /// Names the origins whose pages may send requests, for example `https://app.example.com`; `*`
    /// stands for all. Their preflights are answered.
    #[must_use]
    pub fn allow_origins<S: Into<String>>(mut self, origins: impl IntoIterator<Item = S>) -> Self {
        let origins = origins.into_iter().map(|origin| {
            let origin: String = origin.into();
            origin.trim_end_matches('/').to_ascii_lowercase()
        });
        self.allow_origins.extend(origins);
        self
    }

    /// Looks at a request before its body is read.
    ///
    /// # Errors
    /// [`Refusal`] when it must be answered with 403.
    pub fn check(&self, request: &HttpRequest) -> Result<Cors, Refusal> {
        let host = host(request);
        let local = request.app_config().local_addr().ip().is_loopback();
        self.check_host(host, local)?;
        let Some(origin) = request.headers().get(header::ORIGIN) else {
            return Ok(Cors(None));
        };
        self.check_origin(origin, host)
    }

    fn check_host(&self, host: Option<&str>, loopback: bool) -> Result<(), Refusal> {
        if !loopback && self.allowed_hosts.is_empty() {
            return Ok(());
        }
        let host = host.unwrap_or_default();
        if loopback && is_loopback_name(without_port(host)) {
            return Ok(());
        }
        let allowed = |name: &String| {
            name.eq_ignore_ascii_case(host) || name.eq_ignore_ascii_case(without_port(host))
        };
        if self.allowed_hosts.iter().any(allowed) {
            return Ok(());
        }
        Err(Refusal::Host)
    }

    fn check_origin(&self, origin: &HeaderValue, host: Option<&str>) -> Result<Cors, Refusal> {
        let text = origin.to_str().map_err(|_| Refusal::Origin)?;
        let allowed = |name: &String| name == "*" || name.eq_ignore_ascii_case(text);
        if self.allow_origins.iter().any(allowed) {
            return Ok(Cors(Some(origin.clone())));
        }
        let own = text.split_once("://").is_some_and(|(_, authority)| {
            host.is_some_and(|host| host.eq_ignore_ascii_case(authority))
        });
        if own {
            Ok(Cors(None))
        } else {
            Err(Refusal::Origin)
        }
    }

    /// Answers `OPTIONS`: what a page of an allowed origin may send.
    #[must_use]
    pub fn preflight(
        &self,
        cors: &Cors,
        methods: &'static str,
        request_headers: &'static str,
    ) -> HttpResponse {
        let mut response = HttpResponse::new(StatusCode::NO_CONTENT);
        let headers = response.headers_mut();
        cors.apply(headers, "");
        if cors.0.is_some() {
            let mut put = |name: HeaderName, value: &'static str| {
                headers.insert(name, HeaderValue::from_static(value));
            };
            put(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
            put(header::ACCESS_CONTROL_ALLOW_HEADERS, request_headers);
            put(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_MAX_AGE);
        }
        headers.insert(header::ALLOW, HeaderValue::from_static(methods));
        response
    }
}

/// What an admitted request means for the headers of its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cors(Option<HeaderValue>);

impl Cors {
    /// No page may read the answer.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Lets the page read the answer, and the headers in `exposed` (names with commas).
    pub fn apply(&self, headers: &mut HeaderMap, exposed: &'static str) {
        let Some(origin) = &self.0 else {
            return;
        };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.append(header::VARY, HeaderValue::from_static("origin"));
        if !exposed.is_empty() {
            let exposed = HeaderValue::from_static(exposed);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
    }
}

/// Why a request is answered with 403.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The page that sent it comes from elsewhere.
    #[error("requests from this Origin are not served: name it with allow_origins")]
    Origin,
    /// It was sent to another name.
    #[error("requests to this Host are not served: name it with allowed_hosts")]
    Host,
}

fn host(request: &HttpRequest) -> Option<&str> {
    match request.headers().get(header::HOST) {
        Some(host) => host.to_str().ok(),
        // HTTP/2 has no Host header.
        None => request.uri().authority().map(|name| name.as_str()),
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // The colons of a bare IPv6 address are no port.
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_loopback_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(text: &str) -> HeaderValue {
        HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
    }

    #[test]
    fn a_loopback_server_is_reached_by_loopback_names_only() {
        let guard = Guard::new();
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:8787",
            "[::1]:8787",
            "[::1]",
        ] {
            assert_eq!(guard.check_host(Some(host), true), Ok(()), "{host}");
        }
        for host in [
            "evil.example.com",
            "localhost.evil.com",
            "127.0.0.1.evil.com:80",
            "",
            "[::1",
            "localhost:80:90",
        ] {
            assert_eq!(
                guard.check_host(Some(host), true),
                Err(Refusal::Host),
                "{host}"
            );
        }
        assert_eq!(guard.check_host(None, true), Err(Refusal::Host));
        assert_eq!(guard.check_host(Some("any.example.com"), false), Ok(()));
    }

    #[test]
    fn named_hosts_are_the_only_ones() {
        let guard = Guard::new().allowed_hosts(["App.example.com", "b.example.com:81"]);
        for (host, loopback, served) in [
            ("app.example.com", false, true),
            ("app.example.com:8080", false, true),
            ("b.example.com:81", false, true),
            ("b.example.com:82", false, false),
            ("other.example.com", false, false),
            ("localhost", false, false),
            ("localhost", true, true),
            ("app.example.com", true, true),
        ] {
            assert_eq!(
                guard.check_host(Some(host), loopback).is_ok(),
                served,
                "{host}"
            );
        }
    }

    #[test]
    fn an_origin_is_the_servers_own_or_named() {
        let host = Some("127.0.0.1:8787");
        let guard = Guard::new().allow_origins(["https://App.example.com/"]);
        let own = guard.check_origin(&origin("http://127.0.0.1:8787"), host);
        assert_eq!(own, Ok(Cors(None)));
        let named = guard.check_origin(&origin("https://app.example.com"), host);
        assert!(matches!(named, Ok(Cors(Some(_)))));
        for foreign in [
            "http://localhost:8787",
            "http://127.0.0.1:8788",
            "null",
            "https://app.example.com.evil.com",
            "127.0.0.1:8787",
        ] {
            let refused = guard.check_origin(&origin(foreign), host);
            assert_eq!(refused, Err(Refusal::Origin), "{foreign}");
        }
        let all = Guard::new().allow_origins(["*"]);
        assert!(all.check_origin(&origin("https://x.example"), host).is_ok());
    }
}
