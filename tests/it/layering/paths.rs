//! Which paths a source file names, in `use` lines and in the middle of code, resolved to the crate.

use super::lexer::{Token, blank, tokens};

/// A path as far as text alone can tell.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// From the root of the file's own crate.
    Own(Vec<String>),
    /// Anything else: another crate, or something in scope.
    Other(Vec<String>),
}

/// A path and the line (from 1) it begins on.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) target: Target,
    pub(super) line: usize,
}

/// Finds every path of `source`, which is the module `module` of its crate.
pub(super) fn paths(source: &str, module: &[String]) -> Vec<Found> {
    let code = blank(source);
    let words = tokens(&code);
    let mut found = Vec::new();
    let mut inline: Vec<(String, usize)> = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(token) = words.get(at) {
        let next = words.get(at + 1).map_or("", |next| next.text);
        let mut here: Vec<String> = module.to_vec();
        here.extend(inline.iter().map(|(name, _)| name.clone()));
        match token.text {
            "mod" if words.get(at + 2).is_some_and(|brace| brace.text == "{") => {
                inline.push((next.to_owned(), depth));
                depth += 1;
                at += 3;
            }
            "use" if next != "<" => {
                at = use_tree(&words, at + 1, &mut Vec::new(), &here, &mut found)
            }
            "{" => {
                depth += 1;
                at += 1;
            }
            "}" => {
                depth = depth.saturating_sub(1);
                if inline.last().is_some_and(|(_, opened)| *opened == depth) {
                    inline.pop();
                }
                at += 1;
            }
            _ if token.is_word() && next == "::" => at = plain(&words, at, &here, &mut found),
            _ => at += 1,
        }
    }
    found
}

/// Reads `a::b::c` that begins at `at`; answers where reading goes on.
fn plain(words: &[Token<'_>], mut at: usize, here: &[String], found: &mut Vec<Found>) -> usize {
    let line = words[at].line;
    let mut segments = vec![words[at].text.to_owned()];
    at += 1;
    while words.get(at).is_some_and(|token| token.text == "::")
        && words.get(at + 1).is_some_and(Token::is_word)
    {
        segments.push(words[at + 1].text.to_owned());
        at += 2;
    }
    found.push(Found {
        target: resolve(segments, here),
        line,
    });
    at
}

/// Reads one branch of a `use` tree; answers where reading goes on.
fn use_tree(
    words: &[Token<'_>],
    mut at: usize,
    prefix: &mut Vec<String>,
    here: &[String],
    found: &mut Vec<Found>,
) -> usize {
    let kept = prefix.len();
    let line = words.get(at).map_or(0, |token| token.line);
    while let Some(token) = words.get(at) {
        match token.text {
            "{" => {
                at += 1;
                while words.get(at).is_some_and(|token| token.text != "}") {
                    at = use_tree(words, at, prefix, here, found);
                    if words.get(at).is_some_and(|token| token.text == ",") {
                        at += 1;
                    }
                }
                prefix.truncate(kept);
                return at + 1;
            }
            "," | ";" | "}" => break,
            "as" => at += 2,
            "::" | "*" => at += 1,
            _ => {
                prefix.push(token.text.to_owned());
                at += 1;
            }
        }
    }
    if !prefix.is_empty() {
        found.push(Found {
            target: resolve(prefix.clone(), here),
            line,
        });
    }
    prefix.truncate(kept);
    at
}

fn resolve(segments: Vec<String>, here: &[String]) -> Target {
    let mut base: Vec<String> = match segments.first().map(String::as_str) {
        Some("crate") => Vec::new(),
        Some("self" | "super") => here.to_vec(),
        _ => return Target::Other(segments),
    };
    for segment in segments {
        match segment.as_str() {
            "crate" | "self" => {}
            "super" => {
                base.pop();
            }
            _ => base.push(segment),
        }
    }
    Target::Own(base)
}

#[test]
fn paths_are_read_from_use_trees_and_from_code() {
    let source = "
use crate::{wire::{self, sse::Event as E}, machine::*}; // crate::client::Gone
use ::tokio::time;
/* use awc::Client; */
fn f<'a>(x: &'a str) -> crate::ports::Clock { let _ = \"actix::Actor\"; let c = ':'; $crate::pool::X }
mod tests { use super::super::store::MemoryLog; mod deeper { use super::super::Here; } }
use super::registry::Key;
";
    let here = ["run".to_owned(), "driver".to_owned()];
    let found: Vec<String> = paths(source, &here)
        .into_iter()
        .map(|found| match found.target {
            Target::Own(path) => format!("{} own {}", found.line, path.join("::")),
            Target::Other(path) => format!("{} other {}", found.line, path.join("::")),
        })
        .collect();
    assert_eq!(
        found,
        [
            "2 own wire",
            "2 own wire::sse::Event",
            "2 own machine",
            "3 other tokio::time",
            "5 own ports::Clock",
            "5 own pool::X",
            "6 own run::store::MemoryLog",
            "6 own run::driver::Here",
            "7 own run::registry::Key",
        ]
    );
}
