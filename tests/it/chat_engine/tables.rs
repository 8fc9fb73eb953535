//! The only two tables that may excuse anything. Each line has its reason.

use std::collections::HashSet;

use super::compare::Differences;

/// Scenarios that nothing here can play yet.
pub(super) const NOT_COVERED: [(&str, &str); 17] = [
    (
        "durable",
        "re-attach over HTTP: played by the endpoint's tests",
    ),
    ("engine-throws-before-start", "middleware throws"),
    ("generic-after-tools", "questions of middleware"),
    (
        "generic-before-tools-cancel-tools",
        "questions of middleware",
    ),
    ("generic-before-tools-continue", "questions of middleware"),
    ("generic-cancel", "questions of middleware"),
    ("generic-expired", "questions of middleware"),
    ("generic-invalid-response", "questions of middleware"),
    ("generic-resolve", "questions of middleware"),
    ("generic-stop", "questions of middleware"),
    ("generic-unregistered-on-client", "questions of middleware"),
    ("lazy-tools", "lazy tools"),
    ("middleware-order", "middleware"),
    ("skip-and-abort-middleware", "middleware"),
    ("structured-combined", "structured output"),
    ("structured-fallback", "structured output"),
    ("ui-resource", "resources of a user interface"),
];

/// What a scenario does otherwise on purpose.
pub(super) fn differences(scenario: &str) -> HashSet<Differences> {
    let mut excused = HashSet::from([Differences::StartsFirst]);
    match scenario {
        "max-iterations" | "abort-server-side" => {
            excused.insert(Differences::AlwaysEnds);
        }
        "mcp-real-client" => {
            excused.insert(Differences::NoUiResource);
            excused.insert(Differences::ReadableLinks);
        }
        "custom-events" => {
            excused.insert(Differences::NoMiddleware);
        }
        "mcp-dup-with-own-tool" => {
            excused.insert(Differences::ClosesOnClash);
        }
        _ => {}
    }
    excused
}

/// Rows of `bad-resume` about questions that only middleware can ask.
pub(super) fn needs_definitions(case: &str) -> bool {
    case.starts_with("generic") && case != "generic no continuation metadata"
}
