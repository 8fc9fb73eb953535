//! One request to an endpoint of an authorization server, within a deadline and a bound.

use std::time::Duration;

use awc::http::{
    StatusCode,
    header::{self, HeaderValue},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;

use crate::{
    machine::resource_metadata::check_endpoint,
    transport::{Egress, egress_refusal, http_client},
};

/// Bounds an answer. Key sets and introspection answers have a few kilobytes.
const MAX_ANSWER_BYTES: usize = 256 * 1024;
/// How long an endpoint may take by default, from the first packet to the last.
pub(crate) const DEADLINE: Duration = Duration::from_secs(5);

/// Why an endpoint gave nothing. The texts reach clients, so they name no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EndpointError {
    #[error("no thread can be had that reads it")]
    NoSystem,
    #[error("the endpoint cannot be reached")]
    Unreachable,
    #[error("connections to the endpoint are not allowed")]
    Refused,
    #[error("the endpoint did not answer in time")]
    TooLate,
    #[error("the answer is too large")]
    TooLarge,
    #[error("the endpoint answered {0}")]
    Status(u16),
    #[error("the answer cannot be read")]
    Unreadable,
    #[error("too many tokens are being checked")]
    Busy,
}

/// An endpoint of an authorization server.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) deadline: Duration,
    pub(crate) egress: Egress,
}

impl Endpoint {
    pub(crate) const fn new(url: String) -> Self {
        Self {
            url,
            deadline: DEADLINE,
            egress: Egress::everywhere(),
        }
    }

    /// Tells why the endpoint cannot be used, as far as that shows in its URL.
    pub(crate) fn check(&self, allow_http: bool) -> Result<(), String> {
        if !allow_http {
            check_endpoint(&self.url).map_err(|error| error.to_string())?;
        }
        self.egress
            .check(&self.url)
            .map_err(|error| error.to_string())
    }

    /// Gets a document.
    #[cfg(feature = "jwt")]
    pub(crate) async fn get(&self) -> Result<Bytes, EndpointError> {
        let client = http_client(&self.egress).map_err(|_| EndpointError::NoSystem)?;
        let request = client.get(self.url.as_str()).insert_header((
            header::ACCEPT,
            HeaderValue::from_static("application/json, application/jwk-set+json"),
        ));
        self.within(request.send()).await
    }

    /// Posts a form with the credentials of a client.
    pub(crate) async fn post(
        &self,
        client_id: &str,
        client_secret: &str,
        form: &[(&str, &str)],
    ) -> Result<Bytes, EndpointError> {
        let client = http_client(&self.egress).map_err(|_| EndpointError::NoSystem)?;
        let credentials = STANDARD.encode(format!("{client_id}:{client_secret}"));
        let mut credentials = HeaderValue::try_from(format!("Basic {credentials}"))
            .map_err(|_| EndpointError::Unreadable)?;
        credentials.set_sensitive(true);
        let request = client
            .post(self.url.as_str())
            .insert_header((header::AUTHORIZATION, credentials))
            .insert_header((header::ACCEPT, HeaderValue::from_static("application/json")));
        self.within(request.send_form(&form)).await
    }

    async fn within(&self, sent: awc::SendClientRequest) -> Result<Bytes, EndpointError> {
        let answer = tokio::time::timeout(self.deadline, read(sent)).await;
        answer.unwrap_or(Err(EndpointError::TooLate))
    }
}

async fn read(sent: awc::SendClientRequest) -> Result<Bytes, EndpointError> {
    let mut response = sent.await.map_err(|error| {
        if egress_refusal(&error).is_some() {
            return EndpointError::Refused;
        }
        tracing::warn!(%error, "an endpoint of the authorization server cannot be reached");
        EndpointError::Unreachable
    })?;
    if response.status() != StatusCode::OK {
        return Err(EndpointError::Status(response.status().as_u16()));
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = response.next().await {
        let chunk = chunk.map_err(|_| EndpointError::Unreachable)?;
        if body.len() + chunk.len() > MAX_ANSWER_BYTES {
            return Err(EndpointError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}
