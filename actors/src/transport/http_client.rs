//! The awc clients of a thread, with the settings that long streams and foreign servers need. Here
//! is where every connection is opened, and held against the policy of whoever wants it.

use std::{cell::RefCell, time::Duration};

use actix_rt::{System, net::TcpStream};
use actix_service::{Service as _, fn_service};
use actix_tls::connect::{
    ConnectError as TcpError, ConnectInfo, Connection, Resolver, tcp::TcpConnector,
};
use awc::{
    error::{ConnectError, SendRequestError},
    http::{StatusCode, Uri, Version, header},
};

use crate::machine::egress::{Egress, EgressError};

/// Bounds name look-up and the TCP handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle sockets are dropped before the usual server closes them (5 s), so that a POST, which may
/// not be sent twice, seldom meets a closing socket.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// How many policies have a client of their own on a thread; the one that was asked for longest ago
/// gives way. What it has open lives on, and its next request opens a connection anew.
const MAX_CLIENTS: usize = 16;

thread_local! {
    /// The one that was asked for last is at the end.
    static CLIENTS: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// A client with what it belongs to.
struct Kept {
    /// Sockets belong to the runtime they were opened on.
    system: usize,
    /// Idle sockets are used again without a look at where they lead, so no two policies share any.
    egress: Egress,
    client: awc::Client,
}

/// No client can be had on this thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum HttpClientError {
    /// The thread runs no actix system.
    #[error("HTTP needs a thread with an actix system")]
    NoSystem,
}

/// Gives the HTTP client of this thread that connects to where the policy allows.
///
/// It follows no redirects, adds no headers, has no timeout of its own and no bound on sockets:
/// open event streams would hold the permits. Callers bring deadlines and bounds.
pub(crate) fn http_client(egress: &Egress) -> Result<awc::Client, HttpClientError> {
    let system = System::try_current().ok_or(HttpClientError::NoSystem)?.id();
    CLIENTS.with_borrow_mut(|clients| {
        clients.retain(|kept| kept.system == system);
        let known = clients.iter().rposition(|kept| kept.egress.is_same(egress));
        if let Some(at) = known {
            let kept = clients.remove(at);
            let client = kept.client.clone();
            clients.push(kept);
            return Ok(client);
        }
        if clients.len() >= MAX_CLIENTS {
            clients.remove(0);
        }
        let client = build(egress.clone());
        clients.push(Kept {
            system,
            egress: egress.clone(),
            client: client.clone(),
        });
        Ok(client)
    })
}

/// Gives the refusal of the policy, if it was that by which a request failed.
pub(crate) fn egress_refusal(error: &SendRequestError) -> Option<&EgressError> {
    let SendRequestError::Connect(ConnectError::Resolver(inner)) = error else {
        return None;
    };
    inner.downcast_ref()
}

/// Opens a connection to where the policy allows, at an address that it has seen.
async fn connect(
    egress: Egress,
    to: ConnectInfo<Uri>,
) -> Result<Connection<Uri, TcpStream>, TcpError> {
    let refused = |refusal: EgressError| {
        tracing::warn!(%refusal, "a connection was not made");
        TcpError::Resolver(Box::new(refusal))
    };
    if egress.is_everywhere() {
        let found = Resolver::default().service().call(to).await?;
        return TcpConnector::default().service().call(found).await;
    }
    let url = to.request().to_string();
    egress.check(&url).map_err(refused)?;
    let found = Resolver::default().service().call(to).await?;
    let allowed = egress.check_addresses(&url, found.addrs());
    let found = found.set_addrs(allowed.map_err(refused)?);
    TcpConnector::default().service().call(found).await
}

/// Said of an answer that ends with its connection. The HTTP client reads such a body of HTTP/1.0
/// alone and takes one of HTTP/1.1 for empty.
pub(crate) const UNFRAMED: &str = "the answer has neither a content-length nor chunks, so its end cannot be told from a broken connection";

/// Tells whether an answer that should have a body says in no way where that body ends.
pub(crate) fn is_unframed<B>(response: &awc::ClientResponse<B>) -> bool {
    let headers = response.headers();
    let says = |name| headers.contains_key(name);
    response.status() == StatusCode::OK
        && response.version() == Version::HTTP_11
        && says(header::CONTENT_TYPE)
        && !says(header::CONTENT_LENGTH)
        && !says(header::TRANSFER_ENCODING)
}

fn build(egress: Egress) -> awc::Client {
    let connector = awc::Connector::new()
        .connector(fn_service(move |to| connect(egress.clone(), to)))
        .limit(0)
        .timeout(CONNECT_TIMEOUT)
        .handshake_timeout(CONNECT_TIMEOUT)
        .conn_keep_alive(IDLE_TIMEOUT);
    #[cfg(feature = "tls")]
    let connector = match tls::config() {
        Some(config) => connector.rustls_0_23(config),
        None => connector,
    };
    awc::Client::builder()
        .connector(connector)
        .disable_timeout()
        .disable_redirects()
        .no_default_headers()
        .finish()
}

#[cfg(feature = "tls")]
mod tls {
    use std::sync::{Arc, OnceLock};

    use rustls::{ClientConfig, RootCertStore, crypto::aws_lc_rs};

    static CONFIG: OnceLock<Option<Arc<ClientConfig>>> = OnceLock::new();

    /// Gives the TLS settings of the process, with the provider named: nothing global is needed.
    pub(super) fn config() -> Option<Arc<ClientConfig>> {
        CONFIG.get_or_init(load).clone()
    }

    fn load() -> Option<Arc<ClientConfig>> {
        let roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        let provider = Arc::new(aws_lc_rs::default_provider());
        let versions =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        match versions {
            Ok(builder) => {
                let mut config = builder.with_root_certificates(roots).with_no_client_auth();
                config.alpn_protocols = vec![b"http/1.1".to_vec()];
                Some(Arc::new(config))
            }
            Err(error) => {
                tracing::error!(%error, "TLS cannot be set up");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use super::*;

    fn is_kept(egress: &Egress) -> bool {
        CLIENTS.with_borrow(|clients| clients.iter().any(|kept| kept.egress.is_same(egress)))
    }

    #[test]
    fn a_policy_that_is_used_keeps_its_connections() {
        let _system = System::new();
        let used = Egress::everywhere().public_only();
        let mut first = None;
        for _ in 0..3 * MAX_CLIENTS {
            http_client(&used).unwrap();
            let other = Egress::everywhere().public_only();
            http_client(&other).unwrap();
            first.get_or_insert(other);
            assert!(is_kept(&used));
        }
        assert!(!is_kept(&first.unwrap()));
        assert_eq!(CLIENTS.with_borrow(Vec::len), MAX_CLIENTS);
    }
}
