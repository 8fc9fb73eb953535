//! Arguments from a message, by the tool's schema.

use serde_json::{Map, Value};

use super::pick;
use crate::ports::model::ModelTool;

/// Words after which a name or a subject stands.
const LEADS: &[&str] = &[
    "in", "for", "at", "of", "about", "with", "named", "called", "on", "to",
];
/// Words that follow a subject and are not part of it.
const TRAILS: &[&str] = &[
    "please", "now", "today", "tomorrow", "tonight", "again", "thanks",
];

/// Fills the arguments of a call.
///
/// # Errors
/// The names of required properties that the message says nothing about.
pub(super) fn arguments(text: &str, tool: &ModelTool) -> Result<Map<String, Value>, Vec<String>> {
    let schema = tool.input_schema.as_ref();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(Map::new());
    };
    let required = |key: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|name| name == key))
    };
    let given = embedded_object(text);
    let mut reader = Reader::new(text, tool);
    let mut filled = Map::new();
    let mut missing = Vec::new();
    for (key, property) in properties {
        let property = resolve(property, schema);
        let named = given.as_ref().and_then(|given| given.get(key)).cloned();
        let named = named.or_else(|| reader.labelled(key, property, properties));
        let value = match named {
            Some(value) => Some(value),
            None if required(key) => reader.value(property),
            None => reader.choice(property),
        };
        match value {
            Some(value) => {
                filled.insert(key.clone(), value);
            }
            None if required(key) => missing.push(key.clone()),
            None => {}
        }
    }
    if missing.is_empty() {
        Ok(filled)
    } else {
        Err(missing)
    }
}

/// Takes arguments that the user wrote as JSON.
fn embedded_object(text: &str) -> Option<Map<String, Value>> {
    let (start, end) = (text.find('{')?, text.rfind('}')?);
    serde_json::from_str(text.get(start..=end)?).ok()
}

/// Follows a reference within the schema and takes the first variant that is not null.
fn resolve<'schema>(property: &'schema Value, root: &'schema Value) -> &'schema Value {
    let target = property.get("$ref").and_then(Value::as_str);
    if let Some(found) = target.and_then(|path| root.pointer(path.strip_prefix('#')?)) {
        return found;
    }
    let variants = ["anyOf", "oneOf"].into_iter();
    let mut variants = variants.filter_map(|keyword| property.get(keyword)?.as_array());
    let real = |variant: &&Value| kind(variant) != Some("null");
    match variants.next().and_then(|all| all.iter().find(real)) {
        Some(variant) => variant,
        None => property,
    }
}

fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::Array(kinds) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|kind| *kind != "null"),
        kind => kind.as_str(),
    }
}

/// What of the message has not been used yet.
struct Reader<'text> {
    text: &'text str,
    tool: &'text ModelTool,
    numbers: std::vec::IntoIter<&'text str>,
    quoted: std::vec::IntoIter<&'text str>,
    subject_used: bool,
}

impl<'text> Reader<'text> {
    fn new(text: &'text str, tool: &'text ModelTool) -> Self {
        let numbers: Vec<_> = tokens(text)
            .filter(|token| token.parse::<f64>().is_ok())
            .collect();
        let quoted = text.split(['"', '“', '”']).skip(1).step_by(2);
        // An unpaired quotation mark quotes nothing.
        let pairs = text.matches(['"', '“', '”']).count() / 2;
        let quoted: Vec<_> = quoted.take(pairs).filter(|text| !text.is_empty()).collect();
        Self {
            text,
            tool,
            numbers: numbers.into_iter(),
            quoted: quoted.into_iter(),
            subject_used: false,
        }
    }

    /// Reads `key: value` or `key=value`, up to the next key, a comma or the end of the line.
    fn labelled(&self, key: &str, property: &Value, all: &Map<String, Value>) -> Option<Value> {
        let rest = [':', '=']
            .into_iter()
            .find_map(|mark| after_label(self.text, key, mark))?;
        let others = all.keys().filter(|other| *other != key);
        let ends = others.filter_map(|other| {
            let marks = [':', '='].into_iter();
            marks.filter_map(|mark| label_at(rest, other, mark)).min()
        });
        let end = ends
            .chain(rest.find([',', '\n', ';']))
            .min()
            .unwrap_or(rest.len());
        let raw = rest.get(..end)?.trim().trim_matches(['"', '\'']);
        let raw = match raw {
            "" => return None,
            raw => raw,
        };
        typed(raw, property)
    }

    fn value(&mut self, property: &Value) -> Option<Value> {
        if property.get("enum").is_some() {
            return self.choice(property);
        }
        match kind(property) {
            Some(number @ ("integer" | "number")) => {
                let numbers = &mut self.numbers;
                numbers.find_map(|token| numeric(token, number == "integer"))
            }
            Some("boolean") => tokens(self.text).find_map(truth).map(Value::Bool),
            Some("array") => self.list(property),
            Some("object") => None,
            _ => self.string().map(Value::String),
        }
    }

    /// Gives the allowed value that the message names.
    fn choice(&self, property: &Value) -> Option<Value> {
        let values = property.get("enum")?.as_array()?.iter();
        let named = |value: &&Value| {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            tokens(self.text).any(|token| token.eq_ignore_ascii_case(&text))
        };
        values.filter(|value| !value.is_null()).find(named).cloned()
    }

    fn list(&mut self, property: &Value) -> Option<Value> {
        let item = property.get("items").unwrap_or(&Value::Null);
        let items: Vec<Value> = match kind(item) {
            Some(number @ ("integer" | "number")) => {
                let numbers = self.numbers.by_ref();
                numbers
                    .filter_map(|token| numeric(token, number == "integer"))
                    .collect()
            }
            _ => {
                let text = self.string()?;
                let pieces = text
                    .split([',', ';'])
                    .flat_map(|piece| piece.split(" and "));
                let pieces = pieces.map(str::trim).filter(|piece| !piece.is_empty());
                pieces
                    .map(|piece| typed(piece, item))
                    .collect::<Option<_>>()?
            }
        };
        (!items.is_empty()).then_some(Value::Array(items))
    }

    fn string(&mut self) -> Option<String> {
        if let Some(quoted) = self.quoted.next() {
            return Some(quoted.to_owned());
        }
        if std::mem::replace(&mut self.subject_used, true) {
            return None;
        }
        if let Some((_, rest)) = pick::command(self.text) {
            return Some(rest.to_owned());
        }
        self.subject()
    }

    /// Finds what the message is about: what follows a word like `in`, else what is left of it
    /// without the words that named the tool.
    fn subject(&self) -> Option<String> {
        let named = pick::name_words(self.tool);
        let words: Vec<&str> = self
            .text
            .split_whitespace()
            .map(trim)
            .filter(|word| !word.is_empty())
            .collect();
        let is_lead = |word: &&str| LEADS.contains(&word.to_lowercase().as_str());
        let led = words
            .iter()
            .rposition(is_lead)
            .map(|at| words.split_at(at + 1).1);
        // `what's` says no more than `what`.
        let plain = |word: &str| {
            let word = word.to_lowercase();
            let whole = word.split(['\'', '’']).next();
            whole.unwrap_or_default().to_owned()
        };
        let meaningful = |words: &[&str]| -> Vec<String> {
            let kept = words.iter().filter(|word| {
                let plain = plain(word);
                !pick::is_stop_word(&plain)
                    && !TRAILS.contains(&plain.as_str())
                    && !named.contains(&pick::stem(&plain))
            });
            kept.map(|word| (*word).to_owned()).collect()
        };
        let subject = led.map(meaningful).filter(|words| !words.is_empty());
        let subject = subject.unwrap_or_else(|| meaningful(&words));
        // A name stands out by its capitals: `New York` of `New York weather forecast`.
        let capital = |word: &&String| word.starts_with(char::is_uppercase);
        let name: Vec<_> = subject
            .iter()
            .skip_while(|word| !capital(word))
            .take_while(capital)
            .cloned()
            .collect();
        let chosen = if name.is_empty() || led.is_none() && name.len() < subject.len() {
            subject
        } else {
            name
        };
        (!chosen.is_empty()).then(|| chosen.join(" "))
    }
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| letter.is_whitespace() || matches!(letter, ',' | ';' | '='))
        .map(trim)
        .filter(|token| !token.is_empty())
}

fn trim(word: &str) -> &str {
    word.trim_matches(|letter: char| {
        matches!(
            letter,
            '.' | '?' | '!' | ',' | ';' | ':' | '"' | '\'' | '(' | ')' | '#'
        )
    })
}

fn numeric(token: &str, whole: bool) -> Option<Value> {
    match token.parse::<i64>() {
        Ok(number) => Some(number.into()),
        Err(_) if whole => None,
        Err(_) => token.parse::<f64>().ok().map(Value::from),
    }
}

fn truth(token: &str) -> Option<bool> {
    match token.to_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn typed(raw: &str, property: &Value) -> Option<Value> {
    if let Some(values) = property.get("enum").and_then(Value::as_array) {
        return values
            .iter()
            .find(|value| {
                value
                    .as_str()
                    .is_some_and(|text| text.eq_ignore_ascii_case(raw))
            })
            .cloned();
    }
    match kind(property) {
        Some("integer") => numeric(raw, true),
        Some("number") => numeric(raw, false),
        Some("boolean") => truth(raw).map(Value::Bool),
        Some("array" | "object") => serde_json::from_str(raw).ok(),
        _ => Some(Value::String(raw.to_owned())),
    }
}

fn after_label<'text>(text: &'text str, key: &str, mark: char) -> Option<&'text str> {
    let at = label_at(text, key, mark)?;
    text.get(at..)?.split_once(mark).map(|(_, rest)| rest)
}

/// Finds `key:` as a word of its own.
fn label_at(text: &str, key: &str, mark: char) -> Option<usize> {
    let label = format!("{key}{mark}");
    let found = text.match_indices(&label).map(|(at, _)| at);
    let mut whole = found.filter(|at| {
        let before = text
            .get(..*at)
            .and_then(|before| before.chars().next_back());
        before.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_')
    });
    whole.next()
}
