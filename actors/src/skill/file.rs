//! What a file of a skill is called, where it is read, and what it is.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::wire::uri_template::{UriTemplate, Variables, normalize};

/// Parts that lead nowhere else, whoever reads the URI that is made of them.
pub(super) fn is_sound(path: &str) -> bool {
    !path.contains(['\\', '\0']) && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

pub(super) fn uri_of(path: &str) -> String {
    let mut uri = String::from("skill:/");
    for part in path.split('/') {
        uri.push('/');
        uri.push_str(&encoded(part));
    }
    uri
}

/// Encodes a part of a path: what may not stand in it, and what would end it.
fn encoded(part: &str) -> String {
    let Ok(template) = UriTemplate::parse("{part}") else {
        return normalize(part);
    };
    template.expand(&Variables::from_iter([(
        "part".to_owned(),
        part.to_owned(),
    )]))
}

pub(super) fn digest(bytes: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        // Writing into a text does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

pub(super) fn mime_type(path: &str, bytes: &[u8]) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match &*extension.to_ascii_lowercase() {
        "md" => "text/markdown",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" | "mjs" => "text/javascript",
        "py" => "text/x-python",
        "sh" => "application/x-sh",
        "xml" => "application/xml",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        _ if std::str::from_utf8(bytes).is_ok() => "text/plain",
        _ => "application/octet-stream",
    }
}
