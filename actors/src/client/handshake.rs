//! How a connection comes about: the probe, the verdict, and the handshake of older servers.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    config::{Era, ServerFacts},
    connection::{Answer, Link, Message, State, encode},
    error::{ClientError, ConnectReason},
};
use crate::{
    machine::negotiate::{self, ProbeAnswer, Verdict},
    ports::transport::{Outgoing, TransportError},
    wire::{jsonrpc::RequestId, mcp::envelope::Obj, version},
};

/// The probe has an id of its own kind, so that `initialize` still has the first number.
const PROBE_ID: &str = "server-discover-probe-1";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: String,
    #[serde(default)]
    capabilities: Map<String, Value>,
    #[serde(default)]
    server_info: Option<Value>,
    #[serde(default)]
    instructions: Option<String>,
}

impl Link {
    /// Connects, unless that has been done, and says to what.
    pub(super) async fn ready(&self) -> Result<Arc<ServerFacts>, ClientError> {
        if let Some(facts) = self.state.borrow().facts.clone() {
            return Ok(facts);
        }
        let _one_at_a_time = self.handshake.lock().await;
        if let Some(facts) = self.state.borrow().facts.clone() {
            return Ok(facts);
        }
        let after = self.shared.config.connect_timeout;
        let connected = tokio::time::timeout(after, self.connect()).await;
        let facts =
            connected.unwrap_or_else(|_| Err(self.failed(ConnectReason::Timeout { after })))?;
        let facts = self.shared.set_facts(facts);
        self.state.borrow_mut().facts = Some(Arc::clone(&facts));
        Ok(facts)
    }

    /// Drops what a lost session has brought, unless another call has already done so.
    pub(super) fn forget(&self, facts: &Arc<ServerFacts>) {
        let mut state = self.state.borrow_mut();
        if state
            .facts
            .as_ref()
            .is_some_and(|now| Arc::ptr_eq(now, facts))
        {
            *state = State::default();
        }
    }

    async fn connect(&self) -> Result<ServerFacts, ClientError> {
        // Another thread may know the era already; a modern server needs nothing further.
        match self.shared.facts() {
            Some(known) if known.era == Era::Modern => return Ok((*known).clone()),
            Some(known) => return self.initialize(known.version).await,
            None => {}
        }
        let mut asked = version::V2026_07_28;
        let mut retried = false;
        loop {
            let Some(answer) = self.probe_in_time(asked).await? else {
                return self.initialize(version::V2025_11_25).await;
            };
            match self.verdict(&answer, retried)? {
                Verdict::Modern {
                    version,
                    discovered,
                } => return Ok(ServerFacts::modern(version, *discovered)),
                Verdict::Retry { version } => {
                    asked = version;
                    retried = true;
                }
                Verdict::Legacy { version } => return self.initialize(version).await,
                Verdict::Unauthorized => {
                    return Err(ClientError::Unauthorized {
                        status: answer.status,
                        www_authenticate: answer.www_authenticate,
                    });
                }
                Verdict::NoCommonVersion { offered } => {
                    return Err(self.failed(ConnectReason::NoCommonVersion { offered }));
                }
                Verdict::Refused(error) => return Err(self.failed(ConnectReason::Refused(error))),
                Verdict::Unavailable { status } => {
                    return Err(self.failed(ConnectReason::Status { status }));
                }
            }
        }
    }

    /// Probes; `None` when the server is silent, or has ended, in a way that shows a legacy one.
    async fn probe_in_time(&self, version: &str) -> Result<Option<Answer>, ClientError> {
        let Some(silence) = self.shared.config.transport.probe_timeout() else {
            return self.probe(version).await.map(Some);
        };
        let Ok(answer) = tokio::time::timeout(silence, self.probe(version)).await else {
            return Ok(None);
        };
        match answer {
            Err(error) if is_broken(&error) => {
                // Some servers end at any request before `initialize`; the next one starts anew.
                self.take_connection();
                Ok(None)
            }
            answer => answer.map(Some),
        }
    }

    async fn probe(&self, version: &str) -> Result<Answer, ClientError> {
        let mut params = Map::new();
        params.insert("_meta".to_owned(), self.meta(version));
        let id = RequestId::from(PROBE_ID);
        let body = encode(&id, "server/discover", &params)?;
        let headers = vec![
            ("mcp-protocol-version", version.to_owned()),
            ("mcp-method", "server/discover".to_owned()),
        ];
        self.shake(Outgoing::new(body, headers), &id).await
    }

    fn verdict(&self, answer: &Answer, retried: bool) -> Result<Verdict, ClientError> {
        Ok(match &answer.message {
            Message::Result(raw) => {
                let result: Value = serde_json::from_str(raw.get())
                    .map_err(|error| self.failed(ConnectReason::Malformed(error.to_string())))?;
                negotiate::judge(answer.status, ProbeAnswer::Result(&result), retried)
            }
            Message::Error(error) => {
                negotiate::judge(answer.status, ProbeAnswer::Error(error), retried)
            }
            Message::Unrecognised => {
                negotiate::judge(answer.status, ProbeAnswer::Unrecognised, retried)
            }
        })
    }

    async fn initialize(&self, asked: &'static str) -> Result<ServerFacts, ClientError> {
        let config = &self.shared.config;
        let params = json!({
            "protocolVersion": asked,
            "capabilities": config.capabilities,
            "clientInfo": config.client_info(),
        });
        let Value::Object(params) = params else {
            return Err(ClientError::protocol("the handshake cannot be written"));
        };
        let id = RequestId::Number(self.next_id());
        let body = encode(&id, "initialize", &params)?;
        let answer = self.shake(Outgoing::new(body, Vec::new()), &id).await?;
        if matches!(answer.status, 401 | 403) {
            return Err(ClientError::Unauthorized {
                status: answer.status,
                www_authenticate: answer.www_authenticate,
            });
        }
        let raw = match answer.message {
            Message::Result(raw) => raw,
            Message::Error(error) => return Err(self.failed(ConnectReason::Refused(error))),
            Message::Unrecognised if (200..300).contains(&answer.status) => {
                let reason = "the answer holds no response".to_owned();
                return Err(self.failed(ConnectReason::Malformed(reason)));
            }
            Message::Unrecognised => {
                return Err(self.failed(ConnectReason::Status {
                    status: answer.status,
                }));
            }
        };
        let Obj(result): Obj<Initialized> = serde_json::from_str(raw.get())
            .map_err(|error| self.failed(ConnectReason::Malformed(error.to_string())))?;
        let Some(version) = ServerFacts::legacy_version(&result.protocol_version) else {
            let offered = vec![result.protocol_version];
            return Err(self.failed(ConnectReason::NoCommonVersion { offered }));
        };
        let facts = ServerFacts {
            era: Era::Legacy,
            version,
            capabilities: result.capabilities,
            instructions: result.instructions,
            server_info: result.server_info,
        };
        self.initialized(&facts, answer.session_id).await?;
        Ok(facts)
    }

    /// Tells the server that the handshake is over. Version and session go along.
    async fn initialized(
        &self,
        facts: &ServerFacts,
        session_id: Option<String>,
    ) -> Result<(), ClientError> {
        {
            let mut state = self.state.borrow_mut();
            state.session_id = session_id;
        }
        let mut headers = self.legacy_headers();
        headers.push(("mcp-protocol-version", facts.version.to_owned()));
        let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
        let message = Outgoing::new(body.into(), headers);
        let reply = self.exchange(message).await;
        let reply = reply.map_err(|error| self.failed(ConnectReason::Transport(error)))?;
        if reply.status >= 400 {
            return Err(self.failed(ConnectReason::Status {
                status: reply.status,
            }));
        }
        Ok(())
    }

    /// Sends a message of the handshake and reads the answer.
    async fn shake(&self, message: Outgoing, id: &RequestId) -> Result<Answer, ClientError> {
        let reply = self.exchange(message).await;
        let reply = reply.map_err(|error| self.failed(ConnectReason::Transport(error)))?;
        let answer = self.read(reply, id).await;
        answer.map_err(|error| match error {
            ClientError::Transport(error) => self.failed(ConnectReason::Transport(error)),
            ClientError::Protocol { reason } => self.failed(ConnectReason::Malformed(reason)),
            other => other,
        })
    }

    fn failed(&self, reason: ConnectReason) -> ClientError {
        ClientError::Connect {
            server: self.shared.config.transport.describe(),
            reason: Box::new(reason),
        }
    }
}

fn is_broken(error: &ClientError) -> bool {
    let reason = error.connect_reason();
    matches!(
        reason,
        Some(ConnectReason::Transport(TransportError::Broken(_)))
    )
}
