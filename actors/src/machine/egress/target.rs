//! The place that a URL names.

use std::{
    borrow::Cow,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use super::EgressError;

/// The longest name that DNS knows, in bytes.
const MAX_NAME_BYTES: usize = 253;

/// Scheme, host and port of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target<'a> {
    pub(super) scheme: Cow<'a, str>,
    pub(super) host: Host,
    pub(super) port: u16,
}

/// A host in the one way it is written here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// In lower case, without a dot at its end.
    Name(String),
    /// An IPv4 address that is written as an IPv6 address is an IPv4 address.
    Address(IpAddr),
}

impl<'a> Target<'a> {
    pub(super) fn read(url: &'a str) -> Result<Self, EgressError> {
        let unclear = |reason| EgressError::Unclear { reason };
        let (scheme, rest) = url.split_once("://").ok_or(unclear("has no scheme"))?;
        let scheme = read_scheme(scheme).map_err(unclear)?;
        // Browsers and their kin end an authority at a backslash, others do not; `Host::read` has
        // no place for one.
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let authority = rest.get(..end).unwrap_or_default();
        if authority.contains('@') {
            return Err(unclear("holds a user or a password"));
        }
        let (host, port) = split_port(authority);
        let host = Host::read(host).map_err(unclear)?;
        let port = match port {
            Some("") | None => implied_port(&scheme).ok_or(unclear("names no port"))?,
            Some(port) => read_port(port).map_err(unclear)?,
        };
        Ok(Self { scheme, host, port })
    }

    pub(super) fn origin(&self) -> String {
        format!("{}://{}:{}", self.scheme, self.host, self.port)
    }

    pub(super) const fn address(&self) -> Option<IpAddr> {
        match &self.host {
            Host::Name(_) => None,
            Host::Address(address) => Some(*address),
        }
    }
}

pub(super) fn read_scheme(scheme: &str) -> Result<Cow<'_, str>, &'static str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    if scheme.is_empty() || !scheme.bytes().all(is_plain) {
        return Err("has a scheme that cannot be read");
    }
    if scheme.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Ok(Cow::Owned(scheme.to_ascii_lowercase()));
    }
    Ok(Cow::Borrowed(scheme))
}

/// Parts an authority at the colon before its port.
pub(super) fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

pub(super) fn read_port(port: &str) -> Result<u16, &'static str> {
    const REASON: &str = "has a port that is no number from 1 to 65535";
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(REASON);
    }
    match port.parse() {
        Ok(0) | Err(_) => Err(REASON),
        Ok(port) => Ok(port),
    }
}

pub(super) fn implied_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" | "ws" => Some(80),
        "https" | "wss" => Some(443),
        _ => None,
    }
}

impl Host {
    pub(super) fn read(host: &str) -> Result<Self, &'static str> {
        if let Some(inside) = host.strip_prefix('[') {
            let inside = inside
                .strip_suffix(']')
                .ok_or("has a host that cannot be read")?;
            let address: Ipv6Addr = inside
                .parse()
                .map_err(|_| "has an IPv6 address that cannot be read")?;
            return Ok(Self::Address(address.to_canonical()));
        }
        if !host.is_ascii() {
            return Err("has a host that is not ASCII: write it as `xn--…`");
        }
        let name = host.strip_suffix('.').unwrap_or(host);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_plain);
        if name.len() > MAX_NAME_BYTES || !name.split('.').all(is_label) {
            return Err("has a host that cannot be read");
        }
        if let Ok(address) = name.parse::<Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        // `0x7f.1` and `2130706433` are addresses to those who look names up.
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
            || last.starts_with("0x")
            || last.starts_with("0X");
        if is_number {
            return Err("has a host that is a number and no address");
        }
        Ok(Self::Name(name.to_ascii_lowercase()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => out.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(out, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(out, "[{address}]"),
        }
    }
}
