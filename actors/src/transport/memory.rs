//! A server that is a function in this process.

use std::{fmt, future::Future, rc::Rc, sync::Arc};

use futures_util::future::LocalBoxFuture;

use crate::ports::transport::{Connection, Outgoing, Reply, Transport, TransportError};

type Answer = LocalBoxFuture<'static, Result<Reply, TransportError>>;
type Handler = Arc<dyn Fn(Outgoing) -> Answer + Send + Sync>;

/// Reaches a server by calling a function, without sockets.
///
/// The function gets each message with the headers it would have over HTTP, and gives the reply.
#[derive(Clone)]
pub struct Memory {
    name: String,
    handler: Handler,
}

impl Memory {
    /// Makes a server out of a function. `name` stands for it in errors and logs.
    pub fn new<F>(
        name: impl Into<String>,
        handler: impl Fn(Outgoing) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Reply, TransportError>> + 'static,
    {
        Self {
            name: name.into(),
            handler: Arc::new(move |message| Box::pin(handler(message))),
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Memory").field(&self.name).finish()
    }
}

impl Transport for Memory {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn open(&self) -> Result<Rc<dyn Connection>, TransportError> {
        Ok(Rc::new(MemoryConnection(Arc::clone(&self.handler))))
    }
}

struct MemoryConnection(Handler);

impl Connection for MemoryConnection {
    fn exchange(&self, message: Outgoing) -> Answer {
        (self.0)(message)
    }
}
