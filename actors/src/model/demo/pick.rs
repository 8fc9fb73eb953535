//! Which tool a message asks for: the one that shares most words with it.

use std::collections::HashSet;

use crate::ports::model::ModelTool;

/// A shared word of the name counts as much as this many of the description.
const NAME_WEIGHT: u32 = 4;
/// Fewer shared words are chance: one of the name, or two of the description.
const ENOUGH: u32 = 2;
/// More words before a colon are a sentence, not a command.
const COMMAND_WORDS: usize = 5;

/// Words that say nothing about what is wanted.
const STOP_WORDS: &[&str] = &[
    "a", "an", "the", "and", "or", "to", "of", "in", "on", "at", "for", "by", "with", "from",
    "about", "into", "is", "are", "be", "do", "does", "did", "can", "could", "would", "will",
    "should", "please", "me", "my", "i", "you", "your", "we", "it", "its", "this", "that", "these",
    "those", "what", "whats", "which", "who", "how", "when", "where", "there", "here", "s", "now",
    "today", "like", "want", "need", "give", "tell", "show", "let", "have", "has", "some", "use",
    "using", "tool", "tools", "call", "run", "up", "as", "not", "no", "so", "if", "get",
];

/// Gives the tool that fits a message best, if any fits.
pub(super) fn tool<'tools>(text: &str, tools: &'tools [ModelTool]) -> Option<&'tools ModelTool> {
    if let Some(named) = tools.iter().find(|tool| text.contains(&tool.name)) {
        return Some(named);
    }
    let shared = shared_words(tools);
    let best = |text: &str| {
        let wanted = content_words(text);
        let scores = tools
            .iter()
            .map(|tool| (score(&wanted, tool, &shared), tool));
        // The earlier of two equals wins, so that the order of the tools decides, not chance.
        let best = scores.rev().max_by_key(|(score, _)| *score);
        best.filter(|(score, _)| score.0 >= ENOUGH)
            .map(|(_, tool)| tool)
    };
    match command(text) {
        Some((head, _)) => best(head).or_else(|| best(text)),
        None => best(text),
    }
}

/// Splits `command: the rest`, if the message has that form.
pub(super) fn command(text: &str) -> Option<(&str, &str)> {
    let (head, rest) = text.split_once(':')?;
    let short = (1..=COMMAND_WORDS).contains(&words(head).count());
    (short && !rest.trim().is_empty()).then(|| (head, rest.trim()))
}

/// Gives the stems of the words of a message that say what is wanted.
pub(super) fn content_words(text: &str) -> HashSet<String> {
    let words = words(text).filter(|word| !is_stop_word(word));
    words.map(|word| stem(&word)).collect()
}

/// Gives the stems of a tool's name, without prefixes it shares with most of the others.
pub(super) fn name_words(tool: &ModelTool) -> HashSet<String> {
    words(&tool.name).map(|word| stem(&word)).collect()
}

pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word)
}

/// Cuts the endings that make `notes`, `noted` and `noting` differ from `note`.
pub(super) fn stem(word: &str) -> String {
    let cut = ["ing", "ed", "es", "s", "e"]
        .into_iter()
        .find_map(|ending| {
            let stem = word.strip_suffix(ending)?;
            (stem.chars().count() >= 3).then_some(stem)
        });
    cut.unwrap_or(word).to_owned()
}

/// The first number decides, the second between equals: how much of the name was meant.
fn score(wanted: &HashSet<String>, tool: &ModelTool, shared: &HashSet<String>) -> (u32, u32) {
    let name: HashSet<_> = name_words(tool).difference(shared).cloned().collect();
    let described = content_words(&tool.description);
    let mut total = 0;
    let mut named = 0u32;
    for word in wanted {
        if name.contains(word) {
            total += NAME_WEIGHT;
            named += 1;
        } else if described.contains(word) {
            total += 1;
        }
    }
    let size = u32::try_from(name.len().max(1)).unwrap_or(u32::MAX);
    (total, named.saturating_mul(100) / size)
}

/// Words that stand in most names (a server's prefix) do not tell tools apart.
fn shared_words(tools: &[ModelTool]) -> HashSet<String> {
    let names: Vec<_> = tools.iter().map(name_words).collect();
    let all: HashSet<_> = names.iter().flatten().cloned().collect();
    let is_shared = |word: &String| {
        let holders = names.iter().filter(|name| name.contains(word)).count();
        holders > 2 && holders * 2 > names.len()
    };
    all.into_iter().filter(is_shared).collect()
}

/// Gives the words of a text or of a name in any case (`getNote`, `get_note`, `get note`), in
/// lower case.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let pieces = text.split(|letter: char| !letter.is_alphanumeric());
    pieces
        .flat_map(camel_pieces)
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

fn camel_pieces(word: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = word;
    let mut before_is_lower = false;
    let mut start = 0;
    for (at, letter) in word.char_indices() {
        if letter.is_uppercase() && before_is_lower {
            let (piece, after) = rest.split_at(at - start);
            pieces.push(piece);
            rest = after;
            start = at;
        }
        before_is_lower = letter.is_lowercase();
    }
    pieces.push(rest);
    pieces
}
