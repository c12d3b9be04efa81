//! Plans without a suite: for commands that start or load a few services in one way.

use crate::{Address, Design, Entry, GroupPlan, Limits, Plan, Service, Starts};
use prony_load::Protocol;

impl Plan {
    /// A plan that starts these services once without a load: without groups, limits, precision or budget, at 95 % confidence.
    /// Each call draws a new seed.
    pub fn of_services(suite: &str, services: &[&Service], protocol: Protocol) -> Self {
        let entry = |service: &&Service| Entry {
            service: service.name.clone(),
            variant: service.variant.clone(),
            protocol,
            group: 0,
        };
        Self {
            suite: suite.to_owned(),
            title: suite.to_owned(),
            profile: None,
            seed: rand::random(),
            rounds: 1,
            builds: 1,
            confidence: 0.95,
            precision: None,
            tie: None,
            budget_ns: None,
            design: Design::Sequence,
            starts: Starts::Fresh,
            no_errors: false,
            limits: Limits::default(),
            network: None,
            address: Address::default(),
            groups: Vec::new(),
            entries: services.iter().map(entry).collect(),
        }
    }

    /// Like [`Self::of_services`], with one group and the given number of rounds.
    pub fn of_group(
        suite: &str,
        rounds: u32,
        group: GroupPlan,
        services: &[&Service],
        protocol: Protocol,
    ) -> Self {
        Self {
            rounds,
            groups: vec![group],
            ..Self::of_services(suite, services, protocol)
        }
    }
}
