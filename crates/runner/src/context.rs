//! A run, and what all its trials share.

use crate::generators::Generator;
use crate::testbed::Testbed;
use crate::{BuildOutput, Cancel, NoiseLimits, Seeds};
use prony_config::{Catalogue, Plan};
use prony_host::{Host, Isolation};
use prony_records::{Exclusion, ServiceId};
use std::collections::BTreeMap;
use std::time::Duration;

/// All that a run needs.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// What is to be measured.
    pub plan: &'a Plan,
    /// Where and how.
    pub context: RunContext<'a>,
    /// For each build of the plan every service, built or not.
    pub built: &'a [BTreeMap<ServiceId, Result<BuildOutput, Exclusion>>],
}

/// Where and how the trials of a run are done.
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    /// The hosts, and what each is for.
    pub testbed: &'a Testbed,
    /// What loads the services.
    pub generator: &'a dyn Generator,
    /// How.
    pub options: &'a Options,
    /// How it is ended early.
    pub cancel: &'a Cancel,
    /// Services, contracts, backing services and their toolchains.
    pub catalogue: &'a Catalogue,
    /// Data that was made for backing services.
    pub seeds: &'a Seeds,
}

/// How trials are done.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether limits that cannot be set are errors.
    pub isolation: Isolation,
    /// The noise beyond which a trial is repeated; `None`: it is never repeated.
    pub noise: Option<NoiseLimits>,
    /// A generator reports ten times a second; one that says nothing for this long is stuck.
    pub silence: Duration,
}

impl<'a> RunContext<'a> {
    /// Where services run.
    pub fn host(&self) -> &'a dyn Host {
        &*self.testbed.service().host
    }
}
