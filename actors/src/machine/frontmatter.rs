//! The frontmatter of a `SKILL.md`: YAML 1.2 between two lines of `---`, read as JSON.
//!
//! Hosts read the file again and compare, so every rule here is that of the core schema: `yes` is a
//! text, `017` is seventeen, a key given twice is an error.

use serde_json::{Map, Number, Value};
use yaml_rust2::{
    Event,
    parser::{Parser, Tag},
    scanner::{ScanError, TScalarStyle},
};

/// The largest frontmatter. Hosts read it into a prompt.
pub const MAX_FRONTMATTER_BYTES: usize = 64 * 1024;
/// The deepest nesting of a value.
const MAX_DEPTH: usize = 32;
/// The longest name of a skill.
const MAX_NAME_BYTES: usize = 64;
/// The longest description of a skill, in characters.
const MAX_DESCRIPTION_CHARS: usize = 1024;

/// Why a text has no usable frontmatter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrontmatterError {
    /// It does not begin with a line `---`, or no other such line ends it.
    #[error("there is no frontmatter between two lines of `---`")]
    Absent,
    /// It is too large.
    #[error("the frontmatter is larger than {MAX_FRONTMATTER_BYTES} bytes")]
    TooLarge,
    /// It is no YAML.
    #[error("the frontmatter is no yaml: {0}")]
    Yaml(String),
    /// It is YAML that has no place here.
    #[error("the frontmatter holds {0}")]
    Unsupported(&'static str),
    /// A key is given twice.
    #[error("the frontmatter gives `{0}` twice")]
    Repeated(String),
    /// It is not a map.
    #[error("the frontmatter is not a map")]
    NoMap,
    /// The name is missing or not allowed.
    #[error("`name` is not 1 to {MAX_NAME_BYTES} of a-z, 0-9 and single hyphens between them")]
    Name,
    /// The description is missing, empty or too long.
    #[error("`description` is not a text of 1 to {MAX_DESCRIPTION_CHARS} characters")]
    Description,
}

impl From<ScanError> for FrontmatterError {
    fn from(error: ScanError) -> Self {
        Self::Yaml(error.to_string())
    }
}

/// Reads the frontmatter of a file and checks name and description.
///
/// # Errors
/// [`FrontmatterError`] when hosts could not use it.
pub fn read(text: &str) -> Result<Map<String, Value>, FrontmatterError> {
    let yaml = cut_out(text).ok_or(FrontmatterError::Absent)?;
    if yaml.len() > MAX_FRONTMATTER_BYTES {
        return Err(FrontmatterError::TooLarge);
    }
    let Value::Object(map) = parse(yaml)? else {
        return Err(FrontmatterError::NoMap);
    };
    let member = |name: &str| map.get(name).and_then(Value::as_str);
    if !member("name").is_some_and(is_skill_name) {
        return Err(FrontmatterError::Name);
    }
    let length = member("description").map_or(0, |text| text.chars().count());
    if !(1..=MAX_DESCRIPTION_CHARS).contains(&length) {
        return Err(FrontmatterError::Description);
    }
    Ok(map)
}

/// Tells whether a text is a name of a skill.
#[must_use]
pub fn is_skill_name(name: &str) -> bool {
    let sound = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'))
    };
    name.len() <= MAX_NAME_BYTES && name.split('-').all(sound)
}

/// Gives what stands between the first line and the next line of `---`.
fn cut_out(text: &str) -> Option<&str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let body = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))?;
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let end = line
            .trim_end_matches(['\n', '\r'])
            .trim_end_matches([' ', '\t']);
        if end == "---" {
            return body.get(..at).filter(|yaml| !yaml.is_empty());
        }
        at += line.len();
    }
    None
}

/// Something that is not complete yet.
enum Open {
    List(Vec<Value>),
    Map(Map<String, Value>, Option<String>),
}

fn parse(yaml: &str) -> Result<Value, FrontmatterError> {
    let mut parser = Parser::new_from_str(yaml);
    let mut open: Vec<Open> = Vec::new();
    let mut document = None;
    loop {
        let (event, _) = parser.next_token()?;
        let value = match event {
            Event::StreamEnd => return Ok(document.unwrap_or_default()),
            Event::DocumentStart if document.is_some() => {
                return Err(FrontmatterError::Unsupported("a second document"));
            }
            Event::Alias(_) => {
                // A few of them can stand for gigabytes.
                return Err(FrontmatterError::Unsupported("an alias"));
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                None
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Map::new(), None));
                None
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items)) => Some(Value::Array(items)),
                Some(Open::Map(members, _)) => Some(Value::Object(members)),
                None => None,
            },
            Event::Scalar(text, style, _, tag) => Some(scalar(text, style, tag.as_ref())),
            Event::Nothing | Event::StreamStart | Event::DocumentStart | Event::DocumentEnd => None,
        };
        if open.len() > MAX_DEPTH {
            return Err(FrontmatterError::Unsupported("values that stand too deep"));
        }
        let Some(value) = value else {
            continue;
        };
        match open.last_mut() {
            None => document = Some(value),
            Some(Open::List(items)) => items.push(value),
            Some(Open::Map(members, key)) => match key.take() {
                None => *key = Some(key_text(value)?),
                Some(name) => {
                    if members.contains_key(&name) {
                        return Err(FrontmatterError::Repeated(name));
                    }
                    members.insert(name, value);
                }
            },
        }
    }
}

fn key_text(key: Value) -> Result<String, FrontmatterError> {
    match key {
        Value::String(text) => Ok(text),
        Value::Null => Ok(String::new()),
        Value::Bool(_) | Value::Number(_) => Ok(key.to_string()),
        Value::Array(_) | Value::Object(_) => {
            Err(FrontmatterError::Unsupported("a key that is no text"))
        }
    }
}

fn scalar(text: String, style: TScalarStyle, tag: Option<&Tag>) -> Value {
    let plain = match tag {
        None => style == TScalarStyle::Plain,
        Some(tag) => {
            tag.handle == "tag:yaml.org,2002:"
                && matches!(&*tag.suffix, "int" | "float" | "bool" | "null")
        }
    };
    if plain {
        core(text)
    } else {
        Value::String(text)
    }
}

/// Reads a plain scalar by the core schema of YAML 1.2.
fn core(text: String) -> Value {
    match &*text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    number(&text).unwrap_or(Value::String(text))
}

fn number(text: &str) -> Option<Value> {
    let radix = |digits: &str, radix: u32| {
        let all = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
        let value = all.then(|| i64::from_str_radix(digits, radix).ok())?;
        value.map(Value::from)
    };
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        // JSON has no such number; a client in JavaScript writes null.
        return Some(Value::Null);
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_is_sound = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    let sound = digits(whole)
        && digits(fraction)
        && exponent_is_sound
        && !(whole.is_empty() && fraction.is_empty());
    if !sound {
        return None;
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::from(whole));
    }
    let value: f64 = text.parse().ok()?;
    whole_number(value).or_else(|| Number::from_f64(value).map(Value::Number))
}

/// `1.0` and `1` are one number.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the value is whole and within the exact range"
)]
fn whole_number(value: f64) -> Option<Value> {
    (value.fract() == 0.0 && value.abs() < 9e15).then(|| Value::from(value as i64))
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]
    use serde_json::json;

    use super::*;

    fn with(yaml: &str) -> String {
        format!("---\nname: a-b\ndescription: d\n{yaml}---\nText\n")
    }

    #[test]
    fn values_follow_the_core_schema() {
        for (yaml, value) in [
            ("yes", json!("yes")),
            ("2024-01-02", json!("2024-01-02")),
            ("~", Value::Null),
            ("", Value::Null),
            ("\"\"", json!("")),
            ("True", json!(true)),
            ("1.0", json!(1)),
            ("1.5", json!(1.5)),
            ("0o17", json!(15)),
            ("017", json!(17)),
            ("0xff", json!(255)),
            ("-3", json!(-3)),
            ("1e3", json!(1000)),
            ("1.0.0", json!("1.0.0")),
            ("'1.0'", json!("1.0")),
            ("\"x\\ty\"", json!("x\ty")),
            (".", json!(".")),
            ("e3", json!("e3")),
            ("[a, 1]", json!(["a", 1])),
            ("{a: b}", json!({"a": "b"})),
            ("!!str 5", json!("5")),
            ("!other 5", json!("5")),
        ] {
            let map = read(&with(&format!("x: {yaml}\n"))).unwrap();
            assert_eq!(map.get("x"), Some(&value), "{yaml}");
        }
        let block = read(&with("x: |\n  one\n  two\n<<: y\n5: z\n")).unwrap();
        assert_eq!(block.get("x"), Some(&json!("one\ntwo\n")));
        assert_eq!((&block["<<"], &block["5"]), (&json!("y"), &json!("z")));
    }

    #[test]
    fn the_fence_is_exact() {
        let read_name = |text: &str| read(text).map(|map| map["name"].clone());
        let sound = "name: a\ndescription: d\n";
        for text in [
            format!("---\n{sound}---"),
            format!("\u{feff}---\r\n{}--- \t\r\nx", sound.replace('\n', "\r\n")),
            format!("---\n{sound}---\n---\n"),
        ] {
            assert_eq!(read_name(&text), Ok(json!("a")), "{text:?}");
        }
        for text in [
            String::new(),
            sound.to_owned(),
            format!("--- \n{sound}---\n"),
            format!("\n---\n{sound}---\n"),
            format!("---\n{sound}...\n"),
            format!("---\n{sound}----\n"),
            "---\n---\n".to_owned(),
        ] {
            assert_eq!(read_name(&text), Err(FrontmatterError::Absent), "{text:?}");
        }
    }

    #[test]
    fn what_hosts_would_refuse_is_refused() {
        use FrontmatterError as Error;
        let failing = |yaml: &str| read(&with(yaml)).unwrap_err();
        assert_eq!(failing("name: c\n"), Error::Repeated("name".to_owned()));
        assert!(matches!(failing("x: a: b: c\n"), Error::Yaml(_)));
        assert_eq!(failing("x: &a 1\ny: *a\n"), Error::Unsupported("an alias"));
        let deep = format!("x: {}{}\n", "[".repeat(40), "]".repeat(40));
        assert!(matches!(
            failing(&deep),
            Error::Unsupported(_) | Error::Yaml(_)
        ));
        let large = format!("x: {}\n", "a".repeat(MAX_FRONTMATTER_BYTES));
        assert_eq!(failing(&large), Error::TooLarge);
        assert_eq!(read("---\n- a\n---\n"), Err(Error::NoMap));
        assert_eq!(read("---\nname: a\n---\n"), Err(Error::Description));
        for name in ["A", "a_b", "-a", "a-", "a--b", "''", "5", "ä"] {
            let text = format!("---\nname: {name}\ndescription: d\n---\n");
            assert_eq!(read(&text), Err(Error::Name), "{name}");
        }
        assert!(is_skill_name(&"a".repeat(64)) && !is_skill_name(&"a".repeat(65)));
    }
}
