//! The token that a request has to show, from the command line or the environment.

use crate::args::{ServeArgs, parse_token};

const VARIABLE: &str = "ROSCIUS_TOKEN";

/// The environment holds a token that cannot serve.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("{VARIABLE}: {0}")]
    Malformed(String),
    #[error("{VARIABLE} is set and --insecure would serve everybody: choose one of them")]
    Insecure,
}

/// A token.
#[derive(Clone)]
pub(crate) struct Token {
    text: String,
    /// It was typed, so the terminal knows it.
    shown: bool,
}

impl Token {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Gives what stands for the token on the terminal.
    pub(super) fn on_terminal(&self) -> &str {
        if self.shown {
            &self.text
        } else {
            "<ROSCIUS_TOKEN>"
        }
    }
}

/// Reads the token; the command line comes first. An empty variable is none.
pub(super) fn read(args: &ServeArgs) -> Result<Option<Token>, TokenError> {
    if let Some(text) = &args.token {
        return Ok(Some(Token {
            text: text.clone(),
            shown: true,
        }));
    }
    let text = match std::env::var(VARIABLE) {
        Ok(text) if !text.is_empty() => text,
        Ok(_) | Err(std::env::VarError::NotPresent) => return Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            return Err(TokenError::Malformed("not a text".to_owned()));
        }
    };
    if args.insecure {
        return Err(TokenError::Insecure);
    }
    let text = parse_token(&text).map_err(TokenError::Malformed)?;
    Ok(Some(Token { text, shown: false }))
}
