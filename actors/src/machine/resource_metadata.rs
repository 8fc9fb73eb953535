//! The documents by which a client finds out who issues tokens for a server (RFC 9728, RFC 8414).

use serde_json::{Map, Value};

/// Where the metadata of a protected resource is, before the path of the resource.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// Where the metadata of an authorization server without a path is.
pub const AUTHORIZATION_SERVER_PATH: &str = "/.well-known/oauth-authorization-server";

/// Why a URL cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// It is no `http` or `https` URL with a host.
    #[error("`{0}` is no http or https URL")]
    NotHttp(String),
    /// It is not encrypted, and leaves this machine.
    #[error("`{0}` has to be https")]
    NotHttps(String),
    /// It has a query or a fragment.
    #[error("`{0}` may have neither query nor fragment")]
    Tail(String),
    /// It holds a user name or a password.
    #[error("a URL here may hold no credentials")]
    Credentials,
    /// The metadata of an authorization server name no issuer.
    #[error("the metadata of the authorization server name no issuer")]
    NoIssuer,
}

/// The parts of a URL.
struct Parts<'a> {
    secure: bool,
    /// Scheme and authority.
    origin: &'a str,
    authority: &'a str,
    path: &'a str,
    /// Query and fragment.
    tail: &'a str,
}

fn parts(url: &str) -> Result<Parts<'_>, UrlError> {
    let not_http = || UrlError::NotHttp(url.to_owned());
    let readable = url.bytes().all(|byte| byte.is_ascii_graphic());
    let (scheme, rest) = url.split_once("://").ok_or_else(not_http)?;
    let secure = scheme.eq_ignore_ascii_case("https");
    if !readable || !(secure || scheme.eq_ignore_ascii_case("http")) {
        return Err(not_http());
    }
    let (rest, tail) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if authority.is_empty() || authority.starts_with(':') {
        return Err(not_http());
    }
    if authority.contains('@') {
        return Err(UrlError::Credentials);
    }
    Ok(Parts {
        secure,
        origin: url.get(..scheme.len() + 3 + authority.len()).unwrap_or(url),
        authority,
        path,
        tail,
    })
}

fn is_loopback(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    host.eq_ignore_ascii_case("localhost") || host == "127.0.0.1" || host == "[::1]"
}

/// Checks that what is fetched from or sent to a URL is encrypted, or stays on this machine.
///
/// # Errors
/// [`UrlError`] for anything but `https`, and `http` to a loopback name.
pub fn check_endpoint(url: &str) -> Result<(), UrlError> {
    let parts = parts(url)?;
    if parts.secure || is_loopback(parts.authority) {
        return Ok(());
    }
    Err(UrlError::NotHttps(url.to_owned()))
}

/// Checks the URL of an issuer: as [`check_endpoint`], and without query and fragment (RFC 8414).
///
/// # Errors
/// [`UrlError`] with what is wrong.
pub fn check_issuer(issuer: &str) -> Result<(), UrlError> {
    check_endpoint(issuer)?;
    if parts(issuer)?.tail.is_empty() {
        return Ok(());
    }
    Err(UrlError::Tail(issuer.to_owned()))
}

/// Gives the path of a resource's metadata on its server.
///
/// # Errors
/// [`UrlError`] when the resource is no URL.
///
/// ```
/// use roscius_actors::machine::resource_metadata::metadata_path;
///
/// let path = metadata_path("https://mcp.example.com/mcp")?;
/// assert_eq!(path, "/.well-known/oauth-protected-resource/mcp");
/// # Ok::<(), roscius_actors::machine::resource_metadata::UrlError>(())
/// ```
pub fn metadata_path(resource: &str) -> Result<String, UrlError> {
    let path = parts(resource)?.path;
    let path = if path == "/" { "" } else { path };
    Ok(format!("{WELL_KNOWN}{path}"))
}

/// Gives the URL of a resource's metadata, for the challenge of its server.
///
/// # Errors
/// [`UrlError`] when the resource is no URL.
pub fn metadata_url(resource: &str) -> Result<String, UrlError> {
    let path = metadata_path(resource)?;
    Ok(format!("{}{path}", parts(resource)?.origin))
}

/// What a protected resource says about itself.
///
/// ```
/// use roscius_actors::machine::resource_metadata::ProtectedResource;
///
/// let metadata = ProtectedResource::new("https://mcp.example.com/mcp", "https://auth.example.com")
///     .scopes(["notes:read"]);
/// assert_eq!(
///     metadata.url()?,
///     "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
/// );
/// # Ok::<(), roscius_actors::machine::resource_metadata::UrlError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ProtectedResource {
    resource: String,
    issuer: String,
    authorization_server: Option<Map<String, Value>>,
    scopes: Vec<String>,
    name: Option<String>,
    documentation: Option<String>,
}

impl ProtectedResource {
    /// Starts with the URL of the resource, as clients reach it, and the issuer of its tokens.
    pub fn new(resource: impl Into<String>, issuer: impl Into<String>) -> Self {
        Self {
            resource: resource.into(),
            issuer: issuer.into(),
            authorization_server: None,
            scopes: Vec::new(),
            name: None,
            documentation: None,
        }
    }

    /// Starts with the URL of the resource and the metadata of its authorization server, which are
    /// served too, as they are.
    ///
    /// # Errors
    /// [`UrlError::NoIssuer`] when they name none.
    pub fn with_authorization_server(
        resource: impl Into<String>,
        metadata: Map<String, Value>,
    ) -> Result<Self, UrlError> {
        let issuer = metadata.get("issuer").and_then(Value::as_str);
        let issuer = issuer.ok_or(UrlError::NoIssuer)?.to_owned();
        let mut this = Self::new(resource, issuer);
        this.authorization_server = Some(metadata);
        Ok(this)
    }

    /// Names the scopes that the resource knows.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Names the resource for people.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Says where developers read about the resource.
    #[must_use]
    pub fn documentation(mut self, url: impl Into<String>) -> Self {
        self.documentation = Some(url.into());
        self
    }

    /// Gives the path of the document on its server.
    ///
    /// # Errors
    /// [`UrlError`] when the resource is no URL.
    pub fn path(&self) -> Result<String, UrlError> {
        metadata_path(&self.resource)
    }

    /// Gives the URL of the document.
    ///
    /// # Errors
    /// [`UrlError`] when the resource is no URL.
    pub fn url(&self) -> Result<String, UrlError> {
        metadata_url(&self.resource)
    }

    /// Gives the metadata of the authorization server, if they are served here.
    #[must_use]
    pub const fn authorization_server(&self) -> Option<&Map<String, Value>> {
        self.authorization_server.as_ref()
    }

    /// Makes the document.
    ///
    /// # Errors
    /// [`UrlError`] for a resource that is no URL, and for an issuer that is not https (loopback
    /// names are exempt) or has a query or a fragment.
    pub fn document(&self) -> Result<Map<String, Value>, UrlError> {
        parts(&self.resource)?;
        check_issuer(&self.issuer)?;
        let mut document = Map::new();
        let mut put = |name: &str, value: Value| document.insert(name.to_owned(), value);
        put("resource", Value::from(self.resource.as_str()));
        put(
            "authorization_servers",
            Value::from(vec![self.issuer.as_str()]),
        );
        if !self.scopes.is_empty() {
            put("scopes_supported", Value::from(self.scopes.as_slice()));
        }
        if let Some(name) = &self.name {
            put("resource_name", Value::from(name.as_str()));
        }
        if let Some(url) = &self.documentation {
            put("resource_documentation", Value::from(url.as_str()));
        }
        Ok(document)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_document_stands_before_the_path_of_the_resource() {
        for (resource, url) in [
            (
                "https://mcp.example.com/mcp",
                "https://mcp.example.com/.well-known/oauth-protected-resource/mcp",
            ),
            (
                "https://mcp.example.com",
                "https://mcp.example.com/.well-known/oauth-protected-resource",
            ),
            (
                "https://mcp.example.com/",
                "https://mcp.example.com/.well-known/oauth-protected-resource",
            ),
            (
                "http://127.0.0.1:81/a/b?x=1",
                "http://127.0.0.1:81/.well-known/oauth-protected-resource/a/b",
            ),
        ] {
            assert_eq!(metadata_url(resource).as_deref(), Ok(url), "{resource}");
        }
        assert!(metadata_url("/mcp").is_err());
    }

    #[test]
    fn an_issuer_is_https_without_a_tail() {
        for (issuer, good) in [
            ("https://as.test", true),
            ("https://as.test/tenant/", true),
            ("HTTPS://as.test", true),
            ("http://localhost:9000", true),
            ("http://127.0.0.1:9000/x", true),
            ("http://[::1]:9000", true),
            ("http://as.test", false),
            ("http://localhost.evil.test", false),
            ("http://localhost@evil.test", false),
            ("https://as.test?x=1", false),
            ("https://as.test/#x", false),
            ("https://", false),
            ("https:///x", false),
            ("ftp://as.test", false),
            ("as.test", false),
            ("https://as.test/a b", false),
        ] {
            assert_eq!(check_issuer(issuer).is_ok(), good, "{issuer}");
        }
    }

    #[test]
    fn the_document_holds_what_is_known() {
        let bare = ProtectedResource::new("https://mcp.test/mcp", "https://as.test");
        assert_eq!(
            bare.document().map(Value::from),
            Ok(
                json!({"resource": "https://mcp.test/mcp", "authorization_servers": ["https://as.test"]})
            )
        );
        let full = bare
            .scopes(["a"])
            .name("Notes")
            .documentation("https://docs.test");
        let document = full.document().unwrap_or_default();
        assert_eq!(document["scopes_supported"], json!(["a"]));
        assert_eq!(document["resource_name"], json!("Notes"));
        assert_eq!(
            document["resource_documentation"],
            json!("https://docs.test")
        );
    }

    #[test]
    fn the_issuer_comes_from_the_metadata_of_the_authorization_server() {
        let metadata = |value: Value| value.as_object().cloned().unwrap_or_default();
        let given = metadata(json!({"issuer": "https://as.test/", "x": [1]}));
        let made =
            ProtectedResource::with_authorization_server("https://m.test/mcp", given.clone())
                .expect("an issuer");
        assert_eq!(made.authorization_server(), Some(&given));
        let document = made.document().unwrap_or_default();
        assert_eq!(
            document["authorization_servers"],
            json!(["https://as.test/"])
        );
        let none = ProtectedResource::with_authorization_server("https://m.test/mcp", Map::new());
        assert_eq!(none.err(), Some(UrlError::NoIssuer));
    }
}
