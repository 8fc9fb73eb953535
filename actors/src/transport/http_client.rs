//! The awc client of a thread, with the settings that long streams and foreign servers need.

use std::{cell::RefCell, time::Duration};

use actix_rt::System;
use awc::http::{StatusCode, Version, header};

/// Bounds name look-up and the TCP handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle sockets are dropped before the usual server closes them (5 s), so that a POST, which may
/// not be sent twice, seldom meets a closing socket.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

thread_local! {
    /// Sockets belong to the runtime they were opened on, so the client is kept with its system.
    static CLIENT: RefCell<Option<(usize, awc::Client)>> = const { RefCell::new(None) };
}

/// No client can be had on this thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum HttpClientError {
    /// The thread runs no actix system.
    #[error("HTTP needs a thread with an actix system")]
    NoSystem,
}

/// Gives the HTTP client of this thread.
///
/// It follows no redirects, adds no headers, has no timeout of its own and no bound on sockets:
/// open event streams would hold the permits. Callers bring deadlines and bounds.
pub(crate) fn http_client() -> Result<awc::Client, HttpClientError> {
    let system = System::try_current().ok_or(HttpClientError::NoSystem)?.id();
    CLIENT.with_borrow_mut(|slot| {
        if let Some((owner, client)) = slot
            && *owner == system
        {
            return Ok(client.clone());
        }
        let client = build();
        *slot = Some((system, client.clone()));
        Ok(client)
    })
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

fn build() -> awc::Client {
    let connector = awc::Connector::new()
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
