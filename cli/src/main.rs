//! The roscius binary.
//!
//! Without arguments it serves: a chat page, the chat endpoint behind it, and a demo MCP server.

mod approve;
mod args;
mod demo;
mod http;
mod models;
mod serve;
mod source;

use std::{io::IsTerminal as _, process::ExitCode};

use clap::Parser as _;
use tracing_subscriber::EnvFilter;

use args::{Cli, Command};

/// The program was asked for something it cannot do.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    let args = match cli.command {
        Some(Command::Serve(args)) => args,
        None => cli.serve,
    };
    match actix_rt::System::new().block_on(serve::serve(args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            serve::say_error(&error);
            match error.is_usage() {
                true => ExitCode::from(EXIT_USAGE),
                false => ExitCode::FAILURE,
            }
        }
    }
}
