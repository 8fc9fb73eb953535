//! Addresses of servers: how they are shown, and whether two are of one origin.

use awc::http::Uri;

/// Words an address without what may be secret in it.
pub(super) fn shown(url: &str) -> String {
    // A query may hold a key, and what stands before the host a password.
    let shown = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = shown.split_once("://") else {
        return shown.rsplit('@').next().unwrap_or_default().to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

pub(super) fn origin_of(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or_default();
    let port = uri
        .port_u16()
        .unwrap_or(if scheme == "https" { 443 } else { 80 });
    format!("{scheme}://{}:{port}", uri.host().unwrap_or_default())
}

pub(super) fn resolve(base: &Uri, location: &str) -> Option<Uri> {
    if location.contains("://") {
        return location.parse().ok();
    }
    if !location.starts_with('/') || location.starts_with("//") {
        return None;
    }
    let mut parts = base.clone().into_parts();
    parts.path_and_query = Some(location.parse().ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_password_and_query() {
        for (url, expected) in [
            ("http://user:secret@h:9/mcp?token=t#f", "http://h:9/mcp"),
            ("https://h/a@b", "https://h/a@b"),
            ("https://a@b@h", "https://h"),
            ("user:secret@h", "h"),
            ("http://h", "http://h"),
        ] {
            assert_eq!(shown(url), expected);
        }
    }
}
