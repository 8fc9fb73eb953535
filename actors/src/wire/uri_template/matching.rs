//! Which values make the template give this URI?
//!
//! Forward, each part turns the set of places that the template can have reached into the next
//! one, in one sweep. Backward, from the end, the spans of the parts are picked from those sets.

use std::borrow::Cow;

use super::{
    Operator, Part, Variables,
    encode::{decode, is_reserved, is_unreserved},
    normalize,
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
            Part::Expression { operator, names } if operator.is_named() => {
                after_pairs(from, bytes, *operator, &normal(names))
            }
            Part::Expression { operator, names } => {
                after_values(from, bytes, *operator, names.len())
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

fn mark(places: &mut Places, at: usize) {
    if let Some(place) = places.get_mut(at) {
        *place = true;
    }
}

fn holds(places: &Places, at: usize) -> bool {
    places.get(at).copied().unwrap_or_default()
}

/// Gives the first digit of the byte that is encoded here.
fn digit(bytes: &[u8], at: Option<usize>) -> Option<u8> {
    match bytes.get(at?..) {
        Some([b'%', digit, ..]) => Some(*digit),
        _ => None,
    }
}

/// Tells whether the byte that is encoded here belongs to the character before: in UTF-8 those
/// begin with the bits 10. No value begins so.
fn follows(bytes: &[u8], at: usize) -> bool {
    matches!(digit(bytes, Some(at)), Some(b'8' | b'9' | b'A' | b'B'))
}

/// Tells whether a value can end here: not within a character that is encoded.
fn is_boundary(bytes: &[u8], at: usize) -> bool {
    let within = [1, 2].map(|before| digit(bytes, at.checked_sub(before)));
    if within.iter().any(Option::is_some) {
        return false;
    }
    // The first byte of a character says how many follow.
    let mut following = 0;
    let mut place = at;
    while follows(bytes, place) {
        let Some(before) = place.checked_sub(3) else {
            return true;
        };
        place = before;
        match digit(bytes, Some(place)) {
            Some(b'C' | b'D') => return following >= 1,
            Some(b'E') => return following >= 2,
            Some(b'F') => return following >= 3,
            _ => following += 1,
        }
    }
    true
}

/// The names as they stand in a URI in normal form.
fn normal(names: &[Box<str>]) -> Vec<Cow<'_, str>> {
    let in_uri = |name| match str::contains(name, '%') {
        true => Cow::Owned(normalize(name)),
        false => Cow::Borrowed(name),
    };
    names.iter().map(|name| in_uri(name)).collect()
}

/// Counts what separates values, where a value cannot hold it; none if this is beyond the names.
fn count(separators: usize, operator: Operator, names: usize, byte: u8) -> Option<usize> {
    let counts = matches!(operator, Operator::Simple | Operator::Path)
        && char::from(byte) == operator.separator();
    if counts {
        return Some(separators + 1).filter(|count| *count < names);
    }
    allows(operator, byte).then_some(separators)
}

fn after_values(from: &Places, bytes: &[u8], operator: Operator, names: usize) -> Places {
    let first = operator.first().as_bytes().first().copied();
    // Without any value there is no first character either.
    let mut next = if first.is_some() {
        from.clone()
    } else {
        vec![false; from.len()]
    };
    // The fewest separators since one of the places before, inside the values.
    let mut inside: Option<usize> = None;
    for at in 0..from.len() {
        if inside.is_some() && is_boundary(bytes, at) {
            mark(&mut next, at);
        }
        let Some(byte) = bytes.get(at).copied() else {
            break;
        };
        let reached = holds(from, at);
        inside = match first {
            Some(first) if reached && byte == first => Some(0),
            // A value is one character at least.
            None if reached && !follows(bytes, at) => count(0, operator, names, byte),
            _ => inside.and_then(|separators| count(separators, operator, names, byte)),
        };
    }
    next
}

fn after_pairs(from: &Places, bytes: &[u8], operator: Operator, names: &[Cow<'_, str>]) -> Places {
    let first = operator.first().as_bytes().first().copied();
    let separator = operator.separator();
    let mut next = from.clone();
    let mut pairs = vec![false; from.len()];
    let mut values = vec![false; from.len()];
    for at in 0..from.len() {
        if holds(&pairs, at) {
            for end in ends_of_names(bytes, at, names) {
                mark(&mut next, end);
                match bytes.get(end) {
                    Some(b'=') => mark(&mut values, end + 1),
                    Some(&byte) if char::from(byte) == separator => mark(&mut pairs, end + 1),
                    _ => {}
                }
            }
        }
        let inside = holds(&values, at);
        if inside && is_boundary(bytes, at) {
            mark(&mut next, at);
        }
        let Some(byte) = bytes.get(at).copied() else {
            break;
        };
        if holds(from, at) && first == Some(byte) || inside && char::from(byte) == separator {
            mark(&mut pairs, at + 1);
        } else if inside && allows(operator, byte) {
            mark(&mut values, at + 1);
        }
    }
    next
}

/// Gives where a name that begins here ends.
fn ends_of_names<'a>(
    bytes: &'a [u8],
    at: usize,
    names: &'a [Cow<'_, str>],
) -> impl Iterator<Item = usize> {
    let rest = bytes.get(at..).unwrap_or_default();
    names
        .iter()
        .filter(move |name| rest.starts_with(name.as_bytes()))
        .map(move |name| at + name.len())
}

/// Tells whether a byte of the URI may belong to a value of an expression.
fn allows(operator: Operator, byte: u8) -> bool {
    if is_unreserved(byte) || byte == b'%' {
        return true;
    }
    match operator {
        Operator::Reserved | Operator::Fragment => is_reserved(byte),
        Operator::Simple | Operator::Label | Operator::Path => false,
        Operator::PathParameter => byte == b'=',
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
            Part::Expression { operator, names } if operator.is_named() => {
                begin_of_pairs(from, uri.as_bytes(), end, *operator, &normal(names))?
            }
            Part::Expression { operator, names } => {
                begin_of_values(from, uri.as_bytes(), end, *operator, names.len())?
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
fn begin_of_values(
    from: &Places,
    bytes: &[u8],
    end: usize,
    operator: Operator,
    names: usize,
) -> Option<usize> {
    let first = operator.first().as_bytes().first().copied();
    let mut found = (first.is_some() && holds(from, end)).then_some(end);
    let mut separators = 0;
    for at in (0..end).rev() {
        let byte = bytes.get(at).copied()?;
        let reached = holds(from, at);
        if reached && first == Some(byte) {
            found = Some(at);
        }
        match count(separators, operator, names, byte) {
            Some(more) => separators = more,
            None => break,
        }
        if reached && first.is_none() && !follows(bytes, at) {
            found = Some(at);
        }
    }
    found
}

/// The same for pairs of names and values.
fn begin_of_pairs(
    from: &Places,
    bytes: &[u8],
    end: usize,
    operator: Operator,
    names: &[Cow<'_, str>],
) -> Option<usize> {
    let first = operator.first().as_bytes().first().copied();
    let separator = operator.separator();
    let mut found = holds(from, end).then_some(end);
    // From where the end can be reached: where a pair begins, and inside a value.
    let mut pairs = vec![false; end + 1];
    let mut values = vec![false; end + 1];
    mark(&mut values, end);
    for at in (0..end).rev() {
        let byte = bytes.get(at).copied()?;
        let leads_on = if char::from(byte) == separator {
            holds(&pairs, at + 1)
        } else {
            allows(operator, byte) && holds(&values, at + 1)
        };
        if leads_on {
            mark(&mut values, at);
        }
        let mut ends = ends_of_names(bytes, at, names).filter(|name_end| *name_end <= end);
        let is_pair = ends.any(|name_end| match bytes.get(name_end) {
            _ if name_end == end => true,
            Some(b'=') => holds(&values, name_end + 1),
            Some(&byte) => char::from(byte) == separator && holds(&pairs, name_end + 1),
            None => false,
        });
        if is_pair {
            mark(&mut pairs, at);
        }
        if first == Some(byte) && holds(from, at) && holds(&pairs, at + 1) {
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
        let is_known = |known: &&str| *known == name || normalize(known) == name;
        let name = names.iter().map(|known| &**known).find(is_known)?;
        let value = decode(value)?;
        if values.insert(String::from(name), value).is_some() {
            return None;
        }
    }
    Some(())
}
