//! Events on their way out, and the few forms they have in common.

use serde_json::{Map, Value};

use crate::{
    machine::dialogue::{FinishReason, Usage},
    wire::{
        agui::{Event, EventKind, Outcome, UsageItem},
        ids::{RunId, ThreadId},
    },
};

/// Collects the events of one step, all of the same moment.
#[derive(Debug, Default)]
pub struct Events {
    now_ms: u64,
    made: Vec<Event>,
}

impl Events {
    /// Starts at a moment, in milliseconds since 1970.
    #[must_use]
    pub const fn at(now_ms: u64) -> Self {
        Self {
            now_ms,
            made: Vec::new(),
        }
    }

    /// Gives the moment.
    #[must_use]
    pub const fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Moves on to a later moment.
    pub const fn set_now(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
    }

    /// Takes what was collected.
    pub fn drain(&mut self) -> impl Iterator<Item = Event> + '_ {
        self.made.drain(..)
    }

    /// Tells whether nothing was collected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.made.is_empty()
    }

    pub(super) fn push(&mut self, event: Event) {
        self.made.push(event);
    }

    pub(super) fn plain(&mut self, kind: EventKind) {
        self.push(Event::new(self.now_ms, kind));
    }

    pub(super) fn of_model(&mut self, model: &str, kind: EventKind) {
        self.push(Event::new(self.now_ms, kind).model(model));
    }
}

/// The ids that RUN_STARTED and RUN_FINISHED repeat.
#[derive(Clone, Debug)]
pub(super) struct RunIds {
    pub(super) thread: ThreadId,
    pub(super) run: RunId,
    pub(super) parent: Option<RunId>,
}

/// How a model turn ended, held back until its tools have finished.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TurnEnd {
    pub(super) reason: FinishReason,
    pub(super) usage: Option<Usage>,
}

pub(super) fn run_finished(
    ids: &RunIds,
    model: &str,
    end: &TurnEnd,
    outcome: Option<Outcome>,
    now_ms: u64,
) -> Event {
    let (usage, rest) = match &end.usage {
        Some(usage) => {
            let (item, rest) = usage_item(usage);
            (Some(vec![item]), rest)
        }
        None => (None, Map::new()),
    };
    let kind = EventKind::RunFinished {
        thread_id: ids.thread.clone(),
        run_id: ids.run.clone(),
        result: None,
        outcome,
        usage,
    };
    let event = Event::new(now_ms, kind)
        .model(model)
        .tanstack("finishReason", end.reason.as_str());
    if rest.is_empty() {
        return event;
    }
    event.tanstack("usage", rest)
}

/// Splits a usage into what AG-UI has members for and the rest.
fn usage_item(usage: &Usage) -> (UsageItem, Map<String, Value>) {
    let mut rest = usage.extra.clone();
    let mut take = |details: &Option<Map<String, Value>>, member: &str, rest_name: &str| {
        let mut details = details.clone()?;
        let taken = details
            .shift_remove(member)
            .and_then(|count| count.as_u64());
        if !details.is_empty() {
            rest.insert(rest_name.to_owned(), Value::Object(details));
        }
        taken
    };
    let cached = take(
        &usage.prompt_tokens_details,
        "cachedTokens",
        "promptTokensDetails",
    );
    let reasoning = take(
        &usage.completion_tokens_details,
        "reasoningTokens",
        "completionTokensDetails",
    );
    if let Some(cost) = usage.cost {
        rest.insert("cost".to_owned(), cost.into());
    }
    let item = UsageItem {
        input_tokens: Some(usage.prompt_tokens),
        output_tokens: Some(usage.completion_tokens),
        total_tokens: Some(usage.total_tokens),
        cached_input_tokens: cached,
        reasoning_tokens: reasoning,
    };
    (item, rest)
}

/// Words a moment as clients do: ISO 8601, in UTC, with milliseconds.
#[must_use]
pub fn iso_time(unix_ms: u64) -> String {
    let (seconds, millis) = (unix_ms / 1000, unix_ms % 1000);
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Civil date from days since 1970, with years that begin in March (Hinnant).
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{millis:03}Z",
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60,
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn moments_are_worded_as_clients_word_them() {
        assert_eq!(iso_time(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso_time(1_796_025_884_482), "2026-11-30T08:04:44.482Z");
        assert_eq!(iso_time(951_782_400_000), "2000-02-29T00:00:00.000Z");
    }

    #[test]
    fn usage_is_split_into_members_and_the_rest() {
        let usage: Usage = serde_json::from_value(json!({
            "promptTokens": 12, "completionTokens": 34, "totalTokens": 46, "cost": 0.5,
            "promptTokensDetails": {"cachedTokens": 4, "audioTokens": 1},
            "completionTokensDetails": {"reasoningTokens": 7},
        }))
        .unwrap_or_default();
        let (item, rest) = usage_item(&usage);
        assert_eq!(
            serde_json::to_value(item).unwrap_or_default(),
            json!({"inputTokens": 12, "outputTokens": 34, "totalTokens": 46, "cachedInputTokens": 4, "reasoningTokens": 7})
        );
        assert_eq!(
            Value::Object(rest),
            json!({"promptTokensDetails": {"audioTokens": 1}, "cost": 0.5})
        );
    }
}
