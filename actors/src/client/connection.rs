//! One connection as a thread holds it: the handshake, requests, and their answers.

mod message;

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
};

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::{Map, Value, json, value::RawValue};
use tokio::sync::Semaphore;

use self::message::{Incoming, Step, is_cut, sort};
pub(super) use self::message::{Message, encode};
use super::{
    config::{Era, ServerFacts, Shared},
    error::ClientError,
    tool_list::ToolList,
};
use crate::{
    ports::transport::{Connection, Header, Outgoing, Reply, ReplyBody, TransportError},
    wire::{
        header_value,
        jsonrpc::{RequestId, code},
    },
};

/// The `_meta` key of the protocol version.
pub(super) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// A socket that breaks looks like the end of its stream.
const CUT: &str = "the stream ended before the response";
const CUT_SHORT: &str = "the answer ends in its middle";
const META_CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A connection, shared by the calls that are under way on its thread.
pub(super) struct Link {
    pub(super) shared: Arc<Shared>,
    /// Opened on first use, and again when it broke and can be had again.
    connection: RefCell<Option<Rc<dyn Connection>>>,
    /// Held while the handshake runs, so that there is one.
    pub(super) handshake: tokio::sync::Mutex<()>,
    /// Held while a list is read, so that it is read once.
    pub(super) listing: tokio::sync::Mutex<()>,
    pub(super) state: RefCell<State>,
    next_id: Cell<i64>,
    under_way: Semaphore,
}

/// What the handshake and the lists have brought.
#[derive(Default)]
pub(super) struct State {
    pub(super) facts: Option<Arc<ServerFacts>>,
    pub(super) session_id: Option<String>,
    pub(super) tools: Option<Rc<ToolList>>,
}

/// One request on its way.
pub(super) struct Request<'a> {
    pub(super) method: &'static str,
    pub(super) params: Map<String, Value>,
    /// What `Mcp-Name` carries.
    pub(super) name: Option<&'a str>,
    /// Mirrored parameters.
    pub(super) mirrored: Vec<(String, String)>,
}

impl<'a> Request<'a> {
    pub(super) const fn new(method: &'static str, params: Map<String, Value>) -> Self {
        Self {
            method,
            params,
            name: None,
            mirrored: Vec::new(),
        }
    }
}

/// Where the id of the request under way stands, so that whoever gives it up can tell the server.
pub(super) type Ticket = Cell<Option<i64>>;

/// A reply, read to its answer.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) session_id: Option<String>,
    pub(super) www_authenticate: Option<String>,
    pub(super) message: Message,
}

impl Link {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            under_way: Semaphore::new(shared.config.max_requests),
            shared,
            connection: RefCell::new(None),
            handshake: tokio::sync::Mutex::new(()),
            listing: tokio::sync::Mutex::new(()),
            state: RefCell::new(State::default()),
            next_id: Cell::new(1),
        }
    }

    /// Sends one message on the connection, which is opened if there is none.
    pub(super) async fn exchange(&self, message: Outgoing) -> Result<Reply, TransportError> {
        let connection = self.open()?;
        connection.exchange(message).await
    }

    fn open(&self) -> Result<Rc<dyn Connection>, TransportError> {
        let mut slot = self.connection.borrow_mut();
        if let Some(connection) = &*slot {
            return Ok(Rc::clone(connection));
        }
        let opened = self.shared.config.transport.open()?;
        Ok(Rc::clone(slot.insert(opened)))
    }

    /// Gives the connection away, and what it has brought.
    pub(super) fn take_connection(&self) -> Option<Rc<dyn Connection>> {
        self.state.take();
        self.connection.take()
    }

    pub(super) fn next_id(&self) -> i64 {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        id
    }

    /// Sends a request to the connected server and gives its result.
    pub(super) async fn request(
        &self,
        request: &Request<'_>,
        ticket: &Ticket,
    ) -> Result<Box<RawValue>, ClientError> {
        let facts = self.ready().await?;
        // The semaphore is never closed.
        let _permit = self.under_way.acquire().await;
        let answer = self.ask(request, &facts, ticket).await?;
        let lost_session = answer.status == 404
            && facts.era == Era::Legacy
            && self.state.borrow().session_id.is_some();
        let answer = if lost_session {
            // The server has forgotten the session, so it has not run the request either.
            self.forget(&facts);
            let facts = self.ready().await?;
            self.ask(request, &facts, ticket).await?
        } else {
            answer
        };
        if matches!(answer.status, 401 | 403) {
            return Err(ClientError::Unauthorized {
                status: answer.status,
                www_authenticate: answer.www_authenticate,
            });
        }
        match answer.message {
            Message::Result(result) => Ok(result),
            Message::Error(error) => Err(ClientError::Rpc(error)),
            Message::Unrecognised if (200..300).contains(&answer.status) => {
                Err(ClientError::protocol("the answer holds no response"))
            }
            Message::Unrecognised => Err(ClientError::Status {
                status: answer.status,
            }),
        }
    }

    async fn ask(
        &self,
        request: &Request<'_>,
        facts: &ServerFacts,
        ticket: &Ticket,
    ) -> Result<Answer, ClientError> {
        let id = self.next_id();
        let mut params = request.params.clone();
        let mut headers = Vec::with_capacity(4);
        match facts.era {
            Era::Modern => {
                params.insert("_meta".to_owned(), self.meta(facts.version));
                headers.push(("mcp-protocol-version", facts.version.to_owned()));
                headers.push(("mcp-method", request.method.to_owned()));
                if let Some(name) = request.name {
                    headers.push(("mcp-name", header_value::encode(name).into_owned()));
                }
            }
            Era::Legacy => headers = self.legacy_headers(),
        }
        let body = encode(&RequestId::Number(id), request.method, &params)?;
        let message = Outgoing::new(body, headers).with_params(match facts.era {
            Era::Modern => request.mirrored.clone(),
            Era::Legacy => Vec::new(),
        });
        ticket.set(Some(id));
        let answer = match self.exchange(message).await {
            Ok(reply) => self.read(reply, &RequestId::Number(id)).await,
            Err(error) => Err(error.into()),
        };
        let broken = matches!(
            answer,
            Err(ClientError::Transport(TransportError::Broken(_)))
        );
        if broken && self.shared.config.transport.is_single() {
            // The server is gone with everything it had under way; the next request starts it anew.
            self.take_connection();
        }
        // A server that has asked is still at work on the request, and has to be told.
        if !matches!(answer, Err(ClientError::InputUnsupported { .. })) {
            ticket.set(None);
        }
        answer
    }

    /// The `_meta` that every modern request carries.
    pub(super) fn meta(&self, version: &str) -> Value {
        let config = &self.shared.config;
        json!({
            META_VERSION: version,
            META_CLIENT_INFO: config.client_info(),
            META_CAPABILITIES: config.capabilities,
        })
    }

    pub(super) fn legacy_headers(&self) -> Vec<Header> {
        let state = self.state.borrow();
        let mut headers = Vec::with_capacity(2);
        if let Some(facts) = &state.facts {
            headers.push(("mcp-protocol-version", facts.version.to_owned()));
        }
        if let Some(session_id) = &state.session_id {
            headers.push(("mcp-session-id", session_id.clone()));
        }
        headers
    }

    /// Reads a reply up to the response to `id`.
    pub(super) async fn read(&self, reply: Reply, id: &RequestId) -> Result<Answer, ClientError> {
        let mut answer = Answer {
            status: reply.status,
            session_id: reply.session_id,
            www_authenticate: reply.www_authenticate,
            message: Message::Unrecognised,
        };
        match reply.body {
            ReplyBody::Empty => {}
            ReplyBody::Whole(bytes) => {
                if let Some(message) = self.take(&bytes, id).await? {
                    answer.message = message;
                } else if matches!(answer.status, 200..=299 | 400 | 404) && is_cut(&bytes) {
                    return Err(TransportError::Broken(CUT_SHORT.to_owned()).into());
                }
            }
            ReplyBody::Stream(mut stream) => loop {
                let Some(bytes) = stream.next().await.transpose()? else {
                    if (200..300).contains(&answer.status) {
                        return Err(TransportError::Broken(CUT.to_owned()).into());
                    }
                    break;
                };
                if let Some(message) = self.take(&bytes, id).await? {
                    answer.message = message;
                    // A server that has written the end of the stream, too, lets the socket be
                    // used again. Otherwise dropping the stream closes it.
                    let _ = stream.next().now_or_never();
                    break;
                }
            },
        }
        Ok(answer)
    }

    /// Takes one message of a reply: the response to `id`, or something on the way to it.
    async fn take(&self, bytes: &Bytes, id: &RequestId) -> Result<Option<Message>, ClientError> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Ok(None);
        };
        // Servers of 2025-03-26 may answer with an array, and nobody else.
        let incoming: Vec<Incoming<'_>> = if text.trim_start().starts_with('[') {
            match self.takes_arrays() {
                true => serde_json::from_str(text).unwrap_or_default(),
                false => return Err(ClientError::protocol("the answer is an array")),
            }
        } else {
            serde_json::from_str(text).into_iter().collect()
        };
        for incoming in incoming {
            match sort(incoming, id) {
                Step::Answer(message) => return Ok(Some(message)),
                Step::Asked { method, id } => self.asked(method, id).await?,
                Step::Notified { method } if method == "notifications/tools/list_changed" => {
                    self.state.borrow_mut().tools = None;
                }
                Step::Notified { .. } | Step::Skip => {}
            }
        }
        Ok(None)
    }

    fn takes_arrays(&self) -> bool {
        let state = self.state.borrow();
        let facts = state.facts.as_ref();
        facts.is_some_and(|facts| facts.version == "2025-03-26")
    }

    /// Answers a 2025 server that asks on the way to its response.
    async fn asked(&self, method: String, id: RequestId) -> Result<(), ClientError> {
        let answer = match method.as_str() {
            "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
            _ => json!({"jsonrpc": "2.0", "id": id, "error": {
                "code": code::METHOD_NOT_FOUND,
                "message": "this client cannot ask anybody in the middle of a call",
            }}),
        };
        let body = Bytes::from(answer.to_string());
        let sent = self
            .exchange(Outgoing::new(body, self.legacy_headers()))
            .await;
        if let Err(error) = sent {
            tracing::debug!(%error, %method, "the server did not take the answer to its request");
        }
        match method.as_str() {
            "ping" => Ok(()),
            _ => Err(ClientError::InputUnsupported { method }),
        }
    }

    /// Tells a server that nobody waits for a request any more. In 2026, over HTTP, closing does.
    pub(super) fn give_up(&self, ticket: &Ticket, reason: &'static str) {
        let legacy = self
            .state
            .borrow()
            .facts
            .as_ref()
            .is_some_and(|facts| facts.era == Era::Legacy);
        let is_told = legacy || !self.shared.config.transport.has_headers();
        let Some(id) = ticket.take().filter(|_| is_told) else {
            return;
        };
        let Some(connection) = self.connection.borrow().clone() else {
            return;
        };
        let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": reason}});
        let notice = Outgoing::new(Bytes::from(message.to_string()), self.legacy_headers());
        actix_rt::spawn(async move {
            if let Err(error) = connection.exchange(notice).await {
                tracing::debug!(%error, "the server did not take the cancellation");
            }
        });
    }

    /// Waits until no request is under way.
    pub(super) async fn idle(&self) {
        let all = u32::try_from(self.shared.config.max_requests).unwrap_or(u32::MAX);
        let _ = self.under_way.acquire_many(all).await;
    }
}
