//! Addresses that are not for everybody, by the special-purpose registries of IANA.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The ranges of IPv4 that are not public: first address, length of the prefix, what they are.
const SPECIAL_V4: [(Ipv4Addr, u32, &str); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "an address of this machine"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private address"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a shared address"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "a loopback address"),
    // What a virtual machine of Azure asks for its own secrets.
    (
        Ipv4Addr::new(168, 63, 129, 16),
        32,
        "the address of a cloud's host",
    ),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local address"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private address"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "a documentation address"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private address"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "a benchmarking address"),
    (
        Ipv4Addr::new(198, 51, 100, 0),
        24,
        "a documentation address",
    ),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "a documentation address"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast address"),
    (
        Ipv4Addr::new(255, 255, 255, 255),
        32,
        "the broadcast address",
    ),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved address"),
];

/// Says what kind of special address this is; nothing of one that everybody can reach.
pub(super) fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    let within = |(first, prefix, _): &&(Ipv4Addr, u32, &str)| {
        (address.to_bits() ^ first.to_bits()).leading_zeros() >= *prefix
    };
    let (_, _, kind) = SPECIAL_V4.iter().find(within)?;
    Some(kind)
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    let [first, second, third, fourth, fifth, sixth, seventh, eighth] = address.segments();
    let inside = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        special_v4(Ipv4Addr::new(a, b, c, d))
    };
    match [first, second, third, fourth, fifth, sixth] {
        [0, 0, 0, 0, 0, 0] if seventh == 0 && eighth == 1 => Some("a loopback address"),
        // IPv4 in IPv6: mapped, and translated by RFC 6052.
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => inside(seventh, eighth),
        // 6to4
        [0x2002, high, low, ..] => inside(high, low),
        [0xfc00..=0xfdff, ..] => Some("a private address"),
        [0xfe80..=0xfebf, ..] => Some("a link-local address"),
        [0xff00..=0xffff, ..] => Some("a multicast address"),
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => Some("a documentation address"),
        // Teredo and other protocols of the IETF.
        [0x2001, 0..=0x01ff, ..] => Some("a reserved address"),
        // All that is in use anywhere.
        [0x2000..=0x3fff, ..] => None,
        _ => Some("a reserved address"),
    }
}
