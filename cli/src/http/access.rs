//! Who is served: Origin and Host on every route, and the token if there is one.

use actix_web::{
    HttpRequest, HttpResponse,
    body::{BoxBody, EitherBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{Method, StatusCode, header},
    middleware::Next,
    web,
};
use roscius::web::Guard;

use super::{CHAT_PATH, MCP_PATH, problem};

const COOKIE: &str = "roscius_token";

/// These look at Origin and Host themselves, and refuse in their own form.
const GUARDED: [&str; 2] = [CHAT_PATH, MCP_PATH];

/// What a request has to show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    guard: Guard,
    token: Option<String>,
}

impl Access {
    /// Serves everybody, or who knows the token, under the names of these hosts.
    pub(crate) fn new(hosts: &[String], token: Option<&str>) -> Self {
        Self {
            guard: Guard::new().allowed_hosts(hosts),
            token: token.map(str::to_owned),
        }
    }

    /// Gives the answer to a request that is not served.
    fn refuse(&self, request: &HttpRequest) -> Option<HttpResponse> {
        let guarded = GUARDED.contains(&request.path());
        if !guarded && let Err(refusal) = self.guard.check(request) {
            return Some(problem(StatusCode::FORBIDDEN, &refusal.to_string()));
        }
        let token = self.token.as_deref()?;
        // A browser asks without the token whether a page may send it.
        if guarded && *request.method() == Method::OPTIONS {
            return None;
        }
        if request.path() == "/healthz" || knows(request, token) {
            return None;
        }
        let given = request
            .query_string()
            .split('&')
            .find_map(|pair| pair.strip_prefix("token="));
        let opens = *request.method() == Method::GET && request.path() == "/";
        if opens && given.is_some_and(|given| same(given, token)) {
            return Some(remember(token));
        }
        let mut refused = problem(StatusCode::UNAUTHORIZED, "the token is missing or wrong");
        let scheme = header::HeaderValue::from_static("Bearer");
        refused
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, scheme);
        Some(refused)
    }
}

/// Serves a request, or refuses it before its body is read.
pub(crate) async fn admit<B: MessageBody + 'static>(
    access: web::Data<Access>,
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B, BoxBody>>, actix_web::Error> {
    match access.refuse(request.request()) {
        Some(refused) => Ok(request.into_response(refused).map_into_right_body()),
        None => Ok(next.call(request).await?.map_into_left_body()),
    }
}

/// Moves the token from the address into a cookie: addresses are shown, kept and sent on.
fn remember(token: &str) -> HttpResponse {
    let cookie = format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict");
    HttpResponse::SeeOther()
        .insert_header((header::SET_COOKIE, cookie))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .insert_header((header::LOCATION, "/"))
        .finish()
}

fn knows(request: &HttpRequest, token: &str) -> bool {
    let text = |name| {
        request
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let bearer = text(header::AUTHORIZATION)
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, given)| given);
    let cookies = text(header::COOKIE).unwrap_or_default().split(';');
    let mut cookies = cookies.filter_map(|pair| pair.trim().split_once('='));
    let cookie = cookies
        .find(|(name, _)| *name == COOKIE)
        .map(|(_, value)| value);
    [bearer, cookie]
        .into_iter()
        .flatten()
        .any(|given| same(given.trim(), token))
}

/// Compares without telling by the time how much was right.
fn same(given: &str, token: &str) -> bool {
    let pairs = given.bytes().zip(token.bytes());
    let differences = pairs.fold(0, |sum, (one, other)| sum | (one ^ other));
    given.len() == token.len() && differences == 0
}
