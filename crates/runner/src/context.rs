//! A run and the context that all its trials share.

use crate::generators::Generator;
use crate::testbed::Testbed;
use crate::trial::service_id;
use crate::{BuildOutput, Cancel, Certificates, NoiseLimits, Seeds};
use prony_config::{Catalogue, Plan, PlannedTrial};
use prony_host::{Host, Isolation};
use prony_records::{Exclusion, ServiceId};
use std::collections::BTreeMap;
use std::time::Duration;

/// The input of [`execute`](crate::execute()).
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The trials to measure.
    pub plan: &'a Plan,
    /// The context of every trial.
    pub context: RunContext<'a>,
    /// For each build of the plan, the result of building each service.
    pub built: &'a [BTreeMap<ServiceId, Result<BuildOutput, Exclusion>>],
}

impl Run<'_> {
    /// The build for a planned trial, or why there is none; `None` if it was not to be built.
    pub(crate) fn build_of(&self, planned: &PlannedTrial) -> Option<&Result<BuildOutput, Exclusion>> {
        let builds = self.built.get(self.plan.build_of(planned.round) as usize)?;
        builds.get(&service_id(&self.plan.entries[planned.entry]))
    }
}

/// What the trials of a run share: hosts, generator, options and catalogue.
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    /// The hosts and their roles.
    pub testbed: &'a Testbed,
    /// Starts the loads.
    pub generator: &'a dyn Generator,
    /// Isolation, retries and timeouts.
    pub options: &'a Options,
    /// Cancels the run.
    pub cancel: &'a Cancel,
    /// Services, contracts, backing services and their toolchains.
    pub catalogue: &'a Catalogue,
    /// Generated data of backing services.
    pub seeds: &'a Seeds,
    /// Certificates of services with TLS.
    pub certificates: &'a Certificates,
}

/// Options of all trials.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether a limit that cannot be set is an error.
    pub isolation: Isolation,
    /// The noise above which a trial is repeated; `None`: never.
    pub noise: Option<NoiseLimits>,
    /// A generator reports ten times a second. Without a report for this long it is considered stuck.
    pub silence: Duration,
}

impl<'a> RunContext<'a> {
    /// The host of the services.
    pub fn host(&self) -> &'a dyn Host {
        &*self.testbed.service().host
    }
}
