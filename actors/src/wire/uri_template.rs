//! URI templates: made into URIs, and matched against them. Spec: RFC 6570, levels 1 to 3.
//!
//! Matching is the reverse of expansion: a URI matches when the template could have made it. URIs
//! are compared in a normal form, so that `café` and `caf%C3%A9` are the same. Of several readings
//! the one in which earlier variables are shorter wins. The time grows with the length of the URI
//! times that of the template, whatever they hold.

mod encode;
mod matching;
#[cfg(test)]
mod tests;

use std::{fmt, str::FromStr};

use indexmap::IndexMap;

use self::encode::append_encoded;
pub use self::encode::normalize;

/// The longest template. Templates are written by hand.
pub const MAX_TEMPLATE_BYTES: usize = 2048;
/// The most expressions and literals of a template.
const MAX_PARTS: usize = 64;
/// The longest URI that is matched; servers and proxies refuse longer ones as well.
pub const MAX_URI_BYTES: usize = 8192;

/// Values by the name of their variable. What is not there is undefined.
pub type Variables = IndexMap<String, String>;

/// A parsed template, such as `notes://{id}` or `docs://search{?query,page}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriTemplate {
    text: Box<str>,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Text in normal form.
    Literal(Box<str>),
    Expression {
        operator: Operator,
        names: Vec<Box<str>>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    PathParameter,
    Query,
    QueryContinuation,
}

/// Why a text is no template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UriTemplateError {
    /// It is empty or too long.
    #[error("a uri template has 1 to {MAX_TEMPLATE_BYTES} bytes")]
    Length,
    /// It has too many parts.
    #[error("a uri template has at most {MAX_PARTS} parts")]
    TooManyParts,
    /// A brace has no partner.
    #[error("the brace at byte {0} has no partner")]
    Brace(usize),
    /// An expression names no variable, or one that is malformed.
    #[error(
        "the expression at byte {0} has no proper variable: letters, digits, `_`, `.` and `%xx`"
    )]
    Variable(usize),
    /// A variable occurs twice, so a URI could give it two values.
    #[error("the variable in the expression at byte {0} occurs twice")]
    Repeated(usize),
    /// `:3` and `*` are for lists and maps, which no URI of MCP holds.
    #[error("the expression at byte {0} has a modifier (`:n` or `*`)")]
    Modifier(usize),
    /// The operator is one that RFC 6570 reserves.
    #[error("the operator at byte {0} is reserved")]
    Operator(usize),
}

impl Operator {
    fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            b'+' => Self::Reserved,
            b'#' => Self::Fragment,
            b'.' => Self::Label,
            b'/' => Self::Path,
            b';' => Self::PathParameter,
            b'?' => Self::Query,
            b'&' => Self::QueryContinuation,
            _ => return None,
        })
    }

    /// What stands before the first value, if there is any.
    const fn first(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved => "",
            Self::Fragment => "#",
            Self::Label => ".",
            Self::Path => "/",
            Self::PathParameter => ";",
            Self::Query => "?",
            Self::QueryContinuation => "&",
        }
    }

    const fn separator(self) -> char {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ',',
            Self::Label => '.',
            Self::Path => '/',
            Self::PathParameter => ';',
            Self::Query | Self::QueryContinuation => '&',
        }
    }

    const fn is_named(self) -> bool {
        matches!(
            self,
            Self::PathParameter | Self::Query | Self::QueryContinuation
        )
    }

    /// Values may hold reserved characters, such as `/`.
    const fn allows_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }
}

impl UriTemplate {
    /// Reads a template.
    ///
    /// # Errors
    /// [`UriTemplateError`] with the place of what is wrong.
    pub fn parse(text: &str) -> Result<Self, UriTemplateError> {
        if text.is_empty() || text.len() > MAX_TEMPLATE_BYTES {
            return Err(UriTemplateError::Length);
        }
        let mut parts = Vec::new();
        let mut seen: Vec<Box<str>> = Vec::new();
        let mut rest = text;
        let mut at = 0;
        while !rest.is_empty() {
            let brace = rest.find(['{', '}']).unwrap_or(rest.len());
            let (literal, tail) = rest.split_at(brace);
            if !literal.is_empty() {
                parts.push(Part::Literal(normalize(literal).into()));
            }
            at += brace;
            rest = tail;
            let Some(inner) = rest.strip_prefix('{') else {
                if rest.is_empty() {
                    break;
                }
                return Err(UriTemplateError::Brace(at));
            };
            let Some((expression, tail)) = inner.split_once('}') else {
                return Err(UriTemplateError::Brace(at));
            };
            parts.push(read_expression(expression, at, &mut seen)?);
            at += expression.len() + 2;
            rest = tail;
        }
        if parts.len() > MAX_PARTS {
            return Err(UriTemplateError::TooManyParts);
        }
        Ok(Self {
            text: text.into(),
            parts,
        })
    }

    /// Gives the template as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Gives the names of the variables, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| {
            match part {
                Part::Literal(_) => [].iter(),
                Part::Expression { names, .. } => names.iter(),
            }
            .map(AsRef::as_ref)
        })
    }

    /// Makes the URI for these values.
    #[must_use]
    pub fn expand(&self, values: &Variables) -> String {
        let mut out = String::with_capacity(self.text.len() + 16);
        for part in &self.parts {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Expression { operator, names } => {
                    expand_expression(&mut out, *operator, names, values);
                }
            }
        }
        out
    }

    /// Matches a URI and gives the values of the variables, decoded.
    ///
    /// `{name}` takes at least one character and never a `/`; `{+name}` takes any. The variables of
    /// a query may be missing and may come in any order, but no others may stand beside them.
    /// Values come from outside: a `..` or a `/` that was encoded is in them as it was sent.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<Variables> {
        if uri.len() > MAX_URI_BYTES {
            return None;
        }
        self.matches_normal(&normalize(uri))
    }

    /// Matches a URI that is in normal form already.
    #[must_use]
    pub fn matches_normal(&self, uri: &str) -> Option<Variables> {
        matching::matches(&self.parts, uri)
    }

    /// Orders templates for a URI that several of them match: the one with more literal text and
    /// fewer far-reaching variables is asked first.
    #[must_use]
    pub fn specificity(&self) -> impl Ord + use<> {
        let mut literal = 0;
        let mut reserved = 0;
        let mut variables = 0;
        for part in &self.parts {
            match part {
                Part::Literal(text) => literal += text.len(),
                Part::Expression { operator, names } => {
                    variables += names.len();
                    reserved += usize::from(operator.allows_reserved());
                }
            }
        }
        (
            std::cmp::Reverse(reserved),
            literal,
            std::cmp::Reverse(variables),
        )
    }
}

fn read_expression(
    text: &str,
    at: usize,
    seen: &mut Vec<Box<str>>,
) -> Result<Part, UriTemplateError> {
    let (operator, list) = match text.as_bytes().first() {
        None => return Err(UriTemplateError::Variable(at)),
        Some(b'=' | b',' | b'!' | b'@' | b'|') => return Err(UriTemplateError::Operator(at + 1)),
        Some(&byte) => match Operator::of(byte) {
            Some(operator) => (operator, text.get(1..).unwrap_or_default()),
            None => (Operator::Simple, text),
        },
    };
    let mut names = Vec::new();
    for name in list.split(',') {
        if name.contains(['*', ':']) {
            return Err(UriTemplateError::Modifier(at));
        }
        if !is_variable(name) {
            return Err(UriTemplateError::Variable(at));
        }
        // A URI shows both spellings of one name alike.
        let spelled = normalize(name).into();
        if seen.contains(&spelled) {
            return Err(UriTemplateError::Repeated(at));
        }
        seen.push(spelled);
        names.push(name.into());
    }
    Ok(Part::Expression { operator, names })
}

fn is_variable(name: &str) -> bool {
    let sound = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'%'))
    };
    name.split('.').all(sound) && encode::is_well_encoded(name)
}

fn expand_expression(out: &mut String, operator: Operator, names: &[Box<str>], values: &Variables) {
    let mut first = true;
    for name in names {
        let Some(value) = values.get(&**name) else {
            continue;
        };
        if first {
            out.push_str(operator.first());
        } else {
            out.push(operator.separator());
        }
        first = false;
        if operator.is_named() {
            out.push_str(name);
            // RFC 6570 3.2.7: a path parameter without a value has no `=` either.
            if operator != Operator::PathParameter || !value.is_empty() {
                out.push('=');
            }
        }
        append_encoded(out, value, operator.allows_reserved());
    }
}

impl FromStr for UriTemplate {
    type Err = UriTemplateError;

    fn from_str(text: &str) -> Result<Self, UriTemplateError> {
        Self::parse(text)
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}
