#![allow(
    clippy::unwrap_used,
    reason = "a failed expectation is the test failing"
)]

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use super::*;

fn only(rule: &str) -> Egress {
    Egress::only([rule]).unwrap()
}

fn address(text: &str) -> SocketAddr {
    SocketAddr::new(text.parse().unwrap(), 443)
}

#[test]
fn a_rule_names_hosts_schemes_and_ports() {
    for (rule, allowed, refused) in [
        (
            "api.example.com",
            &[
                "https://api.example.com",
                "http://api.example.com/",
                "https://api.example.com:443/a?b#c",
                "HTTPS://API.Example.COM/",
                "https://api.example.com./",
                "https://api.example.com:/",
            ][..],
            &[
                "https://example.com",
                "https://x.api.example.com",
                "https://api.example.com.evil.test",
                "https://api.example.com:8443",
                "http://api.example.com:443",
                "ws://api.example.com",
                "https://93.184.215.14/",
            ][..],
        ),
        (
            "https://api.example.com/",
            &["https://api.example.com/x"],
            &["http://api.example.com/x", "http://api.example.com:443/x"],
        ),
        (
            "*.Example.org.",
            &["https://a.example.org", "https://a.b.example.org."],
            &[
                "https://example.org",
                "https://notexample.org",
                "https://a.example.org.evil.test",
            ],
        ),
        (
            "api.example.com:8443",
            &[
                "https://api.example.com:8443",
                "http://api.example.com:8443",
            ],
            &["https://api.example.com"],
        ),
        (
            "api.example.com:*",
            &["https://api.example.com", "http://api.example.com:1"],
            &["https://example.com"],
        ),
        (
            "wss://api.example.com",
            &["wss://api.example.com/socket"],
            &["https://api.example.com"],
        ),
        (
            "https://*",
            &[
                "https://any.test",
                "https://93.184.215.14",
                "https://[2606:4700::1111]",
            ],
            &["http://any.test", "https://any.test:8443"],
        ),
        (
            "xn--bcher-kva.example",
            &["https://XN--bcher-kva.example"],
            &["https://bucher.example"],
        ),
        (
            "127.0.0.1:80",
            &["http://127.0.0.1", "http://[::ffff:127.0.0.1]/"],
            &["http://127.0.0.2", "http://[::1]", "http://localhost"],
        ),
        (
            "[2001:DB8:0::1]",
            &["http://[2001:db8::1]", "https://[2001:db8:0:0::1]:443"],
            &["http://[2001:db8::2]"],
        ),
    ] {
        let egress = only(rule);
        for url in allowed {
            assert_eq!(egress.check(url), Ok(()), "{rule}: {url}");
        }
        for url in refused {
            let refusal = egress.check(url);
            assert!(
                matches!(refusal, Err(EgressError::NotListed { .. })),
                "{rule}: {url}: {refusal:?}"
            );
        }
    }
}

#[test]
fn a_url_that_can_be_read_in_two_ways_is_refused() {
    let egress = Egress::only(["*:*", "https://*"]).unwrap();
    for url in [
        "example.com",
        "",
        "https://",
        "https:///example.com",
        "https://user@example.com",
        "https://user:secret@example.com/",
        "https://evil.test\\@example.com/",
        "https://evil.test\\.example.com/",
        "https://example.com%2eevil.test/",
        "https://example.com\t/",
        "https://exam\nple.com/",
        " https://example.com",
        "https://bücher.example/",
        "https://example。com/",
        "https://a..b/",
        "https://.example.com/",
        "https://example.com../",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.1/",
        "https://127.1/",
        "https://0177.0.0.1/",
        "https://127.0.0.256/",
        "https://a.0X7F/",
        "https://[::1/",
        "https://[fe80::1%25eth0]/",
        "https://::1/",
        "https://example.com:0/",
        "https://example.com:65536/",
        "https://example.com:+1/",
        "https://example.com:80:80/",
        "ftp://example.com/",
    ] {
        let refusal = egress.check(url);
        assert!(
            matches!(refusal, Err(EgressError::Unclear { .. })),
            "{url}: {refusal:?}"
        );
    }
    let long = format!("https://{}.com/", "a.".repeat(200));
    assert!(egress.check(&long).is_err());
}

#[test]
fn a_rule_that_cannot_be_read_is_an_error() {
    for rule in [
        "",
        "https://",
        "https://api.example.com/v1",
        "api.example.com/",
        "a.*.example.com",
        "*example.com",
        "*.",
        "*.10.0.0.1",
        "10.0.0.0/8",
        "example.com:",
        "example.com:0",
        "example.com:http",
        "bücher.example",
        "redis://cache.example.com",
        "::1",
        "0x7f.1",
    ] {
        let refusal = Egress::only([rule]).unwrap_err();
        assert!(
            matches!(refusal, EgressError::Rule { .. }),
            "{rule}: {refusal}"
        );
    }
    let secret = Egress::only(["https://user:secret@example.com"]).unwrap_err();
    assert_eq!(
        secret.to_string(),
        "the egress rule `example.com` cannot be read: it holds a user or a password"
    );
    for (rule, shown) in [
        (
            "https://hooks.example.com/T0/secret",
            "https://hooks.example.com/…",
        ),
        ("hooks.example.com?key=secret", "hooks.example.com?…"),
        ("10.0.0.0/8", "10.0.0.0/…"),
        ("example.com/", "example.com/"),
    ] {
        let refusal = Egress::only([rule]).unwrap_err().to_string();
        assert!(refusal.contains(&format!("`{shown}`")), "{refusal}");
    }
    let many = std::iter::repeat_n("example.com", MAX_RULES + 1);
    assert_eq!(
        Egress::only(many).unwrap_err(),
        EgressError::TooManyRules { limit: MAX_RULES }
    );
    assert!(Egress::only(std::iter::repeat_n("example.com", MAX_RULES)).is_ok());
}

#[test]
fn an_empty_list_allows_nothing_and_no_list_everything() {
    let nothing = Egress::only(<[&str; 0]>::default()).unwrap();
    assert!(nothing.check("https://example.com").is_err());
    for url in ["https://example.com", "http://169.254.169.254/", "nonsense"] {
        assert_eq!(Egress::default().check(url), Ok(()));
    }
    assert!(Egress::default().is_everywhere());
    assert!(!Egress::everywhere().public_only().is_everywhere());
}

#[test]
fn an_address_that_is_not_public_is_refused_however_it_is_written() {
    let egress = Egress::everywhere().public_only();
    for special in [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:a9fe:a9fe",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
    ] {
        let url = match special.contains(':') {
            true => format!("http://[{special}]/"),
            false => format!("http://{special}/"),
        };
        let refusal = egress.check(&url);
        assert!(
            matches!(refusal, Err(EgressError::NotPublic { .. })),
            "{url}: {refusal:?}"
        );
        let refusal = egress.check_addresses("https://name.test", [address(special)]);
        assert!(refusal.is_err(), "{special}");
    }
    for public in [
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "126.255.255.255",
        "128.0.0.1",
        "168.63.129.17",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.1",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.1",
        "223.255.255.255",
        "::ffff:1.1.1.1",
        "64:ff9b::101:101",
        "2001:4860:4860::8888",
        "2002:101:101::1",
        "2606:4700:4700::1111",
    ] {
        let allowed = egress.check_addresses("https://name.test", [address(public)]);
        assert_eq!(allowed, Ok(vec![address(public)]));
    }
}

#[test]
fn only_the_public_addresses_of_a_name_are_left() {
    let egress = only("name.test").public_only();
    let (inside, outside) = (address("169.254.169.254"), address("1.1.1.1"));
    assert_eq!(
        egress.check_addresses("https://name.test/p?q", [inside, outside]),
        Ok(vec![outside])
    );
    assert_eq!(
        egress
            .check_addresses("https://name.test/p?q", [inside])
            .unwrap_err()
            .to_string(),
        "connecting to https://name.test:443 is refused: 169.254.169.254 is a link-local address, and egress is to public addresses only"
    );
    assert_eq!(egress.check_addresses("https://name.test", []), Ok(vec![]));
    assert!(
        egress
            .check_addresses("https://other.test", [outside])
            .is_err()
    );
}

#[test]
fn an_address_that_a_rule_writes_out_is_allowed_where_the_url_does_too() {
    let egress = Egress::only(["127.0.0.1:*", "*:*"]).unwrap().public_only();
    let own = address("127.0.0.1");
    assert_eq!(
        egress.check_addresses("http://127.0.0.1:9", [own]),
        Ok(vec![own])
    );
    assert!(egress.check("http://127.0.0.2:9").is_err());
    assert!(egress.check_addresses("http://name.test:9", [own]).is_err());
    // Whatever a look-up makes of what is written there.
    for other in ["169.254.169.254", "::1"] {
        let found = egress.check_addresses("http://127.0.0.1.:9", [address(other)]);
        assert!(found.is_err(), "{other}: {found:?}");
    }
    let mapped = address("::ffff:127.0.0.1");
    assert_eq!(
        egress.check_addresses("http://127.0.0.1:9", [mapped]),
        Ok(vec![mapped])
    );
}

#[test]
fn every_refusal_is_told_and_tells_no_secret() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let hook = Arc::clone(&told);
    let egress = only("api.example.com")
        .on_refusal(move |refusal| hook.lock().unwrap().push(refusal.to_string()));
    let _ = egress.check("https://user:secret@evil.test/?token=secret");
    let _ = egress.check("https://Evil.test:99/secret?token=secret#secret");
    let _ = egress.check_addresses("https://evil.test/secret", []);
    assert!(egress.check("https://api.example.com").is_ok());
    assert_eq!(
        *told.lock().unwrap(),
        [
            "connecting is refused: the URL holds a user or a password",
            "connecting to https://evil.test:99 is refused: no egress rule allows it",
            "connecting to https://evil.test:443 is refused: no egress rule allows it",
        ]
    );
}

#[test]
fn a_hook_that_panics_changes_nothing() {
    let egress = only("api.example.com").on_refusal(|refusal| panic!("told of {refusal}"));
    for _ in 0..2 {
        assert!(matches!(
            egress.check("https://evil.test"),
            Err(EgressError::NotListed { .. })
        ));
    }
}

#[test]
fn a_policy_shows_its_rules() {
    let egress = Egress::only(["*.Example.com:*", "https://[::1]:8443"]).unwrap();
    assert_eq!(
        format!("{:?}", egress.public_only()),
        "Egress { rules: Some([*.example.com:*, https://[::1]:8443]), public_only: true, .. }"
    );
    assert_eq!(format!("{:?}", Egress::default()), "Egress(everywhere)");
}
