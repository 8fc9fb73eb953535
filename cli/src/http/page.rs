//! The page, as it was built and committed.

use actix_web::{HttpResponse, http::header, web};

/// Nothing of the page comes from elsewhere, and nobody may put it into a frame.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";

struct File {
    path: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

macro_rules! file {
    ($path:literal, $name:literal, $content_type:literal) => {
        File {
            path: $path,
            content_type: $content_type,
            bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/web/dist/", $name)),
        }
    };
}

static FILES: [File; 5] = [
    file!("/", "index.html", "text/html; charset=utf-8"),
    file!(
        "/assets/app.js",
        "assets/app.js",
        "text/javascript; charset=utf-8"
    ),
    file!(
        "/assets/app.css",
        "assets/app.css",
        "text/css; charset=utf-8"
    ),
    file!("/assets/icon.svg", "assets/icon.svg", "image/svg+xml"),
    file!(
        "/THIRD-PARTY-NOTICES.txt",
        "THIRD-PARTY-NOTICES.txt",
        "text/plain; charset=utf-8"
    ),
];

pub(super) fn routes(config: &mut web::ServiceConfig) {
    for file in &FILES {
        let serve = async || {
            HttpResponse::Ok()
                .content_type(file.content_type)
                .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
                .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
                .insert_header((header::REFERRER_POLICY, "no-referrer"))
                // The names stay when the contents change.
                .insert_header((header::CACHE_CONTROL, "no-cache"))
                .body(file.bytes)
        };
        config
            .route(file.path, web::get().to(serve))
            .route(file.path, web::head().to(serve));
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]

    use super::*;

    #[test]
    fn everything_that_the_page_names_is_served() {
        let html = std::str::from_utf8(FILES.first().unwrap().bytes).unwrap();
        let named = html.split('"').filter_map(|text| text.strip_prefix("./"));
        let mut count = 0;
        for path in named {
            count += 1;
            let served = FILES.iter().any(|file| file.path == format!("/{path}"));
            assert!(served, "{path}");
        }
        assert!(count >= 3, "the page names its script, style and icon");
    }
}
