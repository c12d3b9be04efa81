//! A network of a process's own: a namespace with one end of a virtual cable in it, and a delay and a rate on both ends.
//!
//! The namespace lives as long as the supervisor holds it or a process is in it; the cable goes with it. So nothing of it
//! stays behind, however the supervisor ends.

use crate::Network;
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Both ends of the cable, and the namespace that holds the far one.
#[derive(Debug)]
pub(crate) struct Cable {
    namespace: OwnedFd,
    /// Where the far end is reached.
    pub(crate) address: Ipv4Addr,
}

/// First address of the network that is set aside for benchmarks (RFC 2544), which no real network uses: 198.18.0.0/15.
const FIRST: u32 = 0xC612_0000;
/// Subnets of four addresses in it.
const SUBNETS: u32 = 1 << 15;
/// Longest time that a packet waits for its turn at the rate, ms.
const LONGEST_QUEUE_MS: u32 = 400;
/// Smallest bucket of the rate, bytes: one segment of the largest size that the kernel hands down.
const SMALLEST_BUCKET: u64 = 65_536;

impl Cable {
    /// Makes a namespace and lays a cable into it. `number` tells cables apart that lie side by side. The error is a
    /// sentence with the reason and what to do.
    pub(crate) fn lay(network: &Network, number: u32) -> Result<Self, String> {
        let namespace = namespace().map_err(|error| {
            format!("a network of its own cannot be made: {error}; run as root, or leave `[network]` out")
        })?;
        let subnet = FIRST + 4 * (number % SUBNETS);
        let (near, far) = (Ipv4Addr::from(subnet + 1), Ipv4Addr::from(subnet + 2));
        let cable = Self {
            namespace,
            address: far,
        };
        let (near_end, far_end) = (format!("prony{number}"), format!("prony{number}p"));
        let inside = format!("/proc/{}/fd/{}", std::process::id(), cable.namespace.as_raw_fd());
        // In one step: an end that is already in the namespace takes the other one with it, whatever fails from here on.
        ip(
            None,
            &[
                "link", "add", &near_end, "type", "veth", "peer", "name", &far_end, "netns", &inside,
            ],
        )?;
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

    /// What [`enter`] takes.
    pub(crate) fn door(&self) -> io::Result<OwnedFd> {
        self.namespace.try_clone()
    }
}

/// Moves the calling thread into a namespace. Makes one system call: safe between fork and exec.
pub(crate) fn enter(door: &OwnedFd) -> nix::Result<()> {
    setns(door.as_fd(), CloneFlags::CLONE_NEWNET)
}

/// Makes a namespace without staying in it.
fn namespace() -> io::Result<OwnedFd> {
    let own = File::open("/proc/self/ns/net")?;
    unshare(CloneFlags::CLONE_NEWNET)?;
    let made = File::open("/proc/self/ns/net");
    setns(own.as_fd(), CloneFlags::CLONE_NEWNET)?;
    made.map(OwnedFd::from)
}

/// Delay and rate of what leaves at one end.
fn shape(inside: Option<&Cable>, device: &str, network: &Network) -> Result<(), String> {
    let delay = !network.delay.is_zero();
    if delay {
        let delay = format!("{}us", network.delay.as_micros());
        let arguments = [
            "qdisc", "add", "dev", device, "root", "handle", "1:", "netem", "delay", &delay, "limit",
            "100000",
        ];
        run(inside, "tc", &arguments).map_err(|reason| {
            format!("a delay cannot be set: {reason}; it needs a kernel with netem (CONFIG_NET_SCH_NETEM), or no `delay`")
        })?;
    }
    if let Some(rate) = network.rate_bits_per_s {
        // What passes in a tick of the kernel's clock, so that the bucket itself does not slow it down.
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
            format!("a rate cannot be set: {reason}; it needs a kernel with tbf (CONFIG_NET_SCH_TBF), or no `rate`")
        })?;
    }
    Ok(())
}

fn ip(inside: Option<&Cable>, arguments: &[&str]) -> Result<(), String> {
    run(inside, "ip", arguments).map_err(|reason| {
        format!("the network of its own cannot be set up: {reason}; run as root, or leave `[network]` out")
    })
}

/// Runs a tool of iproute2, in the namespace or outside it.
fn run(inside: Option<&Cable>, tool: &str, arguments: &[&str]) -> Result<(), String> {
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
        .unwrap_or("it failed without a word");
    Err(format!("`{tool} {}`: {line}", arguments.join(" ")))
}
