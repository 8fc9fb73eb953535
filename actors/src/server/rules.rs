//! What headers and `_meta` of a request have to say, in either era.

use serde_json::json;

use super::{
    McpServer, Response, Sessions,
    dispatch::Call,
    methods::{MethodDef, Mirror},
    reply,
};
use crate::{
    machine::{
        era::Era,
        headers::{ILLEGIBLE, check_encoded, check_plain, legible, quote},
    },
    wire::{
        http::Head,
        jsonrpc::{RpcError, code},
        mcp::envelope::{Envelope, Meta, Params},
        version::{LEGACY, MODERN},
    },
};

/// The header that names the version.
const VERSION: &str = "mcp-protocol-version";

impl McpServer {
    /// The order satisfies every reading of the spec: the header is there, the version is one that
    /// is served, `_meta` is complete, both agree, the other headers agree. What `_meta` of a
    /// version that is not served has to hold nobody knows here, so the version comes first.
    pub(super) fn check_modern(
        &self,
        call: &Call<'_>,
        message: &Envelope<'_>,
        meta: Option<&Meta<'_>>,
        method: Option<&MethodDef>,
    ) -> Result<(), (u16, RpcError)> {
        let (head, params) = (call.head, call.params);
        let headers = !call.options.headerless;
        let mismatch = |error| (400, error);
        let body_version = meta.and_then(|meta| meta.protocol_version.as_deref());
        if headers && head.protocol_version.is_none() {
            let body = body_version.unwrap_or_default();
            check_plain(VERSION, None, body).map_err(mismatch)?;
        }
        let named = head.protocol_version.filter(|_| headers).and_then(legible);
        let declared = meta.and_then(|meta| meta.client_capabilities);
        let missing = |name: &str| {
            let message = format!("`_meta` lacks io.modelcontextprotocol/{name}");
            (400, RpcError::new(code::INVALID_PARAMS, message))
        };
        let Some(version) = body_version else {
            return Err(match named {
                Some(named) if !MODERN.contains(&named) => (400, self.unsupported(Some(named))),
                _ => missing("protocolVersion"),
            });
        };
        let agreed = if headers {
            check_plain(VERSION, head.protocol_version, version).map_err(mismatch)
        } else {
            Ok(())
        };
        if agreed.is_ok() && !MODERN.contains(&version) {
            return Err((400, self.unsupported(Some(version))));
        }
        if !declared.is_some_and(|raw| raw.get().starts_with('{')) {
            return Err(missing("clientCapabilities"));
        }
        agreed?;
        if !headers {
            return Ok(());
        }
        check_plain("mcp-method", head.mcp_method, &message.method).map_err(mismatch)?;
        let mirrored = match method.map(|method| method.mirror) {
            Some(Mirror::Name) => params.name.as_deref(),
            Some(Mirror::Uri) => params.uri.as_deref(),
            Some(Mirror::TaskId) => params.task_id.as_deref(),
            Some(Mirror::Nothing) | None => None,
        };
        match mirrored {
            Some(text) => check_encoded("mcp-name", head.mcp_name, text).map_err(mismatch),
            None => Ok(()),
        }
    }

    pub(super) fn check_legacy(
        &self,
        era: Era,
        head: &Head<'_>,
        params: &Params<'_>,
    ) -> Result<(), (u16, RpcError)> {
        if self.0.sessions == Sessions::Reject {
            let named = head.protocol_version.and_then(legible);
            let asked = params.protocol_version.as_deref().or(named);
            return Err((400, self.unsupported(asked)));
        }
        if era == Era::Unknown {
            return Err((400, unknown_version(head)));
        }
        Ok(())
    }

    /// What needs no answer is refused only for its version, and only where a response can carry the
    /// refusal: a server without 2025 takes what its clients have to tell and ignores it.
    pub(super) fn check_unanswered(
        &self,
        era: Era,
        head: &Head<'_>,
        meta: Option<&Meta<'_>>,
    ) -> Result<(), RpcError> {
        match era {
            Era::Unknown if self.0.sessions != Sessions::Reject => Err(unknown_version(head)),
            Era::Unknown | Era::Legacy(_) => Ok(()),
            Era::Modern => {
                let named = head.protocol_version;
                let version = meta.and_then(|meta| meta.protocol_version.as_deref());
                if let (Some(_), Some(version)) = (named, version) {
                    check_plain(VERSION, named, version)?;
                }
                match version.or(named.and_then(legible)) {
                    Some(version) if MODERN.contains(&version) => Ok(()),
                    version => Err(self.unsupported(version)),
                }
            }
        }
    }

    /// Answers a 2025 request of a version that nobody knows.
    pub(super) fn unknown_version(&self, head: &Head<'_>) -> Response {
        reply::refuse(400, None, false, &unknown_version(head))
    }

    fn unsupported(&self, requested: Option<&str>) -> RpcError {
        let supported = &self.0.listings.versions;
        let (message, data) = match requested.map(quote) {
            Some(version) => (
                format!("Unsupported protocol version: {version}"),
                json!({"supported": supported, "requested": version}),
            ),
            None => (
                "Unsupported protocol version: the request did not name a protocol version"
                    .to_owned(),
                json!({"supported": supported}),
            ),
        };
        RpcError::new(code::UNSUPPORTED_PROTOCOL_VERSION, message).with_data(data)
    }
}

fn unknown_version(head: &Head<'_>) -> RpcError {
    let supported = LEGACY.join(", ");
    let message = match legible(head.protocol_version.unwrap_or_default()) {
        Some(named) => format!(
            "Bad Request: Unsupported protocol version: {} (supported versions: {supported})",
            quote(named),
        ),
        None => format!("Bad Request: {VERSION} {ILLEGIBLE} (supported versions: {supported})"),
    };
    RpcError::new(code::SERVER_ERROR, message)
}
