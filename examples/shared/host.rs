//! Serves what an example shows, on a port of its own.

use std::{error::Error, net::TcpListener};

use actix_web::{App, HttpServer, dev::ServerHandle, web::ServiceConfig};
use roscius::{prelude::McpServer, web};

/// A running application.
pub(crate) struct Host {
    /// Scheme, host and port.
    #[allow(dead_code, reason = "not every example serves more than one route")]
    pub(crate) origin: String,
    /// The endpoint.
    #[allow(dead_code, reason = "an example may have its address before")]
    pub(crate) url: String,
    handle: ServerHandle,
}

impl Host {
    /// Serves an MCP server at `/mcp`. With `--serve` it goes on until ctrl-c, and then there is
    /// nothing left to show.
    #[allow(dead_code, reason = "an example may mount routes of its own")]
    pub(crate) async fn start(server: &McpServer) -> Result<Option<Self>, Box<dyn Error>> {
        let host = Self::mount(web::mcp("/mcp", server))?;
        println!("server: {}", host.url);
        if !std::env::args().any(|arg| arg == "--serve") {
            return Ok(Some(host));
        }
        actix_web::rt::signal::ctrl_c().await?;
        host.stop().await;
        Ok(None)
    }

    /// Serves what is mounted.
    #[allow(dead_code, reason = "an example may have its address before")]
    pub(crate) fn mount<C>(configure: C) -> Result<Self, Box<dyn Error>>
    where
        C: FnOnce(&mut ServiceConfig) + Clone + Send + 'static,
    {
        Self::mount_at(TcpListener::bind("127.0.0.1:0")?, configure)
    }

    /// Serves what is mounted at an address that is known already.
    pub(crate) fn mount_at<C>(listener: TcpListener, configure: C) -> Result<Self, Box<dyn Error>>
    where
        C: FnOnce(&mut ServiceConfig) + Clone + Send + 'static,
    {
        let addr = listener.local_addr()?;
        let app = HttpServer::new(move || App::new().configure(configure.clone()))
            .workers(1)
            .tcp_nodelay(true)
            .h1_allow_half_closed(false)
            .disable_signals()
            .shutdown_timeout(1)
            .listen(listener)?
            .run();
        let handle = app.handle();
        actix_web::rt::spawn(app);
        Ok(Self {
            origin: format!("http://{addr}"),
            url: format!("http://{addr}/mcp"),
            handle,
        })
    }

    /// Ends it.
    pub(crate) async fn stop(self) {
        self.handle.stop(true).await;
    }
}
