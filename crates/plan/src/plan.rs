//! The plan: every trial of a run, in order.
//!
//! A plan is a randomised complete block design: each round holds every entry once, in an order of its own that the seed
//! alone decides, so that a drift of the machine meets all services alike.

use crate::suite::SuiteGroup;
use crate::{Catalogue, Limits, Network, PlanError, Service, Suite, WarmUpChoice};
use prony_load::{Load, Protocol};
use rand::{SeedableRng as _, rngs::SmallRng, seq::SliceRandom as _};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What is to be run: serialisable, so that a run can be continued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The suite's name.
    pub suite: String,
    /// What people call it.
    pub title: String,
    /// The profile.
    pub profile: Option<String>,
    /// Decides the order and every random choice of the loads.
    pub seed: u64,
    /// Rounds, at most.
    pub rounds: u32,
    /// Confidence of the intervals, 0 to 1.
    pub confidence: f64,
    /// Relative half-width of the intervals at which the run stops early.
    pub precision: Option<f64>,
    /// Relative difference that counts as none.
    pub tie: Option<f64>,
    /// Time after which no new round begins, ns.
    pub budget_ns: Option<u64>,
    /// Whether a trial with any error is excluded.
    pub no_errors: bool,
    /// Limits of each service.
    pub limits: Limits,
    /// The network between generator and service.
    pub network: Option<Network>,
    /// Workloads and loads.
    pub groups: Vec<GroupPlan>,
    /// What each round holds.
    pub entries: Vec<Entry>,
}

/// A workload under a load; the services under it are compared with each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupPlan {
    /// The contract.
    pub contract: String,
    /// The workload's name.
    pub workload: String,
    /// The load.
    pub load: Load,
    /// Warm-up.
    pub warm_up: WarmUpChoice,
    /// Length of the measurement, ns.
    pub duration_ns: u64,
    /// A request without a complete reply after this long has failed, ns.
    pub timeout_ns: u64,
}

/// A service in a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The service's name.
    pub service: String,
    /// The variant's name.
    pub variant: String,
    /// What is spoken.
    pub protocol: Protocol,
    /// Index into [`Plan::groups`].
    pub group: usize,
}

/// One trial to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// Place in the plan, from 0.
    pub place: u32,
    /// Round, from 0.
    pub round: u32,
    /// Index into [`Plan::entries`].
    pub entry: usize,
}

/// What the command line wishes otherwise than the suite.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// Only services that one of these patterns names.
    pub services: Vec<String>,
    /// Rounds.
    pub rounds: Option<u32>,
    /// Relative half-width at which to stop.
    pub precision: Option<f64>,
    /// Confidence of the intervals.
    pub confidence: Option<f64>,
    /// Time after which no new round begins.
    pub budget: Option<Duration>,
    /// Length of each measurement.
    pub duration: Option<Duration>,
    /// Length of each warm-up.
    pub warm_up: Option<Duration>,
    /// Relative difference that counts as none.
    pub tie: Option<f64>,
    /// Seed.
    pub seed: u64,
}

/// Start, check, drain and stop of a trial, roughly: for the projected duration alone.
const AROUND_A_TRIAL: Duration = Duration::from_secs(3);

impl Plan {
    /// The plan of a suite over a catalogue.
    pub fn of(catalogue: &Catalogue, suite: &Suite, wishes: &Wishes) -> Result<Self, PlanError> {
        let mut plan = Self {
            suite: suite.name.clone(),
            title: suite.title.clone(),
            profile: suite.profile.clone(),
            seed: wishes.seed,
            rounds: wishes.rounds.unwrap_or(suite.rounds).max(1),
            confidence: wishes.confidence.unwrap_or(suite.confidence),
            precision: wishes.precision.or(suite.precision),
            tie: wishes.tie.or(suite.tie),
            budget_ns: wishes
                .budget
                .or(suite.budget)
                .map(|budget| budget.as_nanos() as u64),
            no_errors: suite.no_errors,
            limits: suite.limits,
            network: suite.network,
            groups: Vec::new(),
            entries: Vec::new(),
        };
        let maker = Maker {
            catalogue,
            suite,
            wishes,
            only: wished_services(catalogue, wishes)?,
        };
        for group in &suite.groups {
            let (planned, entries) = maker.group(group, plan.groups.len())?;
            if !entries.is_empty() {
                plan.groups.push(planned);
                plan.entries.extend(entries);
            }
        }
        if plan.entries.is_empty() {
            let patterns = wishes.services.join(", ");
            return Err(PlanError::Empty(format!(
                "suite `{}` has no service that `{patterns}` names",
                suite.name
            )));
        }
        Ok(plan)
    }

    /// The trials of a round, in order. The same plan gives the same order.
    pub fn round(&self, round: u32) -> Vec<PlannedTrial> {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        // Mixing the round in through the generator keeps neighbouring rounds and seeds unrelated.
        let mut random = SmallRng::seed_from_u64(
            self.seed
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .wrapping_add(u64::from(round)),
        );
        order.shuffle(&mut random);
        let first = round * self.entries.len() as u32;
        (first..)
            .zip(order)
            .map(|(place, entry)| PlannedTrial { place, round, entry })
            .collect()
    }

    /// All trials of all rounds, in order.
    pub fn trials(&self) -> impl Iterator<Item = PlannedTrial> + '_ {
        (0..self.rounds).flat_map(|round| self.round(round))
    }

    /// How many trials there are.
    pub fn len(&self) -> u32 {
        self.rounds * self.entries.len() as u32
    }

    /// Whether there is no trial.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The group of an entry.
    pub fn group_of(&self, entry: &Entry) -> &GroupPlan {
        &self.groups[entry.group]
    }

    /// How long one trial takes, about: warm-up at its longest half, measurement, and what is around them.
    pub fn expected_trial(&self, entry: &Entry) -> Duration {
        let group = self.group_of(entry);
        let warm_up = match group.warm_up {
            WarmUpChoice::FixedNs(ns) => ns,
            WarmUpChoice::Steady { least_ns, most_ns } => u64::midpoint(least_ns, most_ns),
        };
        Duration::from_nanos(warm_up + group.duration_ns) + AROUND_A_TRIAL
    }

    /// How long the run takes, about; no longer than its budget and a round.
    pub fn expected(&self) -> Duration {
        let round: Duration = self.entries.iter().map(|entry| self.expected_trial(entry)).sum();
        let all = round * self.rounds;
        self.budget_ns
            .map_or(all, |budget| all.min(Duration::from_nanos(budget) + round))
    }
}

/// Turns the groups of a suite into groups of a plan.
struct Maker<'a> {
    catalogue: &'a Catalogue,
    suite: &'a Suite,
    wishes: &'a Wishes,
    /// The services that the command line asks for; `None`: all.
    only: Option<Vec<&'a Service>>,
}

impl Maker<'_> {
    fn group(&self, group: &SuiteGroup, index: usize) -> Result<(GroupPlan, Vec<Entry>), PlanError> {
        let contract = self
            .catalogue
            .contract(&group.contract)
            .map_err(|error| self.at(group.line, &error))?;
        let (workload, own_load) = contract
            .load_of(group.workload.as_deref())
            .map_err(|error| self.at(group.line, &error))?;
        let mut entries = Vec::new();
        for (pattern, line) in &group.services {
            for service in self
                .catalogue
                .select(pattern)
                .map_err(|error| self.at(*line, &error))?
            {
                let offered = entries_of(service, group, index);
                if offered.is_empty() && !pattern.contains(['*', '?', '[']) {
                    let message = format!(
                        "`{}` does not offer contract `{}` over that",
                        service.label(),
                        group.contract
                    );
                    return Err(self.at(*line, &message));
                }
                let wanted = self
                    .only
                    .as_ref()
                    .is_none_or(|only| only.iter().any(|one| one.label() == service.label()));
                for entry in offered {
                    if wanted && !entries.contains(&entry) {
                        entries.push(entry);
                    }
                }
            }
        }
        let warm_up = self
            .wishes
            .warm_up
            .map(|time| WarmUpChoice::FixedNs(time.as_nanos() as u64));
        let planned = GroupPlan {
            contract: group.contract.clone(),
            workload,
            load: group.load.clone().unwrap_or(own_load),
            warm_up: warm_up.unwrap_or(group.warm_up),
            duration_ns: self.wishes.duration.unwrap_or(group.duration).as_nanos() as u64,
            timeout_ns: group.timeout.as_nanos() as u64,
        };
        Ok((planned, entries))
    }

    fn at(&self, line: usize, problem: &dyn std::fmt::Display) -> PlanError {
        PlanError::Invalid {
            path: self.suite.path.clone(),
            line,
            message: problem.to_string(),
        }
    }
}

fn wished_services<'a>(
    catalogue: &'a Catalogue,
    wishes: &Wishes,
) -> Result<Option<Vec<&'a Service>>, PlanError> {
    if wishes.services.is_empty() {
        return Ok(None);
    }
    let mut found = Vec::new();
    for pattern in &wishes.services {
        // A bare name on the command line means every variant that the suite holds.
        let pattern = if pattern.contains('/') {
            pattern.clone()
        } else {
            format!("{pattern}/*")
        };
        found.extend(catalogue.select(&pattern)?);
    }
    Ok(Some(found))
}

fn entries_of(service: &Service, group: &SuiteGroup, index: usize) -> Vec<Entry> {
    group
        .protocols
        .iter()
        .filter(|protocol| service.offers(&group.contract, **protocol))
        .map(|&protocol| Entry {
            service: service.name.clone(),
            variant: service.variant.clone(),
            protocol,
            group: index,
        })
        .collect()
}
