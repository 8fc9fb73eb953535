//! The actor that connects a pool and closes it.

use std::{future::IntoFuture as _, sync::Arc};

use actix::{
    Actor, ActorContext as _, Context, Handler, Message, ResponseActFuture, WrapFuture as _,
};
use actix::{ActorFutureExt as _, ResponseFuture};
use futures_util::future::join_all;
use indexmap::IndexMap;

use crate::{
    client::{ClientError, Connect, McpClient},
    gauge::{ActorKind, Alive, mailbox_delivered},
};

/// Owns the keyed clients of a pool.
pub(super) struct PoolActor {
    clients: Arc<IndexMap<String, McpClient>>,
    _alive: Alive,
}

impl PoolActor {
    pub(super) fn new() -> Self {
        Self {
            clients: Arc::default(),
            _alive: Alive::new(ActorKind::Pool),
        }
    }
}

impl Actor for PoolActor {
    type Context = Context<Self>;
}

/// Connects all servers, or none.
pub(super) struct ConnectAll(pub(super) IndexMap<String, Connect>);

type Connected = Result<Arc<IndexMap<String, McpClient>>, ClientError>;

impl Message for ConnectAll {
    type Result = Connected;
}

impl Handler<ConnectAll> for PoolActor {
    type Result = ResponseActFuture<Self, Connected>;

    fn handle(&mut self, ConnectAll(servers): ConnectAll, _: &mut Self::Context) -> Self::Result {
        mailbox_delivered();
        let connected = connect_all(servers).into_actor(self);
        Box::pin(connected.map(|connected, actor, _| {
            let clients = Arc::new(connected?);
            actor.clients = Arc::clone(&clients);
            Ok(clients)
        }))
    }
}

/// Closes all clients and stops.
pub(super) struct DisconnectAll;

impl Message for DisconnectAll {
    type Result = ();
}

impl Handler<DisconnectAll> for PoolActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: DisconnectAll, context: &mut Self::Context) -> Self::Result {
        mailbox_delivered();
        let clients = std::mem::take(&mut self.clients);
        // The goodbyes are a task of their own and outlive the actor.
        context.stop();
        Box::pin(async move { close_all(&clients).await })
    }
}

pub(super) async fn close_all(clients: &IndexMap<String, McpClient>) {
    join_all(clients.values().map(McpClient::close)).await;
}

async fn connect_all(
    servers: IndexMap<String, Connect>,
) -> Result<IndexMap<String, McpClient>, ClientError> {
    let connecting = servers.into_iter().map(|(key, connect)| async move {
        let connected = connect.default_prefix(&key).into_future().await;
        (key, connected)
    });
    let mut clients = IndexMap::new();
    let mut failed = Vec::new();
    for (key, connected) in join_all(connecting).await {
        match connected {
            Ok(client) => {
                clients.insert(key, client);
            }
            Err(error) => failed.push((key, error)),
        }
    }
    if failed.is_empty() {
        return Ok(clients);
    }
    close_all(&clients).await;
    Err(ClientError::ConnectMany { failed })
}
