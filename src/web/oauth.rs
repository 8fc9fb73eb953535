//! The documents by which clients find out who issues tokens for a server.

use actix_web::{
    HttpRequest, HttpResponse, Resource,
    http::{
        Method, StatusCode,
        header::{self, HeaderValue},
    },
    web::ServiceConfig,
};
use bytes::Bytes;
use roscius_actors::{
    machine::resource_metadata::{AUTHORIZATION_SERVER_PATH, ProtectedResource, UrlError},
    wire::oauth::{OAuthError, OAuthErrorCode},
};
use serde_json::{Map, Value};

const METHODS: &str = "GET, HEAD, OPTIONS";
/// Clients send the protocol version with every request.
const REQUEST_HEADERS: &str = "mcp-protocol-version, *";

/// Serves the metadata of a protected resource, and those of its authorization server if they are
/// there, for [`App::configure`](actix_web::App::configure) at the root of the application.
///
/// The documents are for everybody, so pages of every origin may read them.
///
/// # Errors
/// [`UrlError`] when the resource is no URL or the issuer is not https.
///
/// ```
/// use actix_web::App;
/// use roscius::{machine::resource_metadata::ProtectedResource, web::oauth_metadata};
///
/// let notes = ProtectedResource::new("https://mcp.example.com/mcp", "https://auth.example.com");
/// let app = App::new().configure(oauth_metadata(&notes)?);
/// # Ok::<(), roscius::machine::resource_metadata::UrlError>(())
/// ```
pub fn oauth_metadata(
    resource: &ProtectedResource,
) -> Result<impl FnOnce(&mut ServiceConfig) + Clone + use<>, UrlError> {
    let mut documents = vec![(resource.path()?, text(&resource.document()?))];
    if let Some(metadata) = resource.authorization_server() {
        documents.push((AUTHORIZATION_SERVER_PATH.to_owned(), text(metadata)));
    }
    Ok(move |config: &mut ServiceConfig| {
        for (path, document) in documents {
            let serve = move |request: HttpRequest| {
                let response = answer(request.method(), &document);
                async move { response }
            };
            config.service(Resource::new(path).to(serve));
        }
    })
}

fn text(document: &Map<String, Value>) -> Bytes {
    // A map of JSON values is written without fail.
    Bytes::from(serde_json::to_vec(document).unwrap_or_default())
}

fn answer(method: &Method, document: &Bytes) -> HttpResponse {
    let mut response = match *method {
        Method::GET | Method::HEAD => json(StatusCode::OK, document.clone()),
        Method::OPTIONS => HttpResponse::new(StatusCode::NO_CONTENT),
        _ => {
            let error = OAuthError::new(
                OAuthErrorCode::MethodNotAllowed,
                format!("The method {method} is not allowed for this endpoint"),
            );
            json(StatusCode::METHOD_NOT_ALLOWED, error.body().into())
        }
    };
    let headers = response.headers_mut();
    let mut put = |name, value| headers.insert(name, HeaderValue::from_static(value));
    put(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    if *method == Method::OPTIONS {
        put(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        put(header::ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS);
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        put(header::ALLOW, METHODS);
    }
    response
}

fn json(status: StatusCode, body: Bytes) -> HttpResponse {
    HttpResponse::build(status)
        .content_type("application/json")
        .body(body)
}
