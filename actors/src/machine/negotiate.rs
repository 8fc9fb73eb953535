//! Which era a server speaks, judged from its answer to `server/discover`.
//! Spec: MCP 2026-07-28, "Versioning and backward compatibility".

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::wire::{
    jsonrpc::{RpcError, code},
    version::{self, LEGACY, MODERN},
};

/// What came back for the probe.
#[derive(Clone, Copy, Debug)]
pub enum ProbeAnswer<'a> {
    /// A JSON-RPC result.
    Result(&'a Value),
    /// A JSON-RPC error, under whatever status.
    Error(&'a RpcError),
    /// Nothing, or nothing that is JSON-RPC.
    Unrecognised,
}

/// What the answer says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// The server speaks this modern version.
    Modern {
        /// The newest version in common.
        version: &'static str,
        /// What the server says about itself.
        discovered: Box<Discovered>,
    },
    /// The server is modern and wants this version; ask once more.
    Retry {
        /// The version to ask with.
        version: &'static str,
    },
    /// The server wants the `initialize` handshake.
    Legacy {
        /// The version to ask for.
        version: &'static str,
    },
    /// The server wants authorization first. This says nothing about its era.
    Unauthorized,
    /// There is no version in common.
    NoCommonVersion {
        /// What the server offers.
        offered: Vec<String>,
    },
    /// A modern server refuses the request.
    Refused(RpcError),
    /// The server is there and cannot answer: a status of 5xx or an unfollowed redirect.
    Unavailable {
        /// The HTTP status.
        status: u16,
    },
}

/// What a server says about itself, in either era.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Discovered {
    /// The versions it speaks; empty for a legacy server.
    #[serde(default)]
    pub supported_versions: Vec<String>,
    /// Its capabilities.
    #[serde(default)]
    pub capabilities: Map<String, Value>,
    /// How it wants to be used.
    #[serde(default)]
    pub instructions: Option<String>,
    /// Its name and version, for display only.
    #[serde(skip)]
    pub server_info: Option<Value>,
}

/// Judges the answer to the probe.
///
/// `retried` tells that [`Verdict::Retry`] was already followed: it is given once.
#[must_use]
pub fn judge(status: u16, answer: ProbeAnswer<'_>, retried: bool) -> Verdict {
    match status {
        401 | 403 => return Verdict::Unauthorized,
        300..=399 | 500.. => return Verdict::Unavailable { status },
        _ => {}
    }
    match answer {
        ProbeAnswer::Result(result) => judge_result(result),
        ProbeAnswer::Error(error) => judge_error(error, retried),
        ProbeAnswer::Unrecognised => legacy(),
    }
}

const fn legacy() -> Verdict {
    Verdict::Legacy {
        version: version::V2025_11_25,
    }
}

fn judge_result(result: &Value) -> Verdict {
    let kind = result.get("resultType").and_then(Value::as_str);
    let Ok(mut discovered) = Discovered::deserialize(result) else {
        return legacy();
    };
    if discovered.supported_versions.is_empty() || kind.is_some_and(|kind| kind != "complete") {
        return legacy();
    }
    let offered = discovered.supported_versions.iter().map(String::as_str);
    if let Some(version) = version::newest_common(&MODERN, offered.clone()) {
        discovered.server_info = result.pointer(SERVER_INFO).cloned();
        return Verdict::Modern {
            version,
            discovered: Box::new(discovered),
        };
    }
    match version::newest_common(&LEGACY, offered) {
        Some(version) => Verdict::Legacy { version },
        None => Verdict::NoCommonVersion {
            offered: discovered.supported_versions,
        },
    }
}

/// Where a modern result names its server; a name in the body is no part of the protocol.
const SERVER_INFO: &str = "/_meta/io.modelcontextprotocol~1serverInfo";

fn judge_error(error: &RpcError, retried: bool) -> Verdict {
    match error.code {
        code::UNSUPPORTED_PROTOCOL_VERSION => judge_versions(error, retried),
        // Only modern servers know these two: the request was at fault, not the era.
        code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY => Verdict::Refused(error.clone()),
        _ => legacy(),
    }
}

fn judge_versions(error: &RpcError, retried: bool) -> Verdict {
    let listed = error.data.as_ref().and_then(|data| data.get("supported"));
    let offered: Vec<&str> = listed
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    if let Some(version) = version::newest_common(&MODERN, offered.iter().copied()) {
        return match retried {
            false => Verdict::Retry { version },
            true => Verdict::Refused(error.clone()),
        };
    }
    let modern = offered.iter().any(|offer| version::is_modern(offer));
    match version::newest_common(&LEGACY, offered.iter().copied()) {
        Some(version) if !modern => Verdict::Legacy { version },
        _ => Verdict::NoCommonVersion {
            offered: offered.into_iter().map(str::to_owned).collect(),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "a failed expectation is the test failing")]

    use serde_json::json;

    use super::*;

    fn error(code: i64) -> RpcError {
        RpcError::new(code, "no")
    }

    fn versions(supported: &[&str]) -> RpcError {
        error(-32022).with_data(json!({"supported": supported, "requested": "2026-07-28"}))
    }

    fn no_common(offered: &[&str]) -> Verdict {
        Verdict::NoCommonVersion {
            offered: offered.iter().map(|offer| (*offer).to_owned()).collect(),
        }
    }

    #[test]
    fn every_error_of_the_probe_has_its_verdict() {
        let retry = Verdict::Retry {
            version: "2026-07-28",
        };
        let table = [
            (200, error(-32601), legacy()),
            (404, error(-32601), legacy()),
            (400, error(-32000), legacy()),
            (400, error(-32001), legacy()),
            (400, error(-32602), legacy()),
            (400, error(-32020), Verdict::Refused(error(-32020))),
            (400, error(-32021), Verdict::Refused(error(-32021))),
            (200, error(-32020), Verdict::Refused(error(-32020))),
            (401, error(-32601), Verdict::Unauthorized),
            (403, error(-32601), Verdict::Unauthorized),
            (500, error(-32601), Verdict::Unavailable { status: 500 }),
            (
                503,
                versions(&["2025-11-25"]),
                Verdict::Unavailable { status: 503 },
            ),
            (400, versions(&["2026-07-28"]), retry.clone()),
            (200, versions(&["2025-11-25", "2026-07-28"]), retry),
            (
                400,
                versions(&["2025-06-18", "2025-03-26"]),
                Verdict::Legacy {
                    version: "2025-06-18",
                },
            ),
            (400, versions(&["2027-01-01"]), no_common(&["2027-01-01"])),
            (
                400,
                versions(&["2027-01-01", "2025-11-25"]),
                no_common(&["2027-01-01", "2025-11-25"]),
            ),
            (400, versions(&[]), no_common(&[])),
            (400, error(-32022), no_common(&[])),
        ];
        for (status, error, verdict) in table {
            assert_eq!(
                judge(status, ProbeAnswer::Error(&error), false),
                verdict,
                "{status} {error:?}"
            );
        }
    }

    #[test]
    fn a_second_refusal_of_the_version_is_not_retried() {
        let again = versions(&["2026-07-28"]);
        let verdict = judge(400, ProbeAnswer::Error(&again), true);
        assert_eq!(verdict, Verdict::Refused(again));
    }

    #[test]
    fn statuses_without_a_message_have_their_verdict() {
        for status in [200, 202, 204, 400, 404, 405, 406, 415] {
            assert_eq!(
                judge(status, ProbeAnswer::Unrecognised, false),
                legacy(),
                "{status}"
            );
        }
        for status in [301, 307, 500, 502, 503] {
            let expected = Verdict::Unavailable { status };
            assert_eq!(judge(status, ProbeAnswer::Unrecognised, false), expected);
        }
        assert_eq!(
            judge(401, ProbeAnswer::Unrecognised, false),
            Verdict::Unauthorized
        );
    }

    #[test]
    fn a_discover_result_tells_what_the_server_is() {
        let result = json!({
            "resultType": "complete", "supportedVersions": ["2025-11-25", "2026-07-28"],
            "capabilities": {"tools": {}}, "instructions": "ask", "serverInfo": {"name": "body"},
            "ttlMs": 0, "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "meta", "version": "1"}},
        });
        let Verdict::Modern {
            version,
            discovered,
        } = judge(200, ProbeAnswer::Result(&result), false)
        else {
            panic!("not modern");
        };
        assert_eq!(version, "2026-07-28");
        assert_eq!(discovered.instructions.as_deref(), Some("ask"));
        assert_eq!(
            discovered.server_info,
            Some(json!({"name": "meta", "version": "1"}))
        );
    }

    #[test]
    fn other_results_are_no_proof_of_the_modern_era() {
        let table = [
            (json!({}), legacy()),
            (json!({"supportedVersions": "2026-07-28"}), legacy()),
            (
                json!({"resultType": "task", "supportedVersions": ["2026-07-28"]}),
                legacy(),
            ),
            (
                json!({"supportedVersions": ["2025-06-18"]}),
                Verdict::Legacy {
                    version: "2025-06-18",
                },
            ),
            (
                json!({"supportedVersions": ["2027-01-01"]}),
                no_common(&["2027-01-01"]),
            ),
        ];
        for (result, verdict) in table {
            assert_eq!(
                judge(200, ProbeAnswer::Result(&result), false),
                verdict,
                "{result}"
            );
        }
    }
}
