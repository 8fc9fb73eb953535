//! One line of an allowlist.

use std::{fmt, net::IpAddr};

use super::{
    EgressError,
    target::{Host, Target, implied_port, read_port, read_scheme, split_port},
};

/// The most that an error shows of a rule, in characters.
const MAX_SHOWN: usize = 80;

/// Some hosts, under some schemes, at some ports.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Rule {
    /// `http` and `https` without one.
    scheme: Option<String>,
    host: Hosts,
    port: Port,
}

#[derive(Clone, PartialEq, Eq)]
enum Hosts {
    All,
    Name(String),
    /// Every name that ends with a dot and this.
    Below(String),
    Address(IpAddr),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Port {
    Any,
    /// The one that the scheme implies.
    Implied,
    One(u16),
}

impl Rule {
    pub(super) fn read(text: &str) -> Result<Self, EgressError> {
        Self::parse(text).map_err(|reason| {
            let rule = shown(text);
            EgressError::Rule { rule, reason }
        })
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(read_scheme(scheme)?.into_owned()), rest),
            None => (None, text),
        };
        // An origin is often copied with its slash.
        let rest = match scheme {
            Some(_) => rest.strip_suffix('/').unwrap_or(rest),
            None => rest,
        };
        if rest.contains(['/', '?', '#']) {
            return Err("has a path: egress is decided by scheme, host and port");
        }
        if rest.contains('@') {
            return Err("holds a user or a password");
        }
        let (host, port) = split_port(rest);
        let port = match port {
            None => Port::Implied,
            Some("*") => Port::Any,
            Some(port) => Port::One(read_port(port)?),
        };
        let known = |scheme: &String| implied_port(scheme).is_some();
        if port == Port::Implied && !scheme.as_ref().is_none_or(known) {
            return Err("needs a port, which its scheme does not imply");
        }
        let host = match (host, host.strip_prefix("*.")) {
            ("*", _) => Hosts::All,
            (_, Some(parent)) => match Host::read(parent)? {
                Host::Name(parent) => Hosts::Below(format!(".{parent}")),
                Host::Address(_) => return Err("has a `*.` before an address"),
            },
            (host, None) => match Host::read(host)? {
                Host::Name(name) => Hosts::Name(name),
                Host::Address(address) => Hosts::Address(address),
            },
        };
        Ok(Self { scheme, host, port })
    }

    pub(super) fn fits(&self, target: &Target<'_>) -> bool {
        let scheme = match &self.scheme {
            Some(scheme) => *scheme == target.scheme,
            None => matches!(&*target.scheme, "http" | "https"),
        };
        let port = match self.port {
            Port::Any => true,
            Port::Implied => implied_port(&target.scheme) == Some(target.port),
            Port::One(port) => port == target.port,
        };
        let host = match (&self.host, &target.host) {
            (Hosts::All, _) => true,
            (Hosts::Name(own), Host::Name(name)) => own == name,
            (Hosts::Below(parent), Host::Name(name)) => name.ends_with(parent.as_str()),
            (Hosts::Address(own), Host::Address(address)) => own == address,
            _ => false,
        };
        scheme && port && host
    }

    /// Tells whether the rule writes out an address.
    pub(super) const fn is_address(&self) -> bool {
        matches!(self.host, Hosts::Address(_))
    }
}

/// Gives what an error shows of a rule: a password may stand before an `@`, and paths of URLs are
/// secrets at times.
fn shown(text: &str) -> String {
    let text = text.rsplit('@').next().unwrap_or_default();
    let host = text.find("://").map_or(0, |at| at + "://".len());
    let rest = text.get(host..).unwrap_or_default();
    let path = rest
        .find(['/', '?', '#'])
        .filter(|at| at + 1 < rest.len())
        .map(|at| host + at + 1);
    let mut shown: String = text
        .get(..path.unwrap_or(text.len()))
        .unwrap_or_default()
        .chars()
        .take(MAX_SHOWN)
        .collect();
    if path.is_some() {
        shown.push('…');
    }
    shown
}

impl fmt::Display for Hosts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => out.write_str("*"),
            Self::Name(name) => out.write_str(name),
            Self::Below(parent) => write!(out, "*{parent}"),
            Self::Address(address) => Host::Address(*address).fmt(out),
        }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = &self.scheme {
            write!(out, "{scheme}://")?;
        }
        write!(out, "{}", self.host)?;
        match self.port {
            Port::Any => out.write_str(":*"),
            Port::Implied => Ok(()),
            Port::One(port) => write!(out, ":{port}"),
        }
    }
}
