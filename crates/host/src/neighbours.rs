//! Measures what other programs use of this machine during a load of a server that prony did not start.

use crate::supervisor::{Machine, tick_ns};
use crate::tree::{descendants, stat_field};
use crate::{Cpus, MachineUsage};
use std::collections::{BTreeSet, HashSet};
use std::fs;

/// The shortest load for which the kernel's counters, which advance in ticks, are precise enough.
const SHORTEST_NS: u64 = 500_000_000;

/// Counters at the start of a load.
#[derive(Debug)]
pub struct Neighbours {
    machine: Machine,
    own_ns: u64,
    /// The port of the server if it is on this machine; its processes are not neighbours.
    port: Option<u16>,
    server_ns: u64,
}

/// Usage during the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherUsage {
    pub machine: MachineUsage,
    /// CPU time of the server's processes, ns; `None` if they are not on this machine or not visible.
    pub server_cpu_ns: Option<u64>,
    /// CPU time of all programs except this one and the server, ns; `None` if the server is on this machine but not visible,
    /// and for loads shorter than half a second.
    pub other_cpu_ns: Option<u64>,
}

impl OtherUsage {
    /// The share of the machine that other programs and the hypervisor used; `None` if unknown.
    pub fn share(&self) -> Option<f64> {
        let capacity = self.machine.window_ns as f64 * f64::from(self.machine.cpus);
        let taken = self.other_cpu_ns? + self.machine.steal_ns;
        (capacity > 0.0).then(|| taken as f64 / capacity)
    }
}

impl Neighbours {
    /// Reads the counters. `port` is the server's port if it listens on this machine. `None` if the kernel has no counters.
    pub fn begin(port: Option<u16>) -> Option<Self> {
        Some(Self {
            machine: Machine::read(&Cpus::default())?,
            own_ns: cpu_ns(std::process::id() as i32, ChildTime::Left)?,
            port,
            server_ns: port.and_then(server_ns).unwrap_or(0),
        })
    }

    /// The usage since [`Neighbours::begin`].
    pub fn end(&self) -> Option<OtherUsage> {
        let machine = self.machine.since()?;
        let own_ns = cpu_ns(std::process::id() as i32, ChildTime::Left)?.saturating_sub(self.own_ns);
        let server = self.port.map(server_ns);
        let server_cpu_ns = server.flatten().map(|now| now.saturating_sub(self.server_ns));
        let is_known = (server.is_none() || server_cpu_ns.is_some()) && machine.window_ns >= SHORTEST_NS;
        let known_ns = own_ns + server_cpu_ns.unwrap_or(0);
        Some(OtherUsage {
            machine,
            server_cpu_ns,
            other_cpu_ns: is_known.then(|| machine.busy_ns.saturating_sub(known_ns)),
        })
    }
}

/// CPU time so far of all processes that listen on a port and of their descendants; `None` if no such process is visible.
fn server_ns(port: u16) -> Option<u64> {
    let sockets = listening(port);
    let listeners = owners(&sockets);
    let own = std::process::id() as i32;
    let mut all: BTreeSet<i32> = listeners.iter().copied().collect();
    all.extend(listeners.iter().flat_map(|&pid| descendants(pid)));
    all.remove(&own);
    (!listeners.is_empty()).then(|| {
        let each = all.into_iter().filter_map(|pid| cpu_ns(pid, ChildTime::Counted));
        each.sum()
    })
}

/// Whether the CPU time of ended children is added to their parent's.
#[derive(Clone, Copy, PartialEq)]
enum ChildTime {
    Counted,
    Left,
}

/// CPU time of a process, ns.
fn cpu_ns(pid: i32, waited: ChildTime) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: &[usize] = match waited {
        ChildTime::Counted => &[14, 15, 16, 17],
        ChildTime::Left => &[14, 15],
    };
    let ticks = |&field: &usize| stat_field(&stat, field)?.parse::<u64>().ok();
    let ticks: u64 = fields.iter().map(ticks).sum::<Option<u64>>()?;
    Some(ticks * tick_ns())
}

/// Inodes of the sockets that listen on a port.
fn listening(port: u16) -> HashSet<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let text: Vec<String> = tables
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .collect();
    let lines = text.iter().flat_map(|text| text.lines());
    lines.filter_map(|line| listens(line, port)).collect()
}

/// The inode of the socket in a line of `/proc/net/tcp`, if it listens on the port.
fn listens(line: &str, port: u16) -> Option<String> {
    const LISTEN: &str = "0A";
    let fields: Vec<&str> = line.split_whitespace().collect();
    let own = fields.get(1)?.rsplit(':').next()?;
    let is_port = u16::from_str_radix(own, 16).is_ok_and(|found| found == port);
    (is_port && *fields.get(3)? == LISTEN).then(|| (*fields.get(9).unwrap_or(&"")).to_owned())
}

/// The processes that hold one of these sockets.
fn owners(sockets: &HashSet<String>) -> Vec<i32> {
    if sockets.is_empty() {
        return Vec::new();
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| holds(*pid, sockets)).collect()
}

fn holds(pid: i32, sockets: &HashSet<String>) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    let links = files.filter_map(|file| fs::read_link(file.path()).ok());
    let mut inodes = links.filter_map(|link| {
        let name = link.to_str()?.strip_prefix("socket:[")?;
        Some(name.trim_end_matches(']').to_owned())
    });
    inodes.any(|inode| sockets.contains(&inode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::process::{Child, Command};

    #[test]
    fn only_listening_sockets_of_the_port_count() {
        let line = |port: &str, state: &str| {
            format!(
                "   0: 0100007F:{port} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000     0        0 4242 1 0 100 0"
            )
        };
        assert_eq!(listens(&line("1F90", "0A"), 8080), Some("4242".to_owned()));
        assert_eq!(listens(&line("1F90", "01"), 8080), None);
        assert_eq!(listens(&line("1F91", "0A"), 8080), None);
        assert_eq!(listens("  sl  local_address rem_address   st", 8080), None);
    }

    #[test]
    fn the_process_that_listens_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        assert!(owners(&listening(port)).contains(&(std::process::id() as i32)));
        drop(listener);
        assert!(server_ns(port).is_none());
    }

    struct Busy(Child);

    impl Drop for Busy {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Waits until a process has used `wanted_ns` of CPU time, however busy the machine is.
    fn until_used(pid: i32, wanted_ns: u64) {
        while cpu_ns(pid, ChildTime::Left).expect("it lives") < wanted_ns {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_busy_neighbour_is_seen() {
        let before = Neighbours::begin(None).expect("Linux counts it");
        let busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        let busy = Busy(busy.expect("a shell"));
        until_used(busy.0.id() as i32, 300_000_000);
        let short = before.end().expect("Linux counts it");
        assert!(short.machine.window_ns >= SHORTEST_NS || short.other_cpu_ns.is_none());
        while before.end().expect("Linux counts it").machine.window_ns < SHORTEST_NS {
            std::thread::yield_now();
        }
        let seen = before.end().expect("Linux counts it");
        let other_ns = seen.other_cpu_ns.expect("no server here");
        assert!(other_ns >= 200_000_000, "{seen:?}");
        assert!(seen.machine.window_ns > 0 && seen.machine.cpus > 0, "{seen:?}");
    }
}
