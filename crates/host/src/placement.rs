//! The placement of a trial: which role runs on which host and CPUs. `prony-testbed` computes it.

use crate::Cpus;
use prony_records::{Warning, WarningKind};
use serde::{Deserialize, Serialize};

/// The placement of one role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolePlacement {
    /// The name of the host in its testbed file; empty: this machine, without a testbed file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// The address at which its servers are reachable.
    pub address: String,
    /// Its CPUs; empty: all.
    pub cpus: Cpus,
    /// Whether its threads have the scheduling policy `SCHED_BATCH`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub batch_policy: bool,
    /// CPUs of its supervisor; empty: all.
    #[serde(default, skip_serializing_if = "Cpus::is_empty")]
    pub keepers: Cpus,
}

impl RolePlacement {
    /// Whether both roles have a CPU in common.
    pub fn shares_cpus(&self, other: &Self) -> bool {
        self.host == other.host && self.cpus.overlaps(&other.cpus)
    }
}

/// The placement of every role of a trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    pub service: RolePlacement,
    /// The generator's workers; never empty.
    pub workers: Vec<RolePlacement>,
    /// The backing services.
    pub backing_service: Option<RolePlacement>,
    /// Deviations from the ideal placement.
    pub warnings: Vec<Warning>,
}

impl Placement {
    /// The first worker.
    ///
    /// # Panics
    /// If there is no worker.
    pub fn generator(&self) -> &RolePlacement {
        self.workers
            .first()
            .expect("invariant: a load has at least one worker")
    }

    /// For windows that compare the CPU time of services, not their speed. All roles have the scheduling policy `SCHED_BATCH`: generator
    /// and service then switch less often. If there is one CPU for each of them, the generator takes turns with the service. A generator
    /// on another CPU of the core would slow the service down, and by how much changes from second to second
    /// (`research/method-notes.md`).
    #[must_use]
    pub fn for_windows(mut self) -> Self {
        let others = self.workers.iter_mut().chain(&mut self.backing_service);
        for role in std::iter::once(&mut self.service).chain(others) {
            role.batch_policy = true;
        }
        if let [worker] = &mut self.workers[..]
            && worker.host == self.service.host
            && worker.cpus.len() == 1
            && self.service.cpus.len() == 1
        {
            worker.cpus.clone_from(&self.service.cpus);
            let text = "Generator and service take turns on one CPU: goodput and response times describe both, CPU per request the service alone.";
            // The others are about roles that share CPUs otherwise.
            self.warnings.clear();
            self.warnings.push(Warning::new(WarningKind::SharedCpus, text));
        }
        self
    }

    /// Whether generator and service have a CPU in common: then neither of them alone is the limit.
    pub fn generator_shares_cpus(&self) -> bool {
        self.workers
            .iter()
            .any(|worker| worker.shares_cpus(&self.service))
    }

    /// Swaps the CPUs of service and generator if both are on one host and have equally many.
    #[must_use]
    pub fn turned(mut self) -> Self {
        if let [worker] = &mut self.workers[..]
            && worker.host == self.service.host
            && worker.cpus.len() == self.service.cpus.len()
        {
            std::mem::swap(&mut self.service.cpus, &mut worker.cpus);
            let keepers = worker.cpus.clone();
            let places = [
                Some(&mut self.service),
                Some(worker),
                self.backing_service.as_mut(),
            ];
            for place in places.into_iter().flatten() {
                place.keepers.clone_from(&keepers);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(cpus: &[usize]) -> RolePlacement {
        RolePlacement {
            cpus: cpus.iter().copied().collect(),
            ..RolePlacement::default()
        }
    }

    fn placement(service: &[usize], generator: &[usize]) -> Placement {
        Placement {
            service: role(service),
            workers: vec![role(generator)],
            ..Placement::default()
        }
    }

    #[test]
    fn in_windows_the_generator_takes_turns_with_a_service_if_there_is_a_cpu_for_each() {
        let two = placement(&[1], &[0]).for_windows();
        assert_eq!(two.generator().cpus, two.service.cpus);
        assert!(two.generator_shares_cpus() && two.service.batch_policy && two.generator().batch_policy);
        assert_eq!(two.warnings.len(), 1);
        let four = placement(&[2, 3], &[0, 1]).for_windows();
        assert_eq!(four.generator().cpus.to_string(), "0-1");
        assert!(!four.generator_shares_cpus() && four.warnings.is_empty());
        let mut apart = placement(&[1], &[0]);
        apart.workers[0].host = "other".to_owned();
        assert!(!apart.for_windows().generator_shares_cpus());
    }
}
