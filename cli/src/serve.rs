//! `roscius serve`: everything in one process, from the flags to the last stream.

mod say;
mod state_key;
mod token;

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use actix_web::{App, HttpServer, dev::ServerHandle, middleware::from_fn, web};
use futures_util::future::join_all;
use roscius::{
    chat::{Chat, ChatBuildError, Mcp},
    machine::seal::SealKey,
    ports::{model::Model, tool_source::ToolSource},
    server::{McpServer, ServerError},
    web::{ChatRoutes, McpRoutes},
};

use crate::{
    args::{NamedServer, ServeArgs, has_credentials},
    demo,
    http::{self, Access, CHAT_PATH, MCP_PATH, Shared},
    models::{self, ModelChoiceError},
    source::Source,
};
use say::{announce, say};
use state_key::StateKeyError;
use token::{Token, TokenError};

pub(crate) use say::say_error;

/// How long runs and calls may go on after a signal.
const DRAIN: Duration = Duration::from_secs(2);
/// How long the whole end may take. A thread that is blocked never comes to its end, and whoever
/// has sent the signal must not have to kill the process.
const END: Duration = Duration::from_millis(4500);
/// How long clients of MCP servers may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);
/// How long connections may take to end after that, in whole seconds.
const SHUTDOWN_SECONDS: u64 = 1;

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error(
        "{0} can be reached by others: give --token <token> or ROSCIUS_TOKEN, or --insecure to serve everybody"
    )]
    Exposed(SocketAddr),
    #[error(
        "the address of {0} holds a user or a password, which would be shown and never sent: leave them out"
    )]
    Credentials(String),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("the name `{0}` is given to two MCP servers")]
    SameName(String),
    #[error(transparent)]
    StateKey(#[from] StateKeyError),
    #[error(transparent)]
    Model(#[from] ModelChoiceError),
    #[error("cannot listen on {addr}")]
    Bind {
        addr: SocketAddr,
        source: std::io::Error,
    },
    #[error("the demo server cannot be built")]
    Demo(#[from] ServerError),
    #[error("the chat cannot be built")]
    Chat(#[from] ChatBuildError),
    #[error("the server failed")]
    Server(#[from] std::io::Error),
}

impl ServeError {
    /// Tells whether other flags or another environment would help.
    pub(crate) const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Exposed(_)
                | Self::Credentials(_)
                | Self::Token(_)
                | Self::SameName(_)
                | Self::StateKey(_)
                | Self::Model(_)
        )
    }
}

/// Serves until a signal, then lets what runs come to its end.
pub(crate) async fn serve(args: ServeArgs) -> Result<(), ServeError> {
    let token = token::read(&args)?;
    check(&args, token.is_some())?;
    let key = state_key::read()?;
    let model = models::make(&args)?;
    let bind = |source| ServeError::Bind {
        addr: args.addr,
        source,
    };
    let listener = TcpListener::bind(args.addr).map_err(bind)?;
    let addr = reachable(listener.local_addr().map_err(bind)?);
    let demo = (!args.no_demo_server)
        .then(|| demo::server(key.clone()))
        .transpose()?;
    let sources = sources(&args, token.as_ref(), addr);
    let chat = chat(Arc::clone(&model), &sources, key)?;
    let shared = Shared::new(model, sources, demo.is_some());
    let (hosts, origins) = (args.allowed_hosts, args.allow_origins);
    let access = Access::new(&hosts, token.as_ref().map(Token::text));
    let chat_routes = ChatRoutes::new(CHAT_PATH, &chat)
        .allowed_hosts(hosts.clone())
        .allow_origins(origins.clone());
    let demo_routes = demo.as_ref().map(|demo| {
        McpRoutes::new(MCP_PATH, demo)
            .allowed_hosts(hosts)
            .allow_origins(origins)
    });

    let server = HttpServer::new({
        let shared = shared.clone();
        move || {
            App::new()
                .app_data(web::Data::new(shared.clone()))
                .app_data(web::Data::new(access.clone()))
                .wrap(from_fn(http::admit))
                .configure(chat_routes.clone().routes())
                .configure(|config| {
                    if let Some(demo) = &demo_routes {
                        config.configure(demo.clone().routes());
                    }
                })
                .configure(http::routes)
        }
    })
    .disable_signals()
    .tcp_nodelay(true)
    .h1_allow_half_closed(false)
    .shutdown_timeout(SHUTDOWN_SECONDS)
    .listen(listener)
    .map_err(bind)?
    .run();
    let handle = server.handle();
    let mut serving = actix_rt::spawn(server);
    let greeting = actix_rt::spawn(announce(addr, token, shared.clone()));

    let ended = tokio::select! {
        ended = &mut serving => Some(ended),
        () = signal() => None,
    };
    greeting.abort();
    if let Some(ended) = ended {
        return Ok(ended.map_err(std::io::Error::other)??);
    }
    say("ending: a second signal ends at once");
    tokio::select! {
        () = drain(&shared, &chat, demo.as_ref(), &handle) => {}
        () = tokio::time::sleep(END) => tracing::warn!("ended before everything else had"),
        () = signal() => {}
    }
    Ok(())
}

fn check(args: &ServeArgs, has_token: bool) -> Result<(), ServeError> {
    if !args.addr.ip().is_loopback() && !has_token && !args.insecure {
        return Err(ServeError::Exposed(args.addr));
    }
    if let Some(server) = args
        .servers
        .iter()
        .find(|server| has_credentials(&server.url))
    {
        return Err(ServeError::Credentials(format!("`{}`", server.name)));
    }
    if args.base_url.as_deref().is_some_and(has_credentials) {
        return Err(ServeError::Credentials("the model".to_owned()));
    }
    let own = (!args.no_demo_server).then_some(demo::NAME);
    let named = args.servers.iter().map(|server| server.name.as_str());
    let mut names: Vec<_> = own.into_iter().chain(named).collect();
    names.sort_unstable();
    let twice = names.windows(2).find_map(|pair| match pair {
        [one, other] if one == other => Some((*one).to_owned()),
        _ => None,
    });
    twice.map_or(Ok(()), |name| Err(ServeError::SameName(name)))
}

/// Gives the address that reaches a listener from this machine.
fn reachable(addr: SocketAddr) -> SocketAddr {
    let ip = match addr.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, addr.port())
}

/// Names the MCP servers, the demo server first: it is reached by HTTP as any other.
fn sources(args: &ServeArgs, token: Option<&Token>, addr: SocketAddr) -> Vec<Source> {
    let url = format!("http://{addr}{MCP_PATH}");
    let token = token.map(Token::text);
    let demo = (!args.no_demo_server).then(|| Source::new(demo::NAME, &url, token, args.approve));
    let named = args.servers.iter();
    let named = named.map(|NamedServer { name, url }| Source::new(name, url, None, args.approve));
    demo.into_iter().chain(named).collect()
}

fn chat(model: Arc<dyn Model>, sources: &[Source], key: SealKey) -> Result<Chat, ChatBuildError> {
    Chat::with_model(model)
        .mcp(Mcp::clients(sources).keep_alive())
        .state_key(key)
        .build()
}

/// Lets runs and calls end, tells their readers, says goodbye to servers, and stops listening.
async fn drain(shared: &Shared, chat: &Chat, demo: Option<&McpServer>, handle: &ServerHandle) {
    shared.start_drain();
    chat.drain(DRAIN).await;
    if let Some(demo) = demo {
        demo.drain(DRAIN).await;
    }
    let goodbyes = join_all(shared.sources.iter().map(ToolSource::close));
    if tokio::time::timeout(GOODBYE, goodbyes).await.is_err() {
        tracing::warn!("an MCP server did not take the goodbye");
    }
    handle.stop(true).await;
}

/// Waits for ctrl-c or SIGTERM.
async fn signal() {
    let interrupt = async {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "ctrl-c is not heard");
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = interrupt => {}
        () = terminate() => {}
    }
}

#[cfg(unix)]
async fn terminate() {
    use tokio::signal::unix::{SignalKind, signal};

    match signal(SignalKind::terminate()) {
        Ok(mut signal) => {
            signal.recv().await;
        }
        Err(error) => {
            tracing::error!(%error, "SIGTERM is not heard");
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(not(unix))]
async fn terminate() {
    std::future::pending::<()>().await;
}
