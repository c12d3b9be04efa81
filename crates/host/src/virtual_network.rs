//! A network for a process: a network namespace, connected by a veth pair, with delay and rate limits on both ends.
//!
//! The namespace exists while the supervisor holds it or a process is in it, and the veth pair is removed with it. So nothing
//! remains, however the supervisor ends.

use crate::Network;
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// A veth pair, and the namespace that contains its far end.
#[derive(Debug)]
pub(crate) struct VirtualLink {
    namespace: OwnedFd,
    /// The address of the far end.
    pub(crate) address: Ipv4Addr,
}

/// First address of 198.18.0.0/15, the network reserved for benchmarks (RFC 2544), which no real network uses.
const FIRST: u32 = 0xC612_0000;
/// Number of /30 subnets in it.
const SUBNETS: u32 = 1 << 15;
/// Longest time that a packet is queued for the rate limit, ms.
const LONGEST_QUEUE_MS: u32 = 400;
/// Smallest token bucket of the rate limit, bytes: one segment of the largest size that the kernel passes down (GSO).
const SMALLEST_BUCKET: u64 = 65_536;

impl VirtualLink {
    /// Creates a namespace and a veth pair into it, with addresses that no other pair has. The error is a sentence with the reason
    /// and what to do.
    pub(crate) fn lay(network: &Network) -> Result<Self, String> {
        let namespace = namespace().map_err(|error| {
            format!("cannot create a network namespace: {error}; run as root, or leave `[network]` out")
        })?;
        // In one step: from here on the far end is in the namespace, so the pair is removed with it if a later step fails.
        let subnet = take_subnet(&namespace)?;
        let address = FIRST + 4 * subnet;
        let (near, far) = (Ipv4Addr::from(address + 1), Ipv4Addr::from(address + 2));
        let cable = Self {
            namespace,
            address: far,
        };
        let (near_end, far_end) = ends(subnet);
        ip(None, &["address", "add", &format!("{near}/30"), "dev", &near_end])?;
        ip(None, &["link", "set", &near_end, "up"])?;
        ip(
            Some(&cable),
            &["address", "add", &format!("{far}/30"), "dev", &far_end],
        )?;
        ip(Some(&cable), &["link", "set", "lo", "up"])?;
        ip(Some(&cable), &["link", "set", &far_end, "up"])?;
        shape(None, &near_end, network)?;
        shape(Some(&cable), &far_end, network)?;
        Ok(cable)
    }

    /// A handle of the namespace for [`enter`].
    pub(crate) fn door(&self) -> io::Result<OwnedFd> {
        self.namespace.try_clone()
    }
}

/// Moves the calling thread into a namespace. Makes one system call: safe between fork and exec.
pub(crate) fn enter(door: &OwnedFd) -> nix::Result<()> {
    setns(door.as_fd(), CloneFlags::CLONE_NEWNET)
}

/// Adds a pair for a subnet that is free, and returns the number of the subnet. The name of the near end has that number, and the
/// kernel refuses a name that exists, so two supervisors never get the same subnet: not even in different containers that share
/// the network of the host, where process IDs repeat and lock files are apart.
fn take_subnet(namespace: &OwnedFd) -> Result<u32, String> {
    let inside = format!("/proc/{}/fd/{}", std::process::id(), namespace.as_raw_fd());
    // Supervisors begin at different numbers, so that they rarely try the same.
    let begin = std::process::id() % SUBNETS;
    for subnet in (begin..SUBNETS).chain(0..begin) {
        let (near_end, far_end) = ends(subnet);
        if Path::new("/sys/class/net").join(&near_end).exists() {
            continue;
        }
        let added = ip(
            None,
            &[
                "link", "add", &near_end, "type", "veth", "peer", "name", &far_end, "netns", &inside,
            ],
        );
        match added {
            Err(reason) if reason.contains("File exists") => {}
            added => return added.map(|()| subnet),
        }
    }
    Err(format!(
        "all {SUBNETS} networks of prony on this machine are in use; end other runs"
    ))
}

/// The names of both ends of the pair of a subnet.
fn ends(subnet: u32) -> (String, String) {
    (format!("prony{subnet}"), format!("prony{subnet}p"))
}

/// Creates a namespace. The calling thread stays in its own.
fn namespace() -> io::Result<OwnedFd> {
    let own = File::open("/proc/self/ns/net")?;
    unshare(CloneFlags::CLONE_NEWNET)?;
    let made = File::open("/proc/self/ns/net");
    setns(own.as_fd(), CloneFlags::CLONE_NEWNET)?;
    made.map(OwnedFd::from)
}

/// Sets delay and rate for outgoing packets of one end.
fn shape(inside: Option<&VirtualLink>, device: &str, network: &Network) -> Result<(), String> {
    let delay = !network.delay.is_zero();
    if delay {
        let delay = format!("{}us", network.delay.as_micros());
        let arguments = [
            "qdisc", "add", "dev", device, "root", "handle", "1:", "netem", "delay", &delay, "limit",
            "100000",
        ];
        run(inside, "tc", &arguments).map_err(|reason| {
            format!("cannot set the delay: {reason}; use a kernel with netem (CONFIG_NET_SCH_NETEM), or remove `delay`")
        })?;
    }
    if let Some(rate) = network.rate_bits_per_s {
        // Holds what the rate passes in one tick of the kernel's clock, so that the bucket is not a bottleneck itself.
        let bucket = (rate / 8 / 100).max(SMALLEST_BUCKET).to_string();
        let (rate, queue) = (format!("{rate}bit"), format!("{LONGEST_QUEUE_MS}ms"));
        let mut arguments = vec!["qdisc", "add", "dev", device];
        arguments.extend(if delay {
            ["parent", "1:1"].as_slice()
        } else {
            ["root"].as_slice()
        });
        arguments.extend(["tbf", "rate", &rate, "burst", &bucket, "latency", &queue]);
        run(inside, "tc", &arguments).map_err(|reason| {
            format!(
                "cannot set the rate: {reason}; use a kernel with tbf (CONFIG_NET_SCH_TBF), or remove `rate`"
            )
        })?;
    }
    Ok(())
}

fn ip(inside: Option<&VirtualLink>, arguments: &[&str]) -> Result<(), String> {
    run(inside, "ip", arguments).map_err(|reason| {
        format!("cannot set up the network namespace: {reason}; run as root, or leave `[network]` out")
    })
}

/// Runs a tool of iproute2, inside the namespace or outside.
fn run(inside: Option<&VirtualLink>, tool: &str, arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new(tool);
    command.args(arguments);
    if let Some(cable) = inside {
        let door = cable.door().map_err(|error| error.to_string())?;
        // SAFETY: one system call between fork and exec.
        unsafe {
            command.pre_exec(move || {
                enter(&door)?;
                Ok(())
            });
        }
    }
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("`{tool}` is not on this machine (apt-get install iproute2)"),
        _ => format!("`{tool}`: {error}"),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("it failed without a message");
    Err(format!("`{tool} {}`: {line}", arguments.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Two supervisors may begin at the same number: process IDs repeat in other containers and beyond 32,768.
    #[test]
    fn networks_that_exist_at_the_same_time_have_different_addresses() {
        let network = Network {
            delay: Duration::ZERO,
            rate_bits_per_s: None,
        };
        let links: Result<Vec<VirtualLink>, String> = (0..3).map(|_| VirtualLink::lay(&network)).collect();
        match links {
            Ok(links) => {
                let mut addresses: Vec<Ipv4Addr> = links.iter().map(|link| link.address).collect();
                addresses.sort_unstable();
                addresses.dedup();
                assert_eq!(addresses.len(), 3, "{addresses:?}");
            }
            Err(reason) => {
                assert!(reason.contains("run as root"), "{reason}");
                crate::skip::skipped(&reason);
            }
        }
    }
}
