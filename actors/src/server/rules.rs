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
        headers::{check_encoded, check_plain},
    },
    wire::{
        http::Head,
        jsonrpc::{RpcError, code},
        mcp::envelope::{Envelope, Meta, Params},
        version::{LEGACY, MODERN},
    },
};

impl McpServer {
    /// The order satisfies every reading of the spec: the header is there, `_meta` is complete,
    /// both agree, the version is served, the other headers agree.
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
            check_plain("mcp-protocol-version", None, body).map_err(mismatch)?;
        }
        let declared = meta.and_then(|meta| meta.client_capabilities);
        let missing = |name: &str| {
            let message = format!("`_meta` lacks io.modelcontextprotocol/{name}");
            (400, RpcError::new(code::INVALID_PARAMS, message))
        };
        let version = body_version.ok_or_else(|| missing("protocolVersion"))?;
        if !declared.is_some_and(|raw| raw.get().starts_with('{')) {
            return Err(missing("clientCapabilities"));
        }
        if headers {
            let named = head.protocol_version;
            check_plain("mcp-protocol-version", named, version).map_err(mismatch)?;
        }
        if !MODERN.contains(&version) {
            return Err((400, self.unsupported(Some(version))));
        }
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
        let header = head
            .protocol_version
            .map(|version| String::from_utf8_lossy(version));
        if self.0.sessions == Sessions::Reject {
            let asked = params.protocol_version.as_deref().or(header.as_deref());
            return Err((400, self.unsupported(asked)));
        }
        if era == Era::Unknown {
            return Err((400, unknown_version(head)));
        }
        Ok(())
    }

    /// Answers a 2025 request of a version that nobody knows.
    pub(super) fn unknown_version(&self, head: &Head<'_>) -> Response {
        reply::refuse(400, None, false, &unknown_version(head))
    }

    fn unsupported(&self, requested: Option<&str>) -> RpcError {
        let supported = &self.0.listings.versions;
        let (message, data) = match requested {
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
    let named = head.protocol_version.unwrap_or_default();
    let message = format!(
        "Bad Request: Unsupported protocol version: {} (supported versions: {})",
        String::from_utf8_lossy(named),
        LEGACY.join(", "),
    );
    RpcError::new(code::SERVER_ERROR, message)
}
