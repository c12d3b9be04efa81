//! Sorts trials into groups and services.

use prony_records::{Exclusion, Measurement, ServiceId, TrialRecord, that_count};

/// The trials of one contract × workload × load.
pub(crate) struct GroupSample<'a> {
    pub(crate) first: &'a TrialRecord,
    /// The metric that the suite ranks this group by, if it names one.
    pub(crate) rank_by: Option<&'a str>,
    pub(crate) services: Vec<ServiceSample<'a>>,
}

/// The trials of one service in a group.
pub(crate) struct ServiceSample<'a> {
    pub(crate) id: &'a ServiceId,
    /// The successful trials with their round, in the order of rounds.
    pub(crate) measured: Vec<(u32, &'a Measurement)>,
    /// `service/variant` of the service that it is compared with.
    pub(crate) baseline: Option<&'a str>,
    /// The build of each of them; `None` if there was only one build.
    pub(crate) builds: Vec<Option<u32>>,
    /// The failed trials.
    pub(crate) failed: Vec<&'a Exclusion>,
}

/// Groups and services in the order of the plan, each trial number once.
pub(crate) fn groups(trials: &[TrialRecord]) -> Vec<GroupSample<'_>> {
    let mut groups: Vec<GroupSample<'_>> = Vec::new();
    for trial in that_count(trials) {
        let position = groups.iter().position(|group| same_group(group.first, trial));
        let index = position.unwrap_or_else(|| {
            groups.push(GroupSample {
                first: trial,
                rank_by: None,
                services: Vec::new(),
            });
            groups.len() - 1
        });
        groups[index].add(trial);
    }
    groups
}

fn same_group(one: &TrialRecord, other: &TrialRecord) -> bool {
    one.contract == other.contract && one.workload == other.workload && one.load == other.load
}

impl<'a> GroupSample<'a> {
    fn add(&mut self, trial: &'a TrialRecord) {
        self.rank_by = self.rank_by.or(trial.rank_by.as_deref());
        let position = self
            .services
            .iter()
            .position(|service| *service.id == trial.service);
        let index = position.unwrap_or_else(|| {
            self.services.push(ServiceSample {
                id: &trial.service,
                baseline: trial.baseline.as_deref(),
                measured: Vec::new(),
                builds: Vec::new(),
                failed: Vec::new(),
            });
            self.services.len() - 1
        });
        match &trial.result {
            Ok(measurement) => {
                self.services[index].measured.push((trial.round, measurement));
                self.services[index].builds.push(trial.build);
            }
            Err(exclusion) => self.services[index].failed.push(exclusion),
        }
    }
}
