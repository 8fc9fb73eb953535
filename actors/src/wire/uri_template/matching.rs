//! Which values make the template give this URI?
//!
//! Forward, each part turns the set of places that the template can have reached into the next
//! one, in one sweep. Backward, from the end, the spans of the parts are picked from those sets.

use super::{
    Operator, Part, Variables,
    encode::{decode, is_reserved, is_unreserved},
};

/// The places in the URI that can be reached: one flag for each byte and one for the end.
type Places = Vec<bool>;

pub(super) fn matches(parts: &[Part], uri: &str) -> Option<Variables> {
    let bytes = uri.as_bytes();
    let mut reached: Vec<Places> = Vec::with_capacity(parts.len() + 1);
    let mut start = vec![false; bytes.len() + 1];
    *start.first_mut()? = true;
    reached.push(start);
    for part in parts {
        let from = reached.last()?;
        let next = match part {
            Part::Literal(text) => after_literal(from, bytes, text.as_bytes()),
            Part::Expression { operator, names } => {
                after_expression(from, bytes, *operator, names.len())
            }
        };
        if !next.contains(&true) {
            return None;
        }
        reached.push(next);
    }
    if !*reached.last()?.last()? {
        return None;
    }
    read_back(parts, uri, &reached)
}

fn after_literal(from: &Places, bytes: &[u8], literal: &[u8]) -> Places {
    let mut next = vec![false; from.len()];
    for (at, _) in from.iter().enumerate().filter(|(_, reached)| **reached) {
        let found = bytes
            .get(at..)
            .is_some_and(|rest| rest.starts_with(literal));
        if found && let Some(place) = next.get_mut(at + literal.len()) {
            *place = true;
        }
    }
    next
}

fn after_expression(from: &Places, bytes: &[u8], operator: Operator, names: usize) -> Places {
    let first = operator.first().as_bytes().first().copied();
    let mut next = vec![false; from.len()];
    // Inside a value that began at one of the places before.
    let mut inside = false;
    for at in 0..from.len() {
        let reached = from.get(at).copied().unwrap_or_default();
        let byte = bytes.get(at).copied();
        if inside && let Some(place) = next.get_mut(at) {
            *place = true;
        }
        let Some(byte) = byte else {
            break;
        };
        match first {
            // A value is one character at least.
            None => inside = (inside || reached) && allows(operator, names, byte),
            Some(first) => {
                let begins = reached && byte == first;
                inside = begins || inside && allows(operator, names, byte);
            }
        }
    }
    if first.is_some() {
        // Without any value there is no first character either.
        for (place, reached) in next.iter_mut().zip(from) {
            *place |= reached;
        }
    }
    next
}

/// Tells whether a byte of the URI may belong to the values of an expression.
fn allows(operator: Operator, names: usize, byte: u8) -> bool {
    if is_unreserved(byte) || byte == b'%' {
        return true;
    }
    match operator {
        Operator::Reserved | Operator::Fragment => is_reserved(byte),
        Operator::Simple => names > 1 && byte == b',',
        Operator::Label => false,
        Operator::Path => names > 1 && byte == b'/',
        Operator::PathParameter => matches!(byte, b';' | b'='),
        // What a query may hold, whoever has encoded it: all but the fragment.
        Operator::Query | Operator::QueryContinuation => byte != b'#',
    }
}

/// Picks the spans from the end.
fn read_back(parts: &[Part], uri: &str, reached: &[Places]) -> Option<Variables> {
    let mut end = uri.len();
    let mut spans = Vec::with_capacity(parts.len());
    for (part, from) in parts.iter().zip(reached).rev() {
        let start = match part {
            Part::Literal(text) => end.checked_sub(text.len())?,
            Part::Expression { operator, names } => {
                begin(from, uri.as_bytes(), end, *operator, names.len())?
            }
        };
        spans.push((part, uri.get(start..end)?));
        end = start;
    }
    let mut values = Variables::new();
    for (part, span) in spans.into_iter().rev() {
        if let Part::Expression { operator, names } = part {
            read(&mut values, *operator, names, span)?;
        }
    }
    Some(values)
}

/// Finds where an expression that ends here begins: as early as it can, so that the literals and
/// values before it are short.
fn begin(
    from: &Places,
    bytes: &[u8],
    end: usize,
    operator: Operator,
    names: usize,
) -> Option<usize> {
    let first = operator.first().as_bytes().first().copied();
    let mut found = (first.is_some() && from.get(end).copied()?).then_some(end);
    let mut at = end;
    while at > 0 {
        at -= 1;
        let byte = bytes.get(at).copied()?;
        let reached = from.get(at).copied()?;
        if reached && first == Some(byte) {
            found = Some(at);
        }
        if !allows(operator, names, byte) {
            break;
        }
        if first.is_none() && reached {
            found = Some(at);
        }
    }
    found
}

fn read(values: &mut Variables, operator: Operator, names: &[Box<str>], span: &str) -> Option<()> {
    if span.is_empty() {
        return Some(());
    }
    let span = span.get(operator.first().len()..)?;
    if operator.is_named() {
        return read_named(values, operator, names, span);
    }
    let separator = operator.separator();
    for (name, value) in names.iter().zip(span.splitn(names.len(), separator)) {
        // More values than variables: the template could not have made this.
        let left_over = matches!(operator, Operator::Simple | Operator::Path);
        if left_over && value.contains(separator) {
            return None;
        }
        values.insert(String::from(&**name), decode(value)?);
    }
    Some(())
}

fn read_named(
    values: &mut Variables,
    operator: Operator,
    names: &[Box<str>],
    span: &str,
) -> Option<()> {
    for pair in span.split(operator.separator()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = names.iter().find(|known| ***known == *name)?;
        let value = decode(value)?;
        if values.insert(String::from(&**name), value).is_some() {
            return None;
        }
    }
    Some(())
}
