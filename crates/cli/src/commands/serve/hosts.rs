//! The names by which a server may be reached. A foreign page can have a name that resolves to this machine. Its requests then arrive
//! here, and only the name in them differs.

use std::net::IpAddr;

/// Names that a request may give as its host.
#[derive(Debug)]
pub(super) struct AllowedHosts {
    listen: IpAddr,
    /// Further names, in lower case.
    named: Vec<HostName>,
}

/// A name or an address without a port, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostName(String);

impl std::str::FromStr for HostName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if text.parse::<IpAddr>().is_err() && (text.is_empty() || !text.chars().all(plain)) {
            return Err("give a host name or an address without a port, as in bench.example.org".to_owned());
        }
        Ok(Self(text.to_ascii_lowercase()))
    }
}

impl AllowedHosts {
    pub(super) const fn new(listen: IpAddr, named: Vec<HostName>) -> Self {
        Self { listen, named }
    }

    /// Whether `host`, a `Host` header, names this server.
    pub(super) fn contain(&self, host: &str) -> bool {
        if self.are_named(host) {
            return true;
        }
        let (name, _) = split(host);
        let here = self.listen.is_loopback() || self.listen.is_unspecified();
        match name.parse::<IpAddr>() {
            // An address cannot be pointed elsewhere.
            Ok(address) if self.listen.is_loopback() => address.is_loopback(),
            Ok(address) => self.listen.is_unspecified() || address == self.listen,
            Err(_) => here && name.eq_ignore_ascii_case("localhost"),
        }
    }

    /// Whether `host` was allowed by name: then a proxy may be in front, which speaks TLS.
    pub(super) fn are_named(&self, host: &str) -> bool {
        let (name, _) = split(host);
        self.named.iter().any(|named| named.0.eq_ignore_ascii_case(name))
    }
}

/// Name and port of a `Host` header.
pub(super) fn split(host: &str) -> (&str, Option<&str>) {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|digit| digit.is_ascii_digit()) => (name, Some(port)),
        _ => (host, None),
    };
    (name.trim_start_matches('[').trim_end_matches(']'), port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(listen: &str, named: &[&str]) -> AllowedHosts {
        let named = named.iter().map(|name| name.parse().expect("a name")).collect();
        AllowedHosts::new(listen.parse().expect("an address"), named)
    }

    #[test]
    fn on_loopback_only_names_of_this_machine_are_allowed() {
        let hosts = hosts("127.0.0.1", &[]);
        for host in [
            "localhost",
            "localhost:80",
            "LOCALHOST",
            "127.0.0.1:4400",
            "127.0.0.2:4400",
            "[::1]:1",
            "[::1]",
        ] {
            assert!(hosts.contain(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:80",
            "127.0.0.1.evil.example",
            "192.0.2.1:4400",
            "",
        ] {
            assert!(!hosts.contain(host), "{host}");
        }
    }

    #[test]
    fn elsewhere_the_address_and_names_of_its_own_are_allowed() {
        let one = hosts("192.0.2.1", &["Bench.example", "2001:db8::1"]);
        for host in [
            "192.0.2.1:4400",
            "bench.example:4400",
            "BENCH.example",
            "[2001:db8::1]:1",
        ] {
            assert!(one.contain(host), "{host}");
        }
        for host in [
            "192.0.2.2:4400",
            "localhost:4400",
            "127.0.0.1",
            "evil.example",
            "x.bench.example",
        ] {
            assert!(!one.contain(host), "{host}");
        }
        let all = hosts("0.0.0.0", &[]);
        assert!(all.contain("192.0.2.2:4400") && all.contain("localhost") && !all.contain("evil.example"));
        assert!(one.are_named("bench.example:1") && !one.are_named("192.0.2.1"));
    }

    #[test]
    fn a_name_has_neither_scheme_nor_port() {
        for text in [
            "",
            "http://bench.example",
            "bench.example:80",
            "a b",
            "bench.example/",
        ] {
            assert!(text.parse::<HostName>().is_err(), "{text}");
        }
    }
}
