//! Chat and MCP inside an application that has routes, state and sign-in of its own.
//!
//! ```sh
//! cargo run --example embed_chat             # asks itself a few things and ends
//! cargo run --example embed_chat -- --serve  # until ctrl-c
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::{
    collections::HashMap,
    error::Error,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use roscius::{
    model::Script,
    prelude::*,
    web::{Caller, ChatRoutes, mcp},
};
use serde_json::json;

/// What the application had before: users by their session, and a counter.
#[derive(Clone)]
struct Shop {
    users: Arc<HashMap<&'static str, &'static str>>,
    orders: Arc<AtomicUsize>,
}

impl Shop {
    fn user(&self, request: &HttpRequest) -> Option<&'static str> {
        let session = request.headers().get("x-session")?.to_str().ok()?;
        self.users.get(session).copied()
    }
}

/// Who is signed in, for the tools.
struct SignedIn {
    name: &'static str,
}

/// The same function serves the chat and MCP clients; it sees the application's state.
async fn count_orders(shop: Ctx<Shop>) -> String {
    format!("{} orders so far", shop.orders.load(Ordering::Relaxed))
}

async fn order(shop: Ctx<Shop>, user: Ctx<SignedIn>) -> String {
    let number = shop.orders.fetch_add(1, Ordering::Relaxed) + 1;
    format!("order {number} is on its way to {}", user.name)
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let shop = Shop {
        users: Arc::new(HashMap::from([("s-1", "ann"), ("s-2", "bob")])),
        orders: Arc::new(AtomicUsize::new(41)),
    };
    let count = Tool::new("count_orders", count_orders).read_only();
    let chat = Chat::builder(model()?)
        .tool(count.clone())
        .tool(Tool::new("order", order))
        .context(shop.clone())
        .context(SignedIn { name: "nobody" })
        .build()?;
    let server = McpServer::new("shop", "1.0.0")
        .tool(count)
        .context(shop.clone())
        .build()?;

    // A run belongs to the user who starts it; nobody else can answer or cancel it.
    let users = shop.clone();
    let chat_routes = ChatRoutes::new("/api/chat", &chat).authorize(move |request| {
        let user = users.user(&request);
        async move {
            match user {
                Some(user) => Ok(Caller::new(Owner::new(user)).with(SignedIn { name: user })),
                None => Err(HttpResponse::Unauthorized().body("who are you?")),
            }
        }
    });
    let app = HttpServer::new(move || {
        App::new()
            .app_data(web::Data::new(shop.clone()))
            .route("/orders", web::get().to(orders))
            .configure(chat_routes.clone().routes())
            .configure(mcp("/mcp", &server))
    })
    .workers(1)
    .tcp_nodelay(true)
    .h1_allow_half_closed(false)
    .disable_signals()
    .bind("127.0.0.1:0")?;
    let addr = *app.addrs().first().ok_or("no address")?;
    let app = app.run();
    let handle = app.handle();
    let serving = actix_web::rt::spawn(app);

    if std::env::args().any(|arg| arg == "--serve") {
        println!("POST http://{addr}/api/chat with x-session: s-1");
        actix_web::rt::signal::ctrl_c().await?;
    } else {
        try_it(addr).await?;
    }

    // Runs end first, then the sockets.
    chat.drain(Duration::from_secs(2)).await;
    handle.stop(true).await;
    serving.await??;
    Ok(())
}

async fn orders(shop: web::Data<Shop>) -> String {
    shop.orders.load(Ordering::Relaxed).to_string()
}

fn model() -> Result<ScriptedModel, Box<dyn Error>> {
    // With a key: `OpenAi::responses("gpt-5-mini").api_key(key)`.
    Ok(ScriptedModel::from_script(Script::from_value(
        &json!({"turns": [
            {"toolCalls": [{"id": "c1", "name": "order", "arguments": {}}]},
            {"text": ["Ordered."]},
        ]}),
    )?))
}

async fn try_it(addr: SocketAddr) -> Result<(), Box<dyn Error>> {
    let client = awc::Client::default();
    let body = json!({
        "threadId": "t-1", "runId": "run-1", "state": {}, "tools": [], "context": [],
        "messages": [{"id": "m-1", "role": "user", "content": "Order the usual"}],
        "forwardedProps": {},
    });
    let chat = format!("http://{addr}/api/chat");
    let refused = client.post(&chat).send_json(&body).await?;
    println!("POST /api/chat without a session: {}", refused.status());

    let signed_in = client.post(&chat).insert_header(("x-session", "s-2"));
    let mut answer = signed_in.send_json(&body).await?;
    println!("POST /api/chat as bob: {}", answer.status());
    let stream = String::from_utf8(answer.body().await?.to_vec())?;
    for line in stream
        .lines()
        .filter(|line| line.contains("TOOL_CALL_RESULT"))
    {
        println!("  {line}");
    }

    let mut orders = client.get(format!("http://{addr}/orders")).send().await?;
    let count = String::from_utf8(orders.body().await?.to_vec())?;
    println!("GET /orders: {count}");

    let shop = McpClient::connect(Http::new(format!("http://{addr}/mcp"))).await?;
    let result = shop.call_tool("count_orders", json!({})).await?;
    println!("count_orders over MCP: {}", json!(result.content));
    shop.close().await;
    Ok(())
}
