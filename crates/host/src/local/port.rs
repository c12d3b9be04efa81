//! Finds free ports.

use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::net::TcpListener;

/// Lowest port that is tried: lower ones belong to well-known services.
const LOWEST: u16 = 10_000;
/// Number of random ports that are tried before the kernel chooses one.
const TRIES: usize = 64;

/// A port that nothing listens on. If possible it is below the ephemeral range: a generator opens thousands of outgoing
/// connections, and one of them could otherwise take the port before the service binds it.
pub(super) fn free(address: &str) -> io::Result<u16> {
    let ephemeral = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let lowest_ephemeral = ephemeral
        .split_whitespace()
        .next()
        .and_then(|port| port.parse().ok());
    let highest = lowest_ephemeral.unwrap_or(32_768_u16).saturating_sub(1);
    let is_free = |port: &u16| TcpListener::bind((address, *port)).is_ok();
    let chosen = (highest > LOWEST)
        .then(|| candidates(highest).take(TRIES).find(is_free))
        .flatten();
    match chosen {
        Some(port) => Ok(port),
        None => TcpListener::bind((address, 0))?
            .local_addr()
            .map(|address| address.port()),
    }
}

/// Random ports, so that two concurrent runs do not try the same ones.
fn candidates(highest: u16) -> impl Iterator<Item = u16> {
    let random = RandomState::new();
    (0_u32..).map(move |number| {
        let mut hasher = random.build_hasher();
        hasher.write_u32(number);
        LOWEST + (hasher.finish() % u64::from(highest - LOWEST)) as u16
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_port_can_be_bound() {
        let port = free("127.0.0.1").expect("a port");
        TcpListener::bind(("127.0.0.1", port)).expect("free");
    }

    #[test]
    fn candidates_keep_to_their_range() {
        assert!(
            candidates(10_100)
                .take(500)
                .all(|port| (LOWEST..10_100).contains(&port))
        );
    }
}
