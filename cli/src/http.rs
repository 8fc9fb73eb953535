//! What the binary serves beside the chat and MCP.

mod access;
mod info;
mod page;
mod sample;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use actix_web::{HttpResponse, http::StatusCode, web};
use roscius::ports::model::Model;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::source::Source;

pub(crate) use access::{Access, admit};

/// Where runs are posted.
pub(crate) const CHAT_PATH: &str = "/api/chat";
/// Where the demo server is.
pub(crate) const MCP_PATH: &str = "/mcp";

/// How many people may let the model answer at the same time.
const MAX_SAMPLES: usize = 16;

/// What every worker shares.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) sources: Vec<Source>,
    pub(crate) has_demo: bool,
    draining: Arc<AtomicBool>,
    samples: Arc<Semaphore>,
}

impl Shared {
    pub(crate) fn new(model: Arc<dyn Model>, sources: Vec<Source>, has_demo: bool) -> Self {
        Self {
            model,
            sources,
            has_demo,
            draining: Arc::default(),
            samples: Arc::new(Semaphore::new(MAX_SAMPLES)),
        }
    }

    /// Tells load balancers to go elsewhere.
    pub(crate) fn start_drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }
}

/// Mounts the page and the small endpoints.
pub(crate) fn routes(config: &mut web::ServiceConfig) {
    config
        .configure(page::routes)
        .route("/healthz", web::get().to(health))
        .route("/healthz", web::head().to(health))
        .route("/api/info", web::get().to(info::info))
        .route("/api/info", web::head().to(info::info))
        .route("/api/sample", web::post().to(sample::sample));
}

async fn health(shared: web::Data<Shared>) -> HttpResponse {
    match shared.draining.load(Ordering::Relaxed) {
        false => HttpResponse::Ok().content_type("text/plain").body("ok"),
        true => problem(StatusCode::SERVICE_UNAVAILABLE, "going down"),
    }
}

/// An error as the page reads it.
fn problem(status: StatusCode, message: &str) -> HttpResponse {
    HttpResponse::build(status).json(json!({ "error": message }))
}
