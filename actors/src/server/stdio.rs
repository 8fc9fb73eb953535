//! The server as a child process: one JSON-RPC message a line. Spec: MCP "Transports", stdio.
#![cfg(feature = "stdio")]

mod desk;
mod lines;
mod output;

use std::{io, time::Duration};

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    sync::mpsc::{Receiver, channel},
};

use self::{desk::Desk, lines::Lines};
use super::{McpServer, fault::ServerFault};

/// Lines that wait for a client that is slow to read; then whoever writes waits, too.
const WAITING_LINES: usize = 64;
/// How long calls may go on after the client has ended the input. Nobody may be left to read their
/// answers, and the spec wants the process to end promptly: clients kill it after two seconds or so.
const DRAIN: Duration = Duration::from_secs(1);

/// Serves standard input and output until the input ends: both eras, requests at the same time.
///
/// The process that started this one is trusted: neither tokens nor scopes are asked for. Standard
/// output carries the protocol and nothing else, so the application must not print: no `println!`,
/// and a log subscriber that writes to standard error. Nothing can take standard output away from a
/// library that prints, short of `unsafe` code, which this crate has none of; `clippy::print_stdout`
/// finds what your own code prints.
///
/// 2025 clients can be asked if the server keeps sessions
/// ([`Sessions::Memory`](super::Sessions::Memory)); without them a tool that asks gets an error. A
/// message longer than [`max_body_bytes`](super::McpServerBuilder::max_body_bytes) is answered with
/// an error and skipped.
///
/// When the input has ended, calls have one second, then they are cancelled and this function
/// returns. A thread of [`Tool::blocking`](crate::tool::Tool::blocking) that does not look at its
/// token still keeps the process: call [`std::process::exit`] if that must not be. Needs a tokio
/// runtime; sessions need an actix system.
///
/// ```no_run
/// use roscius_actors::server::{McpServer, serve_stdio};
///
/// # async fn main_() -> Result<(), Box<dyn std::error::Error>> {
/// let server = McpServer::new("notes", "1.0.0").build()?;
/// serve_stdio(server).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When the input cannot be read or the output cannot be written. A client that closes its end of
/// the output is such an error.
pub async fn serve_stdio(server: McpServer) -> io::Result<()> {
    serve_io(server, tokio::io::stdin(), tokio::io::stdout()).await
}

/// Serves a pair of pipes as [`serve_stdio`] does standard input and output; for example a Unix
/// socket.
///
/// # Errors
/// As [`serve_stdio`].
pub async fn serve_io<R, W>(server: McpServer, input: R, output: W) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (sender, receiver) = channel(WAITING_LINES);
    let lines = Lines::new(input, server.max_body_bytes());
    let mut desk = Desk::new(server.clone(), sender);
    let serving = async move {
        let read = desk.serve(lines).await;
        desk.drain(DRAIN).await;
        read
    };
    let writing = write_lines(output, receiver);
    tokio::pin!(serving, writing);
    let ended = tokio::select! {
        // Nobody reads any more: calls are dropped, and that cancels them.
        written = &mut writing => written,
        read = &mut serving => {
            let written = tokio::time::timeout(DRAIN, writing).await;
            read.and(written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())))
        }
    };
    if let Err(error) = &ended {
        server.0.report(&ServerFault::Transport(error.to_string()));
    }
    ended
}

/// Writes what is ready in one go, until nobody can send any more.
async fn write_lines(
    mut output: impl AsyncWrite + Unpin,
    mut lines: Receiver<Bytes>,
) -> io::Result<()> {
    while let Some(line) = lines.recv().await {
        output.write_all(&line).await?;
        if lines.is_empty() {
            output.flush().await?;
        }
    }
    output.flush().await
}
