//! The server as a child process: one JSON-RPC message a line. Spec: MCP "Transports", stdio.
#![cfg(feature = "stdio")]

mod desk;
mod lines;
mod output;

use std::{io, pin::pin, time::Duration};

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
/// A 2025 client gets a session, in which it can be asked, unless the server was built with other
/// [`sessions`](super::McpServerBuilder::sessions); without one a tool that asks gets an error. A
/// message longer than [`max_body_bytes`](super::McpServerBuilder::max_body_bytes) is answered with
/// an error and skipped.
///
/// When the input has ended, calls have one second, then they are cancelled and this function
/// returns. A thread of [`Tool::blocking`](crate::tool::Tool::blocking) that does not look at its
/// token still keeps the process, and so does the read of an input that is still open after an
/// error: call [`std::process::exit`] if that must not be. Needs a tokio runtime.
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
/// A client that closes both pipes says goodbye, even while answers are on their way.
///
/// # Errors
/// When the input cannot be read or the output cannot be written. A client that closes the output
/// alone, and does not end the input within a second, is such an error.
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
    let mut lines = Lines::new(input, server.max_body_bytes());
    let mut desk = Desk::new(server.clone(), sender);
    let mut writing = pin!(write_lines(output, receiver));
    let first = {
        let mut serving = pin!(async {
            let read = desk.serve(&mut lines).await;
            desk.drain(DRAIN).await;
            read
        });
        tokio::select! {
            written = &mut writing => Ended::Output(written),
            read = &mut serving => Ended::Input(read),
        }
    };
    // What still runs is dropped, and that cancels it: nobody reads any more, or its time is over.
    drop(desk);
    let ended = match first {
        Ended::Input(read) => {
            let written = tokio::time::timeout(DRAIN, writing).await;
            let written = written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            unless_gone(read).and(unless_gone(written))
        }
        // Only a client that keeps its other end open is still there.
        Ended::Output(Err(error)) if is_gone(&error) => {
            let rest = tokio::time::timeout(DRAIN, lines.skip_rest()).await;
            rest.map_or(Err(error), unless_gone)
        }
        Ended::Output(written) => written,
    };
    if let Err(error) = &ended {
        server.0.report(&ServerFault::Transport(error.to_string()));
    }
    ended
}

/// Which of the pipes ended first.
enum Ended {
    Input(io::Result<()>),
    Output(io::Result<()>),
}

/// Tells whether an error says that the other end was closed. A socket that is closed with something
/// unread says so to whoever reads, too.
fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    matches!(
        error.kind(),
        BrokenPipe | ConnectionReset | ConnectionAborted
    )
}

fn unless_gone(ended: io::Result<()>) -> io::Result<()> {
    ended.or_else(|error| if is_gone(&error) { Ok(()) } else { Err(error) })
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
