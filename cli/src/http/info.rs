//! `GET /api/info`: who answers, what is connected, what to try.

use actix_web::{HttpResponse, http::header, web};
use serde::Serialize;

use super::Shared;
use crate::{demo, source::SourceInfo};

#[derive(Serialize)]
struct Info<'a> {
    model: &'a str,
    servers: Vec<SourceInfo>,
    examples: &'a [&'a str],
}

pub(super) async fn info(shared: web::Data<Shared>) -> HttpResponse {
    let info = Info {
        model: shared.model.id(),
        servers: shared.sources.iter().map(|source| source.info()).collect(),
        examples: if shared.has_demo { demo::EXAMPLES } else { &[] },
    };
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(info)
}
