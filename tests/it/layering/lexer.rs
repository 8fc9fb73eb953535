//! Just enough Rust to read paths: comments and literals are blanked, the rest is cut into words.

/// A word, `::`, or a single other character, with the line it stands on (from 1).
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

impl Token<'_> {
    pub(super) fn is_word(&self) -> bool {
        self.text.starts_with(is_word_char)
    }
}

fn is_word_char(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Cuts blanked code into tokens.
pub(super) fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = if is_word_char(first) {
            rest.find(|character| !is_word_char(character))
                .unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (text, tail) = rest.split_at(length);
        if !first.is_whitespace() {
            tokens.push(Token { text, line });
        }
        if first == '\n' {
            line += 1;
        }
        rest = tail;
    }
    tokens
}

/// Replaces comments, strings and characters by spaces; line breaks stay where they are.
pub(super) fn blank(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    let mut after_word = false;
    while let Some(first) = rest.chars().next() {
        let skip = literal_or_comment(rest, after_word);
        if skip == 0 {
            out.push(first);
            after_word = is_word_char(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (gone, tail) = rest.split_at(skip);
        out.extend(
            gone.chars()
                .map(|character| if character == '\n' { '\n' } else { ' ' }),
        );
        after_word = false;
        rest = tail;
    }
    out
}

/// Length in bytes of the comment or literal that `rest` begins with; 0 when there is none.
fn literal_or_comment(rest: &str, after_word: bool) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    if rest.starts_with('"') {
        return quoted(rest, 1);
    }
    if rest.starts_with('\'') {
        return character(rest);
    }
    if after_word {
        return 0;
    }
    let raw = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
    if let Some(body) = raw.strip_prefix('r') {
        let hashes = body.len() - body.trim_start_matches('#').len();
        if body[hashes..].starts_with('"') {
            let close = format!("\"{}", &body[..hashes]);
            let start = rest.len() - body.len() + hashes + 1;
            return rest[start..]
                .find(&close)
                .map_or(rest.len(), |at| start + at + close.len());
        }
    }
    0
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn quoted(rest: &str, start: usize) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip_while(|(at, _)| *at < start) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A character literal, or 0 when the quote begins a lifetime.
fn character(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    let Some((_, first)) = characters.next() else {
        return 0;
    };
    if first == '\\' {
        characters.next();
        return characters
            .find(|(_, character)| *character == '\'')
            .map_or(0, |(at, _)| at + 1);
    }
    match characters.next() {
        Some((at, '\'')) => at + 1,
        _ => 0,
    }
}
