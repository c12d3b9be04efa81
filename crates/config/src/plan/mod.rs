//! The plan: every trial of a run, in order.
//!
//! A plan is a randomised complete block design: each round contains every entry once, workload by workload, in an order that
//! is drawn for that round from the seed alone, so that drift of the machine affects all services alike.

mod builder;
mod outline;

pub use outline::{GroupOutline, PlanOutline};

use crate::Service;
use crate::service::WITHOUT_COMPILER;
use crate::{
    Address, Channel, Design, Limits, Machine, Network, RankBy, StartKind, StartPlan, Starts, WarmUpChoice,
};
use prony_load::{Load, Protocol, Search};
use rand::{SeedableRng as _, rngs::SmallRng, seq::SliceRandom as _};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The trials to run. It is serialisable, so that a run can be resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub suite: String,
    pub title: String,
    pub profile: Option<String>,
    /// The seed of the order and of every random choice of the loads.
    pub seed: u64,
    /// The largest number of rounds.
    pub rounds: u32,
    /// The number of builds of each service; the rounds are spread over the builds.
    #[serde(default = "once")]
    pub builds: u32,
    /// Confidence of the intervals, 0 to 1.
    pub confidence: f64,
    /// Relative half-width of the intervals at which the run stops early.
    pub precision: Option<f64>,
    /// Relative difference below which services count as equal.
    pub tie: Option<f64>,
    /// Time after which no new round starts, ns.
    pub budget_ns: Option<u64>,
    /// The order of the trials of a round.
    #[serde(default)]
    pub design: Design,
    /// The trials that a process start serves.
    #[serde(default)]
    pub starts: Starts,
    /// Whether a trial with any error is excluded.
    pub no_errors: bool,
    pub limits: Limits,
    /// The network between generator and service.
    pub network: Option<Network>,
    /// Where services listen.
    #[serde(default)]
    pub address: Address,
    /// Workloads and their loads.
    pub groups: Vec<GroupPlan>,
    /// The trials of each round.
    pub entries: Vec<Entry>,
}

/// A workload under a load; the services under it are compared with each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupPlan {
    pub contract: String,
    pub workload: String,
    pub load: Load,
    pub warm_up: WarmUpChoice,
    /// Length of the measurement, ns.
    pub duration_ns: u64,
    /// A request without a complete reply after this time has failed, ns.
    pub timeout_ns: u64,
    /// The search for the rate of the load, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// The metric of the ranking; `None`: the default of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank_by: Option<RankBy>,
    /// What is measured of the start of its services; `None`: a load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartPlan>,
    /// The number of rounds in which it takes part, from the first one; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// The channel, if services are compared over several ones with TLS among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Channel>,
    /// Requests of a connection, which is then closed and replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_connection: Option<u32>,
    /// Whether connections resume TLS sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumption: Option<bool>,
    /// The service that does the same without a framework, by `name/variant` of each service that is compared with it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub baselines: BTreeMap<String, String>,
}

/// A service in a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub service: String,
    pub variant: String,
    #[serde(rename = "protocol")]
    pub channel: Channel,
    /// Index into [`Plan::groups`].
    pub group: usize,
    /// Expected length of a warm-up that ends when the service is warm, ns; 0: unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub expected_warm_up_ns: u64,
}

impl Entry {
    fn of(service: &Service, channel: Channel, group: usize) -> Self {
        Self {
            service: service.name.clone(),
            variant: service.variant.clone(),
            channel,
            group,
            expected_warm_up_ns: service.expected_warm_up().as_nanos() as u64,
        }
    }

    /// Whether its runtime compiles, as far as its warm-up shows: others are warm sooner.
    fn is_compiled_at_run_time(&self) -> bool {
        Duration::from_nanos(self.expected_warm_up_ns) > WITHOUT_COMPILER
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

/// One trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// Number of the trial in the plan, from 0.
    #[serde(rename = "place")]
    pub number: u32,
    /// Round, from 0.
    pub round: u32,
    /// Index into [`Plan::entries`].
    pub entry: usize,
}

/// Options of the command line that override the suite.
#[derive(Debug, Clone, Default)]
pub struct PlanOverrides {
    /// Only services that one of these patterns names.
    pub services: Vec<String>,
    pub rounds: Option<u32>,
    /// Number of builds of each service.
    pub builds: Option<u32>,
    /// Relative half-width of the intervals at which to stop.
    pub precision: Option<f64>,
    /// Confidence of the intervals.
    pub confidence: Option<f64>,
    /// Time after which no new round starts.
    pub budget: Option<Duration>,
    /// Length of each measurement.
    pub duration: Option<Duration>,
    /// Length of each warm-up.
    pub warm_up: Option<Duration>,
    /// Relative difference below which services count as equal.
    pub tie: Option<f64>,
    /// The order of the trials of a round.
    pub design: Option<Design>,
    /// Which loads a process start serves.
    pub starts: Option<Starts>,
    /// Where services listen; overrides the address of the suite.
    pub address: Address,
    /// The resources of the machine; a suite that exceeds them is rejected. `None`: no verification.
    pub machine: Option<Machine>,
    pub seed: u64,
}

/// Approximate time for start, check, drain and stop of a trial; only for the projected duration. Most services need half of
/// it, a large framework on a JVM four times as much.
const AROUND_A_TRIAL: Duration = Duration::from_millis(1_500);
/// Approximate overhead of a window: its generator starts, connects, loads for a tenth of a second, and ends.
const AROUND_A_WINDOW_NS: u64 = 150_000_000;
/// Length of a rehearsal of a shorter window, with the time around it.
const SHORTEST_REHEARSAL_NS: u64 = 1_400_000_000;
/// How long later starts warm up, relative to the first start.
const LATER_START: f64 = 0.55;
/// How long a start warms up under each further load, relative to its first load.
const FURTHER_LOAD: f64 = 0.5;
/// Approximate number of rates that a search tries: steps up, bisection, confirmation.
const TRIES: u32 = 14;
/// Long measurements of a search, each at a lower rate than the last one, until one meets the objective: measured with ten services.
const CONFIRMATIONS: u64 = 3;

impl GroupPlan {
    /// The ranking metric by its name in reports, if the suite sets one.
    pub fn ranked_by(&self) -> Option<String> {
        self.rank_by.map(|rank_by| rank_by.key().to_owned())
    }

    /// The load as recorded and compared; a search and a start have kinds of their own.
    pub fn load_record(&self) -> serde_json::Value {
        if let Some(start) = self.start {
            let measures = start.measures;
            let mut record = serde_json::json!({ "kind": "start", "measures": measures.name() });
            if measures.has_load() {
                record["load"] = serde_json::to_value(&self.load).expect("invariant: a load is plain data");
                record["duration_ns"] = self.duration_ns.into();
            }
            if measures == StartKind::Memory {
                record["rest_ns"] = start.rest_ns.into();
            }
            return record;
        }
        let mut record = serde_json::to_value(&self.load).expect("invariant: a load is plain data");
        if let (Some(search), Some(members)) = (&self.search, record.as_object_mut()) {
            members.insert("kind".to_owned(), "capacity".into());
            members.insert("objective".to_owned(), search.objective.to_string().into());
            members.insert("limit".to_owned(), search.limit.as_per_second().into());
            members.insert("precision".to_owned(), search.precision.into());
            members.insert("step_ns".to_owned(), search.step_ns.into());
        }
        if let Some(members) = record.as_object_mut() {
            let added: [(&str, Option<serde_json::Value>); 3] = [
                ("over", self.over.map(|over| over.word().into())),
                (
                    "requests_per_connection",
                    self.requests_per_connection.map(Into::into),
                ),
                ("resumption", self.resumption.map(Into::into)),
            ];
            let known = added
                .into_iter()
                .filter_map(|(key, value)| Some((key.to_owned(), value?)));
            members.extend(known);
        }
        record
    }
}

impl Plan {
    /// The build from which the services of a round are started, from 0.
    pub const fn build_of(&self, round: u32) -> u32 {
        if self.builds > 1 { round % self.builds } else { 0 }
    }

    /// The same if there are several builds, otherwise `None`.
    pub const fn build_number(&self, round: u32) -> Option<u32> {
        if self.builds > 1 {
            Some(self.build_of(round))
        } else {
            None
        }
    }

    /// The trials of a round, in order: workloads in random order, with the services of each in random order next to each
    /// other, so that compared services are measured within minutes. With shared starts: contracts in random order, the services
    /// of each in random order, and the workloads of a service in random order next to each other. The same plan always gives
    /// the same order.
    pub fn round(&self, round: u32) -> Vec<PlannedTrial> {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        // Those that take no part are left out after the shuffle, so that the others keep their order.
        // Mixing in the round through the generator keeps adjacent rounds and seeds uncorrelated.
        let mut random = SmallRng::seed_from_u64(
            self.seed
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .wrapping_add(u64::from(round)),
        );
        order.shuffle(&mut random);
        order.retain(|&entry| self.has_round(entry, round));
        match self.starts {
            Starts::Fresh => {
                let mut groups: Vec<usize> = (0..self.groups.len()).collect();
                groups.shuffle(&mut random);
                order.sort_by_key(|&entry| {
                    let group = self.entries[entry].group;
                    groups.iter().position(|&other| other == group)
                });
            }
            Starts::Shared => {
                let came = order.clone();
                let first = |like: &dyn Fn(usize) -> bool| came.iter().position(|&other| like(other));
                order.sort_by_cached_key(|&entry| {
                    let contract = first(&|other| self.contract_of(other) == self.contract_of(entry));
                    (contract, first(&|other| self.in_one_start(other, entry)))
                });
            }
        }
        let first: u32 = (0..round).map(|round| self.trials_in(round)).sum();
        (first..)
            .zip(order)
            .map(|(number, entry)| PlannedTrial { number, round, entry })
            .collect()
    }

    /// Whether an entry takes part in a round.
    fn has_round(&self, entry: usize, round: u32) -> bool {
        let group = self.groups.get(self.entries[entry].group);
        let limit = group.and_then(|group| group.rounds);
        limit.is_none_or(|limit| round < limit)
    }

    /// The number of trials of a round.
    fn trials_in(&self, round: u32) -> u32 {
        let entries = 0..self.entries.len();
        entries.filter(|&entry| self.has_round(entry, round)).count() as u32
    }

    /// The trials of a round in order, grouped by the process start that serves them.
    pub fn starts(&self, round: u32) -> Vec<Vec<PlannedTrial>> {
        let trials = self.round(round);
        let starts = trials.chunk_by(|one, other| self.in_one_start(one.entry, other.entry));
        starts.map(<[PlannedTrial]>::to_vec).collect()
    }

    /// Whether a process start may serve both entries.
    fn in_one_start(&self, one: usize, other: usize) -> bool {
        let (left, right) = (&self.entries[one], &self.entries[other]);
        let is_over = |entry: &Entry| {
            self.groups
                .get(entry.group)
                .is_some_and(|group| group.over.is_some())
        };
        // TLS is compared with the same process in clear.
        let channels = left.channel == right.channel || is_over(left) && is_over(right);
        let same = (&left.service, &left.variant) == (&right.service, &right.variant) && channels;
        one == other
            || self.starts == Starts::Shared && same && self.contract_of(one) == self.contract_of(other)
    }

    fn contract_of(&self, entry: usize) -> Option<&str> {
        let group = self.groups.get(self.entries[entry].group)?;
        Some(&group.contract)
    }

    /// All trials of all rounds, in order.
    pub fn trials(&self) -> impl Iterator<Item = PlannedTrial> + '_ {
        (0..self.rounds).flat_map(|round| self.round(round))
    }

    pub fn len(&self) -> u32 {
        (0..self.rounds).map(|round| self.trials_in(round)).sum()
    }

    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn group_of(&self, entry: &Entry) -> &GroupPlan {
        &self.groups[entry.group]
    }

    /// The approximate time of a trial in this round: warm-up, measurement, and overhead.
    pub fn expected_trial(&self, entry: &Entry, round: u32) -> Duration {
        let group = self.group_of(entry);
        let trials = self.trials_of_start(entry);
        let warm_up = match group.warm_up {
            WarmUpChoice::FixedNs(ns) => ns as f64,
            WarmUpChoice::Steady { least_ns, most_ns } => {
                let first = entry.expected_warm_up_ns as f64;
                let further = 1.0 + FURTHER_LOAD * f64::from(trials - 1);
                let start = first * further * if round == 0 { 1.0 } else { LATER_START };
                (start / f64::from(trials)).clamp(least_ns as f64, 2.0 * most_ns as f64)
            }
        };
        let searching = group.search.as_ref().map_or(0, |search| {
            // A quarter of each step lets the requests in flight settle.
            (search.step_ns + search.step_ns / 4) * u64::from(TRIES)
        });
        let measured = match self.design {
            Design::Sequence | Design::Duet | Design::Regression if group.search.is_some() => {
                CONFIRMATIONS * group.duration_ns
            }
            Design::Sequence | Design::Duet | Design::Regression => group.duration_ns,
            Design::Starts => group.start.map_or(0, |start| of_start(start, group.duration_ns)),
            Design::Paired {
                block_ns,
                repeats,
                held,
            } => (block_ns + AROUND_A_WINDOW_NS) * if held { 4 } else { 4 * u64::from(repeats) },
            Design::Interleaved { window_ns, cycles } => {
                let window = window_ns + AROUND_A_WINDOW_NS;
                let is_rehearsed =
                    matches!(group.warm_up, WarmUpChoice::Steady { .. }) && entry.is_compiled_at_run_time();
                // A compiler has to be idle as often as there are windows, before them or before each.
                let rehearsal = window.max(SHORTEST_REHEARSAL_NS) * u64::from(is_rehearsed);
                (window + rehearsal) * u64::from(cycles)
            }
        };
        Duration::from_nanos(warm_up as u64 + searching + measured) + AROUND_A_TRIAL / trials
    }

    /// The number of trials that the start of this entry serves.
    fn trials_of_start(&self, entry: &Entry) -> u32 {
        let place = self.entries.iter().position(|other| other == entry);
        place.map_or(1, |place| {
            let others = 0..self.entries.len();
            others.filter(|&other| self.in_one_start(place, other)).count() as u32
        })
    }

    /// The approximate time of a round. The first takes longest, since the first start of a service has to prove that it is warm.
    pub fn expected_round(&self, round: u32) -> Duration {
        let trials = 0..self.entries.len();
        let trials = trials.filter(|&entry| self.has_round(entry, round));
        trials
            .map(|entry| self.expected_trial(&self.entries[entry], round))
            .sum()
    }

    /// The approximate time of the run: all rounds, or those that fit into its budget. How long the last one of them takes decides whether it
    /// still fits, so that such a run ends half a round before its budget, on average.
    pub fn expected(&self) -> Duration {
        let mut all = Duration::ZERO;
        for round in 0..self.rounds {
            let length = self.expected_round(round);
            match self.budget_ns.map(Duration::from_nanos) {
                Some(budget) if round > 0 && all + length > budget => {
                    return all.max(budget.saturating_sub(length / 2));
                }
                _ => all += length,
            }
        }
        all
    }
}

/// The approximate time of a measured start after its first reply, ns.
const fn of_start(start: StartPlan, duration_ns: u64) -> u64 {
    match start.measures {
        StartKind::Warm => 0,
        // The start in which its files are found.
        StartKind::Cold => AROUND_A_TRIAL.as_nanos() as u64,
        StartKind::Memory => duration_ns + 2 * start.rest_ns,
        StartKind::SteadyRate => duration_ns,
    }
}

const fn once() -> u32 {
    1
}

impl Plan {
    /// A plan that starts these services once without a load: without groups, limits, precision or budget, at 95 % confidence.
    /// Each call draws a new seed.
    pub fn of_services(suite: &str, services: &[&Service], protocol: Protocol) -> Self {
        let entry = |service: &&Service| Entry::of(service, protocol.into(), 0);
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
