//! The rounds of a duet: both services fresh, warm at the same time, measured at the same time.

use super::player::Player;
use super::sides::Places;
use anyhow::{Context as _, anyhow};
use prony_contract::Contract;
use prony_host::{Isolation, Local, Split};
use prony_load::{Check, Job, Load, Phases, Protocol, TransportChoice, WarmUp};
use prony_measurement::{Command, Latency, Recording, TrialRecord};
use prony_plan::{GroupPlan, Plan, PlannedTrial, Service, WarmUpChoice};
use prony_statistics::{DuetRound, synchronous};
use prony_trial::check::{CheckRequest, check};
use prony_trial::{
    Bench, Built, Cancel, Failure, Options, ProcessGenerator, Subject, Trial, start_backend, start_service,
    wait_until_ready,
};
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

const TIMEOUT: Duration = Duration::from_secs(10);
const DRAIN: Duration = Duration::from_secs(5);
/// Longest wait for the two to come to the same point.
const PATIENCE: Duration = Duration::from_mins(1);
const WINDOW_NS: u64 = 100_000_000;

pub(super) struct Stage<'a> {
    pub(super) host: &'a Local,
    pub(super) contract: &'a Contract,
    pub(super) workload: String,
    pub(super) protocol: Protocol,
    pub(super) load: Load,
    pub(super) warm_up: Duration,
    pub(super) duration: Duration,
    pub(super) services: [&'a Service; 2],
    pub(super) built: &'a [Built],
    pub(super) places: [Places; 4],
    pub(super) logs: PathBuf,
    pub(super) program: String,
    pub(super) cancel: &'a Cancel,
}

/// What a round gave.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Round {
    /// Whether the two had exchanged their places.
    pub(super) swapped: bool,
    /// Valid replies per second of both.
    pub(super) goodput_per_s: [f64; 2],
    /// First over second in each synchronous window.
    pub(super) ratios: Vec<f64>,
    /// First over second over all of them.
    pub(super) whole: Option<f64>,
    /// Median response time of both, ns.
    pub(super) response_time_ns_p50: [Option<u64>; 2],
    /// 99th percentile of the response time of both, ns.
    pub(super) response_time_ns_p99: [Option<u64>; 2],
    /// First over second, CPU time per reply.
    pub(super) cpu_ratio: Option<f64>,
    /// Both as trials, for the store.
    #[serde(skip)]
    pub(super) trials: Vec<TrialRecord>,
}

impl Round {
    /// Its goodput, window by window.
    pub(super) fn windows(&self) -> DuetRound {
        DuetRound {
            swapped: self.swapped,
            ratios: self.ratios.clone(),
            whole: self.whole,
        }
    }

    /// A metric that has one ratio for a round.
    pub(super) fn single(&self, ratio: f64) -> DuetRound {
        DuetRound {
            swapped: self.swapped,
            ratios: vec![ratio],
            whole: None,
        }
    }
}

impl Stage<'_> {
    /// The rounds of a plan, until the user has had enough; each is given to `keep` as it ends.
    pub(super) fn play(
        &self,
        plan: &Plan,
        keep: &mut dyn FnMut(&Round) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<Round>> {
        let rounds = plan.rounds;
        std::fs::create_dir_all(&self.logs)
            .with_context(|| format!("cannot make {}", self.logs.display()))?;
        let options = Options {
            logs: self.logs.clone(),
            isolation: Isolation::WherePossible,
            backend: vec![self.program.clone(), "backend".to_owned()],
            noise: None,
        };
        let command = ["load", "--job", "-"].map(str::to_owned);
        let generator = ProcessGenerator::new(
            [vec![self.program.clone()], command.to_vec()].concat(),
            self.logs.clone(),
        );
        let bench = Bench {
            host: self.host,
            generator: &generator,
            options: &options,
            cancel: self.cancel,
        };
        let mut played = Vec::new();
        for round in 0..rounds {
            if self.cancel.is_asked() {
                break;
            }
            let done = self.round(&bench, plan, round)?;
            keep(&done)?;
            let [first, second] = done.goodput_per_s;
            eprintln!(
                "[{}/{rounds}] {first:.0}/s and {second:.0}/s, {} windows",
                round + 1,
                done.ratios.len()
            );
            played.push(done);
        }
        Ok(played)
    }

    /// What is not as it should be on these sides.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut texts: Vec<String> = self
            .places
            .iter()
            .flat_map(|places| &places.splits)
            .flat_map(|side| &side.warnings)
            .map(|warning| warning.text.clone())
            .collect();
        texts.sort();
        texts.dedup();
        texts
    }

    fn round(&self, bench: &Bench<'_>, plan: &Plan, round: u32) -> anyhow::Result<Round> {
        let places = &self.places[(round % 4) as usize];
        let order = if places.reversed { [1, 0] } else { [0, 1] };
        let mut players: [Option<Player>; 2] = [None, None];
        for index in order {
            players[index] = Some(self.enter(bench, plan, (index, round), &places.splits[index])?);
        }
        let mut players = players.map(|player| player.expect("invariant: both have entered"));
        self.together(&mut players)?;
        let mut measured = Vec::new();
        let mut trials = Vec::new();
        for (index, player) in players.into_iter().enumerate() {
            let (started, ended) = (player.started, player.measurement(&places.splits[index]));
            let measurement = ended.ok_or_else(|| anyhow!("a generator gave no recording"))?;
            measured.push((measurement.recording.clone(), measurement.service.cpu_ns));
            trials.push(self.trial(plan, index, round).record(started, Ok(measurement)));
        }
        let [(one, first_cpu), (other, second_cpu)] =
            <[_; 2]>::try_from(measured).expect("invariant: there are two");
        let cpu = |ns: Option<u64>, recording: &Recording| {
            let replies = recording.requests.completed;
            ns.filter(|_| replies > 0).map(|ns| ns as f64 / replies as f64)
        };
        let cpu_ratio = cpu(first_cpu, &one)
            .zip(cpu(second_cpu, &other))
            .map(|(one, other)| one / other);
        let windows = synchronous(&one.intervals, &other.intervals);
        let times = |of: fn(&Latency) -> u64| {
            [&one, &other].map(|recording| recording.response_time_ns.as_ref().map(of))
        };
        Ok(Round {
            swapped: places.swapped,
            goodput_per_s: [one.goodput_per_s, other.goodput_per_s],
            ratios: windows.ratios,
            whole: windows.whole,
            response_time_ns_p50: times(|latency| latency.p50),
            response_time_ns_p99: times(|latency| latency.p99),
            cpu_ratio: cpu_ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0),
            trials,
        })
    }

    /// The trial that one of the two is in a round.
    fn trial<'a>(&'a self, plan: &'a Plan, index: usize, round: u32) -> Trial<'a> {
        Trial {
            plan,
            planned: PlannedTrial {
                place: 2 * round + index as u32,
                round,
                entry: index,
            },
            service: self.services[index],
            built: &self.built[index],
            contract: self.contract,
        }
    }

    /// Starts a service on its side, checks it, and begins its load.
    fn enter(
        &self,
        bench: &Bench<'_>,
        plan: &Plan,
        (index, round): (usize, u32),
        side: &Split,
    ) -> anyhow::Result<Player> {
        let service = self.services[index];
        let failed = |failure: Failure| anyhow!("{}: {}", service.label(), failure.reason);
        let started = SystemTime::now();
        let trial = self.trial(plan, index, round);
        let backend = start_backend(bench, self.contract, side).map_err(failed)?;
        let mut subject = start_service(bench, &trial, side, backend).map_err(failed)?;
        let request = CheckRequest {
            contract: self.contract,
            target: &subject.target.clone(),
            protocol: self.protocol,
            seed: trial.seed(),
            thorough: false,
        };
        let start_up = wait_until_ready(
            &mut *subject.service,
            &request,
            service.start_timeout,
            self.cancel,
        )
        .map_err(failed)?;
        if let Some(failure) = check(&request).first_failure() {
            return Err(anyhow!("{} breaks its contract: {failure}", service.label()));
        }
        let job = self.job(&subject, side, trial.seed())?;
        let log = self.logs.join(format!("generator-{index}.log"));
        let loading = bench
            .generator
            .begin(self.host, &job, &side.generator, &log)
            .map_err(failed)?;
        Ok(Player::new(subject, loading, started, start_up))
    }

    fn job(&self, subject: &Subject, side: &Split, seed: u64) -> anyhow::Result<Job> {
        Ok(Job {
            target: subject.target.clone(),
            protocol: self.protocol,
            load: self.load.clone(),
            workload: self.contract.workload(&self.workload, self.protocol)?,
            phases: Phases {
                warm_up: WarmUp::UntilTold {
                    limit_ns: PATIENCE.as_nanos() as u64,
                },
                measurement_ns: self.duration.as_nanos() as u64,
                drain_ns: DRAIN.as_nanos() as u64,
            },
            timeout_ns: TIMEOUT.as_nanos() as u64,
            check: Check { share: 0.05, keep: 5 },
            threads: side.generator.len().clamp(1, self.load.connections() as usize) as u32,
            cpus: side.generator.as_slice().to_vec(),
            transport: TransportChoice::Auto,
            interval_ns: WINDOW_NS,
            seed,
            search: None,
        })
    }

    /// Warms both up, begins both measurements at once, and waits for both recordings.
    fn together(&self, players: &mut [Player; 2]) -> anyhow::Result<()> {
        let warm = Instant::now() + self.warm_up;
        let end = warm + self.duration + PATIENCE;
        let mut told = false;
        while players.iter().any(|player| !player.is_done()) {
            for (player, service) in players.iter_mut().zip(self.services) {
                player
                    .hear()
                    .map_err(|reason| anyhow!("{}: {reason}", service.label()))?;
            }
            if !told && Instant::now() >= warm {
                for player in players.iter_mut() {
                    player.tell(Command::Measure);
                }
                told = true;
            }
            if self.cancel.is_now() {
                return Err(anyhow!("ended by the user"));
            }
            if Instant::now() > end {
                return Err(anyhow!("a generator did not end in time"));
            }
        }
        Ok(())
    }

    /// The plan that is stored with what was played.
    pub(super) fn plan(&self, rounds: u32) -> Plan {
        let group = GroupPlan {
            contract: self.contract.name.clone(),
            workload: self.workload.clone(),
            load: self.load.clone(),
            warm_up: WarmUpChoice::FixedNs(self.warm_up.as_nanos() as u64),
            duration_ns: self.duration.as_nanos() as u64,
            timeout_ns: TIMEOUT.as_nanos() as u64,
            search: None,
        };
        let [first, second] = self.services.map(Service::label);
        Plan {
            title: format!("{first} and {second} at once"),
            ..Plan::of_group(super::SUITE, rounds, group, &self.services, self.protocol)
        }
    }
}
