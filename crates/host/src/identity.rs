//! Identifies the owners of a process tree. The tree's name contains the process ids and start times of its caller and its
//! supervisor, so that a reused process id is not mistaken for them. It also contains the PID namespace in which these ids
//! are valid: a prony outside a container must not judge the processes of one inside.

use crate::tree::stat_field;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::str::FromStr;

/// A process: its id and its start time in kernel ticks since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pid: i32,
    started: u64,
}

/// The caller and the supervisor of a process tree. Formatted as `prony-<caller>.<started>-<supervisor>.<started>-<namespace>`,
/// it is the name of the tree's control group and an environment variable of its processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Owners {
    caller: Identity,
    supervisor: Identity,
    namespace: u64,
}

/// The text does not name owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not the name of a process tree")]
pub(crate) struct OwnerParseError;

impl Identity {
    /// The process that has this id now. `None` for a zombie, which does nothing any more.
    fn of(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let started = stat_field(&stat, 22)?.parse().ok()?;
        match stat_field(&stat, 3) {
            None | Some("Z" | "X") => None,
            Some(_) => Some(Self { pid, started }),
        }
    }

    fn is_gone(self) -> bool {
        Self::of(self.pid) != Some(self)
    }
}

impl Owners {
    /// This process, and a supervisor that it has just started. `None` if the supervisor has already ended.
    pub(crate) fn of_supervisor(pid: i32) -> Option<Self> {
        Some(Self {
            caller: Identity::of(std::process::id() as i32)?,
            supervisor: Identity::of(pid)?,
            namespace: own_namespace(),
        })
    }

    /// The process id of the caller.
    pub(crate) const fn caller(self) -> i32 {
        self.caller.pid
    }

    /// Whether both owners have ended. Always `false` for owners in another namespace, whose state is unknown.
    pub(crate) fn are_gone(self) -> bool {
        self.namespace == own_namespace() && self.caller.is_gone() && self.supervisor.is_gone()
    }
}

/// The inode of this process's PID namespace; 0 if the kernel does not report it.
fn own_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.pid, self.started)
    }
}

impl fmt::Display for Owners {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "prony-{}-{}-{}",
            self.caller, self.supervisor, self.namespace
        )
    }
}

impl From<Owners> for String {
    fn from(owners: Owners) -> Self {
        owners.to_string()
    }
}

impl TryFrom<String> for Owners {
    type Error = OwnerParseError;

    fn try_from(text: String) -> Result<Self, OwnerParseError> {
        text.parse()
    }
}

impl FromStr for Identity {
    type Err = OwnerParseError;

    fn from_str(text: &str) -> Result<Self, OwnerParseError> {
        let (pid, started) = text.split_once('.').ok_or(OwnerParseError)?;
        Ok(Self {
            pid: pid.parse().map_err(|_| OwnerParseError)?,
            started: started.parse().map_err(|_| OwnerParseError)?,
        })
    }
}

impl FromStr for Owners {
    type Err = OwnerParseError;

    fn from_str(text: &str) -> Result<Self, OwnerParseError> {
        let parts: Vec<&str> = text.split('-').collect();
        let ["prony", caller, supervisor, namespace] = parts[..] else {
            return Err(OwnerParseError);
        };
        Ok(Self {
            caller: caller.parse()?,
            supervisor: supervisor.parse()?,
            namespace: namespace.parse().map_err(|_| OwnerParseError)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Identity {
        Identity::of(std::process::id() as i32).expect("this process runs")
    }

    #[test]
    fn a_name_is_read_as_it_was_written() {
        let owners = Owners {
            caller: Identity {
                pid: 12,
                started: 345,
            },
            supervisor: own(),
            namespace: own_namespace(),
        };
        assert_eq!(owners.to_string().parse(), Ok(owners));
        for other in [
            "prony-12",
            "prony-probe-12",
            "system.slice",
            "prony-a.1-b.2",
            "prony-1-2",
            "prony-1.2-3.4",
            "prony-1.2-3.4-a",
        ] {
            assert_eq!(other.parse::<Owners>(), Err(OwnerParseError), "{other}");
        }
    }

    #[test]
    fn a_number_that_was_given_out_anew_is_nobody() {
        let own = own();
        let before = Identity {
            started: own.started - 1,
            ..own
        };
        assert!(!own.is_gone() && before.is_gone());
        let owners = |caller, supervisor| Owners {
            caller,
            supervisor,
            namespace: own_namespace(),
        };
        assert!(owners(before, before).are_gone());
        // In a container the same id is another process, which may well be alive.
        let elsewhere = Owners {
            namespace: own_namespace() + 1,
            ..owners(before, before)
        };
        assert!(!elsewhere.are_gone());
        assert!(!owners(own, before).are_gone() && !owners(before, own).are_gone());
    }

    #[test]
    fn a_zombie_looks_after_nothing() {
        let mut child = std::process::Command::new("true").spawn().expect("true runs");
        let pid = child.id() as i32;
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while Identity::of(pid).is_some() {
            assert!(std::time::Instant::now() < deadline, "it never ends");
            std::thread::yield_now();
        }
        assert!(std::path::Path::new(&format!("/proc/{pid}")).exists());
        child.wait().expect("waited for");
    }
}
