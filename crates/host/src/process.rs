//! What to start, with which limits, and the results: how it ended and what it used.

use crate::Cpus;
use crate::compiler_threads::CompilerKind;
use crate::container::Container;
use crate::inherited::InheritedVariables;
use prony_records::{ResourceSample, Resources};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessSpec {
    /// The name used in messages and for control groups.
    pub name: String,
    /// Program and arguments. For a container: the arguments after the image, empty to run the image's default command.
    pub command: Vec<String>,
    /// The container in which it runs, with its limits, CPUs and environment; `None`: a process of this machine.
    #[serde(default)]
    pub container: Option<Container>,
    /// The working directory.
    pub folder: PathBuf,
    /// Whether it sees the folder as it was, whatever earlier processes wrote into it: what it writes there itself ends with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh_folder: bool,
    /// The variables that it inherits from prony's environment on its host. A container inherits none.
    #[serde(default)]
    pub inherited: InheritedVariables,
    /// Whether HOME is an empty folder, which is removed when everything has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub empty_home: bool,
    /// Variables of its own. They take precedence over inherited ones.
    pub environment: BTreeMap<String, String>,
    /// The contents of files that it gets, by the variable that has the path. They are removed when everything has ended.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// CPUs that it may use; empty: all.
    pub cpus: Cpus,
    /// Whether its threads have the scheduling policy `SCHED_BATCH`: a thread that wakes up does not preempt the one that runs.
    /// Children inherit it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub batch_policy: bool,
    /// CPUs of its supervisor; empty: all.
    pub supervisor_cpus: Cpus,
    pub limits: Limits,
    /// Whether it starts without limits that this machine does not allow us to set.
    pub isolation: Isolation,
    /// A network namespace of its own.
    pub network: Option<Network>,
    pub stdio: Stdio,
    /// The file that receives its output.
    pub log: PathBuf,
    /// Maximum size of the log, bytes; of a longer log only the start and the end are kept.
    pub log_bytes: u64,
    /// Time between TERM and KILL.
    pub grace: Duration,
    /// The number of a signal that is sent to its first process alone instead of TERM to all: some software shuts down cleanly
    /// only this way. Processes that remain after the first one has ended receive TERM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_signal: Option<i32>,
    /// Time between two samples of its resources; `None`: no sampling.
    pub sample_every: Option<Duration>,
    /// Beginnings of the names of its compiler threads, in addition to the known ones. Their CPU time is counted separately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compiler_threads: Vec<String>,
    /// Whether to probe the speed of its CPUs in each window ([`Usage::cpu_speed_probe_ns`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cpu_speed_probe: bool,
}

/// A process that already runs. prony neither starts nor stops it, nor limits what it uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttachSpec {
    /// The name used in messages.
    pub name: String,
    /// Where to read its resources.
    pub attached: AttachTarget,
    /// CPUs of the process that reads its resources; empty: all.
    pub supervisor_cpus: Cpus,
    /// Time between two samples of its resources.
    pub sample_every: Duration,
    /// Beginnings of the names of its compiler threads, in addition to the known ones. Their CPU time is counted separately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compiler_threads: Vec<String>,
}

/// A process tree that already runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachTarget {
    /// A process and everything below it.
    Pid(i32),
    /// Everything in a control group and its subgroups: its folder, or its path as in `/proc/PID/cgroup`.
    Cgroup(PathBuf),
}

/// Limits of a process tree; `None`: no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// CPUs, fractions allowed.
    pub cpus: Option<f64>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Open files per process.
    pub files: Option<u64>,
    /// Bytes written to disk, by the whole tree.
    pub disk_bytes: Option<u64>,
}

/// What happens when a limit cannot be set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// The process starts without it, and a warning is recorded.
    #[default]
    WherePossible,
    /// The process does not start.
    Required,
}

/// A network namespace for the process, connected by a virtual Ethernet pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Delay in each direction.
    pub delay: Duration,
    /// Rate in each direction, bits per second; `None`: unlimited.
    pub rate_bits_per_s: Option<u64>,
}

/// The destination of a process's output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdio {
    /// Output and errors to the log; no input.
    #[default]
    Logged,
    /// Input and output to the caller, errors to the log.
    Piped,
}

/// How a process ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitReport {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The limit that it exceeded, or what else killed it; `None`: it ended by itself, or prony ended it.
    pub why: Option<KillReason>,
    /// Processes below it that were still running when it had ended.
    pub left: u32,
    /// Whether it was killed because it did not end within its grace time after TERM.
    pub ignored_term: bool,
    /// A file of its folder that it changed, although it was to see the folder as it was: the machine permits no overlay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<PathBuf>,
}

/// What killed a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KillReason {
    /// It needed more memory than allowed.
    OutOfMemory {
        /// Its own limit, bytes; `None`: the machine ran out of memory.
        limit_bytes: Option<u64>,
    },
    /// It wrote more to disk than allowed.
    DiskFull { limit_bytes: u64 },
    /// It received KILL, but not from prony: from a user, from another program, or from a limit around prony.
    Outside,
}

impl ExitReport {
    /// Whether it was killed by something that says nothing about the program: a KILL from outside, or a machine without memory.
    pub const fn is_from_outside(&self) -> bool {
        matches!(
            self.why,
            Some(KillReason::Outside | KillReason::OutOfMemory { limit_bytes: None })
        )
    }
}

/// The usage of a process tree in a window, and of the whole machine meanwhile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    pub resources: Resources,
    /// Samples taken before the window.
    pub before: Vec<ResourceSample>,
    pub machine: Option<MachineUsage>,
    /// What its compiler threads do; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<CompilerKind>,
    /// CPU time of the supervisor in the window, ns: the cost of measuring.
    pub supervisor_cpu_ns: u64,
    /// CPU time of a fixed amount of work on the CPUs of the tree (the CPU speed probe), ns: the longer, the slower the CPUs.
    /// `None` if it was not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_speed_probe_ns: Option<f64>,
}

/// The usage of a whole machine in a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineUsage {
    /// Length of the window, ns.
    pub window_ns: u64,
    /// Number of CPUs.
    pub cpus: u32,
    /// CPU time used by all processes, ns.
    pub busy_ns: u64,
    /// CPU time that the hypervisor gave to other machines, ns.
    pub steal_ns: u64,
}

impl MachineUsage {
    /// A CPU time as a share of that of all CPUs in the window; `None` if the window has no length.
    pub fn share(&self, ns: u64) -> Option<f64> {
        let capacity = self.window_ns as f64 * f64::from(self.cpus);
        (capacity > 0.0).then(|| ns as f64 / capacity)
    }
}

impl fmt::Display for ExitReport {
    /// The predicate of a sentence whose subject is the process.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.why, self.signal, self.code) {
            (
                Some(KillReason::OutOfMemory {
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
            (Some(KillReason::OutOfMemory { limit_bytes: None }), ..) => {
                formatter.write_str("was killed because the machine ran out of memory (OOM)")
            }
            (Some(KillReason::DiskFull { limit_bytes }), ..) => {
                write!(
                    formatter,
                    "was killed because it wrote more than its {} to disk",
                    Size(limit_bytes)
                )
            }
            (Some(KillReason::Outside), None, Some(code)) => write!(
                formatter,
                "ended with exit code {code}, since SIGKILL from outside killed a process below it"
            ),
            (Some(KillReason::Outside), ..) => formatter
                .write_str("was killed by SIGKILL from outside: by a user, another program or the kernel"),
            (None, Some(signal), _) => write!(formatter, "was killed by {}", signal_name(signal)),
            (None, None, Some(0)) if self.left > 0 => write!(
                formatter,
                "went into the background (its first process ended with code 0 and left {} running); \
                 its `run` command must stay in the foreground",
                self.left
            ),
            (None, None, Some(code)) => write!(formatter, "ended with exit code {code}"),
            (None, None, None) => formatter.write_str("ended in an unknown way"),
        }
    }
}

fn signal_name(signal: i32) -> String {
    nix::sys::signal::Signal::try_from(signal)
        .map_or_else(|_| format!("signal {signal}"), |name| name.to_string())
}

/// Formats bytes for messages: `64 MiB`.
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
            ExitReport {
                signal: Some(9),
                why: Some(why),
                ..ExitReport::default()
            }
            .to_string()
        };
        assert_eq!(
            killed(KillReason::OutOfMemory {
                limit_bytes: Some(64 << 20)
            }),
            "was killed because it needed more than its 64 MiB of memory (OOM)"
        );
        assert_eq!(
            killed(KillReason::DiskFull { limit_bytes: 3 << 29 }),
            "was killed because it wrote more than its 1.5 GiB to disk"
        );
        assert!(killed(KillReason::Outside).starts_with("was killed by SIGKILL from outside"));
        let below = ExitReport {
            code: Some(137),
            why: Some(KillReason::Outside),
            ..ExitReport::default()
        };
        assert!(
            below
                .to_string()
                .starts_with("ended with exit code 137, since SIGKILL")
        );
        let ended = |code, signal, left| {
            ExitReport {
                code,
                signal,
                left,
                ..ExitReport::default()
            }
            .to_string()
        };
        assert_eq!(ended(Some(1), None, 0), "ended with exit code 1");
        assert_eq!(ended(None, Some(11), 0), "was killed by SIGSEGV");
        assert!(ended(Some(0), None, 2).contains("left 2 running"));
    }
}
