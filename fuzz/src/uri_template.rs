//! A template matches what it has made. Lines of an input: a template, a URI, values.

use roscius_actors::wire::uri_template::{
    MAX_TEMPLATE_BYTES, MAX_URI_BYTES, UriTemplate, Variables, normalize,
};

/// Checks one input.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut lines = text.split('\n');
    let template = lines.next().unwrap_or_default();
    let uri = lines.next().unwrap_or_default();
    assert_eq!(normalize(&normalize(uri)), normalize(uri));
    let Ok(template) = UriTemplate::parse(template) else {
        return;
    };
    assert!(template.as_str().len() <= MAX_TEMPLATE_BYTES);
    assert_eq!(
        UriTemplate::parse(&template.to_string()).as_ref(),
        Ok(&template)
    );
    if let Some(found) = template.matches(uri) {
        matched(&template, uri, &found);
    }
    let values: Variables = template
        .variables()
        .map(str::to_owned)
        .zip(lines.map(str::to_owned))
        .collect();
    expanded(&template, &values);
}

/// A value stands for itself in every expression when it is not empty and not encoded already.
fn is_plain(values: &Variables) -> bool {
    values
        .values()
        .all(|value| !value.is_empty() && !value.contains('%'))
}

/// Where reserved characters are not encoded, a value can look like what stands behind it.
fn is_told_apart(template: &UriTemplate, values: &Variables) -> bool {
    let text = template.as_str();
    let has_punctuation = |value: &String| value.contains(|sign: char| sign.is_ascii_punctuation());
    !text.contains("{+") && !text.contains("{#") || !values.values().any(has_punctuation)
}

fn matched(template: &UriTemplate, uri: &str, found: &Variables) {
    let normal = normalize(uri);
    if normal.len() <= MAX_URI_BYTES {
        assert_eq!(template.matches(&normal).as_ref(), Some(found));
    }
    for name in found.keys() {
        assert!(template.variables().any(|known| known == name), "{name}");
    }
    if is_plain(found) && is_told_apart(template, found) {
        let again = template.expand(found);
        if again.len() <= MAX_URI_BYTES {
            let read = template.matches(&again).expect("what it made it matches");
            written_alike(template, &read, &again);
        }
    }
}

fn expanded(template: &UriTemplate, values: &Variables) {
    let uri = template.expand(values);
    assert!(uri.is_ascii());
    let all = template.variables().all(|name| values.contains_key(name));
    let can_return = all && is_plain(values) && is_told_apart(template, values);
    if !can_return || uri.len() > MAX_URI_BYTES {
        return;
    }
    let found = template.matches(&uri).expect("what it made it matches");
    written_alike(template, &found, &uri);
}

/// Which value a separator within it belongs to cannot be known, but the URI is the same; not so
/// where values have names, for there signs are read that are written otherwise: `;name=` as
/// `;name`, and the `=` of `{?a}=x` as one of the value.
fn written_alike(template: &UriTemplate, read: &Variables, uri: &str) {
    let text = template.as_str();
    if !["{;", "{?", "{&"].iter().any(|named| text.contains(named)) {
        assert_eq!(normalize(&template.expand(read)), normalize(uri));
    }
}
