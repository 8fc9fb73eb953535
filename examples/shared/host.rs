//! Serves what an example shows, on a port of its own.

use std::error::Error;

use actix_web::{App, HttpServer, dev::ServerHandle, web::ServiceConfig};
use roscius::{prelude::McpServer, web};

/// A running application.
pub(crate) struct Host {
    pub(crate) url: String,
    handle: ServerHandle,
}

impl Host {
    /// Serves an MCP server at `/mcp`. With `--serve` it goes on until ctrl-c, and then there is
    /// nothing left to show.
    pub(crate) async fn start(server: &McpServer) -> Result<Option<Self>, Box<dyn Error>> {
        Self::mount(web::mcp("/mcp", server)).await
    }

    /// Serves what is mounted; its endpoint is `/mcp`.
    pub(crate) async fn mount<C>(configure: C) -> Result<Option<Self>, Box<dyn Error>>
    where
        C: FnOnce(&mut ServiceConfig) + Clone + Send + 'static,
    {
        let app = HttpServer::new(move || App::new().configure(configure.clone()))
            .workers(1)
            .tcp_nodelay(true)
            .h1_allow_half_closed(false)
            .bind(("127.0.0.1", 0))?;
        let addr = *app.addrs().first().ok_or("no address")?;
        let url = format!("http://{addr}/mcp");
        println!("server: {url}");
        let app = app.run();
        if std::env::args().any(|arg| arg == "--serve") {
            app.await?;
            return Ok(None);
        }
        let handle = app.handle();
        actix_web::rt::spawn(app);
        Ok(Some(Self { url, handle }))
    }

    /// Ends it.
    pub(crate) async fn stop(self) {
        self.handle.stop(true).await;
    }
}
