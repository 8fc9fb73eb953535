//! Holds messages against the official schemas, when `MCP_SCHEMA_DIR` says where they are:
//! `<dir>/<version>/schema.json`. Without it nothing is checked.

use std::{
    collections::HashMap,
    fs,
    path::PathBuf,
    sync::{Arc, LazyLock, Mutex, OnceLock},
};

use jsonschema::Validator;
use serde_json::{Value, json};

type Known = HashMap<(String, String), Arc<Validator>>;

static VALIDATORS: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

fn folder() -> Option<&'static PathBuf> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| std::env::var_os("MCP_SCHEMA_DIR").map(PathBuf::from));
    folder.as_ref()
}

fn validator(version: &str, name: &str) -> Option<Arc<Validator>> {
    let folder = folder()?;
    let mut known = VALIDATORS.lock().unwrap();
    let key = (version.to_owned(), name.to_owned());
    let validator = known.entry(key).or_insert_with(|| {
        let file = folder.join(version).join("schema.json");
        let text =
            fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut schema: Value = serde_json::from_str(&text).unwrap();
        let definitions = ["$defs", "definitions"]
            .into_iter()
            .find(|member| schema.get(member).is_some())
            .unwrap();
        assert!(
            schema[definitions].get(name).is_some(),
            "{version} has no {name}"
        );
        schema["$ref"] = json!(format!("#/{definitions}/{name}"));
        Arc::new(jsonschema::validator_for(&schema).unwrap())
    });
    Some(Arc::clone(validator))
}

/// Fails when a value does not fit the definition `name` of the schema of `version`.
pub(crate) fn assert_fits(version: &str, name: &str, value: &Value) {
    let Some(validator) = validator(version, name) else {
        return;
    };
    let errors: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(
        errors.is_empty(),
        "not a {name} of {version}:\n{}\n{value:#}",
        errors.join("\n")
    );
}

/// Fails when a message of a server does not fit the schema of `version`: the frame, and the
/// result of `method`. An error whose id could not be read has no place in the 2025 schemas.
pub(crate) fn assert_answer_fits(version: &str, method: &str, message: &Value) {
    if message.get("id").is_some_and(Value::is_null) {
        return;
    }
    if message.get("method").is_some() {
        assert_fits(version, "ServerNotification", message);
        return;
    }
    let modern = version >= "2025-11-25";
    if message.get("error").is_some() {
        let frame = if modern {
            "JSONRPCErrorResponse"
        } else {
            "JSONRPCError"
        };
        assert_fits(version, frame, message);
        let named = match message["error"]["code"].as_i64() {
            Some(-32020) => "HeaderMismatchError",
            Some(-32021) => "MissingRequiredClientCapabilityError",
            Some(-32022) if message["error"]["data"].get("requested").is_some() => {
                "UnsupportedProtocolVersionError"
            }
            _ => return,
        };
        if version == "2026-07-28" {
            assert_fits(version, named, message);
        }
        return;
    }
    let frame = if modern {
        "JSONRPCResultResponse"
    } else {
        "JSONRPCResponse"
    };
    assert_fits(version, frame, message);
    let result = &message["result"];
    let name = match method {
        _ if result["resultType"] == "input_required" => "InputRequiredResult",
        // Extensions are not in the schema: only the frame of a result is known.
        _ if result["resultType"] == "task" => "Result",
        "tasks/get" | "tasks/update" | "tasks/cancel" if version == "2026-07-28" => "Result",
        "tools/call" if result.get("task").is_some() => "CreateTaskResult",
        "tasks/get" => "GetTaskResult",
        "tasks/cancel" => "CancelTaskResult",
        "tasks/list" => "ListTasksResult",
        "tasks/result" => {
            assert_fits(version, "CallToolResult", result);
            "GetTaskPayloadResult"
        }
        "tools/call" => "CallToolResult",
        "tools/list" => "ListToolsResult",
        "resources/list" => "ListResourcesResult",
        "resources/templates/list" => "ListResourceTemplatesResult",
        "resources/read" => "ReadResourceResult",
        "prompts/list" => "ListPromptsResult",
        "prompts/get" => "GetPromptResult",
        "completion/complete" => "CompleteResult",
        "skills/list" | "skills/get" | "resources/directory/read" => "Result",
        "server/discover" => "DiscoverResult",
        "initialize" => "InitializeResult",
        "ping" => "EmptyResult",
        other => panic!("no result is known for {other}"),
    };
    assert_fits(version, name, result);
}
