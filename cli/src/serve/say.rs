//! What the terminal shows.

use std::{error::Error, io::Write as _, net::SocketAddr, time::Duration};

use futures_util::{StreamExt as _, stream::FuturesUnordered};

use super::token::Token;
use crate::{http::Shared, source::Source};

/// What is not connected by then is named as being waited for.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Says one line. A terminal that is gone is no reason to stop.
pub(super) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Says what went wrong, with its causes.
pub(crate) fn say_error(error: &dyn Error) {
    let mut line = format!("error: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(&format!(": {error}"));
        cause = error.source();
    }
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Says where it is served, who answers, and what is connected.
///
/// The address comes first: it is what people and scripts wait for.
pub(super) async fn announce(addr: SocketAddr, token: Option<Token>, shared: Shared) {
    match token {
        None => say(&format!("roscius is at http://{addr}")),
        Some(token) => {
            let token = token.on_terminal();
            say(&format!("roscius is at http://{addr}/?token={token}"));
        }
    }
    say(&format!("  model {}", shared.model.id()));
    let connecting = shared.sources.iter().cloned().map(|source| async move {
        // The outcome is in the source's own words.
        let _ = source.refresh().await;
        source
    });
    let mut connecting: FuturesUnordered<_> = connecting.collect();
    let patience = tokio::time::sleep(PATIENCE);
    tokio::pin!(patience);
    let mut patient = true;
    let mut said = Vec::new();
    loop {
        tokio::select! {
            source = connecting.next() => {
                let Some(source) = source else { return };
                say(&standing(&source));
                said.push(source.info().name);
            }
            () = &mut patience, if patient => {
                patient = false;
                let all = shared.sources.iter().map(Source::info);
                for info in all.filter(|info| !said.contains(&info.name)) {
                    say(&format!("  mcp {} at {}: still connecting", info.name, info.url));
                }
            }
        }
    }
}

fn standing(source: &Source) -> String {
    let info = source.info();
    let (name, url) = (&info.name, &info.url);
    match (&info.error, info.tools.len()) {
        (Some(error), _) => {
            format!("  mcp {name}: not connected, runs go on without it and try again: {error}")
        }
        (None, 1) => format!("  mcp {name} at {url}: 1 tool"),
        (None, count) => format!("  mcp {name} at {url}: {count} tools"),
    }
}
