//! What is asked of a process and said about it.

use crate::Cpus;
use crate::container::Container;
use prony_records::{ResourceSample, Resources};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What to start and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessSpec {
    /// What to call it, in messages and in the names of control groups.
    pub name: String,
    /// Program and arguments; of a container, what stands after its image: empty where the image says all.
    pub command: Vec<String>,
    /// The container that it runs in, with its limits, CPUs and environment; `None`: it is a process of this machine.
    #[serde(default)]
    pub container: Option<Container>,
    /// Where it runs.
    pub folder: PathBuf,
    /// Added to the environment of this process.
    pub environment: BTreeMap<String, String>,
    /// CPUs that it may use; empty: all.
    pub cpus: Cpus,
    /// CPUs of its supervisor; empty: all.
    pub supervisor_cpus: Cpus,
    /// What it may use.
    pub limits: Limits,
    /// Whether it starts without the limits that this machine does not let us set.
    pub isolation: Isolation,
    /// A network of its own.
    pub network: Option<Network>,
    /// Where its output goes.
    pub stdio: Stdio,
    /// The file with its output.
    pub log: PathBuf,
    /// Most bytes of the log; of a longer one the begin and the end are kept.
    pub log_bytes: u64,
    /// Time between TERM and KILL.
    pub grace: Duration,
    /// The number of a signal that is sent to its first process alone in place of TERM to all: some software ends in order only
    /// so. What is left when that process has ended gets TERM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_signal: Option<i32>,
    /// Time between two samples of its resources; `None`: it is not sampled.
    pub sample_every: Option<Duration>,
    /// Whether the speed of its CPUs is measured in each window ([`Usage::yardstick_ns`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub yardstick: bool,
}

/// A process that runs already. prony neither starts nor stops it, nor limits what it uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttachSpec {
    /// What to call it, in messages.
    pub name: String,
    /// Where its resources are read.
    pub attached: Attached,
    /// CPUs of the process that reads them; empty: all.
    pub supervisor_cpus: Cpus,
    /// Time between two samples of its resources.
    pub sample_every: Duration,
}

/// What runs already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attached {
    /// A process and everything below it.
    Pid(i32),
    /// All in a control group and in the groups below it: its folder, or its path as `/proc/PID/cgroup` has it.
    Cgroup(PathBuf),
}

/// What a process tree may use; `None`: as much as there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// CPUs, also parts of one.
    pub cpus: Option<f64>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Open files of one process.
    pub files: Option<u64>,
    /// Bytes written to disk, by the whole tree.
    pub disk_bytes: Option<u64>,
}

/// What happens when a limit cannot be set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// The process starts all the same, with a warning.
    #[default]
    WherePossible,
    /// It does not start.
    Required,
}

/// A network of the process's own, over a virtual cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Delay of each direction.
    pub delay: Duration,
    /// Rate of each direction, bits per second; `None`: as fast as it goes.
    pub rate_bits_per_s: Option<u64>,
}

/// Where the output of a process goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdio {
    /// Output and errors to the log; no input.
    Logged,
    /// Input and output to the caller, errors to the log.
    Piped,
}

/// How a process ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Its exit code, where it exited.
    pub code: Option<i32>,
    /// The signal that killed it, where one did.
    pub signal: Option<i32>,
    /// The limit that it broke, where that is why.
    pub why: Option<Why>,
    /// Processes below it that ran on when it had ended.
    pub left: u32,
    /// Whether it had to be killed because it did not end on TERM within its grace time.
    pub ignored_term: bool,
}

/// A limit that ended a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It needed more than this much memory, bytes.
    OutOfMemory {
        /// The limit, where it was its own; `None`: the machine ran out.
        limit_bytes: Option<u64>,
    },
    /// It wrote more than this much to disk, bytes.
    DiskFull {
        /// The limit.
        limit_bytes: u64,
    },
}

/// What a process tree used in a window, and what the machine did meanwhile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// The tree.
    pub resources: Resources,
    /// Samples from before the window.
    pub before: Vec<ResourceSample>,
    /// The whole machine.
    pub machine: Option<MachineUsage>,
    /// CPU time of the supervisor itself in the window, ns: what looking cost.
    pub supervisor_cpu_ns: u64,
    /// CPU time of a piece of work that is always the same, on the CPUs of the tree, ns: the longer, the slower they are. `None` where
    /// nobody asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yardstick_ns: Option<f64>,
}

/// What a whole machine did in a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineUsage {
    /// Length of the window, ns.
    pub window_ns: u64,
    /// CPUs.
    pub cpus: u32,
    /// CPU time that was used, by anybody, ns.
    pub busy_ns: u64,
    /// CPU time that the hypervisor gave to others, ns.
    pub steal_ns: u64,
}

impl fmt::Display for Ending {
    /// As the second part of a sentence: `it …`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.why, self.signal, self.code) {
            (
                Some(Why::OutOfMemory {
                    limit_bytes: Some(limit),
                }),
                ..,
            ) => {
                write!(
                    formatter,
                    "was killed because it needed more than its {} of memory (OOM)",
                    Size(limit)
                )
            }
            (Some(Why::OutOfMemory { limit_bytes: None }), ..) => {
                formatter.write_str("was killed because the machine ran out of memory (OOM)")
            }
            (Some(Why::DiskFull { limit_bytes }), ..) => {
                write!(
                    formatter,
                    "was killed because it wrote more than its {} to disk",
                    Size(limit_bytes)
                )
            }
            (None, Some(signal), _) => write!(formatter, "was killed by {}", signal_name(signal)),
            (None, None, Some(0)) if self.left > 0 => write!(
                formatter,
                "went into the background (its first process ended with code 0 and left {} running); \
                 its `run` command must stay in the foreground",
                self.left
            ),
            (None, None, Some(code)) => write!(formatter, "ended with exit code {code}"),
            (None, None, None) => formatter.write_str("ended; nobody knows how"),
        }
    }
}

fn signal_name(signal: i32) -> String {
    nix::sys::signal::Signal::try_from(signal)
        .map_or_else(|_| format!("signal {signal}"), |name| name.to_string())
}

/// Bytes as people write them: `64 MiB`.
pub(crate) struct Size(pub(crate) u64);

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            bytes if bytes >= 1 << 30 => (1_u64 << 30, "GiB"),
            bytes if bytes >= 1 << 20 => (1 << 20, "MiB"),
            bytes if bytes >= 1 << 10 => (1 << 10, "KiB"),
            bytes => return write!(formatter, "{bytes} B"),
        };
        let whole = self.0 as f64 / unit as f64;
        if self.0.is_multiple_of(unit) {
            write!(formatter, "{whole:.0} {name}")
        } else {
            write!(formatter, "{whole:.1} {name}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_reads_as_a_sentence() {
        let killed = |why| {
            Ending {
                signal: Some(9),
                why: Some(why),
                ..Ending::default()
            }
            .to_string()
        };
        assert_eq!(
            killed(Why::OutOfMemory {
                limit_bytes: Some(64 << 20)
            }),
            "was killed because it needed more than its 64 MiB of memory (OOM)"
        );
        assert_eq!(
            killed(Why::DiskFull { limit_bytes: 3 << 29 }),
            "was killed because it wrote more than its 1.5 GiB to disk"
        );
        let ended = |code, signal, left| {
            Ending {
                code,
                signal,
                left,
                ..Ending::default()
            }
            .to_string()
        };
        assert_eq!(ended(Some(1), None, 0), "ended with exit code 1");
        assert_eq!(ended(None, Some(11), 0), "was killed by SIGSEGV");
        assert!(ended(Some(0), None, 2).contains("left 2 running"));
    }
}
