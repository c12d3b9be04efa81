//! Claims the CPUs of this machine for one run at a time. Another run waits for them or fails.

use crate::Cancel;
use crate::CommandError;
use crate::testbed::{Claims, Testbed};
use prony_host::{CpuLease, Cpus, Host as _, HostError, Local, Locks};
use std::time::Duration;

/// Interval at which claimed CPUs are tried again.
const RETRY: Duration = Duration::from_millis(200);

/// The settings of a claim.
#[derive(Debug, Clone, Default)]
pub struct Claim {
    /// The command, shown to other runs that find the CPUs taken.
    pub what: String,
    /// Whether to wait until the CPUs are free.
    pub waits: bool,
}

impl Claim {
    /// Claims these CPUs. `tell` receives a message if it has to wait.
    pub(crate) fn take(
        &self,
        cpus: &Cpus,
        cancel: &Cancel,
        tell: &dyn Fn(&str),
    ) -> Result<CpuLease, CommandError> {
        self.take_of(&Locks::of_this_machine()?, cpus, cancel, tell)
    }

    /// Claims the CPUs of the other hosts of a testbed.
    pub(crate) fn take_remote(
        &self,
        testbed: &Testbed,
        cancel: &Cancel,
        tell: &dyn Fn(&str),
    ) -> Result<Claims, CommandError> {
        let mut has_reported = false;
        loop {
            match testbed.claim() {
                Err(error @ HostError::Taken { .. }) if self.waits => {
                    if !std::mem::replace(&mut has_reported, true) {
                        tell(&format!("waiting: {error}"));
                    }
                }
                Err(error @ HostError::Taken { .. }) => return Err(CommandError::Input(error.to_string())),
                Err(error) => return Err(error.into()),
                Ok(claims) => return Ok(claims),
            }
            if cancel.is_asked() {
                let text = "ended while waiting for the CPUs of a host".to_owned();
                return Err(CommandError::Interrupted(text));
            }
            std::thread::sleep(RETRY);
        }
    }

    fn take_of(
        &self,
        locks: &Locks,
        cpus: &Cpus,
        cancel: &Cancel,
        tell: &dyn Fn(&str),
    ) -> Result<CpuLease, CommandError> {
        let mut held = CpuLease::default();
        // In ascending order, so that two waiting runs cannot deadlock.
        for &cpu in cpus.as_slice() {
            held.extend(self.lock(locks, cpu, cancel, tell)?);
        }
        Ok(held)
    }

    fn lock(
        &self,
        locks: &Locks,
        cpu: usize,
        cancel: &Cancel,
        tell: &dyn Fn(&str),
    ) -> Result<CpuLease, CommandError> {
        let mut has_reported = false;
        loop {
            let holder = match locks.lock(cpu, &self.what) {
                Ok(held) => return Ok(held),
                Err(HostError::Taken { holder, .. }) => holder,
                Err(error) => return Err(error.into()),
            };
            if !self.waits {
                return Err(CommandError::Input(format!(
                    "CPU {cpu} is taken by {holder}: two runs on the same CPUs spoil each other's numbers → Wait for it with --wait, end it, or give each run its own CPUs (`taskset --cpu-list`)."
                )));
            }
            if !has_reported {
                tell(&format!("waiting for CPU {cpu}, which is taken by {holder}"));
                has_reported = true;
            }
            if cancel.is_asked() {
                return Err(CommandError::Interrupted(format!(
                    "ended while waiting for CPU {cpu}"
                )));
            }
            std::thread::sleep(RETRY);
        }
    }
}

/// The run that has claimed a CPU of this process, if there is one. A single load claims no CPU, but both distort each other's numbers.
pub fn who_measures() -> Option<String> {
    let locks = Locks::of_this_machine().ok()?;
    locks.holder(&Local::new(Vec::new()).topology().cpus())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_claimed_once_and_given_back() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let locks = Locks::in_folder(folder.path());
        let take = |what: &str, cpus: &[usize]| {
            let claim = Claim {
                what: what.to_owned(),
                waits: false,
            };
            claim.take_of(&locks, &Cpus::from(cpus.to_vec()), &Cancel::new(), &|_| {})
        };
        let one = take("prony run one", &[0, 1]).expect("free");
        let two = take("prony run two", &[2]).expect("another CPU");
        let holder = |cpus: &[usize]| locks.holder(&Cpus::from(cpus.to_vec()));
        assert!(holder(&[1]).is_some_and(|who| who.contains("`prony run`")));
        assert_eq!(holder(&[3]), None, "no run claimed it");
        let refused = take("prony run three", &[1, 3]).expect_err("CPU 1 is taken");
        assert!(refused.is_bad_input());
        let text = refused.to_string();
        let pid = std::process::id().to_string();
        for part in ["CPU 1", "`prony run`", &pid, "--wait"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        drop((one, two));
        assert_eq!(holder(&[0, 1, 2]), None, "given back");
        drop(take("prony run three", &[1, 2, 3]).expect("free again"));
    }

    #[test]
    fn waiting_ends_with_the_holder_or_with_the_user() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let locks = Locks::in_folder(folder.path());
        let cpus = Cpus::from(vec![0]);
        let claim = Claim {
            what: "prony run".to_owned(),
            waits: true,
        };
        let take = |cancel: &Cancel, tell: &dyn Fn(&str)| claim.take_of(&locks, &cpus, cancel, tell);
        let holder = std::sync::Mutex::new(Some(take(&Cancel::new(), &|_| {}).expect("free")));
        let cancel = Cancel::new();
        let asks = |_: &str| {
            cancel.ask();
        };
        assert!(take(&cancel, &asks).expect_err("asked to end").is_interrupted());
        let gives_back = |text: &str| {
            assert!(text.contains("waiting for CPU 0"), "{text}");
            holder.lock().expect("no panic").take();
        };
        take(&Cancel::new(), &gives_back).expect("given back");
    }
}
