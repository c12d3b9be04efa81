//! Whose a tree of processes is. Its name holds the caller and the supervisor with the moments at which they started, so
//! that a process number which the kernel gave out anew is not taken for them, and the namespace in which these numbers
//! mean something: a prony in a container is not for one outside to judge.

use crate::tree::stat_field;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::str::FromStr;

/// A process: its number and when it started, in the kernel's ticks since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pid: i32,
    started: u64,
}

/// Who looks after a tree. As a text, `prony-<caller>.<started>-<supervisor>.<started>-<namespace>`, it is the name of its
/// control group and a variable in the environment of its processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Owners {
    caller: Identity,
    supervisor: Identity,
    namespace: u64,
}

/// A text that names no owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no name of a tree of processes")]
pub(crate) struct NoOwners;

impl Identity {
    /// The process that has this number now. One that is a zombie does nothing any more and is none.
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
    /// This process and a supervisor that it has just started. A supervisor that has ended already owns nothing.
    pub(crate) fn of_supervisor(pid: i32) -> Option<Self> {
        Some(Self {
            caller: Identity::of(std::process::id() as i32)?,
            supervisor: Identity::of(pid)?,
            namespace: own_namespace(),
        })
    }

    /// The number of the caller.
    pub(crate) const fn caller(self) -> i32 {
        self.caller.pid
    }

    /// Whether nobody looks after the tree any more. Of another namespace nobody can tell.
    pub(crate) fn are_gone(self) -> bool {
        self.namespace == own_namespace() && self.caller.is_gone() && self.supervisor.is_gone()
    }
}

/// The number of the namespace of process numbers that this process is in; 0 where the kernel does not say.
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
    type Error = NoOwners;

    fn try_from(text: String) -> Result<Self, NoOwners> {
        text.parse()
    }
}

impl FromStr for Identity {
    type Err = NoOwners;

    fn from_str(text: &str) -> Result<Self, NoOwners> {
        let (pid, started) = text.split_once('.').ok_or(NoOwners)?;
        Ok(Self {
            pid: pid.parse().map_err(|_| NoOwners)?,
            started: started.parse().map_err(|_| NoOwners)?,
        })
    }
}

impl FromStr for Owners {
    type Err = NoOwners;

    fn from_str(text: &str) -> Result<Self, NoOwners> {
        let parts: Vec<&str> = text.split('-').collect();
        let ["prony", caller, supervisor, namespace] = parts[..] else {
            return Err(NoOwners);
        };
        Ok(Self {
            caller: caller.parse()?,
            supervisor: supervisor.parse()?,
            namespace: namespace.parse().map_err(|_| NoOwners)?,
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
            assert_eq!(other.parse::<Owners>(), Err(NoOwners), "{other}");
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
        // In a container the same number is another process, and that one may well live.
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
