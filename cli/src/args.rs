//! What the command line says.

use std::{net::SocketAddr, path::PathBuf, str::FromStr};

use clap::{Args, Parser, Subcommand};

use crate::approve::Approve;

/// Names longer than this make tool names that models refuse.
const MAX_NAME_CHARS: usize = 32;

/// An actor runtime for MCP and chat: a chat page with a demo MCP server, in one process.
#[derive(Debug, Parser)]
#[command(name = "roscius", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the chat page, the chat endpoint and the demo MCP server (the default).
    Serve(ServeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787")]
    pub(crate) addr: SocketAddr,
    /// Who answers: `demo`, `openai:<model>` (key in OPENAI_API_KEY) or `scripted:<file>`.
    #[arg(long, value_name = "MODEL", default_value = "demo")]
    pub(crate) model: ModelChoice,
    /// Where the model is, with `--model openai:…`; a gateway on your machine, for example.
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    pub(crate) base_url: Option<String>,
    /// Connect an MCP server; its tools are called `<name>_<tool>`. May be given more than once.
    #[arg(long = "mcp", value_name = "NAME=URL")]
    pub(crate) servers: Vec<NamedServer>,
    /// Which tools a person has to agree to: those that are not read-only, all, or none.
    #[arg(long, value_name = "WHICH", default_value = "writes", value_enum)]
    pub(crate) approve: Approve,
    /// Leave the demo MCP server out.
    #[arg(long)]
    pub(crate) no_demo_server: bool,
    /// Serve only who knows this; needed to listen on an address that others can reach. Other users
    /// of the machine can read command lines: ROSCIUS_TOKEN in the environment does the same.
    #[arg(long, value_name = "TOKEN", value_parser = parse_token, conflicts_with = "insecure")]
    pub(crate) token: Option<String>,
    /// Listen on an address that others can reach, without a token.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// A name that requests may be sent to, for example behind a proxy. May be given more than once.
    #[arg(long = "allowed-host", value_name = "HOST", value_parser = parse_host)]
    pub(crate) allowed_hosts: Vec<String>,
    /// A web page that may use the chat and MCP, by its origin. May be given more than once.
    #[arg(long = "allow-origin", value_name = "ORIGIN", value_parser = parse_origin)]
    pub(crate) allow_origins: Vec<String>,
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ModelChoice {
    Demo,
    OpenAi(String),
    Scripted(PathBuf),
}

impl FromStr for ModelChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            None if text == "demo" => Ok(Self::Demo),
            Some(("openai", model)) if !model.is_empty() => Ok(Self::OpenAi(model.to_owned())),
            Some(("scripted", file)) if !file.is_empty() => Ok(Self::Scripted(file.into())),
            _ => Err("expected `demo`, `openai:<model>` or `scripted:<file>`".to_owned()),
        }
    }
}

/// An MCP server and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedServer {
    pub(crate) name: String,
    pub(crate) url: String,
}

impl FromStr for NamedServer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((name, url)) = text.split_once('=') else {
            return Err("expected `<name>=<url>`".to_owned());
        };
        let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        if name.is_empty() || name.chars().count() > MAX_NAME_CHARS || !name.chars().all(fits) {
            return Err(format!(
                "the name `{name}` must be 1 to {MAX_NAME_CHARS} letters, digits, `_` or `-`"
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            url: parse_url(url)?,
        })
    }
}

fn parse_url(text: &str) -> Result<String, String> {
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    match host {
        Some(host) if !host.is_empty() && !host.contains(char::is_whitespace) => {
            Ok(text.to_owned())
        }
        _ => Err(format!("`{text}` is no http:// or https:// address")),
    }
}

/// Tells whether an address holds a user or a password.
pub(crate) fn has_credentials(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next();
    authority.is_some_and(|authority| authority.contains('@'))
}

fn parse_host(text: &str) -> Result<String, String> {
    let fits = |letter: char| letter.is_ascii_graphic() && !"/?#@,*".contains(letter);
    if !text.is_empty() && text.chars().all(fits) {
        Ok(text.to_owned())
    } else {
        Err("expected a host, with or without a port: `chat.example.com`".to_owned())
    }
}

fn parse_origin(text: &str) -> Result<String, String> {
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    match rest {
        Some(host) if parse_host(host).is_ok() => Ok(text.to_owned()),
        _ => Err("expected an origin: `https://app.example.com`".to_owned()),
    }
}

/// The token travels in a header, a cookie and an address.
pub(crate) fn parse_token(text: &str) -> Result<String, String> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if text.len() >= 8 && text.chars().all(fits) {
        Ok(text.to_owned())
    } else {
        Err("a token has at least 8 letters, digits, `-`, `_` or `.`".to_owned())
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a failed expectation is the test failing"
    )]

    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn serve_is_what_no_command_means() {
        let bare = Cli::try_parse_from(["roscius", "--no-demo-server"]).unwrap();
        assert!(bare.command.is_none() && bare.serve.no_demo_server);
        let named = Cli::try_parse_from(["roscius", "serve", "--no-demo-server"]).unwrap();
        let Some(Command::Serve(args)) = named.command else {
            unreachable!("serve is a command");
        };
        assert!(args.no_demo_server);
        assert_eq!(args.addr.to_string(), "127.0.0.1:8787");
    }

    #[test]
    fn models_and_servers_are_read_from_their_short_forms() {
        let table = [
            ("demo", Ok(ModelChoice::Demo)),
            ("openai:gpt-5", Ok(ModelChoice::OpenAi("gpt-5".to_owned()))),
            (
                "scripted:a:b.json",
                Ok(ModelChoice::Scripted("a:b.json".into())),
            ),
        ];
        for (text, expected) in table {
            assert_eq!(text.parse(), expected, "{text}");
        }
        for text in ["", "openai", "openai:", "scripted:", "gpt-5", "demo:x"] {
            assert!(text.parse::<ModelChoice>().is_err(), "{text}");
        }
        let server: NamedServer = "files=http://127.0.0.1:1/mcp?a=b".parse().unwrap();
        assert_eq!(
            (server.name.as_str(), server.url.as_str()),
            ("files", "http://127.0.0.1:1/mcp?a=b")
        );
        for text in [
            "files",
            "=http://a",
            "a b=http://a",
            "f=ftp://a",
            "f=http://",
            "f=127.0.0.1",
        ] {
            assert!(text.parse::<NamedServer>().is_err(), "{text}");
        }
    }

    #[test]
    fn hosts_and_origins_are_those_that_requests_can_name() {
        for host in ["chat.example.com", "localhost:8787", "[::1]:80"] {
            assert!(parse_host(host).is_ok(), "{host}");
            assert!(parse_origin(&format!("https://{host}")).is_ok(), "{host}");
        }
        for text in ["", "a b", "http://a", "a/b", "*", "u@h"] {
            assert!(parse_host(text).is_err(), "{text}");
        }
        for text in [
            "a.example.com",
            "https://",
            "https://a/",
            "ftp://a",
            "*",
            "null",
        ] {
            assert!(parse_origin(text).is_err(), "{text}");
        }
    }

    #[test]
    fn credentials_are_seen_where_they_count() {
        for (url, holds) in [
            ("http://user:pw@host/mcp", true),
            ("https://user@host", true),
            ("https://host/a@b?c=@", false),
            ("http://host", false),
        ] {
            assert_eq!(has_credentials(url), holds, "{url}");
        }
    }
}
