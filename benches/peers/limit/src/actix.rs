// usage: limit-actix PORT
//   POST /fixed  fixed bytes, body is drained, same size as an echo reply
//   POST /mcp    borrowed serde_json parse + serialise, no protocol logic
//   POST /chat   SSE: N text deltas, each event serialised with serde_json (actix streaming body); N from ?n=
//   GET  /hello  11 bytes
mod proto;
use actix_web::{web, App, HttpResponse, HttpServer};
use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use std::sync::Arc;

const FIXED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"hello world, this is a small payload"}],"isError":false}}"#;

async fn fixed(_b: web::Bytes) -> HttpResponse { HttpResponse::Ok().content_type("application/json").body(FIXED) }
async fn hello() -> HttpResponse { HttpResponse::Ok().content_type("text/plain").body("hello world") }
async fn mcp(b: web::Bytes, t: web::Data<Arc<RawValue>>) -> HttpResponse {
    let mut out = Vec::with_capacity(256.max(b.len()));
    match proto::handle(&b, &t, &mut out) {
        Ok(true) => HttpResponse::Ok().content_type("application/json").body(out),
        Ok(false) => HttpResponse::Accepted().finish(),
        Err(()) => HttpResponse::BadRequest().finish(),
    }
}
async fn mcp_get() -> HttpResponse { HttpResponse::MethodNotAllowed().finish() }

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Delta<'a> { r#type: &'static str, message_id: &'a str, delta: &'a str, timestamp: u64, model: &'a str }
fn ev(out: &mut Vec<u8>, v: &impl Serialize) { out.extend_from_slice(b"data: "); let _ = serde_json::to_writer(&mut *out, v); out.extend_from_slice(b"\n\n"); }
fn now() -> u64 { std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64 }

#[derive(serde::Deserialize)]
struct Q { n: Option<usize>, y: Option<u8> }
async fn chat(_b: web::Bytes, q: web::Query<Q>) -> HttpResponse {
    let n = q.n.unwrap_or(100);
    let y = q.y.is_some(); // y=1: yield to the executor before every event, so each one is flushed on its own
    // state: 0 = start, 1..=n = delta, n+1 = end ; one Bytes per event
    let s = futures_util::stream::unfold(0usize, move |i| async move {
        if i > n + 1 { return None; }
        if y { actix_web::rt::task::yield_now().await; }
        let mut o = Vec::with_capacity(192);
        if i == 0 {
            ev(&mut o, &serde_json::json!({"type":"RUN_STARTED","runId":"r1","threadId":"t1","timestamp":now(),"model":"fake"}));
            ev(&mut o, &serde_json::json!({"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant","timestamp":now(),"model":"fake"}));
        } else if i <= n {
            ev(&mut o, &Delta { r#type: "TEXT_MESSAGE_CONTENT", message_id: "m1", delta: "token ", timestamp: now(), model: "fake" });
        } else {
            ev(&mut o, &serde_json::json!({"type":"TEXT_MESSAGE_END","messageId":"m1","timestamp":now(),"model":"fake"}));
            ev(&mut o, &serde_json::json!({"type":"RUN_FINISHED","runId":"r1","threadId":"t1","timestamp":now(),"model":"fake","finishReason":"stop"}));
        }
        Some((Ok::<_, actix_web::Error>(Bytes::from(o)), i + 1))
    });
    HttpResponse::Ok().content_type("text/event-stream").streaming(s)
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let port: u16 = std::env::args().nth(1).unwrap().parse().unwrap();
    let tools: Arc<RawValue> = RawValue::from_string(proto::tools_json()).unwrap().into();
    HttpServer::new(move || {
        App::new().app_data(web::Data::new(tools.clone())).app_data(web::PayloadConfig::new(16 << 20))
            .route("/fixed", web::post().to(fixed)).route("/mcp", web::post().to(mcp)).route("/mcp", web::get().to(mcp_get))
            .route("/chat", web::post().to(chat)).route("/hello", web::get().to(hello))
    }).tcp_nodelay(true).bind(("127.0.0.1", port))?.run().await
}
